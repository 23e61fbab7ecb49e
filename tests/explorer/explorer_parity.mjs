/** Scenes on standard input; what the explorer's modules compute for them on standard output. Both are JSON. */

import { readFileSync, writeFileSync } from "node:fs";
import { believe } from "../../locus/explorer/believed.js";
import { estimate } from "../../locus/explorer/estimator.js";
import { makeFeatures } from "../../locus/explorer/features.js";
import { drawPoint, drawRoom, makeGrid, wallsOf } from "../../locus/explorer/layout.js";
import { Locator } from "../../locus/explorer/locate.js";
import { logPosterior } from "../../locus/explorer/methods.js";
import { receive } from "../../locus/explorer/observation.js";
import { PathSet } from "../../locus/explorer/path_set.js";
import { takeRow } from "../../locus/explorer/paths.js";
import { makeRadio } from "../../locus/explorer/radio.js";
import { Random } from "../../locus/explorer/random.js";
import { Sight } from "../../locus/explorer/sight.js";
import { logLikelihoods } from "../../locus/explorer/sync_offset.js";
import { Twin } from "../../locus/explorer/twin.js";
import { Walk } from "../../locus/explorer/walk.js";
import { finish } from "../../locus/explorer/walk_scene.js";
import { World } from "../../locus/explorer/world.js";

/**
 * @typedef {import("../../locus/explorer/methods.js").Method} Method
 *
 * @typedef {object} Scene
 * @property {number[][]} walls
 * @property {string[]} materials of the walls
 * @property {import("../../locus/explorer/twin.js").Pose} pose
 * @property {number[][]} candidates
 * @property {number} depth
 * @property {number} truth index of the true candidate
 * @property {number} offset
 * @property {number} phase
 * @property {{re: number[][], im: number[][]}} iq (antenna, sample)
 */

/**
 * @typedef {object} Columns columns of paths (row, path)
 * @property {number} width
 * @property {number[]} aoa
 * @property {number[]} delay
 * @property {number[]} gain real
 * @property {number[]} order
 */

/**
 * @typedef {object} PathSetCase
 * @property {import("../../locus/explorer/radio.js").RadioSettings} radio
 * @property {import("../../locus/explorer/path_set.js").Description} path_set
 * @property {number} spacing
 * @property {Columns} paths
 * @property {Columns} observed
 * @property {{re: number[], im: number[]}[]} residuals of the snapshots, or none
 */

/**
 * @typedef {object} WalkCase
 * @property {import("../../locus/explorer/radio.js").RadioSettings} radio
 * @property {import("../../locus/explorer/path_set.js").Description} path_set
 * @property {{walls: number[], polygon: number[]}} plan
 * @property {number[]} candidates
 * @property {import("../../locus/explorer/walk.js").Options} options
 * @property {{pose: import("../../locus/explorer/twin.js").Pose, paths: Columns, observed: Columns}[]} steps
 */

/**
 * @typedef {object} Belief
 * @property {import("../../locus/explorer/layout.js").Room} room
 * @property {import("../../locus/explorer/twin.js").Pose[]} poses
 * @property {number} size of the twin's error [m]
 * @property {number[][]} points to trace, of which the first is heard
 * @property {number} depth
 */

/**
 * @typedef {object} Given
 * @property {import("../../locus/explorer/locate.js").Settings} settings
 * @property {Record<string, Method>} methods
 * @property {Scene[]} scenes
 * @property {number} wide paths a candidate that no candidate has
 * @property {{window: number, re: number[][], im: number[][], energies: number[]}[]} filtered outputs of filters
 * @property {PathSetCase[]} path_sets
 * @property {WalkCase[]} walks
 * @property {{seed: number, error?: number}[]} hikes walks on the page
 * @property {Belief[]} beliefs wrong twins
 * @property {{method: string, seed: number}[]} looks requests of the page
 */

/** @type {Given} */
const { settings, methods, scenes, wide: maxWide, filtered, path_sets: cases, walks, hikes, beliefs, looks } = JSON.parse(readFileSync(0, "utf8"));
const { max_paths: maxPaths, wall_thickness: wallThickness } = settings.twin;
const { constants } = settings;
const radio = makeRadio(settings.radio, constants);
const pathSet = new PathSet(settings.path_set, constants);

