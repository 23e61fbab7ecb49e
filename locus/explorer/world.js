/** The world: a room, a receiver with its heading and a transmitter, and the rules for moving each of them. */

import { believe } from "./believed.js";
import { boundsOf, contains, distanceToEdges, shift } from "./geometry.js";
import { drawObstacle, drawPoint, drawRoom, isFree, makeGrid, mayStand } from "./layout.js";
import { Random } from "./random.js";
import { modulo } from "./radio.js";

const APART = 1; // [m], smallest distance between transmitter and receiver
const ROUNDED = 0.015; // [m], by which things may be closer in an address, which keeps centimetres
const TURN = (5 * Math.PI) / 180; // [rad], turn of the heading per key press
const MOST_GRID_POINTS = 81;
/** Largest number of snapshots of a walk. */
export const MOST_SNAPSHOTS = 20;

/**
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./locate.js").Settings} Settings
 * @typedef {import("./twin.js").Pose} Pose
 */

/** Objects ("things") are named `transmitter`, `receiver`, `heading`, `obstacle 1`, `obstacle 2` and so on. */
export class World {
  /** @type {Pose[]} */
  walk = []; // poses of the snapshots; none if the reader does not walk
  error = 0; // of the twin [m]
  /** @type {{of: unknown[], belief: import("./believed.js").Belief | null} | null} */
  #believed = null;

  /**
   * @param {Settings} settings
   * @param {Room | null} given a room to use instead of random ones
   * @param {number} seed
   */
  constructor(settings, given, seed) {
    this.settings = settings;
    this.given = given;
    const { room, receiver, transmitter, gridPoints, selected } = drawThings(settings, given, seed);
    this.room = room;
    this.receiver = receiver;
    this.transmitter = transmitter;
    this.gridPoints = gridPoints; // per axis
    this.selected = selected;
  }

  /**
   * Draw a random room, unless one is given, and random positions of receiver and transmitter.
   * @param {number} seed
   */
  reset(seed) {
    this.enter(this.given, seed);
  }

  /**
   * Show a given room, positions, walk and error of the twin; the room's own grid is chosen anew.
   * @param {{room: Room, receiver: Pose, transmitter: Place, walk: Pose[], error: number}} scene
   * @throws {RangeError} receiver or transmitter do not stand in its free space
   */
  show({ room, receiver, transmitter, walk, error }) {
    const near = (/** @type {Place} */ { x, y }) => Math.hypot(x - transmitter.x, y - transmitter.y) < APART - ROUNDED;
    const free = (/** @type {Place} */ { x, y }) => isFree(room, x, y, room.clearance - ROUNDED);
    const poses = [receiver, ...walk];
    if (![transmitter, ...poses].every(free) || poses.some(near)) {
      throw new RangeError(`Expected receiver and transmitter in free space, at least ${APART} m apart`);
    }
    if (walk.length > MOST_SNAPSHOTS) throw new RangeError(`Expected at most ${MOST_SNAPSHOTS} snapshots, got ${walk.length}`);
    const gridPoints = gridPointsOf(room, this.settings.room);
    Object.assign(this, { room, receiver, transmitter, gridPoints, selected: "transmitter", walk, error });
  }

  /**
   * Show a given room, or a random one, with random positions in it; a walk begins anew.
   * @param {Room | null} room
   * @param {number} seed
   */
  enter(room, seed) {
    Object.assign(this, drawThings(this.settings, room, seed));
    if (this.walk.length > 0) this.setOut();
  }

  /** Begin a walk, with a snapshot at the receiver's pose. */
  setOut() {
    this.walk = [];
    this.listen();
  }

  /** Add a snapshot at the receiver's pose, rounded so that addresses stay short; returns whether there may be another. */
  listen() {
    if (this.walk.length >= MOST_SNAPSHOTS) return false;
    const { x, y, heading } = this.receiver;
    const [a, b, degrees] = [x, y, (heading * 180) / Math.PI].map((value) => Number(value.toFixed(2)));
    this.walk = [...this.walk, (this.receiver = { x: a, y: b, heading: (degrees * Math.PI) / 180 })];
    return true;
  }

