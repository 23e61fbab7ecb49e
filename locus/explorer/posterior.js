/** The look of a posterior: candidates on a grid in, coloured cells, the outline of their set and a window to magnify out. */

import { viridis } from "./colours.js";
import { contextOf } from "./canvas.js";
import { boundsOf } from "./geometry.js";

/**
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./locate.js").Look} Look
 * @typedef {{x: number, y: number, width: number}} Square its lower left corner and its side [m]
 */

/**
 * @typedef {object} MapConstants
 * @property {number} floor relative log posterior [nat] at the dark end of the colour map
 * @property {number} credible_mass share of the posterior in the set that is outlined
 * @property {number} rounding slack of that share
 * @property {number} largest_set largest set that is magnified, relative to the room
 * @property {number} least_window least width of the window that is magnified, relative to the room's
 * @property {number} margin width of the window relative to that of what it shows
 * @property {number} side width of the magnified window relative to the room's
 * @property {number} least_times least magnification
 */

/** Cells of a result: a column and a row for every candidate. */
export class Cells {
  /**
   * @param {Pick<Look, "points" | "spacing" | "logPosterior" | "set" | "best">} result
   * @param {Polygon} outline
   */
  constructor({ points, spacing, logPosterior, set, best }, outline) {
    const [x0, y0, x1, y1] = boundsOf(outline);
    this.origin = [x0, y0];
    this.spacing = spacing;
    this.columns = Math.round((x1 - x0) / spacing[0]) + 1;
    this.rows = Math.round((y1 - y0) / spacing[1]) + 1;
    this.logs = logPosterior;
    this.candidate = new Int32Array(this.columns * this.rows).fill(-1);
    this.set = set;
    for (let c = 0; c < logPosterior.length; c++) {
      const column = Math.round((points[2 * c] - x0) / spacing[0]);
      this.candidate[Math.round((points[2 * c + 1] - y0) / spacing[1]) * this.columns + column] = c;
    }
    this.best = this.candidate.indexOf(best);
    this.area = set.reduce((sum, one) => sum + one, 0) * spacing[0] * spacing[1];
  }

  /**
   * One pixel per cell, with the first row at the top. A cell that is no candidate, as it is too close to a wall or in
   * an obstacle, has the colour of the nearest one, so that colours reach to the walls.
   * @param {HTMLCanvasElement} canvas
   * @param {number} floor
   */
  paint(canvas, floor) {
    const { columns, rows, logs } = this;
    const nearest = this.#nearest();
    const largest = logs.reduce((a, b) => Math.max(a, b), -Infinity);
    const image = new ImageData(columns, rows);
    nearest.forEach((c, cell) => {
      const at = (rows - 1 - Math.floor(cell / columns)) * columns + (cell % columns);
      if (c >= 0) image.data.set([...viridis(1 - (logs[c] - largest) / floor), 255], 4 * at);
    });
    [canvas.width, canvas.height] = [columns, rows];
    contextOf(canvas).putImageData(image, 0, 0);
  }