/** @param {import("../../locus/explorer/paths.js").Paths} paths */
function columns(paths) {
  const { rows, width, aoa, delay, gainRe, gainIm, order } = paths;
  const plain = Object.entries({ aoa, delay, gainRe, gainIm, order }).map(([name, values]) => [name, [...values]]);
  return { rows, width, ...Object.fromEntries(plain) };
}

/** @param {Scene} scene */
function compute(scene) {
  const room = { walls: Float64Array.from(scene.walls.flat()), eta: scene.materials.map((name) => settings.materials[name]) };
  const options = { maxDepth: scene.depth, maxPaths, wallThickness };
  const candidates = Float64Array.from(scene.candidates.flat());
  const paths = new Twin(room, scene.pose, options, radio, constants.twin).trace(scene.pose.heading, candidates);
  const all = new Twin(room, scene.pose, { ...options, maxPaths: maxWide }, radio, constants.twin);
  const wide = all.trace(scene.pose.heading, candidates);
  const clean = receive(takeRow(paths, scene.truth), scene.offset, scene.phase, radio);
  const iq = { re: Float64Array.from(scene.iq.re.flat()), im: Float64Array.from(scene.iq.im.flat()) };
  const observed = estimate(iq, settings.estimator, radio, constants.fit);
  const weak = estimate(iq, pathSet.estimator, radio, constants.fit);
  const evidence = { candidates, paths, iq, observed, pose: scene.pose, radio };
  const featuresOf = (/** @type {string} */ order) => {
    const trained = methods.locus_dt.options;
    const options = { ...trained, features: { ...trained.features, order } };
    return [paths, observed].map((side) => [...makeFeatures(side, radio, options)]);
  };
  /** @type {(name: string, which: Record<string, Method>) => number[]} */
  const posterior = (name, which) => [...logPosterior(which, name, evidence, constants)].map(Math.exp);
  return {
    paths: columns(wide),
    clean: { re: [...clean.re], im: [...clean.im] },
    observed: columns(observed),
    weak: columns(weak),
    features: { strength: featuresOf("strength"), angle: featuresOf("angle") },
    posteriors: {
      bayes: posterior("bayes", {}),
      path_set: [...logPosterior({ path_set: pathSet }, "path_set", { ...evidence, observed: weak }, constants)].map(Math.exp),
      ...Object.fromEntries(
        Object.entries(methods).map(([key, method]) => [key, posterior(key.split(".")[0], { [key.split(".")[0]]: method })]),
      ),
    },
  };
}

/** @param {number} seed */
function drawGrid(seed) {
  const room = drawRoom(new Random(seed), settings.room, constants.room);
  return { room, grid: [...makeGrid(room, settings.room.grid_points).points] };
}

/** @param {Given["filtered"][number]} one */
function integrate({ window: syncWindow, re, im, energies }) {
  const outputs = re.map((row, i) => ({ re: Float64Array.from(row), im: Float64Array.from(im[i]) }));
  return logLikelihoods(outputs, Float64Array.from(energies), { ...radio, syncWindow }, constants.sync_offset);
}

/**
 * @param {Columns} found
 * @returns {import("../../locus/explorer/paths.js").Paths}
 */
function toPaths({ width, aoa, delay, gain, order }) {
  const gainRe = Float64Array.from(gain);
  return {
    rows: gain.length / width,
    width,
    aoa: Float64Array.from(aoa),
    delay: Float64Array.from(delay),
    gainRe,
    gainIm: new Float64Array(gainRe.length),
    order: Int32Array.from(order),
  };
}

/** @param {{re: number[], im: number[]} | undefined} values */
const toComplex = (values) => values && { re: Float64Array.from(values.re), im: Float64Array.from(values.im) };

