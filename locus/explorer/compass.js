/** Plot of the compass: posteriors of its error after each snapshot of a walk in, a drawing on a canvas out. */

import { resize } from "./canvas.js";
import { themeOf } from "./colours.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 10, 7, 18]; // [px]
const WIDEST = 36; // [px], between snapshots
const [TICK, LEAST] = [5, 6]; // [degrees], of the axis, and its reach to either side

/** @typedef {import("./walk_compass.js").HeadingError} HeadingError */

/** @param {number} radians */
const degrees = (radians) => (radians * 180) / Math.PI;

/** @param {number} value [degrees] */
const text = (value) => `${value.toFixed(1)}°`.replace("-", "−").replace(/^−(0\.0°)$/, "$1");

/**
 * The posterior in words: mean and interval.
 * @param {HeadingError} error
 */
export const sayHeading = ({ mean, low, high }) => `${text(degrees(mean))} (90\u00a0%: ${text(degrees(low))} to ${text(degrees(high))})`;

/** @param {number} turn [rad] */
export const sayTurn = (turn) => text(degrees(turn));

/**
 * @param {HTMLCanvasElement} canvas
 * @param {HeadingError[]} errors
 * @param {number} truth true error [rad]
 */
export function drawCompass(canvas, errors, truth) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const context = resize(canvas, width, height);
  const theme = themeOf(canvas);
  const reach = Math.max(LEAST, ...errors.flatMap(({ low, high }) => [-degrees(low), degrees(high)]));
  const up = (/** @type {number} */ value) => TOP + ((1 - value / reach) / 2) * (height - TOP - BOTTOM);
  const step = Math.min(WIDEST, (width - LEFT - RIGHT) / Math.max(errors.length, 1));
  const across = (/** @type {number} */ i) => LEFT + (i + 0.5) * step;
  const line = (/** @type {number[]} */ ...[x0, y0, x1, y1]) => {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = theme.ink;
  context.strokeStyle = theme.faint;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const value of [-TICK, 0, TICK]) {
    line(LEFT, up(value), width - RIGHT, up(value));
    context.fillText(`${value}°`.replace("-", "−"), LEFT - 5, up(value));
  }
  context.strokeStyle = theme.observed;
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  line(LEFT, up(degrees(truth)), width - RIGHT, up(degrees(truth)));
  context.setLineDash([]);
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.strokeStyle = theme.predicted;
  errors.forEach(({ mean, low, high }, i) => {
    context.lineWidth = 3;
    line(across(i), up(degrees(low)), across(i), up(degrees(high)));
    context.beginPath();
    context.arc(across(i), up(degrees(mean)), 4.5, 0, 2 * Math.PI);
    context.fillStyle = theme.predicted;
    context.fill();
    context.fillStyle = theme.ink;
    context.fillText(`${i + 1}`, across(i), height);
  });
}
