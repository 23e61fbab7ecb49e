/** The online estimator: IQ samples in, the strongest paths that explain them out. A port of `locus/receiver/fit.py`. */

import { fft } from "./fft.js";
import { despread } from "./observation.js";
import { insertPath, makePaths } from "./paths.js";
import { modulo } from "./radio.js";
import { refine } from "./refine.js";

/** @typedef {import("./observation.js").Complex} Complex */
/** @typedef {import("./refine.js").Columns} Columns */

/**
 * @typedef {object} EstimatorOptions
 * @property {number} num_paths
 * @property {number} threshold linear SNR per sample that the strongest peak of pure noise exceeds at the false-alarm rate
 * @property {number} num_iterations
 * @property {number} angle_padding
 * @property {number} delay_padding
 */

/**
 * @typedef {object} FitConstants
 * @property {number} proposed share of the threshold that a peak of the matched filter must reach to be refined
 * @property {number} bound_margin relative rounding error of a bound on the matched filter
 * @property {number} damping damping of the first step
 * @property {number} least_damping
 * @property {number} most_damping
 * @property {number} damping_factor factor by which the damping grows after a rejected step and shrinks after an accepted one
 * @property {number} regular least damping, relative to the largest diagonal element
 * @property {number} converged fall of the cost [noise variances] in one step, below which a fit has converged
 * @property {number} rounding the same threshold, relative to the energy of the snapshot
 */

/**
 * Estimate the multipath of one snapshot.
 * @param {Complex} iq
 * @param {EstimatorOptions} options
 * @param {import("./radio.js").Radio} radio
 * @param {FitConstants} constants
 * @returns {import("./paths.js").Paths} one row with what it leaves; angles in [-pi/2, pi/2], delays in [0, period)
 */
export function estimate(iq, options, radio, constants) {
  const { numSubcarriers: n, numAntennas: m } = radio;
  const level = options.threshold * n * m;
  const channel = despread(iq, radio);
  const { delay, angle, gainRe, gainIm } = fit(channel, options, level, n, m, constants);
  const scale = Math.sqrt(radio.noisePower / radio.txPower);
  const paths = makePaths(1, options.num_paths);
  const valid = (/** @type {unknown} */ _, /** @type {number} */ i) => gainRe[i] ** 2 + gainIm[i] ** 2 >= level / (n * m);
  const [delays, angles, real, imaginary] = [delay, angle, gainRe, gainIm].map((column) => column.filter(valid));
  paths.residual = residual(channel, { delay: delays, angle: angles, gainRe: real, gainIm: imaginary }, n, m);
  for (let i = 0; i < delay.length; i++) {
    if (!valid(null, i)) continue;
    const corner = (delay[i] * (n - 1) + angle[i] * (m - 1)) / 2; // from the middle to the first elements
    const [c, s] = [scale * Math.cos(corner), scale * Math.sin(corner)];
    const turn = modulo(angle[i] + Math.PI, 2 * Math.PI) - Math.PI;
    const time = (modulo(delay[i], 2 * Math.PI) / (2 * Math.PI)) * radio.period;
    insertPath(paths, 0, Math.asin(turn / Math.PI), time, gainRe[i] * c - gainIm[i] * s, gainRe[i] * s + gainIm[i] * c, 0);
  }
  return paths;
}

/**
 * Add paths one at a time, refining all, until a new one explains less than `level`.
 * @param {Complex} channel
 * @param {EstimatorOptions} options
 * @param {number} level
 * @param {number} n subcarriers
 * @param {number} m antennas
 * @param {FitConstants} constants
 */
function fit(channel, options, level, n, m, constants) {
  // The grid may underestimate the height of a peak by this factor.
  const miss = sinc(0.5 / options.angle_padding) * sinc(0.5 / options.delay_padding);
  const proposal = constants.proposed * level * miss ** 2;
  const none = new Float64Array(0);
  let energy = 0;
  for (let i = 0; i < channel.re.length; i++) energy += channel.re[i] ** 2 + channel.im[i] ** 2;
  /** @type {import("./refine.js").State} */
  let state = { delay: none, angle: none, gainRe: none, gainIm: none, cost: energy };
  while (state.delay.length < options.num_paths) {
    const peak = propose(residual(channel, state, n, m), options, n, m, constants.bound_margin);
    if (peak.height < proposal) break;
    const start = {
      delay: Float64Array.of(...state.delay, peak.delay),
      angle: Float64Array.of(...state.angle, peak.angle),
      gainRe: Float64Array.of(...state.gainRe, peak.gainRe),
      gainIm: Float64Array.of(...state.gainIm, peak.gainIm),
    };
    const grown = refine(channel, start, m, options.num_iterations, constants);
    // Two paths in one resolution cell can fit noise with large opposite gains, so they must explain more.
    if (!(state.cost - grown.cost >= level * (isCrowded(grown, n, m) ? 2 : 1))) break;
    state = grown;
  }
  return state;
}

