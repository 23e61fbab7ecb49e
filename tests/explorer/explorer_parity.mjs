/** Scenes on standard input; what the explorer's modules compute for them on standard output. Both are JSON. */

import { readFileSync, writeFileSync } from "node:fs";
import { estimate } from "../../locus/explorer/estimator.js";
import { makeFeatures } from "../../locus/explorer/features.js";
import { drawRoom, makeGrid } from "../../locus/explorer/layout.js";
import { Locator } from "../../locus/explorer/locate.js";
import { logPosterior } from "../../locus/explorer/methods.js";
import { receive } from "../../locus/explorer/observation.js";
import { PathSet } from "../../locus/explorer/path_set.js";
import { takeRow } from "../../locus/explorer/paths.js";
import { makeRadio } from "../../locus/explorer/radio.js";
import { Random } from "../../locus/explorer/random.js";
import { logLikelihoods } from "../../locus/explorer/sync_offset.js";
import { Twin } from "../../locus/explorer/twin.js";
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
 */

/**
 * @typedef {object} Given
 * @property {import("../../locus/explorer/locate.js").Settings} settings
 * @property {Record<string, Method>} methods
 * @property {Scene[]} scenes
 * @property {number} wide paths a candidate that no candidate has
 * @property {{window: number, re: number[][], im: number[][], energies: number[]}[]} filtered outputs of filters
 * @property {PathSetCase[]} path_sets
 * @property {{method: string, seed: number}[]} looks requests of the page
 */

/** @type {Given} */
const { settings, methods, scenes, wide: maxWide, filtered, path_sets: cases, looks } = JSON.parse(readFileSync(0, "utf8"));
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

/** @param {PathSetCase} one */
function compareSets({ radio: settings, path_set: description, spacing, paths, observed }) {
  const radio = makeRadio(settings, constants);
  const [traced, seen] = [paths, observed].map(toPaths);
  const scorer = new PathSet(description, constants);
  return Array.from({ length: seen.rows }, (_, row) => {
    /** @type {Parameters<PathSet["logLikelihoods"]>} */
    const given = [traced, takeRow(seen, row), radio, { spacing }];
    return { likelihood: [...scorer.logLikelihoods(...given)], posterior: [...scorer.logPosterior(...given)] };
  });
}

const locator = new Locator({ ...settings, methods });

/** @param {Given["looks"][number]} one */
function look({ method, seed }) {
  const { room, receiver, transmitter } = new World(settings, null, seed);
  const choices = { gridPoints: 11, depth: 2, numPaths: 6, powerChange: 0, seed, rays: false };
  const { observed, logPosterior: logs } = locator.locate({ room, receiver, transmitter, ...choices, method });
  return { snr: observed.map((path) => path.snr), posterior: [...logs].map(Math.exp) };
}

const seeds = Array.from({ length: 30 }, (_, i) => i);
const found = {
  scenes: scenes.map(compute),
  rooms: seeds.map(drawGrid),
  integrals: filtered.map(integrate),
  path_sets: cases.map(compareSets),
  looks: looks.map(look),
};
writeFileSync(1, JSON.stringify(found));