  /** Candidate of every cell, or the nearest one, found ring by ring. */
  #nearest() {
    const found = this.candidate.slice();
    let edge = [...found.keys()].filter((cell) => found[cell] >= 0);
    while (edge.length > 0) {
      /** @type {number[]} */
      const next = [];
      for (const cell of edge) {
        for (const other of this.#beside(cell)) {
          if (found[other] >= 0) continue;
          found[other] = found[cell];
          next.push(other);
        }
      }
      edge = next;
    }
    return found;
  }

  /**
   * Cells to the left, to the right, below and above, where there are any.
   * @param {number} cell
   */
  #beside(cell) {
    const column = cell % this.columns;
    const all = [column > 0 ? cell - 1 : -1, column < this.columns - 1 ? cell + 1 : -1, cell - this.columns, cell + this.columns];
    return all.filter((other) => other >= 0 && other < this.candidate.length);
  }

  /** @param {number} cell */
  #inSet(cell) {
    const candidate = this.candidate[cell];
    return candidate !== undefined && candidate >= 0 && this.set[candidate] === 1;
  }

  /**
   * Edges of the set, each [x0, y0, x1, y1] in metres.
   * @returns {[number, number, number, number][]}
   */
  outline() {
    const [width, height] = this.spacing;
    /** @type {[number, number, number, number][]} */
    const lines = [];
    for (let cell = 0; cell < this.candidate.length; cell++) {
      if (!this.#inSet(cell)) continue;
      const column = cell % this.columns;
      const x = this.origin[0] + (column - 0.5) * width;
      const y = this.origin[1] + (Math.floor(cell / this.columns) - 0.5) * height;
      if (column === 0 || !this.#inSet(cell - 1)) lines.push([x, y, x, y + height]);
      if (column === this.columns - 1 || !this.#inSet(cell + 1)) lines.push([x + width, y, x + width, y + height]);
      if (!this.#inSet(cell - this.columns)) lines.push([x, y, x + width, y]);
      if (!this.#inSet(cell + this.columns)) lines.push([x, y + height, x + width, y + height]);
    }
    return lines;
  }

  /**
   * Window around the part of a small set that holds the most probable candidate; null if the set is large enough to see.
   * @param {MapConstants} constants
   * @param {number} roomArea [m²]
   * @returns {Square | null}
   */
  window(constants, roomArea) {
    if (this.area > constants.largest_set * roomArea || this.best < 0) return null;
    const part = new Set([this.best]);
    for (const cell of part) this.#beside(cell).filter((other) => this.#inSet(other)).forEach((other) => part.add(other));
    const columns = [...part].map((cell) => cell % this.columns);
    const rows = [...part].map((cell) => Math.floor(cell / this.columns));
    const extent = (/** @type {number[]} */ values) => Math.max(...values) - Math.min(...values) + 1;
    const room = [(this.columns - 1) * this.spacing[0], (this.rows - 1) * this.spacing[1]];
    const shown = Math.max(extent(columns) * this.spacing[0], extent(rows) * this.spacing[1]);
    const width = Math.max(constants.margin * shown, constants.least_window * Math.max(...room));
    if (constants.side * Math.min(...room) < constants.least_times * width) return null;
    const place = (/** @type {number[]} */ values, /** @type {number} */ axis) => {
      const middle = this.origin[axis] + ((Math.min(...values) + Math.max(...values)) / 2) * this.spacing[axis];
      return Math.min(Math.max(middle - width / 2, this.origin[axis]), this.origin[axis] + Math.max(0, room[axis] - width));
    };
    return { x: place(columns, 0), y: place(rows, 1), width };
  }
}

/**
 * Place for the magnified window: the corner of the room that hides least.
 * @param {Polygon} outline
 * @param {Square} window
 * @param {{x: number, y: number, reach: number}[]} objects to keep in sight, with a margin [m]
 * @param {Polygon[]} obstacles
 * @param {number} side share of the room's width
 * @returns {Square}
 */
export function chooseCorner(outline, window, objects, obstacles, side) {
  const [x0, y0, x1, y1] = boundsOf(outline);
  const width = side * Math.min(x1 - x0, y1 - y0);
  const overlap = (/** @type {Square} */ { x, y }, /** @type {number[]} */ [left, low, right, high]) =>
    Math.max(0, Math.min(x + width, right) - Math.max(x, left)) * Math.max(0, Math.min(y + width, high) - Math.max(y, low));
  const seen = objects.map(({ x, y, reach }) => [x - reach, y - reach, x + reach, y + reach]);
  seen.push([window.x, window.y, window.x + window.width, window.y + window.width]);
  const places = [x1 - width, x0].flatMap((x) => [y1 - width, y0].map((y) => ({ x, y, width })));
  const sum = (/** @type {Square} */ place, /** @type {number[][]} */ boxes) =>
    boxes.reduce((total, box) => total + overlap(place, box), 0);
  const hides = places.map((place) => [sum(place, seen), sum(place, obstacles.map(boundsOf))]);
  const order = [0, 1, 2, 3].sort((a, b) => hides[a][0] - hides[b][0] || hides[a][1] - hides[b][1]);
  return places[order[0]];
}
