/** Rooms: a seed, or the outlines of a given room, in; walls, free space, candidates and poses out. */

import { boundsOf, contains, distanceToEdges, edgeGap, edgesOf, orient, quarterTurn, shift } from "./geometry.js";

const MOST_DRAWS = 10_000;

/**
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./random.js").Random} Random
 * @typedef {{x: number, y: number}} Place
 * @typedef {{corners: Polygon, material: string}} Shape
 * @typedef {{outline: Shape, obstacles: Shape[], clearance: number}} Room
 */

/**
 * @typedef {object} RoomSettings section `room` of a run's settings; lengths in metres
 * @property {number} size
 * @property {number} num_obstacles
 * @property {[number, number]} rectangle_side
 * @property {[number, number]} bent_side
 * @property {[number, number]} arm_thickness
 * @property {number} obstacle_gap
 * @property {number} wall_gap
 * @property {number} clearance
 * @property {number} grid_points
 * @property {number} min_feasible
 * @property {string} material
 */

/**
 * @typedef {object} RoomConstants
 * @property {number} min_distance smallest distance of a candidate from the receiver [m]
 * @property {number} shapes_per_obstacle largest number of shapes to draw per obstacle
 */

/**
 * Walls of a room, with free space on their left, their permittivities, and the index of the shape of each, 0 for the outline.
 * @param {Room} room
 * @param {Record<string, [number, number]>} permittivities
 * @returns {import("./twin.js").Walls & {polygon: number[]}}
 */
export function wallsOf(room, permittivities) {
  /** @type {number[]} */
  const walls = [];
  /** @type {[number, number][]} */
  const eta = [];
  /** @type {number[]} */
  const polygon = [];
  [room.outline, ...room.obstacles].forEach(({ corners, material }, i) => {
    for (const edge of edgesOf(orient(corners, i > 0))) {
      walls.push(...edge);
      eta.push(permittivities[material]);
      polygon.push(i);
    }
  });
  return { walls: Float64Array.from(walls), eta, polygon };
}

/**
 * Whether a point lies in free space, at least `clearance` from every wall.
 * @param {Room} room
 * @param {number} x
 * @param {number} y
 */
export function isFree(room, x, y, clearance = room.clearance) {
  return (
    contains(room.outline.corners, x, y) &&
    distanceToEdges(room.outline.corners, x, y) >= clearance &&
    room.obstacles.every(({ corners }) => !contains(corners, x, y) && distanceToEdges(corners, x, y) >= clearance)
  );
}

/**
 * Every feasible point of a regular grid over the room's bounding box.
 * @param {Room} room
 * @param {number} numPoints per axis
 * @returns {{points: Float64Array, spacing: [number, number]}} points (point, 2)
 */
export function makeGrid(room, numPoints) {
  const [x0, y0, x1, y1] = boundsOf(room.outline.corners);
  /** @type {[number, number]} */
  const spacing = [(x1 - x0) / (numPoints - 1), (y1 - y0) / (numPoints - 1)];
  const points = [];
  for (let i = 0; i < numPoints; i++) {
    for (let j = 0; j < numPoints; j++) {
      const [x, y] = [x0 + i * spacing[0], y0 + j * spacing[1]];
      if (isFree(room, x, y)) points.push(x, y);
    }
  }
  return { points: Float64Array.from(points), spacing };
}

/**
 * Index of the point nearest to a position.
 * @param {Float64Array} points (point, 2)
 * @param {Place} place
 */
export function nearest(points, { x, y }) {
  let [best, least] = [0, Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const distance = Math.hypot(points[i] - x, points[i + 1] - y);
    if (distance < least) [best, least] = [i / 2, distance];
  }
  return best;
}

/**
 * Draw a random point in free space; null if none is found.
 * @param {Room} room
 * @param {Random} random
 * @param {(x: number, y: number) => boolean} accept
 * @returns {Place | null}
 */
export function drawPoint(room, random, accept = () => true) {
  const [x0, y0, x1, y1] = boundsOf(room.outline.corners);
  for (let i = 0; i < MOST_DRAWS; i++) {
    const [x, y] = [random.uniform(x0, x1), random.uniform(y0, y1)];
    if (isFree(room, x, y) && accept(x, y)) return { x, y };
  }
  return null;
}

/**
 * Draw a room as in Sec. III-A: a square with rectangular, L- and T-shaped obstacles.
 * @param {Random} random
 * @param {RoomSettings} settings
 * @param {RoomConstants} constants
 * @returns {Room}
 */
