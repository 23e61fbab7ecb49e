/** A pose in a scene: the true and the believed room in, paths that are heard there and paths that the twin expects out. */

import { believedPose } from "./believed.js";
import { isFree, makeGrid, wallsOf } from "./layout.js";
import { makePaths, replaceRow } from "./paths.js";
import { Twin } from "./twin.js";

/**
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./locate.js").Scene} Scene
 * @typedef {import("./locate.js").Settings} Settings
 * @typedef {import("./twin.js").Pose} Pose
 */

/**
 * Free points of the grid over the true room that are far enough from all poses.
 * @param {Pick<Scene, "room" | "gridPoints">} scene
 * @param {Pose[]} poses
 * @param {number} minDistance [m]
 */
export function makeCandidates({ room, gridPoints }, poses, minDistance) {
  const { points, spacing } = makeGrid(room, gridPoints);
  const apart = (/** @type {number} */ i) => poses.every(({ x, y }) => Math.hypot(points[i] - x, points[i + 1] - y) >= minDistance);
  return { points: points.filter((_, i) => apart(i - (i % 2))), spacing };
}

export class Sight {
  #world;
  #twin;
  #heading;
  #belief;
  #minDistance;

  /**
   * @param {Settings} settings
   * @param {Pick<Scene, "room" | "belief" | "depth">} scene
   * @param {Pose} pose the true one
   * @param {import("./radio.js").Radio} radio
   */
  constructor({ materials, constants, twin: options }, { room, belief, depth }, pose, radio) {
    const limits = { maxDepth: depth, maxPaths: options.max_paths, wallThickness: options.wall_thickness };
    /** Pose that the twin believes in. */
    this.pose = believedPose(pose, belief);
    /** Walls that the twin believes in. */
    this.plan = wallsOf(belief?.room ?? room, materials);
    this.#heading = pose.heading;
    this.#belief = belief;
    this.#minDistance = constants.room.min_distance;
    this.#twin = new Twin(this.plan, this.pose, limits, radio, constants.twin);
    this.#world = belief ? new Twin(wallsOf(room, materials), pose, limits, radio, constants.twin) : this.#twin;
  }

  /**
   * Paths over which a transmitter is truly heard, one row.
   * @param {Place} transmitter
   */
  hear({ x, y }) {
    return this.#world.trace(this.#heading, Float64Array.of(x, y));
  }

  /**
   * True rays of a transmitter.
   * @param {Place} transmitter
   */
  rays({ x, y }) {
    return this.#world.rays(this.#heading, x, y);
  }

  /**
   * Paths that the twin expects of candidates. Those that are impossible in a believed room, in its walls or on the receiver,
   * have none.
   * @param {Float64Array} candidates (candidate, 2) [m]
   */
  expect(candidates) {
    const paths = this.#twin.trace(this.pose.heading, candidates);
    if (!this.#belief) return paths;
    const none = makePaths(1, paths.width);
    for (let c = 0; c < paths.rows; c++) {
      if (!this.#isPossible(candidates[2 * c], candidates[2 * c + 1])) replaceRow(paths, c, none);
    }
    return paths;
  }

  /**
   * Rays that the twin expects of a place.
   * @param {number} x
   * @param {number} y
   */
  expectedRays(x, y) {
    return !this.#belief || this.#isPossible(x, y) ? this.#twin.rays(this.pose.heading, x, y) : [];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #isPossible(x, y) {
    const far = Math.hypot(x - this.pose.x, y - this.pose.y) >= this.#minDistance;
    return far && (!this.#belief || isFree(this.#belief.room, x, y, this.#minDistance));
  }
}
