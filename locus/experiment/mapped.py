"""A room that a robot mapped: rooms with furniture in; what a map costs, compared with a perfect plan, out.

This is the paper's future work, in simulation. Signals propagate in a room with furniture that is in no plan. A robot
with a laser scanner starts at the receiver, drives through the room and makes an occupancy grid; its polygons are the
room of a twin. The same snapshots are scored with the true plan, with and without furniture.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case, trace_possible
from locus.experiment.conditions import SPLIT, exact_case
from locus.experiment.floors import Floors
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.bootstrap import described
from locus.judge.credible import CREDIBLE_MASS
from locus.judge.floor import with_floor
from locus.room import laser, polygons
from locus.room.furniture import furnish
from locus.room.layout import MIN_DISTANCE, Layout, Pose
from locus.room.ros_map import RosMap
from locus.room.survey import Survey, survey
from locus.score import weight_files
from locus.score.method import Scorer
from locus.settings.config import Config
from locus.twin import make_twin

RECIPE = 1

NUM_LAYOUTS = 40
"""Number of groups, the first of Eval Random; at most a fiftieth of its groups, but at least two."""
NUM_CANDIDATES = 500
"""Number of candidates per group, to save time; at most as many as Eval Random has."""
NUM_PIECES = 15
"""Number of pieces of furniture per room."""
RESOLUTIONS = (0.05, 0.1, 0.2)
"""Sides of a cell [m]."""
DRIFTS = (0.0, 0.01, 0.03)
"""Drifts of the robot's pose, see :func:`locus.room.drive.drifted`."""
METHODS = ("path_set", "locus_dt")
"""Methods to evaluate."""

_WORLD_PATHS = 64  # a world has all of its paths, whatever number a twin keeps
_SAMPLED = 0.1  # distance of the points at which errors of walls are measured [m]


@dataclass(frozen=True)
class Plan:
    """What the twin takes for the room."""

    kind: str
    """``furnished``: the true room; ``bare``: without its furniture; ``map``: what the robot mapped."""
    resolution: float = math.nan
    """Side of a cell of the map [m]."""
    drift: float = math.nan
    """Standard deviation of the robot's pose after one metre [m], as in :func:`locus.room.drive.drifted`."""

    @property
    def label(self) -> str:
        """The plan in words."""
        if self.kind != "map":
            return {"furnished": "true plan with furniture", "bare": "true plan without furniture"}[self.kind]
        return f"map, {100 * self.resolution:g} cm, drift {100 * self.drift:g} %"


def plans() -> list[Plan]:
    """Plans to evaluate, the perfect one first."""
    maps = [Plan("map", resolution, drift) for drift in DRIFTS for resolution in RESOLUTIONS]
    return [Plan("furnished"), Plan("bare"), *maps]


def settings(config: Config) -> Config:
    """Settings of a run, with shorter lists of candidates."""
    count = min(NUM_CANDIDATES, config.evaluation.num_candidates)
    return replace(config, evaluation=replace(config.evaluation, num_candidates=count))


@dataclass(frozen=True)
class World:
    """A group of Eval Random in a room with furniture."""

    exact: Case
    """The group without furniture, traced by the image twin."""

    @functools.cached_property
    def layout(self) -> Layout:
        """The true room, with furniture."""
        pose, case = self.exact.pose, self.exact
        rng = splits.furniture_rng(case.config, case.split, case.index)
        return furnish(case.layout, NUM_PIECES, rng, [[pose.x, pose.y]])

    @functools.cached_property
    def heard(self) -> Case:
        """The group with the snapshots of this world; its transmitters are candidates that have a path in it."""
        case = self.exact
        options = replace(case.config.twin, max_paths=max(_WORLD_PATHS, case.config.twin.max_paths))
        traced = trace_possible(make_twin("image", case.config.radio, options), self.layout, case.pose, case.candidates)
        return Case(case.config, case.split, case.index, case.twin, traced)

    @functools.cached_property
    def survey(self) -> Survey:
        """A robot's drive through the room, from the receiver."""
        case = self.exact
        return survey(self.layout, case.pose, splits.survey_rng(case.config, case.split, case.index))

    def grid(self, plan: Plan) -> RosMap:
        """The robot's map."""
        return self.survey.grid(plan.resolution, plan.drift)

    def scene(self, plan: Plan, grid: RosMap | None = None) -> tuple[Layout, Pose]:
        """Room and pose that the twin of a plan assumes; with a map, the pose is moved if it is not in free space."""
        case = self.exact
        if plan.kind != "map":
            return (self.layout if plan.kind == "furnished" else case.layout), case.pose
        grid = self.grid(plan) if grid is None else grid
        layout = polygons.layout_of(grid, clearance=case.layout.clearance)
        return layout, settled(layout, case.pose)

    def trace(self, scene: tuple[Layout, Pose]) -> xr.Dataset:
        """Paths (candidate, path) of the candidates in the room and for the pose that a twin assumes."""
        return self.exact.trace_believed(scene)


