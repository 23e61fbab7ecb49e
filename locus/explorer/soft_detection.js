/**
 * Soft detection: what reported paths leave of a snapshot in, how well it fits a candidate's unreported paths out.
 *
 * A port of `locus/score/soft_detection.py`, which has the formula.
 */

import { fft } from "./fft.js";
import { between } from "./path_terms.js";
import { modulo } from "./radio.js";

/**
 * @typedef {import("./path_arrays.js").Seen} Seen
 * @typedef {import("./path_terms.js").Expected} Expected
 * @typedef {ReturnType<typeof leftOver>} LeftOver
 */

/**
 * @typedef {object} SoftConstants
 * @property {number} padding grid points per resolution cell
 * @property {number} near resolution cells within which a reported path may have taken what another one left
 * @property {number} most_power largest power, relative to the noise, that speaks for a path
 * @property {number} most_factor largest factor of all paths together
 * @property {number} sharpest largest standard deviation of a place [resolution cells] at which it is worth looking
 */

/**
 * Matched-filter power (delay, sine) of a residual, relative to the noise; null if there is none.
 * @param {import("./observation.js").Complex | undefined} residual
 * @param {import("./radio.js").Radio} radio
 * @param {SoftConstants} constants
 */
export function leftOver(residual, { numSubcarriers: n, numAntennas: m }, { padding }) {
  if (!residual) return null;
  const [rows, columns] = [padding * n, padding * m];
  const [re, im] = [new Float64Array(rows * columns), new Float64Array(rows * columns)];
  const turns = Array.from({ length: columns }, (_, c) => (2 * Math.PI * c) / columns);
  const [cos, sin] = [turns.map(Math.cos), turns.map(Math.sin)];
  for (let a = 0; a < m; a++) {
    const [x, y] = [new Float64Array(rows), new Float64Array(rows)];
    x.set(residual.re.subarray(a * n, (a + 1) * n));
    y.set(residual.im.subarray(a * n, (a + 1) * n));
    fft(x, y, true);
    for (let r = 0, i = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++, i++) {
        const t = (a * c) % columns;
        re[i] += x[r] * cos[t] - y[r] * sin[t];
        im[i] += x[r] * sin[t] + y[r] * cos[t];
      }
    }
  }
  const power = re.map((value, i) => (value * value + im[i] * im[i]) / (n * m));
  return { power, rows, columns };
}

/**
 * Factor by which the residual changes the probability that paths are unreported, at one sync offset.
 * @param {Expected} expected
 * @param {number} count
 * @param {Seen} seen
 * @param {NonNullable<LeftOver>} left
 * @param {number} offset [samples]
 * @param {number} period [samples]
 * @param {SoftConstants} constants
 */
export function unreported(expected, count, seen, left, offset, period, { padding, near, sharpest, most_power: mostPower, most_factor: mostFactor }) {
  const cells = left.columns / (2 * padding); // resolution cells per unit of the sine
  let factor = 1;
  for (let j = 0; j < count; j++) {
    const sine = expected.sine[j], delay = expected.delay[j] - offset;
    if (Math.max(expected.delayVariance[j], expected.sineVariance[j] * cells * cells) > sharpest * sharpest) continue;
    let reported = false;
    for (let q = 0; q < seen.count && !reported; q++) {
      const apart = Math.abs(between(sine - seen.sine[q], 2)) * cells;
      reported = apart < near && Math.abs(between(delay - seen.delay[q], period)) < near;
    }
    if (reported) continue;
    const power = Math.min(lookUp(left, delay * padding, sine * cells * padding), seen.rootThreshold ** 2, mostPower);
    const root = 1 / expected.weakness[j], found = Math.sqrt(power);
    const odds = Math.exp(power - (root - found) * (root - found)) * besselZero(2 * root * found);
    factor = Math.min(factor * expected.odds[j] * (expected.miss[j] / (1 - expected.miss[j]) + odds), mostFactor);
  }
  return factor;
}

/**
 * exp(-z) I0(z) for z >= 0 (Abramowitz and Stegun 9.8.1 and 9.8.2).
 * @param {number} z
 */
export function besselZero(z) {
  if (z < 3.75) {
    const t = z * z * (1 / 14.0625);
    const tail = 0.2659732 + t * (0.0360768 + t * 0.0045813);
    return (1 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492 + t * tail)))) * Math.exp(-z);
  }
  const t = 3.75 / z;
  const tail = -0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377));
  const value = 0.00225319 + t * (-0.00157565 + t * (0.00916281 + t * tail));
  return (0.39894228 + t * (0.01328592 + t * value)) / Math.sqrt(z);
}

/**
 * Value between the points of the periodic grid, interpolated linearly.
 * @param {NonNullable<LeftOver>} left
 * @param {number} row
 * @param {number} column
 */
function lookUp({ power, rows, columns }, row, column) {
  const [down, right] = [row - Math.floor(row), column - Math.floor(column)];
  const [r, c] = [modulo(Math.floor(row), rows), modulo(Math.floor(column), columns)];
  const [top, bottom, beside] = [r * columns, ((r + 1) % rows) * columns, (c + 1) % columns];
  const above = power[top + c] + right * (power[top + beside] - power[top + c]);
  const below = power[bottom + c] + right * (power[bottom + beside] - power[bottom + c]);
  return above + down * (below - above);
}
