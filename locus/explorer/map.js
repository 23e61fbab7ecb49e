/** The map: a world and a posterior in, a drawing on a canvas out; also converts pixels back to metres. */

import { RAYS, themeOf, viridis } from "./colours.js";
import { contextOf, resize } from "./canvas.js";
import { boundsOf } from "./geometry.js";
import { indexOf } from "./world.js";

const MARGIN = 10; // [px]

/**
 * @typedef {import("./geometry.js").Polygon} Polygon
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./world.js").World} World
 */

export class MapView {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} floor relative log posterior [nat] at the dark end of the colour map
   * @param {{receiver: string, transmitter: string}} colours
   */
  constructor(canvas, floor, colours) {
    this.canvas = canvas;
    this.floor = floor;
    this.colours = colours;
    this.heat = document.createElement("canvas");
    this.scale = 1; // [px/m]
    this.origin = [0, 0]; // [px]
  }

  /**
   * Fit the room into the canvas; call it when the canvas or the room changes.
   * @param {Polygon} outline
   */
  fit(outline) {
    const { canvas } = this;
    const [x0, y0, x1, y1] = boundsOf(outline);
    this.scale = (canvas.clientWidth - 2 * MARGIN) / (x1 - x0);
    const height = this.scale * (y1 - y0) + 2 * MARGIN;
    canvas.style.height = `${height}px`;
    this.origin = [MARGIN - this.scale * x0, MARGIN + this.scale * y1];
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
   * @param {boolean} focused
   */
  draw(world, result, focused) {
    const context = contextOf(this.canvas);
    const theme = themeOf(this.canvas);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.lineJoin = "round";
    this.#polygon(context, world.room.outline.corners);
    context.fillStyle = theme.ground; // margin along the walls
    context.fill();
    if (result) this.#drawHeat(context, result, world.room.outline.corners);
    world.room.obstacles.forEach((obstacle, i) => {
      this.#polygon(context, obstacle.corners);
      context.fillStyle = theme.solid;
      context.fill();
      const isSelected = indexOf(world.selected) === i;
      stroke(context, isSelected ? this.colours.transmitter : theme.ink, isSelected ? 2.5 : 1.3);
    });
    this.#polygon(context, world.room.outline.corners);
    stroke(context, theme.ink, 1.8);
    if (result) {
      result.rays.toReversed().forEach((ray) => this.#drawRay(context, ray));
      this.#drawBest(context, result);
    }
    this.#drawReceiver(context, world);
    this.#drawTransmitter(context, world);
    if (focused) this.#drawFocus(context, world, theme);
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
   * Draw the posterior with one pixel per candidate on a small canvas, then scale it up.
   * @param {CanvasRenderingContext2D} context
   * @param {Look} result
   * @param {Polygon} outline
   */
  #drawHeat(context, { points, spacing, logPosterior }, outline) {
    const [x0, y0, x1, y1] = boundsOf(outline);
    const [columns, rows] = [Math.round((x1 - x0) / spacing[0]) + 1, Math.round((y1 - y0) / spacing[1]) + 1];
    const image = new ImageData(columns, rows);
    const largest = logPosterior.reduce((a, b) => Math.max(a, b), -Infinity);
    logPosterior.forEach((value, c) => {
      const column = Math.round((points[2 * c] - x0) / spacing[0]);
      const row = rows - 1 - Math.round((points[2 * c + 1] - y0) / spacing[1]);
      image.data.set([...viridis(1 - (value - largest) / this.floor), 255], 4 * (row * columns + column));
    });
    [this.heat.width, this.heat.height] = [columns, rows];
    contextOf(this.heat).putImageData(image, 0, 0);
    const [left, top] = this.toPixel(x0 - spacing[0] / 2, y1 + spacing[1] / 2);
    context.save();
    this.#polygon(context, outline);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.heat, left, top, columns * spacing[0] * this.scale, rows * spacing[1] * this.scale);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Look["rays"][number]} ray
   */
  #drawRay(context, { order, points }) {
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) context.lineTo(...this.toPixel(points[i], points[i + 1]));
    stroke(context, "rgba(0, 0, 0, 0.55)", 3);
    stroke(context, RAYS[order % RAYS.length], 1.4);
  }

  /**
   * Draw a ring around the most probable candidate.
   * @param {CanvasRenderingContext2D} context
   * @param {Look} result
   */
  #drawBest(context, { place }) {
    context.beginPath();
    context.arc(...this.toPixel(place.x, place.y), 14, 0, 2 * Math.PI);
    stroke(context, "black", 3.5);
    stroke(context, "white", 1.8);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {World} world
   */
  #drawReceiver(context, world) {
    const [u, v] = this.toPixel(world.receiver.x, world.receiver.y);
    const tip = world.positionOf("heading");
    const [a, b] = this.toPixel(tip.x, tip.y);
    const angle = Math.atan2(b - v, a - u);
    context.beginPath();
    context.moveTo(u, v);
    context.lineTo(a, b);
    for (const side of [2.6, -2.6]) {
      context.moveTo(a, b);
      context.lineTo(a + 11 * Math.cos(angle + side), b + 11 * Math.sin(angle + side));
    }
    context.lineCap = "round";
    stroke(context, "white", 6);
    stroke(context, this.colours.receiver, 3);
    context.beginPath();
    context.arc(u, v, 6.5, 0, 2 * Math.PI);
    context.fillStyle = this.colours.receiver;
    context.fill();
    stroke(context, "white", 1.8);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {World} world
   */
  #drawTransmitter(context, { transmitter }) {
    const [u, v] = this.toPixel(transmitter.x, transmitter.y);
    context.beginPath();
    for (let i = 0; i < 10; i++) {
      const [radius, angle] = [i % 2 ? 4.6 : 11.5, (Math.PI * i) / 5 - Math.PI / 2];
      context.lineTo(u + radius * Math.cos(angle), v + radius * Math.sin(angle));
    }
    context.closePath();
    stroke(context, "white", 3.5);
    context.fillStyle = this.colours.transmitter;
    context.fill();
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

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {number} width [px]
 */
function stroke(context, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}