/** @param {number} x */
const sinc = (x) => Math.sin(Math.PI * x) / (Math.PI * x);

/**
 * Whether two paths are closer than half a resolution cell, in delay and in angle.
 * @param {Columns} state
 * @param {number} n
 * @param {number} m
 */
function isCrowded({ delay, angle }, n, m) {
  /** @type {(a: number, b: number, length: number) => boolean} */
  const close = (a, b, length) => Math.abs(modulo(a - b + Math.PI, 2 * Math.PI) - Math.PI) < Math.PI / length;
  for (let i = 0; i < delay.length; i++) {
    for (let j = i + 1; j < delay.length; j++) {
      if (close(delay[i], delay[j], n) && close(angle[i], angle[j], m)) return true;
    }
  }
  return false;
}

/**
 * The channel minus the paths found so far.
 * @param {Complex} channel
 * @param {Columns} state
 * @param {number} n
 * @param {number} m
 * @returns {Complex}
 */
function residual(channel, { delay, angle, gainRe, gainIm }, n, m) {
  const [re, im] = [channel.re.slice(), channel.im.slice()];
  for (let p = 0; p < delay.length; p++) {
    for (let a = 0, i = 0; a < m; a++) {
      for (let k = 0; k < n; k++, i++) {
        const phase = -(k - (n - 1) / 2) * delay[p] - (a - (m - 1) / 2) * angle[p];
        const [c, s] = [Math.cos(phase), Math.sin(phase)];
        re[i] -= gainRe[p] * c - gainIm[p] * s;
        im[i] -= gainRe[p] * s + gainIm[p] * c;
      }
    }
  }
  return { re, im };
}

/**
 * Highest point of a zero-padded matched filter: its delay, angle, gain and height.
 * @param {Complex} left
 * @param {EstimatorOptions} options
 * @param {number} n
 * @param {number} m
 * @param {number} margin
 */
function propose({ re, im }, options, n, m, margin) {
  const [rows, columns] = [n * options.delay_padding, m * options.angle_padding];
  const filtered = Array.from({ length: m }, (_, a) => {
    const [x, y] = [new Float64Array(rows), new Float64Array(rows)];
    x.set(re.subarray(a * n, (a + 1) * n));
    y.set(im.subarray(a * n, (a + 1) * n));
    fft(x, y, true);
    return { re: x, im: y };
  });
  const { index, value, height } = highestPoint(filtered, rows, columns, margin);
  const delay = ((2 * Math.PI) / rows) * Math.floor(index / columns);
  const angle = ((2 * Math.PI) / columns) * (index % columns);
  const corner = (delay * (n - 1) + angle * (m - 1)) / 2; // the filter counts subcarriers and antennas from 0
  const [c, s] = [Math.cos(corner) / (n * m), -Math.sin(corner) / (n * m)];
  const [gainRe, gainIm] = [value[0] * c - value[1] * s, value[0] * s + value[1] * c];
  return { delay, angle, gainRe, gainIm, height: height / (n * m) };
}

/**
 * Index, value and power of the highest point over delay and angle; the first if several are equal.
 * @param {Complex[]} antennas
 * @param {number} rows
 * @param {number} columns
 * @param {number} margin
 */
function highestPoint(antennas, rows, columns, margin) {
  const m = antennas.length;
  const turns = Array.from({ length: columns }, (_, c) => (2 * Math.PI * c) / columns);
  const [cos, sin] = [turns.map(Math.cos), turns.map(Math.sin)];
  let [height, index, value] = [-1, 0, [0, 0]];
  for (let r = 0; r < rows; r++) {
    let bound = 0; // upper bound for all columns of a row (Cauchy-Schwarz), so that most rows need not be summed
    for (let a = 0; a < m; a++) bound += antennas[a].re[r] ** 2 + antennas[a].im[r] ** 2;
    if (bound * m * (1 + margin) < height) continue;
    for (let c = 0; c < columns; c++) {
      let x = 0, y = 0;
      for (let a = 0; a < m; a++) {
        const t = (a * c) % columns;
        x += antennas[a].re[r] * cos[t] - antennas[a].im[r] * sin[t];
        y += antennas[a].re[r] * sin[t] + antennas[a].im[r] * cos[t];
      }
      const power = x * x + y * y;
      if (power > height) [height, index, value] = [power, r * columns + c, [x, y]];
    }
  }
  return { index, value, height };
}
