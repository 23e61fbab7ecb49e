/**
 * The unknown sync offset: filter outputs of candidates in, the logarithm of I0(2 |Z(t)|), integrated over the prior of
 * the offset t, out. The result equals that of `locus.score.sync_offset`, whose constants it is given.
 *
 * Z(t) is the sum of z[k] exp(-2 pi j k t), with t in pilot periods. Where a grid of bins resolves the integrand, it is
 * summed; a sharper peak is integrated locally, in cells that are halved until the integrand varies little in each.
 */

import { fft } from "./fft.js";

/**
 * @typedef {object} SyncOffsetConstants
 * @property {[number, number]} bins bins per subcarrier of the coarse and the fine grid
 * @property {number} smooth largest curvature that the coarse grid resolves
 * @property {number} kept [nat] below a candidate's peak down to which bins and cells count
 * @property {number} cells cells per subcarrier with which local integration begins
 * @property {number} steep [nat] by which the logarithm of the integrand may vary within a cell
 * @property {number} hopeless [nat] below the best candidate from which on a bound replaces the integral
 * @property {number[]} nodes Gauss-Legendre nodes on [0, 1]
 * @property {number[]} node_weights their weights
 *
 * @typedef {import("./observation.js").Complex} Complex
 * @typedef {{edge: number, before: number, after: number}} OffsetPrior density, constant before and after one edge
 * @typedef {{start: number, width: number, density: number}} Cell
 */

/**
 * @param {Complex[]} outputs filter output z (subcarrier) of each candidate
 * @param {Float64Array} energies energy of each candidate's signal
 * @param {import("./radio.js").Radio} radio
 * @param {SyncOffsetConstants} constants
 * @returns {number[]} log likelihood (candidate)
 */
export function logLikelihoods(outputs, energies, radio, constants) {
  if (radio.syncWindow === 0) return outputs.map((z, i) => logIntegrand(powerAt(z, 0)) - energies[i]);
  const prior = foldedPrior(radio);
  const grids = outputs.map((z) => powerOnBins(z, constants.bins[0]));
  const reached = grids.map((grid) => highestInside(grid, prior));
  const largest = grids.map((grid) => bound(grid, radio.numSubcarriers - 1));
  const best = Math.max(...reached.map((power, i) => logIntegrand(power) - energies[i]));
  return outputs.map((z, i) => {
    const most = logIntegrand(largest[i]);
    if (most - energies[i] < best - constants.hopeless) return most - energies[i];
    return logIntegral(z, grids[i], largest[i], prior, constants) - energies[i];
  });
}

/**
 * @param {Complex} z
 * @param {Float64Array} grid |Z|^2 on the coarse bins
 * @param {number} largest bound of |Z|^2
 * @param {OffsetPrior} prior
 * @param {SyncOffsetConstants} constants
 */
function logIntegral(z, grid, largest, prior, constants) {
  const { bins, smooth, kept } = constants;
  for (const number of prior.after > 0 ? bins : []) {
    if (2 * Math.sqrt(largest) > smooth * (number / bins[0]) ** 2) continue;
    return sumBins(number === bins[0] ? grid : powerOnBins(z, number), prior, kept);
  }
  return integrateLocally(z, grid, largest, prior, constants);
}

/**
 * |Z|^2 with `number` bins per subcarrier.
 * @param {Complex} z
 * @param {number} number
 */
function powerOnBins(z, number) {
  const [re, im] = [new Float64Array(number * z.re.length), new Float64Array(number * z.re.length)];
  re.set(z.re);
  im.set(z.im);
  fft(re, im);
  for (let b = 0; b < re.length; b++) re[b] = re[b] * re[b] + im[b] * im[b];
  return re;
}

/**
 * @param {Complex} z
 * @param {number} offset [periods]
 */
function powerAt(z, offset) {
  const [c, s] = [Math.cos(2 * Math.PI * offset), -Math.sin(2 * Math.PI * offset)];
  let [x, y] = [0, 0];
  for (let k = z.re.length - 1; k >= 0; k--) {
    const next = x * c - y * s + z.re[k];
    y = x * s + y * c + z.im[k];
    x = next;
  }
  return x * x + y * y;
}

/**
 * Bound of |Z|^2 between the bins (Riesz; Boas).
 * @param {Float64Array} grid
 * @param {number} degree
 */
function bound(grid, degree) {
  let top = Number.MIN_VALUE;
  for (const power of grid) top = Math.max(top, power);
  return top / Math.cos((Math.PI * degree) / 2 / grid.length) ** 2;
}

/**
 * @param {Float64Array} grid
 * @param {OffsetPrior} prior
 */
function highestInside(grid, prior) {
  const last = prior.after > 0 ? grid.length : Math.floor(prior.edge * grid.length) + 1;
  let top = 0;
  for (let b = 0; b < last; b++) top = Math.max(top, grid[b]);
  return top;
}

/**
 * @param {Float64Array} grid
 * @param {OffsetPrior} prior
 * @param {number} kept
 */
function sumBins(grid, prior, kept) {
  const weights = binWeights(prior, grid.length);
  let top = 0;
  for (const power of grid) top = Math.max(top, power);
  const peak = 2 * Math.sqrt(top);
  const least = Math.max(peak - kept, 0) ** 2 / 4;
  let total = 0;
  for (let b = 0; b < grid.length; b++) {
    if (grid[b] < least) continue;
    const x = 2 * Math.sqrt(grid[b]);
    total += weights[b] * besselI0e(x) * Math.exp(x - peak);
  }
  return peak + Math.log(total);
}

