/** Marks on a map: positions in pixels in, receivers, transmitters, rays and labels on a canvas out. */

import { RAYS } from "./colours.js";

/** @typedef {[number, number]} Pixel */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {number} width [px]
 */
export function stroke(context, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

/**
 * Stroke the current path in white with a dark rim, visible on any colour.
 * @param {CanvasRenderingContext2D} context
 * @param {number} width [px]
 */
export function strokeWhite(context, width = 1.5) {
  stroke(context, "black", width + 1.7);
  stroke(context, "white", width);
}

/**
 * Stroke the current path dashed, with a dark rim: what the twin believes.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 */
export function strokeDashed(context, colour) {
  context.lineCap = "butt";
  context.setLineDash([6, 4]);
  stroke(context, "rgba(0, 0, 0, 0.6)", 3.6);
  stroke(context, colour, 2);
  context.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} order number of reflections
 * @param {Pixel[]} points
 */
export function drawRay(context, order, points) {
  context.beginPath();
  points.forEach((point) => context.lineTo(...point));
  stroke(context, "rgba(0, 0, 0, 0.55)", 3);
  stroke(context, RAYS[order % RAYS.length], 1.4);
}

/**
 * A small plus.
 * @param {CanvasRenderingContext2D} context
 * @param {Pixel} place
 */
export function drawPlus(context, [u, v]) {
  context.beginPath();
  context.moveTo(u - 5, v);
  context.lineTo(u + 5, v);
  context.moveTo(u, v - 5);
  context.lineTo(u, v + 5);
  context.lineCap = "round";
  strokeWhite(context);
}

/**
 * A dot with an arrow along the heading.
 * @param {CanvasRenderingContext2D} context
 * @param {Pixel} place
 * @param {Pixel} tip
 * @param {string} colour
 * @param {number} size
 */
export function drawArrow(context, [u, v], [a, b], colour, size = 1) {
  const angle = Math.atan2(b - v, a - u);
  context.beginPath();
  context.moveTo(u, v);
  context.lineTo(a, b);
  for (const side of [2.6, -2.6]) {
    context.moveTo(a, b);
    context.lineTo(a + 11 * size * Math.cos(angle + side), b + 11 * size * Math.sin(angle + side));
  }
  context.lineCap = "round";
  stroke(context, "white", 6 * size);
  stroke(context, colour, 3 * size);
  context.beginPath();
  context.arc(u, v, 6.5 * size, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
  stroke(context, "white", 1.8);
}

/**
 * The pose that a twin believes in: an empty circle and a dashed line.
 * @param {CanvasRenderingContext2D} context
 * @param {Pixel} place
 * @param {Pixel} tip
 * @param {string} colour
 */
export function drawGhost(context, place, tip, colour) {
  context.beginPath();
  context.arc(...place, 8, 0, 2 * Math.PI);
  context.moveTo(...place);
  context.lineTo(...tip);
  strokeDashed(context, colour);
}

/**
 * A way with a numbered mark and a tick along the heading at each pose.
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number, number][]} poses place [px] and heading [rad]
 * @param {string} colour
 * @param {number} size
 */
export function drawWay(context, poses, colour, size = 1) {
  context.beginPath();
  for (const [u, v] of poses) context.lineTo(u, v);
  context.lineCap = "round";
  context.setLineDash([1, 6]);
  stroke(context, "black", 4);
  stroke(context, "white", 2.6);
  context.setLineDash([]);
  poses.slice(0, -1).forEach(([u, v, heading], i) => {
    context.beginPath();
    context.moveTo(u, v);
    context.lineTo(u + 17 * size * Math.cos(heading), v - 17 * size * Math.sin(heading));
    stroke(context, "white", 5 * size);
    stroke(context, colour, 2.5 * size);
    context.beginPath();
    context.arc(u, v, 8 * size, 0, 2 * Math.PI);
    context.fillStyle = "white";
    context.fill();
    stroke(context, colour, 1.8);
    if (size === 1) drawNumber(context, i + 1, [u, v], colour);
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} number
 * @param {Pixel} place
 * @param {string} colour
 */
export function drawNumber(context, number, [u, v], colour) {
  context.font = "700 10px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colour;
  context.fillText(`${number}`, u, v + 0.5);
}

/**
 * The outline of a star, which leaves visible what it stands on.
 * @param {CanvasRenderingContext2D} context
 * @param {Pixel} place
 * @param {string} colour
 * @param {number} size
 */
export function drawStar(context, [u, v], colour, size = 1) {
  context.beginPath();
  for (let i = 0; i < 10; i++) {
    const [radius, angle] = [size * (i % 2 ? 5.2 : 13), (Math.PI * i) / 5 - Math.PI / 2];
    context.lineTo(u + radius * Math.cos(angle), v + radius * Math.sin(angle));
  }
  context.closePath();
  stroke(context, "white", 4.5);
  stroke(context, colour, 2);
}

/**
 * A word in a box beside a place, on the side where there is room.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {Pixel} place
 * @param {string} colour
 * @param {number} width of the canvas [px]
 */
export function drawLabel(context, text, [u, v], colour, width) {
  context.font = "600 14px system-ui, sans-serif";
  const size = context.measureText(text).width + 14;
  const left = u + 20 + size < width ? u + 20 : u - 20 - size;
  context.beginPath();
  context.roundRect(left, v - 13, size, 26, 5);
  context.fillStyle = "white";
  context.fill();
  stroke(context, colour, 1.5);
  context.fillStyle = colour;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 7, v + 1);
}
