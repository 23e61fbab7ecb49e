/** One evaluation of a scene: a room, a receiver and a transmitter in; a snapshot, its paths and a posterior out. */

import { estimate } from "./estimator.js";
import { makeGrid, wallsOf } from "./layout.js";
import { PATH_SET, logPosterior } from "./methods.js";
import { observe } from "./observation.js";
import { PathSet } from "./path_set.js";
import { copyPaths, replaceRow, takeRow } from "./paths.js";
import { makeRadio, snrDb } from "./radio.js";
import { Random } from "./random.js";
import { summarise } from "./summary.js";
import { Twin } from "./twin.js";

/**
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./paths.js").Paths} Paths
 * @typedef {import("./radio.js").Radio} Radio
 * @typedef {import("./twin.js").Pose} Pose
 */

/**
 * @typedef {object} Settings settings of a run, exported by `locus.explorer`
 * @property {string} run
 * @property {import("./layout.js").RoomSettings} room
 * @property {import("./radio.js").RadioSettings} radio
 * @property {import("./estimator.js").EstimatorOptions} estimator
 * @property {{max_depth: number, max_paths: number, wall_thickness: number}} twin
 * @property {Record<string, [number, number]>} materials complex relative permittivity by name
 * @property {Record<string, import("./methods.js").Method>} methods trained methods
 * @property {import("./path_set.js").Description} path_set
 * @property {Constants} constants
 */

/**
 * @typedef {object} Constants constants that these modules share with the package
 * @property {number} speed_of_light
 * @property {number} boltzmann
 * @property {import("./layout.js").RoomConstants} room
 * @property {import("./twin.js").TwinConstants} twin
 * @property {import("./estimator.js").FitConstants} fit
 * @property {import("./baselines.js").DensityConstants} density
 * @property {import("./path_arrays.js").PathSetConstants} path_set
 * @property {import("./sync_offset.js").SyncOffsetConstants} sync_offset
 * @property {number} near distance [m] from the transmitter within which posterior mass is counted
 * @property {number} floor relative log posterior [nat] at the dark end of the colour map
 * @property {{receiver: string, transmitter: string}} colours
 */

/**
 * @typedef {object} Scene
 * @property {Room} room
 * @property {Pose} receiver
 * @property {Place} transmitter
 * @property {number} gridPoints grid points per axis, of which only those in free space are candidates
 * @property {number} depth largest number of reflections of a path
 * @property {number} numPaths number of strongest paths to estimate and compare
 * @property {number} powerChange transmit power relative to the run's [dB]
 * @property {number} seed seed of noise, sync offset and carrier phase
 * @property {string} method name of a trained method, `path_set` or `bayes`
 * @property {boolean} rays whether to return the transmitter's rays
 */

/** @typedef {ReturnType<Locator["locate"]>} Look what is seen of a scene */
/** @typedef {ReturnType<typeof makeGrid>} Grid */

export class Locator {
  #settings;
  #pathSet;
  /** @type {Map<number, {key: string, twin: Twin, grid: Grid, traced: Paths}>} */
  #libraries = new Map(); // the latest one per grid, as coarse and fine grids alternate

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.#pathSet = new PathSet(settings.path_set, settings.constants);
    for (const { weights } of Object.values(settings.methods)) {
      for (const tensor of Object.values(weights)) tensor.values = Float64Array.from(tensor.values);
    }
  }

  /** @param {Scene} scene */
  locate(scene) {
    const start = performance.now();
    const { constants, methods } = this.#settings;
    const radio = makeRadio(this.#settings.radio, constants, scene.powerChange);
    const { twin, grid, traced } = this.#prepare(scene, radio);
    const { receiver, transmitter, numPaths } = scene;
    const truth = nearest(grid.points, transmitter);
    // As in the paper, the true position is a candidate: it replaces the nearest point of the grid.
    const candidates = grid.points.slice();
    candidates.set([transmitter.x, transmitter.y], 2 * truth);
    const paths = copyPaths(traced);
    replaceRow(paths, truth, twin.trace(receiver.heading, candidates.subarray(2 * truth, 2 * truth + 2)));
    const iq = observe(takeRow(paths, truth), radio, new Random(scene.seed));
    const { estimator } = scene.method === PATH_SET ? this.#pathSet : this.#settings;
    const observed = estimate(iq, { ...estimator, num_paths: numPaths }, radio, constants.fit);
    const evidence = { candidates, paths, iq, observed, pose: receiver, radio, numPaths };
    const logs = logPosterior({ ...methods, [PATH_SET]: this.#pathSet }, scene.method, evidence, constants);
    const summary = summarise(logs, candidates, transmitter, constants.near);
    return {
      points: grid.points,
      spacing: grid.spacing,
      logPosterior: logs,
      ...summary,
      observed: listPaths(observed, 0, radio, numPaths),
      predicted: listPaths(paths, summary.best, radio, numPaths),
      rays: scene.rays ? twin.rays(receiver.heading, transmitter.x, transmitter.y) : [],
      milliseconds: performance.now() - start,
    };
  }

  /**
   * The twin and the traced grid, which are reused while only the transmitter moves.
   * @param {Scene} scene
   * @param {Radio} radio
   */
  #prepare({ room, receiver, depth, gridPoints }, radio) {
    const key = JSON.stringify([room, receiver, depth, gridPoints]);
    const known = this.#libraries.get(gridPoints);
    if (known?.key === key) return known;
    const { materials, constants, twin: options } = this.#settings;
    const { points, spacing } = makeGrid(room, gridPoints);
    const apart = (/** @type {number} */ i) => Math.hypot(points[i] - receiver.x, points[i + 1] - receiver.y);
    const grid = { points: points.filter((_, i) => apart(i - (i % 2)) >= constants.room.min_distance), spacing };
    const limits = { maxDepth: depth, maxPaths: options.max_paths, wallThickness: options.wall_thickness };
    const twin = new Twin(wallsOf(room, materials), receiver, limits, radio, constants.twin);
    const library = { key, twin, grid, traced: twin.trace(receiver.heading, grid.points) };
    this.#libraries.set(gridPoints, library);
    return library;
  }
}

/**
 * Index of the point nearest to a position.
 * @param {Float64Array} points (point, 2)
 * @param {Place} place
 */
function nearest(points, { x, y }) {
  let [best, least] = [0, Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const distance = Math.hypot(points[i] - x, points[i + 1] - y);
    if (distance < least) [best, least] = [i / 2, distance];
  }
  return best;
}

/**
 * Angle [rad] and SNR [dB] of the strongest paths of a row.
 * @param {Paths} paths
 * @param {number} row
 * @param {Radio} radio
 * @param {number} count at most
 */
function listPaths(paths, row, radio, count) {
  const found = [];
  for (let p = row * paths.width; p < (row + 1) * paths.width && paths.order[p] >= 0 && found.length < count; p++) {
    found.push({ aoa: paths.aoa[p], snr: snrDb(paths.gainRe[p] ** 2 + paths.gainIm[p] ** 2, radio) });
  }
  return found;
}
