"""Group tasks: a function of one group in; its results for many groups, computed on workers, out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import xarray as xr
from distributed import Client

from locus.experiment import cluster
from locus.experiment.artifact import silent
from locus.settings.config import Config

_SPAN = 5  # groups per task

Compute = Callable[..., xr.Dataset]


def over_groups(
    compute: Compute,
    config: Config,
    groups: range,
    client: Client | None,
    progress: Callable[[int], Any] = silent,
    **arguments: Any,
) -> xr.Dataset:
    """Compute ``compute(config, index, **arguments)`` for all groups and concatenate the results along ``snapshot``.

    Without a client, this process computes. ``progress`` is called with the number of groups finished since its last
    call.
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
    """Results of consecutive groups, concatenated; runs on a worker."""
    settings = Config.from_dict(config)
    with cluster.one_thread():
        return xr.concat([compute(settings, index, **arguments) for index in span], "snapshot")