/**
 * @param {Complex} z
 * @param {Float64Array} grid
 * @param {number} largest
 * @param {OffsetPrior} prior
 * @param {SyncOffsetConstants} constants
 */
function integrateLocally(z, grid, largest, prior, { kept, cells: number, steep, nodes, node_weights: weights }) {
  const degree = z.re.length - 1;
  let top = logIntegrand(highestInside(grid, prior));
  let cells = firstCells(number * z.re.length, prior).filter(({ start, width }) => {
    // No point is further than half a bin from the bins in the cell or at its ends.
    const turn = (Math.PI * degree) / 2 / grid.length;
    let known = 0;
    for (let b = Math.floor(start * grid.length); b <= Math.ceil((start + width) * grid.length); b++) {
      known = Math.max(known, grid[b % grid.length]);
    }
    return logIntegrand(highest(known, largest, turn)) >= top - kept;
  });
  const reach = Math.max(...nodes.slice(1).map((node, i) => node - nodes[i])) / 2;
  /** @type {number[]} */
  const masses = [];
  while (cells.length > 0) {
    /** @type {Cell[]} */
    const halves = [];
    for (const { start, width, density } of cells) {
      const powers = nodes.map((node) => powerAt(z, start + width * node));
      const heights = powers.map(logIntegrand);
      top = Math.max(top, ...heights);
      const most = highest(Math.max(...powers), largest, Math.PI * degree * reach * width);
      if (logIntegrand(most) < top - kept) continue;
      if (Math.max(...heights) - Math.min(...heights) > steep) {
        halves.push({ start, width: width / 2, density }, { start: start + width / 2, width: width / 2, density });
      } else {
        heights.forEach((height, i) => masses.push(height + Math.log(weights[i] * width * density)));
      }
    }
    cells = halves;
  }
  const peak = masses.reduce((a, b) => Math.max(a, b));
  return peak + Math.log(masses.reduce((sum, mass) => sum + Math.exp(mass - peak), 0));
}

/**
 * Cells where the prior is positive; its edge divides one.
 * @param {number} number
 * @param {OffsetPrior} prior
 * @returns {Cell[]}
 */
function firstCells(number, prior) {
  const starts = Array.from({ length: number }, (_, i) => i / number);
  const edges = [...new Set([...starts, prior.edge, 1])].sort((a, b) => a - b);
  return edges
    .slice(0, -1)
    .map((start, i) => ({
      start,
      width: edges[i + 1] - start,
      density: start < prior.edge ? prior.before : prior.after,
    }))
    .filter(({ density }) => density > 0);
}

/**
 * Bound of |Z|^2 at a distance of `turn` (half the degree times the angle) from a point where it is `known`.
 * @param {number} known
 * @param {number} largest
 * @param {number} turn
 */
function highest(known, largest, turn) {
  const angle = Math.acos(Math.sqrt(Math.min(known / largest, 1)));
  return largest * Math.cos(Math.max(angle - turn, 0)) ** 2;
}

/** @param {number} power */
function logIntegrand(power) {
  const x = 2 * Math.sqrt(power);
  return x + Math.log(besselI0e(x));
}

/**
 * exp(-x) I0(x) by Abramowitz and Stegun 9.8.1 and 9.8.2; accurate to 2e-7 for all x.
 * @param {number} x
 */
function besselI0e(x) {
  if (x < 3.75) {
    const t = (x / 3.75) ** 2;
    const series = 1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813));
    return Math.exp(-x) * (1 + t * (3.5156229 + t * (3.0899424 + t * series)));
  }
  const t = 3.75 / x;
  const series = 0.00916281 + t * (-0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377)));
  return (0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * series)))) / Math.sqrt(x);
}

/**
 * @param {import("./radio.js").Radio} radio
 * @returns {OffsetPrior}
 */
function foldedPrior(radio) {
  const window = radio.syncWindow / radio.period;
  const whole = Math.floor(window);
  return { edge: window - whole, before: (whole + 1) / window, after: whole / window };
}

/** @type {Map<string, Float64Array>} */
const known = new Map();

/**
 * Weights of the bins whose sum is the integral over the prior, for functions that the bins resolve.
 * @param {OffsetPrior} prior
 * @param {number} length
 */
function binWeights(prior, length) {
  const key = `${prior.edge} ${prior.before} ${prior.after} ${length}`;
  const found = known.get(key);
  if (found) return found;
  // Fourier coefficients of a step, (exp(-j a) - 1) / (-j 2 pi m) with a = 2 pi m edge, at +m and -m.
  const [re, im] = [new Float64Array(length), new Float64Array(length)];
  re[0] = 1;
  for (let m = 1; m <= length / 2; m++) {
    const angle = 2 * Math.PI * m * prior.edge;
    const scale = (prior.before - prior.after) / (2 * Math.PI * m);
    re[m] = scale * Math.sin(angle);
    im[m] = scale * (Math.cos(angle) - 1);
    re[length - m] = re[m];
    im[length - m] = m < length / 2 ? -im[m] : 0;
  }
  fft(re, im, true);
  const weights = re.map((value) => value / length);
  known.set(key, weights);
  return weights;
}