def make_world(config: Config, index: int) -> World:
    """Group ``index`` of Eval Random, with furniture."""
    return World(exact_case(config, index))


def settled(layout: Layout, pose: Pose) -> Pose:
    """The pose, moved to the nearest place in free space if it is not in it."""
    if layout.is_free([[pose.x, pose.y]], MIN_DISTANCE).all():
        return pose
    space = layout.free_space.buffer(-2 * MIN_DISTANCE)
    x, y = shapely.get_coordinates(shapely.shortest_line(space, shapely.Point(pose.x, pose.y)))[0]
    return Pose(x, y, pose.heading)


def evaluate_group(config: Config, index: int, scorers: dict[str, Scorer], floors: dict[str, float]) -> xr.Dataset:
    """Rows (plan, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth, with ``floors``.

    Further variables (plan, snapshot); all but ``lost`` are the same for all snapshots of a group:

    - ``lost``: whether the truth has no path in the twin
    - ``num_walls``: number of walls of the twin
    - ``wall_error``: mean distance of the twin's walls from the true ones [m]
    - ``moved``: distance by which the receiver was moved [m]
    - ``stated_mean`` and ``stated_largest``: distances of the straightened walls from those of the map [m]
    """
    world = make_world(config, index)
    truth, area = world.heard.truth, world.exact.layout.free_space.area
    parts = []
    for plan in plans():
        scene = world.scene(plan)
        paths = world.trace(scene)
        columns = []
        for name, scorer in scorers.items():
            logs = with_floor(scorer.log_posterior(paths, world.heard.seen_by(scorer)), floors[name])
            found = metrics.measure(logs, truth, area, splits.tie_rng(config, SPLIT, index))
            columns.append(found[["log_posterior", "level"]])
        lost = ~paths.valid.any("path").values[truth]
        rows = xr.concat(columns, "method").assign(lost=("snapshot", *described(lost, "1", "truth without a path")))
        parts.append(rows.assign(dict(_geometry(world, scene, len(truth)))))
    joined = xr.concat(parts, "plan").transpose("plan", "snapshot", ...)
    return joined.assign_coords(method=list(scorers), group=("snapshot", np.full(len(truth), index)))


def _geometry(world: World, scene: tuple[Layout, Pose], count: int) -> Iterator[tuple[str, Any]]:
    """Variables (snapshot) that describe the room of a twin."""
    layout, pose = scene
    error, true = layout.map_error, world.exact.pose
    walls = shapely.points(shapely.get_coordinates(shapely.segmentize(layout.free_space.boundary, _SAMPLED)))
    values = {
        "num_walls": (len(layout.walls), "1", "number of walls"),
        "wall_error": (
            shapely.distance(walls, world.layout.free_space.boundary).mean(),
            "m",
            "mean distance of the twin's walls from the true ones",
        ),
        "moved": (math.hypot(pose.x - true.x, pose.y - true.y), "m", "distance by which the receiver was moved"),
        "stated_mean": (error.mean if error else math.nan, "m", "mean distance of the walls from the map's"),
        "stated_largest": (error.largest if error else math.nan, "m", "largest distance of the walls from the map's"),
    }
    for name, (value, units, meaning) in values.items():
        yield name, ("snapshot", *described(np.full(count, value), units, meaning))


