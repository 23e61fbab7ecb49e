/** One evaluation of a scene: a room, a receiver and a transmitter in; a snapshot, its paths and a posterior out. */

import { estimate } from "./estimator.js";
import { nearest } from "./layout.js";
import { PATH_SET, logPosterior } from "./methods.js";
import { observe } from "./observation.js";
import { PathSet } from "./path_set.js";
import { copyPaths, listPaths, replaceRow } from "./paths.js";
import { makeRadio } from "./radio.js";
import { Random } from "./random.js";
import { Sight, makeCandidates } from "./sight.js";
import { smallestSet, summarise } from "./summary.js";
import { Walks, seedOf } from "./walk_scene.js";

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
 * @property {import("./walk_terms.js").WalkConstants} walk
 * @property {number} first_room seed of the room that the page opens with
 * @property {import("./believed.js").ErrorConstants} errors
 * @property {number} near distance [m] from the transmitter within which posterior mass is counted
 * @property {import("./posterior.js").MapConstants} map
 * @property {{receiver: string, transmitter: string, solid: string}} colours
 */

/**
 * @typedef {object} Scene
 * @property {Room} room
 * @property {import("./believed.js").Belief | null} [belief] what the twin believes instead, if it is wrong
 * @property {Pose} receiver
 * @property {Place} transmitter
 * @property {number} gridPoints grid points per axis, of which only those in free space are candidates
 * @property {number} depth largest number of reflections of a path
 * @property {number} numPaths number of strongest paths to estimate and compare
 * @property {number} powerChange transmit power relative to the run's [dB]
 * @property {number} seed seed of noise, sync offset and carrier phase
 * @property {string} method name of a trained method, `path_set` or `bayes`
 * @property {boolean} rays whether to return the transmitter's rays
 * @property {string[]} [beside] further methods, to be shown beside the first
 */

/** @typedef {ReturnType<Locator["locate"]>} Look what is seen of a scene */
/** @typedef {ReturnType<Locator["inspect"]>} Inspected what the twin predicts of a place */
/** @typedef {ReturnType<typeof makeCandidates>} Grid */
/** @typedef {Look & {headings: import("./walk_compass.js").HeadingError[]}} WalkLook what is seen after a walk, and the compass errors on the way */

export class Locator {
  #settings;
  #pathSet;
  #walks;
  /** @type {Map<number, {key: string, sight: Sight, grid: Grid, expected: Paths}>} */
  #libraries = new Map(); // the latest one per grid, as coarse and fine grids alternate

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.#pathSet = new PathSet(settings.path_set, settings.constants);
    this.#walks = new Walks(settings);
    for (const { weights } of Object.values(settings.methods)) {
      for (const tensor of Object.values(weights)) tensor.values = Float64Array.from(tensor.values);
    }
  }

  /**
   * What the twin predicts of the candidate nearest to a place.
   * @param {Scene} scene
   * @param {Place} at
   */
  inspect(scene, at) {
    const radio = makeRadio(this.#settings.radio, this.#settings.constants, scene.powerChange);
    const { sight, grid, expected } = this.#prepare(scene, radio);
    const candidate = nearest(grid.points, at);
    const [x, y] = grid.points.subarray(2 * candidate, 2 * candidate + 2);
    const predicted = listPaths(expected, candidate, radio, scene.numPaths);
    return { candidate, x, y, rays: sight.expectedRays(x, y), predicted };
  }

  /** @param {Scene} scene */
  locate(scene) {
    const start = performance.now();
    const { constants, methods } = this.#settings;
    const radio = makeRadio(this.#settings.radio, constants, scene.powerChange);
    const { sight, grid, expected } = this.#prepare(scene, radio);
    const { transmitter, numPaths } = scene;
    const truth = nearest(grid.points, transmitter);
    // As in the paper, the true position is a candidate: it replaces the nearest point of the grid.
    const candidates = grid.points.slice();
    candidates.set([transmitter.x, transmitter.y], 2 * truth);
    const paths = copyPaths(expected);
    replaceRow(paths, truth, sight.expect(candidates.subarray(2 * truth, 2 * truth + 2)));
    const iq = observe(sight.hear(transmitter), radio, new Random(scene.seed));
    /** @type {Map<boolean, Paths>} */
    const estimates = new Map(); // the path set has an estimator of its own
    const estimated = (/** @type {boolean} */ own) => {
      const known = estimates.get(own);
      if (known) return known;
      const { estimator } = own ? this.#pathSet : this.#settings;
      const found = estimate(iq, { ...estimator, num_paths: numPaths }, radio, constants.fit);
      estimates.set(own, found);
      return found;
    };
    const judge = (/** @type {string} */ method) => {
      const observed = estimated(method === PATH_SET);
      const evidence = { candidates, paths, iq, observed, pose: sight.pose, radio, numPaths };
      const logs = logPosterior({ ...methods, [PATH_SET]: this.#pathSet }, method, evidence, constants);
      const set = smallestSet(logs, constants.map.credible_mass, constants.map.rounding);
      const summary = summarise(logs, candidates, transmitter, constants.near);
      return { method, points: grid.points, spacing: grid.spacing, logPosterior: logs, set, ...summary };
    };
    const shown = judge(scene.method);
    return {
      ...shown,
      observed: listPaths(estimated(scene.method === PATH_SET), 0, radio, numPaths),
      predicted: listPaths(paths, shown.best, radio, numPaths),
      rays: scene.rays ? sight.rays(transmitter) : [],
      beside: (scene.beside ?? []).map(judge),
      milliseconds: performance.now() - start,
    };
  }

  /**
   * What is seen after all snapshots of a walk, with the likelihood of path sets. Each call of `next` computes one snapshot.
   * Further methods judge the last snapshot alone.
   * @param {Scene} scene
   * @param {Pose[]} poses
   * @returns {Generator<number, WalkLook>}
   */
  *walk(scene, poses) {
    const start = performance.now();
    const steps = yield* this.#walks.follow(scene, poses);
    const beside = scene.beside ?? [];
    const last = poses.length - 1;
    const alone = { ...scene, receiver: poses[last], seed: seedOf(scene.seed, last), method: beside[0] ?? PATH_SET };
    const seen = scene.rays || beside.length > 0 ? this.locate({ ...alone, beside: beside.slice(1) }) : null;
    const { rays = [], beside: others = [] } = seen ?? {};
    return {
      ...{ ...steps[last], method: PATH_SET, rays },
      headings: steps.map(({ heading }) => heading),
      beside: seen && beside.length > 0 ? [seen, ...others] : [],
      milliseconds: performance.now() - start,
    };
  }

  /**
   * Both rooms from the receiver's pose and the expected paths of the grid, which are reused while only the transmitter moves.
   * @param {Scene} scene
   * @param {Radio} radio
   */
  #prepare(scene, radio) {
    const { room, belief, receiver, depth, gridPoints } = scene;
    const key = JSON.stringify([room, belief, receiver, depth, gridPoints]);
    const known = this.#libraries.get(gridPoints);
    if (known?.key === key) return known;
    const grid = makeCandidates(scene, [receiver], this.#settings.constants.room.min_distance);
    const sight = new Sight(this.#settings, scene, receiver, radio);
    const library = { key, sight, grid, expected: sight.expect(grid.points) };
    this.#libraries.set(gridPoints, library);
    return library;
  }
}