  /** Take back the last snapshot but the first, and return to the pose before; returns whether there was one. */
  goBack() {
    const before = this.walk.at(-2);
    if (!before) return false;
    this.receiver = before;
    this.walk = this.walk.slice(0, -1);
    return true;
  }

  /** Whether the receiver stands elsewhere than at the last snapshot of its walk. */
  get strays() {
    const [last, { x, y, heading }] = [this.walk.at(-1), this.receiver];
    return last !== undefined && (last.x !== x || last.y !== y || last.heading !== heading);
  }

  /** What the twin believes instead of the truth; null if it is exact, or must be as no such error fits into the room. */
  get belief() {
    const { room, receiver, walk, error } = this;
    const of = [room, receiver, walk, error];
    if (!this.#believed?.of.every((one, i) => one === of[i])) {
      const { errors, room: common } = this.settings.constants;
      const belief = error > 0 ? believe(room, [receiver, ...walk], error, errors, common.min_distance) : null;
      this.#believed = { of, belief };
    }
    return this.#believed?.belief ?? null;
  }

  get bounds() {
    return boundsOf(this.room.outline.corners);
  }

  /** Length of the receiver's arrow [m]. */
  get reach() {
    const [x0, y0, x1, y1] = this.bounds;
    return 0.1 * Math.max(x1 - x0, y1 - y0);
  }

  /** Names of all objects. */
  get things() {
    return ["transmitter", "receiver", "heading", ...this.room.obstacles.map((_, i) => `obstacle ${i + 1}`)];
  }

  /**
   * Position of an object: the first corner of an obstacle, the arrow's tip for the heading.
   * @param {string} thing
   * @returns {Place}
   */
  positionOf(thing) {
    const { transmitter, receiver, reach } = this;
    if (thing === "transmitter") return { x: transmitter.x, y: transmitter.y };
    if (thing === "receiver") return { x: receiver.x, y: receiver.y };
    if (thing === "heading") {
      return { x: receiver.x + reach * Math.cos(receiver.heading), y: receiver.y + reach * Math.sin(receiver.heading) };
    }
    const [x, y] = this.room.obstacles[indexOf(thing)].corners[0];
    return { x, y };
  }

  /**
   * The object at a position, or null; point-like objects may be up to `reach` [m] away.
   * @param {number} x
   * @param {number} y
   * @param {number} reach
   */
  pick(x, y, reach) {
    const distance = (/** @type {string} */ thing) => Math.hypot(this.positionOf(thing).x - x, this.positionOf(thing).y - y);
    const near = ["transmitter", "receiver", "heading"].filter((thing) => distance(thing) <= reach);
    if (near.length > 0) return near.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    const index = this.room.obstacles.findIndex(({ corners }) => contains(corners, x, y));
    return index < 0 ? null : `obstacle ${index + 1}`;
  }

  /**
   * Move an object to a position, or along one axis if only that is possible; returns whether it moved.
   * @param {string} thing
   * @param {number} x
   * @param {number} y
   */
  move(thing, x, y) {
    if (thing === "heading") {
      this.#turn(Math.atan2(y - this.receiver.y, x - this.receiver.x));
      return true;
    }
    const old = this.positionOf(thing);
    return this.#put(thing, x, y, old) || this.#put(thing, x, old.y, old) || this.#put(thing, old.x, y, old);
  }

  /**
   * Move an object by the step of a key press; the heading turns instead.
   * @param {string} thing
   * @param {number} stepsX
   * @param {number} stepsY
   * @param {number} length
   */
  nudge(thing, stepsX, stepsY, length) {
    if (thing === "heading") {
      this.#turn(this.receiver.heading + (stepsY - stepsX) * TURN * length);
      return true;
    }
    const { x, y } = this.positionOf(thing);
    return this.move(thing, x + stepsX * length, y + stepsY * length);
  }