export function drawRoom(random, settings, constants) {
  const { size, material, clearance } = settings;
  /** @type {Shape} */
  const outline = { corners: [[0, 0], [size, 0], [size, size], [0, size]], material };
  for (let i = 0; i < MOST_DRAWS; i++) {
    /** @type {Room} */
    const room = { outline, obstacles: [], clearance };
    const mostShapes = constants.shapes_per_obstacle * settings.num_obstacles;
    for (let draw = 0; draw < mostShapes && room.obstacles.length < settings.num_obstacles; draw++) {
      const obstacle = drawObstacle(room, random, settings);
      if (obstacle) room.obstacles.push(obstacle);
    }
    const complete = room.obstacles.length === settings.num_obstacles;
    if (complete && makeGrid(room, settings.grid_points).points.length / 2 >= settings.min_feasible) return room;
  }
  throw new RangeError(`Expected 'room' settings that a layout can meet, got none in ${MOST_DRAWS} draws`);
}

/**
 * Draw one more obstacle for a room; null if it violates the minimum distances.
 * @param {Room} room
 * @param {Random} random
 * @param {RoomSettings} settings
 * @returns {Shape | null}
 */
export function drawObstacle(room, random, settings, scale = 1) {
  /** @type {Polygon} */
  let corners = drawShape(random, settings).map(([x, y]) => [scale * x, scale * y]);
  for (let turns = random.integer(4); turns > 0; turns--) corners = quarterTurn(corners);
  const [x0, y0, x1, y1] = boundsOf(corners);
  const [left, bottom, right, top] = boundsOf(room.outline.corners);
  const gap = scale * settings.wall_gap;
  const [lowX, highX, lowY, highY] = [left + gap - x0, right - gap - x1, bottom + gap - y0, top - gap - y1];
  if (highX < lowX || highY < lowY) return null;
  const placed = shift(corners, random.uniform(lowX, highX), random.uniform(lowY, highY));
  const apart = room.obstacles.every((other) => areApart(placed, other.corners, scale * settings.obstacle_gap));
  if (!apart || !isInside(room, placed, gap)) return null;
  return { corners: placed, material: room.outline.material };
}

/**
 * Draw a rectangle, an L or a T with equal probability; the lower left corner of its bounding box is the origin.
 * @param {Random} random
 * @param {RoomSettings} settings
 * @returns {Polygon}
 */
function drawShape(random, settings) {
  const kind = random.integer(3);
  if (kind === 0) {
    const [w, h] = [random.uniform(...settings.rectangle_side), random.uniform(...settings.rectangle_side)];
    return [[0, 0], [w, 0], [w, h], [0, h]];
  }
  const [w, h] = [random.uniform(...settings.bent_side), random.uniform(...settings.bent_side)];
  const [foot, stem] = [random.uniform(...settings.arm_thickness), random.uniform(...settings.arm_thickness)];
  if (kind === 1) return [[0, 0], [w, 0], [w, foot], [stem, foot], [stem, h], [0, h]];
  const [a, b] = [(w - stem) / 2, (w + stem) / 2];
  return [[0, 0], [w, 0], [w, foot], [b, foot], [b, h], [a, h], [a, foot], [0, foot]];
}

/**
 * Whether an obstacle fits: inside the room, apart from the others, and clear of the given points.
 * @param {Room} room
 * @param {Polygon} corners
 * @param {Shape[]} others
 * @param {Place[]} points
 */
export function mayStand(room, corners, others, points) {
  const gap = 2 * room.clearance;
  return (
    isInside(room, corners, gap) &&
    others.every((other) => areApart(corners, other.corners, gap)) &&
    points.every(({ x, y }) => !contains(corners, x, y) && distanceToEdges(corners, x, y) >= room.clearance)
  );
}

/** @type {(a: Polygon, b: Polygon, gap: number) => boolean} */
export const areApart = (a, b, gap) => edgeGap(a, b) >= gap && !contains(a, ...b[0]) && !contains(b, ...a[0]);

/**
 * Whether a shape lies in the room's outline, at least `gap` from it.
 * @param {Room} room
 * @param {Polygon} corners
 * @param {number} gap
 */
export function isInside(room, corners, gap) {
  const outline = room.outline.corners;
  return corners.every(([x, y]) => contains(outline, x, y)) && edgeGap(corners, outline) >= gap;
}
