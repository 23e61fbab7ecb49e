/** Path sets: arrays (row, path), strongest path first; padding has order -1 and no gain. */

import { snrDb } from "./radio.js";

/**
 * @typedef {object} Paths
 * @property {number} rows number of candidates or snapshots
 * @property {number} width largest number of paths per row
 * @property {Float64Array} aoa angle of arrival relative to the heading [rad]
 * @property {Float64Array} delay [s]
 * @property {Float64Array} gainRe
 * @property {Float64Array} gainIm
 * @property {Int32Array} order number of reflections; 0 for estimated paths, -1 for padding
 * @property {import("./observation.js").Complex} [residual] of estimated paths: channel without them, relative to the noise
 */

/**
 * @param {number} rows
 * @param {number} width
 * @returns {Paths}
 */
export function makePaths(rows, width) {
  const size = rows * width;
  return {
    rows,
    width,
    aoa: new Float64Array(size),
    delay: new Float64Array(size),
    gainRe: new Float64Array(size),
    gainIm: new Float64Array(size),
    order: new Int32Array(size).fill(-1),
  };
}

/**
 * Insert a path into a row, strongest first, shorter first among equals; a full row drops its weakest path.
 * @param {Paths} paths
 * @param {number} row
 * @param {number} aoa
 * @param {number} delay
 * @param {number} re
 * @param {number} im
 * @param {number} order
 */
export function insertPath(paths, row, aoa, delay, re, im, order) {
  const { width, gainRe, gainIm } = paths;
  const start = row * width;
  const power = re * re + im * im;
  let slot = width;
  while (slot > 0) {
    const i = start + slot - 1;
    const previous = gainRe[i] ** 2 + gainIm[i] ** 2;
    if (paths.order[i] >= 0 && (previous > power || (previous === power && paths.delay[i] <= delay))) break;
    slot--;
  }
  if (slot === width) return;
  const from = start + slot;
  for (const column of [paths.aoa, paths.delay, gainRe, gainIm, paths.order]) {
    column.copyWithin(from + 1, from, start + width - 1);
  }
  paths.aoa[from] = aoa;
  paths.delay[from] = delay;
  gainRe[from] = re;
  gainIm[from] = im;
  paths.order[from] = order;
}

/**
 * Replace one row by the first row of another set of the same width.
 * @param {Paths} paths
 * @param {number} row
 * @param {Paths} other
 */
export function replaceRow(paths, row, other) {
  for (const name of /** @type {const} */ (["aoa", "delay", "gainRe", "gainIm", "order"])) {
    paths[name].set(other[name].subarray(0, paths.width), row * paths.width);
  }
}

/**
 * Copy a path set.
 * @param {Paths} paths
 */
export const copyPaths = (paths) => takeRows(paths, 0, paths.rows);

/**
 * Copy one row into a path set of its own.
 * @param {Paths} paths
 * @param {number} row
 */
export const takeRow = (paths, row) => takeRows(paths, row, row + 1);

/**
 * @param {Paths} paths
 * @param {number} first
 * @param {number} end
 * @returns {Paths}
 */
function takeRows(paths, first, end) {
  const [from, to] = [first * paths.width, end * paths.width];
  return {
    rows: end - first,
    width: paths.width,
    aoa: paths.aoa.slice(from, to),
    delay: paths.delay.slice(from, to),
    gainRe: paths.gainRe.slice(from, to),
    gainIm: paths.gainIm.slice(from, to),
    order: paths.order.slice(from, to),
  };
}

/**
 * Angle [rad] and SNR [dB] of the strongest paths of a row.
 * @param {Paths} paths
 * @param {number} row
 * @param {import("./radio.js").Radio} radio
 * @param {number} count at most
 */
export function listPaths(paths, row, radio, count) {
  const found = [];
  for (let p = row * paths.width; p < (row + 1) * paths.width && paths.order[p] >= 0 && found.length < count; p++) {
    found.push({ aoa: paths.aoa[p], snr: snrDb(paths.gainRe[p] ** 2 + paths.gainIm[p] ** 2, radio) });
  }
  return found;
}