  /** @param {number} heading */
  #turn(heading) {
    this.receiver = { ...this.receiver, heading: modulo(heading + Math.PI, 2 * Math.PI) - Math.PI };
  }

  /**
   * Place an object at a position if it may be there; returns whether it moved.
   * @param {string} thing
   * @param {number} x
   * @param {number} y
   * @param {Place} old
   */
  #put(thing, x, y, old) {
    if (x === old.x && y === old.y) return false;
    if (thing === "transmitter" || thing === "receiver") {
      const others = thing === "transmitter" ? [this.receiver, ...this.walk] : [this.transmitter];
      if (!isFree(this.room, x, y) || others.some((other) => Math.hypot(x - other.x, y - other.y) < APART)) return false;
      if (thing === "transmitter") this.transmitter = { x, y };
      else this.receiver = { ...this.receiver, x, y };
      return true;
    }
    const { obstacles } = this.room;
    const obstacle = obstacles[indexOf(thing)];
    const corners = shift(obstacle.corners, x - old.x, y - old.y);
    const others = obstacles.filter((other) => other !== obstacle);
    if (!mayStand(this.room, corners, others, [this.receiver, this.transmitter, ...this.walk])) return false;
    this.room = { ...this.room, obstacles: obstacles.map((o) => (o === obstacle ? { ...o, corners } : o)) };
    return true;
  }

  /**
   * Add an obstacle where there is space, and select it; returns false if there is no space.
   * @param {number} seed
   */
  addObstacle(seed) {
    const random = new Random(seed);
    const [x0, y0, x1, y1] = this.bounds;
    const scale = Math.min(x1 - x0, y1 - y0) / this.settings.room.size;
    for (let draw = 0; draw < 500; draw++) {
      const obstacle = drawObstacle(this.room, random, this.settings.room, scale * (draw < 250 ? 1 : 0.5));
      const points = [this.receiver, this.transmitter, ...this.walk];
      if (obstacle === null || points.some(({ x, y }) => covers(obstacle.corners, x, y, this.room.clearance))) continue;
      this.room = { ...this.room, obstacles: [...this.room.obstacles, obstacle] };
      this.selected = `obstacle ${this.room.obstacles.length}`;
      return true;
    }
    return false;
  }

  /** Remove the selected obstacle; returns false if none is selected. */
  removeObstacle() {
    const index = indexOf(this.selected);
    if (index < 0) return false;
    this.room = { ...this.room, obstacles: this.room.obstacles.filter((_, i) => i !== index) };
    this.selected = "transmitter";
    return true;
  }
}

/**
 * Draw the contents of a new world: room, receiver, transmitter and grid size.
 * @param {Settings} settings
 * @param {Room | null} given
 * @param {number} seed
 */
function drawThings({ room: settings, constants }, given, seed) {
  const random = new Random(seed);
  const room = structuredClone(given) ?? drawRoom(random, settings, constants.room);
  /** @type {(accept?: (x: number, y: number) => boolean) => Place} */
  const place = (accept) => {
    const point = drawPoint(room, random, accept);
    if (point === null) throw new RangeError("Expected a room with free space for a receiver and a transmitter");
    return point;
  };
  const receiver = { ...place(), heading: random.uniform(-Math.PI, Math.PI) };
  const transmitter = place((x, y) => Math.hypot(x - receiver.x, y - receiver.y) >= APART);
  return { room, receiver, transmitter, gridPoints: gridPointsOf(room, settings), selected: "transmitter" };
}

/**
 * Grid points per axis that keep the number of candidates of the paper's grid, also in a room that fills less of its
 * bounding box.
 * @param {Room} room
 * @param {import("./layout.js").RoomSettings} settings
 */
function gridPointsOf(room, settings) {
  let gridPoints = settings.grid_points;
  const tooFew = () => makeGrid(room, gridPoints).points.length / 2 < settings.min_feasible;
  while (gridPoints < MOST_GRID_POINTS && tooFew()) gridPoints++;
  return gridPoints;
}

/**
 * Index of an obstacle; -1 for any other object.
 * @param {string} thing
 */
export function indexOf(thing) {
  return thing.startsWith("obstacle ") ? Number(thing.slice("obstacle ".length)) - 1 : -1;
}

/** @type {(corners: Polygon, x: number, y: number, clearance: number) => boolean} */
const covers = (corners, x, y, clearance) => contains(corners, x, y) || distanceToEdges(corners, x, y) < clearance;
