/** Stem plot of the paths: observed and predicted angles and SNRs in, a drawing on a canvas out. */

import { resize } from "./canvas.js";
import { themeOf } from "./colours.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 20, 8, 44]; // [px]
const RADIUS = { predicted: 6.5, observed: 3.5 }; // [px]

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Pick<import("./locate.js").Look, "observed" | "predicted"> | null} result
 * @param {[number, number]} range SNRs [dB] to which the networks clip their input
 */
export function drawStems(canvas, result, [low, high]) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const context = resize(canvas, width, height);
  const theme = themeOf(canvas);
  const across = (/** @type {number} */ degrees) => LEFT + ((degrees + 180) / 360) * (width - LEFT - RIGHT);
  const up = (/** @type {number} */ snr) => {
    const share = (Math.min(Math.max(snr, low), high) - low) / (high - low);
    return height - BOTTOM - share * (height - TOP - BOTTOM);
  };
  drawAxes(context, theme, across, up, [low, high], width, height);
  for (const kind of /** @type {const} */ (["predicted", "observed"])) {
    for (const { aoa, snr } of result?.[kind] ?? []) {
      drawStem(context, across((aoa * 180) / Math.PI), up, snr, theme[kind], kind === "predicted");
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./colours.js").Theme} theme
 * @param {(degrees: number) => number} across
 * @param {(snr: number) => number} up
 * @param {[number, number]} range
 * @param {number} width
 * @param {number} height
 */
function drawAxes(context, theme, across, up, [low, high], width, height) {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = theme.ink;
  context.lineWidth = 1;
  context.strokeStyle = theme.faint;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let degrees = -180; degrees <= 180; degrees += 90) {
    line(context, across(degrees), TOP, across(degrees), height - BOTTOM);
    // Below the circle of a path at the floor
    context.fillText(`${degrees}°`.replace("-", "−"), across(degrees), height - BOTTOM + RADIUS.predicted + 4);
  }
  context.fillText("angle of arrival", across(0), height - 15);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let snr = low; snr <= high; snr += 20) {
    line(context, LEFT, up(snr), width - RIGHT, up(snr));
    context.fillText(`${snr}`.replace("-", "−"), LEFT - 5, up(snr));
  }
  context.save();
  context.translate(8, up((low + high) / 2));
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText("SNR [dB]", 0, 0);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {(snr: number) => number} up
 * @param {number} snr
 * @param {string} colour
 * @param {boolean} predicted
 */
function drawStem(context, x, up, snr, colour, predicted) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = predicted ? 5 : 1.8;
  context.globalAlpha = predicted ? 0.45 : 1;
  line(context, x, up(-Infinity), x, up(snr));
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(x, up(snr), predicted ? RADIUS.predicted : RADIUS.observed, 0, 2 * Math.PI);
  if (predicted) {
    context.lineWidth = 2;
    context.stroke();
  } else context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
