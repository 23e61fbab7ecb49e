/** The map: a world and a posterior in, a drawing on a canvas out; also converts pixels back to metres. */

import { themeOf } from "./colours.js";
import { contextOf, resize } from "./canvas.js";
import { areaOf, boundsOf } from "./geometry.js";
import { drawArrow, drawGhost, drawLabel, drawNumber, drawPlus, drawRay, drawStar, drawWay, stroke, strokeDashed, strokeWhite } from "./marks.js";
import { Cells, chooseCorner } from "./posterior.js";
import { indexOf } from "./world.js";

const EDGE = 10; // [px]

/**
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./world.js").World} World
 */

export class MapView {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./posterior.js").MapConstants} constants
   * @param {{receiver: string, transmitter: string}} colours
   */
  constructor(canvas, constants, colours) {
    this.canvas = canvas;
    this.constants = constants;
    this.colours = colours;
    /** @type {import("./posterior.js").Square | null} */
    this.inset = null; // where the magnified window was drawn [m]
    this.hidesInset = false; // while the pointer is over it, to show what is below
    this.size = 1; // of the marks; less in a small map
    this.invites = false; // whether to tell that the transmitter can be dragged
    this.heat = document.createElement("canvas");
    this.scale = 1; // [px/m]
    this.origin = [0, 0]; // [px]
  }

  /**
   * Fit the room into the canvas; call it when the canvas or the room changes.
   * @param {Polygon} outline
   * @param {number} beyond how far [m] something may be drawn beyond it
   */
  fit(outline, beyond = 0) {
    const { canvas } = this;
    const [x0, y0, x1, y1] = boundsOf(outline);
    const edge = Math.max(EDGE * this.size, (beyond * canvas.clientWidth) / (x1 - x0 + 2 * beyond));
    this.scale = (canvas.clientWidth - 2 * edge) / (x1 - x0);
    const height = this.scale * (y1 - y0) + 2 * edge;
    canvas.style.aspectRatio = `${canvas.clientWidth} / ${height}`;
    this.origin = [edge - this.scale * x0, edge + this.scale * y1];
    resize(canvas, canvas.clientWidth, height);
  }

  /**
   * From metres to pixels of the canvas.
   * @param {number} x
   * @param {number} y
   * @returns {[number, number]}
   */
  toPixel(x, y) {
    return [this.origin[0] + this.scale * x, this.origin[1] - this.scale * y];
  }

  /**
   * From pixels of the canvas to metres.
   * @param {number} u
   * @param {number} v
   * @returns {[number, number]}
   */
  toMetre(u, v) {
    return [(u - this.origin[0]) / this.scale, (this.origin[1] - v) / this.scale];
  }

  /**
   * @param {World} world
   * @param {Look | null} result
   * @param {{focused?: boolean, place?: import("./locate.js").Inspected | null}} [extras] whether the map has the keyboard, and
   *   a place that is pointed at
   */
  draw(world, result, { focused = false, place = null } = {}) {
    const context = contextOf(this.canvas);
    const theme = themeOf(this.canvas);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.lineJoin = "round";
    const cells = result ? new Cells(result, world.room.outline.corners) : null;
    cells?.paint(this.heat, this.constants.floor);
    this.#drawPlan(context, world, cells, theme);
    for (const { order, points } of (place?.rays ?? result?.rays ?? []).toReversed()) {
      drawRay(context, order, points.flatMap((x, i) => (i % 2 ? [] : [this.toPixel(x, points[i + 1])])));
    }
    drawWay(context, world.walk.map((pose) => [...this.toPixel(pose.x, pose.y), pose.heading]), this.colours.receiver, this.size);
    if (result) drawPlus(context, this.toPixel(result.place.x, result.place.y));
    if (place) {
      context.beginPath();
      context.arc(...this.toPixel(place.x, place.y), 7, 0, 2 * Math.PI);
      strokeWhite(context, 1.8);
    }
    const tip = world.positionOf("heading");
    const [receiver, transmitter] = [world.receiver, world.transmitter].map(({ x, y }) => this.toPixel(x, y));
    if (world.belief) {
      const [ghost, turned] = [world.receiver, tip].map((place) => this.#believed(world, place));
      drawGhost(context, ghost, turned, theme.believed);
    }
    drawArrow(context, receiver, this.toPixel(tip.x, tip.y), this.colours.receiver, this.size);
    if (world.walk.length > 0 && !world.strays && this.size === 1) drawNumber(context, world.walk.length, receiver, "white");
    drawStar(context, transmitter, this.colours.transmitter, this.size);
    if (focused) this.#drawFocus(context, world, theme);
    this.inset = null;
    if (cells && !place) this.#drawInset(context, world, cells, theme);
    if (this.invites) drawLabel(context, "drag me", transmitter, this.colours.transmitter, this.canvas.clientWidth);
  }

  /**
   * Draw the floor with the posterior on it, the outline of its set, and the walls.
   * @param {CanvasRenderingContext2D} context
   * @param {World} world
   * @param {Cells | null} cells
   * @param {import("./colours.js").Theme} theme
   */
  #drawPlan(context, { room, belief, selected }, cells, theme) {
    this.#polygon(context, room.outline.corners);
    context.fillStyle = theme.ground;
    context.fill();
    if (cells) this.#drawHeat(context, cells, room.outline.corners);
    room.obstacles.forEach((obstacle, i) => {
      this.#polygon(context, obstacle.corners);
      context.fillStyle = theme.solid;
      context.fill();
      const isSelected = indexOf(selected) === i;
      stroke(context, isSelected ? this.colours.transmitter : theme.ink, isSelected ? 2.5 : 1.3);
    });
    this.#polygon(context, room.outline.corners);
    stroke(context, theme.ink, 1.8);
    for (const { corners } of belief ? [belief.room.outline, ...belief.room.obstacles] : []) {
      this.#polygon(context, corners);
      strokeDashed(context, theme.believed);
    }
  }

