"""Group tasks: a function of one group in; what it gives for many groups, computed by workers, out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import xarray as xr
from distributed import Client

from locus.experiment import cluster
from locus.settings.config import Config

_SPAN = 5  # groups that a worker computes at a time

Compute = Callable[..., xr.Dataset]


def over_groups(
    compute: Compute,
    config: Config,
    groups: range,
    client: Client | None,
    progress: Callable[[int], Any] = lambda _: None,
    **arguments: Any,
) -> xr.Dataset:
    """Join ``compute(config, index, **arguments)`` of all groups along ``snapshot``, here if there is no client.

    ``progress`` hears how many groups are done since it last heard.
    """
    spans = [range(first, min(first + _SPAN, groups.stop)) for first in range(groups.start, groups.stop, _SPAN)]
    work = functools.partial(_task, compute=compute, config=config.to_dict(), arguments=arguments)
    parts = {}
    for span, rows in cluster.each(client, work, spans):
        parts[span] = rows
        progress(len(span))
    joined: xr.Dataset = xr.concat([parts[span] for span in spans], "snapshot")
    return joined


def _task(span: range, **arguments: Any) -> tuple[Compute, tuple[Any, ...]]:
    return functools.partial(_compute_span, **arguments), (span,)


def _compute_span(span: range, compute: Compute, config: dict[str, Any], arguments: dict[str, Any]) -> xr.Dataset:
    """What a worker does."""
    cluster.use_one_thread()
    settings = Config.from_dict(config)
    return xr.concat([compute(settings, index, **arguments) for index in span], "snapshot")
