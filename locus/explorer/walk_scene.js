/** A walk through a scene: a room, a still transmitter and poses in; the posterior after each snapshot out. */

import { estimate } from "./estimator.js";
import { nearest } from "./layout.js";
import { observe } from "./observation.js";
import { listPaths } from "./paths.js";
import { makeRadio } from "./radio.js";
import { Random } from "./random.js";
import { Sight, makeCandidates } from "./sight.js";
import { smallestSet, summarise } from "./summary.js";
import { Walk } from "./walk.js";

const SEEDS = 10_000; // that the page offers

/**
 * @typedef {import("./locate.js").Settings} Settings
 * @typedef {import("./twin.js").Pose} Pose
 * @typedef {Omit<import("./locate.js").Scene, "receiver" | "method" | "rays">} Way
 * @typedef {ReturnType<typeof listPaths>} Listed
 */

/**
 * @typedef {ReturnType<typeof makeCandidates> & ReturnType<typeof summarise> & {logPosterior: Float64Array,
 *   set: ReturnType<typeof smallestSet>, observed: Listed, predicted: Listed, heading: import("./walk_compass.js").HeadingError}} Step what is known after a snapshot
 */

/**
 * Seed of the noise of a snapshot, the scene's own for the first.
 * @param {number} seed
 * @param {number} step
 */
export const seedOf = (seed, step) => seed + SEEDS * step;

/**
 * Result of a computation in steps.
 * @template Result
 * @param {Generator<unknown, Result>} steps
 */
export function finish(steps) {
  let next = steps.next();
  while (!next.done) next = steps.next();
  return next.value;
}

/** Walks that were computed last, to which further snapshots are added. */
export class Walks {
  #settings;
  /** @type {Map<number, Fused>} */
  #latest = new Map(); // one per grid, as coarse and fine grids alternate

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /**
   * Compute the snapshots of a walk that are not known yet: one at each call of `next`, which tells how many are known.
   * @param {Way} scene
   * @param {Pose[]} poses
   * @returns {Generator<number, Step[]>} in the end, what is known after each snapshot
   */
  *follow(scene, poses) {
    let walk = this.#latest.get(scene.gridPoints);
    const fresh = new Fused(this.#settings, scene, poses);
    const known = walk && walk.key === fresh.key ? countSame(walk.poses, poses) : 0;
    if (walk && known === poses.length) return walk.steps.slice(0, known);
    if (!walk || known < walk.poses.length || walk.key !== fresh.key) walk = fresh;
    this.#latest.set(scene.gridPoints, walk);
    for (const pose of poses.slice(walk.poses.length)) {
      walk.add(pose);
      yield walk.poses.length;
    }
    return walk.steps.slice();
  }
}

/**
 * Number of poses with which both walks begin.
 * @param {Pose[]} one
 * @param {Pose[]} other
 */
function countSame(one, other) {
  const differs = one.findIndex((pose, i) => JSON.stringify(pose) !== JSON.stringify(other[i]));
  return differs < 0 ? one.length : differs;
}

/**
 * The snapshots of one walk so far. Candidates are the points of the grid that are far enough from all poses. As in a single
 * evaluation, the transmitter replaces the nearest one.
 */
class Fused {
  #settings;
  #scene;
  #radio;
  #grid;
  #truth;
  #candidates;
  /** @type {Walk | null} */
  #walk = null;
  /** @type {Pose[]} */
  poses = [];
  /** @type {Step[]} */
  steps = [];

  /**
   * @param {Settings} settings
   * @param {Way} scene
   * @param {Pose[]} poses all that are to be added
   */
  constructor(settings, scene, poses) {
    const { room, belief, transmitter, gridPoints, depth, numPaths, powerChange, seed } = scene;
    this.#settings = settings;
    this.#scene = scene;
    this.#radio = makeRadio(settings.radio, settings.constants, powerChange);
    this.#grid = makeCandidates(scene, poses, settings.constants.room.min_distance);
    this.#truth = nearest(this.#grid.points, transmitter);
    this.#candidates = this.#grid.points.slice();
    this.#candidates.set([transmitter.x, transmitter.y], 2 * this.#truth);
    const own = [room, belief, transmitter, gridPoints, depth, numPaths, powerChange, seed];
    /** What all of its results depend on, besides the poses. */
    this.key = JSON.stringify([...own, this.#candidates.length]);
  }

  /**
   * Listen at a pose.
   * @param {Pose} pose
   */
  add(pose) {
    const { constants, path_set: description } = this.#settings;
    const { transmitter, numPaths, seed } = this.#scene;
    const sight = new Sight(this.#settings, this.#scene, pose, this.#radio);
    this.#walk ??= new Walk(sight.plan, this.#candidates, description, this.#radio, constants);
    const iq = observe(sight.hear(transmitter), this.#radio, new Random(seedOf(seed, this.poses.length)));
    const observed = estimate(iq, { ...description.estimator, num_paths: numPaths }, this.#radio, constants.fit);
    const paths = sight.expect(this.#candidates);
    this.#walk.add(paths, observed, sight.pose, { numPaths });
    const logPosterior = this.#walk.logPosterior();
    const set = smallestSet(logPosterior, constants.map.credible_mass, constants.map.rounding);
    const summary = summarise(logPosterior, this.#candidates, transmitter, constants.near);
    this.poses.push(pose);
    this.steps.push({
      ...{ ...this.#grid, logPosterior, set, ...summary },
      observed: listPaths(observed, 0, this.#radio, numPaths),
      predicted: listPaths(paths, summary.best, this.#radio, numPaths),
      heading: this.#walk.headingError(),
    });
  }
}
