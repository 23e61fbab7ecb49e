/** A wrong twin: a room, poses and the size of an error in, the room and the pose errors that the twin believes in out. */

import { boundsOf, shift } from "./geometry.js";
import { areApart, isFree, isInside } from "./layout.js";
import { modulo } from "./radio.js";
import { Random } from "./random.js";

/** Sizes per metre that can be chosen. An error that fits at all of them up to one fits on the way there. */
export const PER_METRE = 20;
export const MOST_ERROR = 1; // [m]
const [MOST_PLANS, MOST_POSITIONS] = [200, 50]; // that are drawn
const APART = Number.MIN_VALUE; // [m], any distance above zero

/**
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./twin.js").Pose} Pose
 */

/** @typedef {{room: Room, dx: number, dy: number, turn: number}} Belief a room, and what is added to every pose [m, rad] */
/** @typedef {{sides: number[], directions: number[]}} PlanDraw which way the sides move, outwards or inwards, and the obstacles [rad] */
/** @typedef {{direction: number, sign: number}} PoseDraw which way the position moves [rad] and the heading turns */
/** @typedef {{seed: number, heading_per_metre: number}} ErrorConstants seed of the directions, and error of the heading [rad/m] */

/**
 * What a twin with an error of a given size believes, as `locus.room.errors.everything` defines it: sides, obstacles and
 * position are off by `size`, the heading in proportion.
 *
 * Directions are drawn once and scaled; others are drawn only where these do not fit.
 * @param {Room} room
 * @param {Pose[]} poses which all share one error
 * @param {number} size [m]
 * @param {ErrorConstants} constants
 * @param {number} minDistance of a pose from a wall [m]
 * @returns {(Belief & {plan: PlanDraw, pose: PoseDraw}) | null} null if nothing fits into the room
 */
export function believe(room, poses, size, constants, minDistance) {
  const sizes = Array.from({ length: Math.round(size * PER_METRE) }, (_, i) => (i + 1) / PER_METRE);
  const random = new Random(constants.seed);
  const sign = () => (random.uniform() < 0.5 ? -1 : 1);
  const direction = () => random.uniform(0, 2 * Math.PI);
  /** @type {PoseDraw} */
  let pose = { direction: direction(), sign: sign() };
  for (let draw = 0; draw < MOST_PLANS; draw++) {
    const plan = { sides: [sign(), sign(), sign(), sign()], directions: room.obstacles.map(direction) };
    const rooms = sizes.map((one) => movePlan(room, plan, one));
    if (!rooms.every(fits)) continue;
    for (let attempt = 0; attempt < MOST_POSITIONS; attempt++) {
      const stands = rooms.every((wrong, i) => {
        const [dx, dy] = along(pose.direction, sizes[i]);
        return poses.every(({ x, y }) => isFree(wrong, x + dx, y + dy, minDistance));
      });
      if (stands) {
        const [dx, dy] = along(pose.direction, size);
        return { room: movePlan(room, plan, size), dx, dy, turn: pose.sign * constants.heading_per_metre * size, plan, pose };
      }
      pose = { ...pose, direction: direction() };
    }
  }
  return null;
}

/**
 * The pose that a twin believes in.
 * @param {Pose} pose
 * @param {Belief | null | undefined} belief
 * @returns {Pose}
 */
export function believedPose(pose, belief) {
  if (!belief) return pose;
  const heading = modulo(pose.heading + belief.turn + Math.PI, 2 * Math.PI) - Math.PI;
  return { x: pose.x + belief.dx, y: pose.y + belief.dy, heading };
}

/** @type {(direction: number, size: number) => [number, number]} */
const along = (direction, size) => [size * Math.cos(direction), size * Math.sin(direction)];

/**
 * @param {Room} room
 * @param {PlanDraw} plan
 * @param {number} size [m]
 * @returns {Room}
 */
function movePlan({ outline, obstacles, clearance }, { sides, directions }, size) {
  return {
    outline: { ...outline, corners: resize(outline.corners, sides.map((side) => side * size)) },
    obstacles: obstacles.map((one, i) => ({ ...one, corners: shift(one.corners, ...along(directions[i], size)) })),
    clearance,
  };
}

/**
 * An outline with its left, lower, right and upper side moved outwards by `steps` [m]; points between scale along.
 * @param {Polygon} corners
 * @param {number[]} steps
 * @returns {Polygon}
 */
function resize(corners, [left, low, right, high]) {
  const [x0, y0, x1, y1] = boundsOf(corners);
  const [wide, tall] = [(x1 - x0 + left + right) / (x1 - x0), (y1 - y0 + low + high) / (y1 - y0)];
  return corners.map(([x, y]) => [x0 - left + (x - x0) * wide, y0 - low + (y - y0) * tall]);
}

/**
 * Whether the obstacles lie in the room without touching.
 * @param {Room} room
 */
function fits(room) {
  const [x0, y0, x1, y1] = boundsOf(room.outline.corners);
  return (
    x1 > x0 && y1 > y0 &&
    room.obstacles.every(({ corners }, i) => {
      const earlier = room.obstacles.slice(0, i);
      return isInside(room, corners, APART) && earlier.every((other) => areApart(corners, other.corners, APART));
    })
  );
}