  /**
   * Where the twin believes a place near the receiver to be, in pixels.
   * @param {World} world
   * @param {import("./layout.js").Place} place
   */
  #believed({ receiver, belief }, { x, y }) {
    const { dx = 0, dy = 0, turn = 0 } = belief ?? {};
    const [a, b] = [x - receiver.x, y - receiver.y];
    const [cosine, sine] = [Math.cos(turn), Math.sin(turn)];
    return this.toPixel(receiver.x + dx + cosine * a - sine * b, receiver.y + dy + sine * a + cosine * b);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Polygon} corners
   */
  #polygon(context, corners) {
    context.beginPath();
    corners.forEach(([x, y], i) => context[i === 0 ? "moveTo" : "lineTo"](...this.toPixel(x, y)));
    context.closePath();
  }

  /**
   * Scale up the painted cells, and outline their set.
   * @param {CanvasRenderingContext2D} context
   * @param {Cells} cells
   * @param {Polygon} outline
   */
  #drawHeat(context, cells, outline) {
    const { columns, rows, spacing, origin } = cells;
    const [left, top] = this.toPixel(origin[0] - spacing[0] / 2, origin[1] + (rows - 0.5) * spacing[1]);
    context.save();
    this.#polygon(context, outline);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.heat, left, top, columns * spacing[0] * this.scale, rows * spacing[1] * this.scale);
    context.beginPath();
    for (const [x0, y0, x1, y1] of cells.outline()) {
      context.moveTo(...this.toPixel(x0, y0));
      context.lineTo(...this.toPixel(x1, y1));
    }
    context.lineCap = "square";
    strokeWhite(context, this.size < 1 ? 1 : 1.4);
    context.restore();
  }

  /**
   * Magnify a set that is too small to see, in a corner of the room.
   * @param {CanvasRenderingContext2D} context
   * @param {World} world
   * @param {Cells} cells
   * @param {import("./colours.js").Theme} theme
   */
  #drawInset(context, world, cells, theme) {
    const outline = world.room.outline.corners;
    const window = cells.window(this.constants, areaOf(outline));
    if (window === null) return;
    const tip = world.positionOf("heading");
    const objects = [world.receiver, tip, world.transmitter, ...world.walk].map(({ x, y }) => ({ x, y, reach: 16 / this.scale }));
    const obstacles = world.room.obstacles.map(({ corners }) => corners);
    this.inset = chooseCorner(outline, window, objects, obstacles, this.constants.side);
    this.#square(context, window);
    strokeWhite(context);
    if (this.hidesInset) return;
    const inner = new MapView(this.canvas, this.constants, this.colours);
    inner.heat = this.heat;
    inner.scale = (this.scale * this.inset.width) / window.width;
    const [left, bottom] = this.toPixel(this.inset.x, this.inset.y);
    inner.origin = [left - inner.scale * window.x, bottom + inner.scale * window.y];
    context.save();
    this.#square(context, this.inset);
    context.fillStyle = theme.solid;
    context.fill();
    context.clip();
    inner.#drawPlan(context, world, cells, theme);
    drawStar(context, inner.toPixel(world.transmitter.x, world.transmitter.y), this.colours.transmitter, 1.5 * this.size);
    context.restore();
    this.#square(context, this.inset);
    strokeWhite(context);
    context.font = "600 12px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.textAlign = "left";
    context.fillStyle = "white";
    context.strokeStyle = "black";
    context.lineWidth = 3;
    const times = `× ${(this.inset.width / window.width).toFixed(0)}`;
    context.strokeText(times, left + 6, bottom - 4);
    context.fillText(times, left + 6, bottom - 4);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./posterior.js").Square} square
   */
  #square(context, { x, y, width }) {
    const [left, top] = this.toPixel(x, y + width);
    context.beginPath();
    context.rect(left, top, width * this.scale, width * this.scale);
  }

  /**
   * Draw a dashed ring around the object that the keyboard moves.
   * @param {CanvasRenderingContext2D} context
   * @param {World} world
   * @param {import("./colours.js").Theme} theme
   */
  #drawFocus(context, world, theme) {
    if (indexOf(world.selected) >= 0) return; // obstacles have a red outline instead
    const { x, y } = world.positionOf(world.selected);
    context.beginPath();
    context.arc(...this.toPixel(x, y), 16, 0, 2 * Math.PI);
    stroke(context, theme.ground, 4);
    context.setLineDash([4, 4]);
    stroke(context, theme.ink, 2);
    context.setLineDash([]);
  }
}
