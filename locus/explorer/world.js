/** What can be moved: a room, a receiver with its heading and a transmitter, and where each of them may go. */

import { boundsOf, contains, distanceToEdges, shift } from "./geometry.js";
import { drawObstacle, drawPoint, drawRoom, isFree, makeGrid, mayStand } from "./layout.js";
import { Random } from "./random.js";
import { modulo } from "./radio.js";

const APART = 1; // [m], least distance of transmitter and receiver
const TURN = (5 * Math.PI) / 180; // of the heading, at a key
const MOST_GRID_POINTS = 81;

/** Things are named `transmitter`, `receiver`, `heading`, `obstacle 1`, `obstacle 2` and so on. */
export class World {
  /**
   * @param {Record<string, any>} settings what `locus.explorer` exports of a run
   * @param {import("./layout.js").Room | null} given a room to use instead of random ones
   */
  constructor(settings, given = null) {
    this.settings = settings.room;
    this.constants = settings.constants.room;
    this.given = given;
  }

  /** Draw the room, unless it is given, the receiver and the transmitter. */
  reset(seed) {
    const random = new Random(seed);
    this.room = structuredClone(this.given) ?? drawRoom(random, this.settings, this.constants);
    const place = (accept) => {
      const point = drawPoint(this.room, random, accept);
      if (point === null) throw new RangeError("Expected a room with free space for a receiver and a transmitter");
      return point;
    };
    this.receiver = { ...place(), heading: random.uniform(-Math.PI, Math.PI) };
    this.transmitter = place((x, y) => Math.hypot(x - this.receiver.x, y - this.receiver.y) >= APART);
    this.selected = "transmitter";
    // As many candidates as the paper's grid has, also in a room that fills its bounding box less
    this.gridPoints = this.settings.grid_points;
    const tooFew = () => makeGrid(this.room, this.gridPoints).points.length / 2 < this.settings.min_feasible;
    while (this.gridPoints < MOST_GRID_POINTS && tooFew()) this.gridPoints++;
  }

  get bounds() {
    return boundsOf(this.room.outline.corners);
  }

  /** Length of the receiver's arrow [m]. */
  get reach() {
    const [x0, y0, x1, y1] = this.bounds;
    return 0.1 * Math.max(x1 - x0, y1 - y0);
  }

  /** Names of all things. */
  get things() {
    return ["transmitter", "receiver", "heading", ...this.room.obstacles.map((_, i) => `obstacle ${i + 1}`)];
  }

  /** Where a thing is: of an obstacle its first corner, of the heading the arrow's tip. */
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

  /** The thing at a place, or null; things that are points may be `reach` [m] away. */
  pick(x, y, reach) {
    const distance = (thing) => Math.hypot(this.positionOf(thing).x - x, this.positionOf(thing).y - y);
    const near = ["transmitter", "receiver", "heading"].filter((thing) => distance(thing) <= reach);
    if (near.length > 0) return near.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    const index = this.room.obstacles.findIndex(({ corners }) => contains(corners, x, y));
    return index < 0 ? null : `obstacle ${index + 1}`;
  }

  /** Move a thing to a place, or along one axis only where that is as far as it gets; returns whether it moved. */
  move(thing, x, y) {
    if (thing === "heading") {
      this.#turn(Math.atan2(y - this.receiver.y, x - this.receiver.x));
      return true;
    }
    const old = this.positionOf(thing);
    return [[x, y], [x, old.y], [old.x, y]].some((place) => this.#put(thing, ...place, old));
  }

  /** Move a thing by steps of a key; the heading turns instead. */
  nudge(thing, stepsX, stepsY, length) {
    if (thing === "heading") {
      this.#turn(this.receiver.heading + (stepsY - stepsX) * TURN * length);
      return true;
    }
    const { x, y } = this.positionOf(thing);
    return this.move(thing, x + stepsX * length, y + stepsY * length);
  }

  #turn(heading) {
    this.receiver = { ...this.receiver, heading: modulo(heading + Math.PI, 2 * Math.PI) - Math.PI };
  }

  #put(thing, x, y, old) {
    if (x === old.x && y === old.y) return false;
    if (thing === "transmitter" || thing === "receiver") {
      const other = this[thing === "transmitter" ? "receiver" : "transmitter"];
      if (!isFree(this.room, x, y) || Math.hypot(x - other.x, y - other.y) < APART) return false;
      this[thing] = { ...this[thing], x, y };
      return true;
    }
    const { obstacles } = this.room;
    const obstacle = obstacles[indexOf(thing)];
    const corners = shift(obstacle.corners, x - old.x, y - old.y);
    const others = obstacles.filter((other) => other !== obstacle);
    if (!mayStand(this.room, corners, others, [this.receiver, this.transmitter])) return false;
    this.room = { ...this.room, obstacles: obstacles.map((o) => (o === obstacle ? { ...o, corners } : o)) };
    return true;
  }

  /** Add an obstacle where there is space, and select it; returns false if there is none. */
  addObstacle(seed) {
    const random = new Random(seed);
    const [x0, y0, x1, y1] = this.bounds;
    const scale = Math.min(x1 - x0, y1 - y0) / this.settings.size;
    for (let draw = 0; draw < 500; draw++) {
      const obstacle = drawObstacle(this.room, random, this.settings, scale * (draw < 250 ? 1 : 0.5));
      const points = [this.receiver, this.transmitter];
      if (obstacle === null || points.some(({ x, y }) => covers(obstacle.corners, x, y, this.room.clearance))) continue;
      this.room = { ...this.room, obstacles: [...this.room.obstacles, obstacle] };
      this.selected = `obstacle ${this.room.obstacles.length}`;
      return true;
    }
    return false;
  }

  /** Remove the selected obstacle; returns false if none is. */
  removeObstacle() {
    const index = indexOf(this.selected);
    if (index < 0) return false;
    this.room = { ...this.room, obstacles: this.room.obstacles.filter((_, i) => i !== index) };
    this.selected = "transmitter";
    return true;
  }
}

/** Index of an obstacle, -1 of any other thing. */
export function indexOf(thing) {
  return thing.startsWith("obstacle ") ? Number(thing.slice("obstacle ".length)) - 1 : -1;
}

const covers = (corners, x, y, clearance) => contains(corners, x, y) || distanceToEdges(corners, x, y) < clearance;