class Mapped(Result):
    """``results/mapped.nc`` of a run: rows (plan, snapshot, method), see :func:`evaluate_group`.

    Coordinates ``kind``, ``resolution``, ``drift`` and ``label`` (plan) describe a plan.
    """

    stem = "mapped"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, max(2, self.run.config.evaluation.num_layouts // 50))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of LOCUS-DT, the constants of the path set, and the floors of both."""
        return (Weights(self.run, "locus_dt"), PathSetFit(self.run), Floors(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "estimates": ingredients.of_estimates(settings(self.run.config), SPLIT, "image"),
            "weights": Weights(self.run, "locus_dt").hash(),
            "path_set": PathSetFit(self.run).hash(),
            "floors": Floors(self.run).hash(),
            "plans": [one.label for one in plans()],
            "laser": dataclasses.asdict(laser.Laser()),
            "num_pieces": NUM_PIECES,
            "num_groups": self.num_groups,
            "recipes": {
                "laser": laser.RECIPE,
                "polygons": polygons.RECIPE,
                "metrics": metrics.RECIPE,
                "mapped": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 17.0 * self.num_groups / num_workers

    def scorers(self) -> dict[str, Scorer]:
        """Methods by name."""
        known: dict[str, Scorer] = {
            "path_set": fitted(self.run),
            "locus_dt": weight_files.load_method(Weights(self.run, "locus_dt").path)[0],
        }
        return {name: known[name] for name in METHODS}

    def floors(self) -> dict[str, float]:
        """Share of uniform guessing in the posterior of each method."""
        share = Floors(self.run).open().share
        return {name: float(share.sel({"method": name})) for name in METHODS}

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups with every plan."""
        config, groups = settings(self.run.config), range(self.num_groups)
        with tqdm(total=len(groups), desc="mapping rooms", unit="group") as bar:
            arguments = {"scorers": self.scorers(), "floors": self.floors()}
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, **arguments)
        names = ("kind", "resolution", "drift", "label")
        rows = rows.assign_coords({name: ("plan", [getattr(one, name) for one in plans()]) for name in names})
        self.save(rows, num_candidates=config.evaluation.num_candidates)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, ratio and ``covered`` (plan, method), the share of truths in 90 % sets, with intervals.

    ``cost`` is the loss less that with the true plan and its furniture, paired over the snapshots. Geometry is averaged
    over the groups, (plan). All plans share the bootstrap resamples.
    """
    parts = []
    for number in range(rows.sizes["plan"]):
        one = rows[["log_posterior", "level"]].isel(plan=number)
        found = metrics.summary(one, rows.attrs["num_candidates"], np.random.default_rng(0))
        parts.append(found.assign(metrics.covered(one, CREDIBLE_MASS, np.random.default_rng(0)).data_vars))
    names = ["kind", "resolution", "drift", "label"]
    joined = xr.concat([part.drop_vars(names, errors="ignore") for part in parts], "plan")
    costs = xr.concat([_costs(rows.sel({"method": name}), names) for name in rows.method.values], joined.method)
    geometry = rows[["lost", "num_walls", "wall_error", "moved", "stated_mean", "stated_largest"]]
    means = geometry.mean("snapshot", keep_attrs=True).drop_vars(names, errors="ignore")
    return joined.merge(costs.transpose("plan", "method")).merge(means).assign_coords({n: rows[n] for n in names})


def _costs(rows: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Loss with each plan less that with the first, (plan): ``cost`` with intervals."""
    labels = rows.label.values
    pairs = rows[["log_posterior"]].drop_vars([*names, "method"]).rename(plan="method")
    pairs = pairs.transpose("snapshot", "method").assign_coords(method=labels)
    found = [metrics.paired(pairs, label, labels[0], np.random.default_rng(0)) for label in labels]
    return xr.concat(found, "plan").rename({f"difference{end}": f"cost{end}" for end in ("", "_low", "_high")})