/** @param {PathSetCase} one */
function compareSets({ radio: settings, path_set: description, spacing, paths, observed, residuals }) {
  const radio = makeRadio(settings, constants);
  const [traced, seen] = [paths, observed].map(toPaths);
  const scorer = new PathSet(description, constants);
  return Array.from({ length: seen.rows }, (_, row) => {
    /** @type {Parameters<PathSet["logLikelihoods"]>} */
    const given = [traced, { ...takeRow(seen, row), residual: toComplex(residuals[row]) }, radio, { spacing }];
    return { likelihood: [...scorer.logLikelihoods(...given)], posterior: [...scorer.logPosterior(...given)] };
  });
}

/** @param {WalkCase} one */
function fuse({ radio: settings, path_set: description, plan, candidates, options, steps }) {
  const radio = makeRadio(settings, constants);
  const walls = Float64Array.from(plan.walls);
  const places = Float64Array.from(candidates);
  const walk = new Walk({ ...plan, walls }, places, description, radio, constants, options);
  return steps.map(({ pose, paths, observed }) => {
    const before = walk.numSteps > 0 ? "" : attempt(() => walk.logPosterior());
    const fork = walk.fork();
    fork.add(toPaths(steps[0].paths), toPaths(steps[0].observed), steps[0].pose);
    walk.add(toPaths(paths), toPaths(observed), pose);
    return { before, fork: [...fork.logPosterior()], posterior: [...walk.logPosterior()], heading: walk.headingError() };
  });
}

/** @param {() => unknown} call */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const locator = new Locator({ ...settings, methods });

/** @param {Given["looks"][number]} one */
function look({ method, seed }) {
  const { room, receiver, transmitter } = new World(settings, null, seed);
  const choices = { gridPoints: 11, depth: 2, numPaths: 6, powerChange: 0, seed, rays: false };
  const { observed, logPosterior: logs } = locator.locate({ room, receiver, transmitter, ...choices, method });
  return { snr: observed.map((path) => path.snr), posterior: [...logs].map(Math.exp) };
}

/** @param {Given["hikes"][number]} one */
function hike({ seed, error = 0 }) {
  const { room, receiver, transmitter } = new World(settings, null, seed);
  const random = new Random(seed);
  const poses = [receiver, ...Array.from({ length: 2 }, () => ({ ...(drawPoint(room, random) ?? receiver), heading: random.uniform(-Math.PI, Math.PI) }))];
  const choices = { gridPoints: 21, depth: 2, numPaths: 6, powerChange: 0, seed, method: "path_set", rays: false };
  const belief = error > 0 ? believe(room, poses, error, constants.errors, constants.room.min_distance) : null;
  const scene = { room, belief, receiver, transmitter, ...choices };
  const steps = poses.map((_, i) => finish(locator.walk(scene, poses.slice(0, i + 1))));
  const again = finish(new Locator({ ...settings, methods }).walk(scene, poses));
  const { walls, polygon } = wallsOf(room, settings.materials);
  return {
    room,
    belief,
    poses,
    walls: [...walls],
    polygon,
    transmitter,
    points: [...again.points],
    same: again.logPosterior.every((log, c) => log === steps[poses.length - 1].logPosterior[c]),
    steps: steps.map(({ logPosterior: logs, mass, headings, set, points }) => ({
      ...{ posterior: [...logs].map(Math.exp), mass, set: [...set], numPoints: points.length / 2 },
      heading: headings[headings.length - 1],
    })),
  };
}

/** @param {Given["beliefs"][number]} one */
function err({ room, poses, size, points, depth }) {
  const belief = believe(room, poses, size, constants.errors, constants.room.min_distance);
  const sight = new Sight(settings, { room, belief, depth }, poses[0], radio);
  const [x, y] = points[0];
  return { belief, heard: columns(sight.hear({ x, y })), expected: columns(sight.expect(Float64Array.from(points.flat()))) };
}

const seeds = Array.from({ length: 30 }, (_, i) => i);
const found = {
  scenes: scenes.map(compute),
  rooms: seeds.map(drawGrid),
  integrals: filtered.map(integrate),
  path_sets: cases.map(compareSets),
  walks: walks.map(fuse),
  hikes: hikes.map(hike),
  beliefs: beliefs.map(err),
  looks: looks.map(look),
};
writeFileSync(1, JSON.stringify(found));
