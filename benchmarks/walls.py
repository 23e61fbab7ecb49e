"""CPU seconds per group of 500 candidates with the image twin, against the number of walls: rooms with furniture."""

from __future__ import annotations

import time

import numpy as np

import locus
from locus.room.furniture import furnish

NUM_CANDIDATES = 500
NUM_ROOMS = 5


def main() -> None:
    twin, fewest = locus.make_twin("image"), 0.0
    for num_pieces in (0, 10, 20, 40, 55):
        walls, seconds = [], []
        for seed in range(NUM_ROOMS + 1):  # the first one compiles
            rng = np.random.default_rng(seed)
            plain = locus.Layout.random(rng)
            pose = locus.Pose.random(plain, rng)
            layout = furnish(plain, num_pieces, rng, [[pose.x, pose.y]])
            candidates = layout.sample(NUM_CANDIDATES, rng)
            start = time.process_time()
            twin.trace(layout, pose, candidates)
            walls.append(len(layout.walls))
            seconds.append(time.process_time() - start)
        mean = float(np.mean(seconds[1:]))
        fewest = fewest or mean
        print(f"{np.mean(walls[1:]):.0f} walls: {mean:.3f} s, {mean / fewest:.1f} times as long as without furniture")


if __name__ == "__main__":
    main()
