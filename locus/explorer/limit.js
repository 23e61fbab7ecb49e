/**
 * The Bayes limit: traced paths of all candidates and a snapshot in, the log posterior that no method can beat out.
 *
 * The receiver knows each candidate's signal except for carrier phase, which is integrated in closed form, and sync offset,
 * which is summed over all bins of the pilot period. The result equals that of `locus.score.limits.bayes`.
 */

import { fft } from "./fft.js";
import { normalise } from "./score.js";

/**
 * @typedef {object} LimitConstants
 * @property {number} num_bins number of sync-offset bins per pilot period
 * @property {number} kept [nat] below a candidate's peak down to which bins are summed
 */

/**
 * @param {import("./paths.js").Paths} paths traced paths of all candidates
 * @param {import("./observation.js").Complex} channel channel of the snapshot, with noise of unit variance
 * @param {import("./radio.js").Radio} radio
 * @param {LimitConstants} constants
 * @returns {Float64Array} log posterior (candidate); -Infinity without a path
 */
export function bayes(paths, channel, radio, { num_bins: numBins, kept }) {
  const prior = foldedPrior(radio, numBins);
  const scores = new Float64Array(paths.rows);
  const length = radio.numSubcarriers;
  const signal = { re: new Float64Array(channel.re.length), im: new Float64Array(channel.re.length) };
  const [re, im] = [new Float64Array(numBins), new Float64Array(numBins)];
  for (let row = 0; row < paths.rows; row++) {
    if (paths.order[row * paths.width] < 0) {
      scores[row] = -Infinity;
      continue;
    }
    const energy = fillSignal(signal, paths, row, radio);
    re.fill(0);
    im.fill(0);
    for (let i = 0; i < signal.re.length; i++) {
      const k = i % length;
      re[k] += signal.re[i] * channel.re[i] + signal.im[i] * channel.im[i];
      im[k] += signal.re[i] * channel.im[i] - signal.im[i] * channel.re[i];
    }
    fft(re, im);
    scores[row] = logIntegral(re, im, prior, kept) - energy;
  }
  return normalise(scores);
}

/**
 * Signal of a candidate at each antenna and subcarrier, in units of the noise amplitude; returns its energy.
 * @param {import("./observation.js").Complex} signal
 * @param {import("./paths.js").Paths} paths
 * @param {number} row
 * @param {import("./radio.js").Radio} radio
 */
function fillSignal(signal, paths, row, radio) {
  const { numSubcarriers: length, numAntennas } = radio;
  const scale = Math.sqrt(radio.txPower / radio.noisePower);
  signal.re.fill(0);
  signal.im.fill(0);
  for (let p = row * paths.width; p < (row + 1) * paths.width && paths.order[p] >= 0; p++) {
    const turn = (-2 * Math.PI * ((paths.delay[p] / radio.period) % 1));
    const [stepC, stepS] = [Math.cos(turn), Math.sin(turn)];
    const bend = -Math.PI * Math.sin(paths.aoa[p]);
    for (let antenna = 0, i = 0; antenna < numAntennas; antenna++) {
      const [c, s] = [scale * Math.cos(antenna * bend), scale * Math.sin(antenna * bend)];
      let x = paths.gainRe[p] * c - paths.gainIm[p] * s;
      let y = paths.gainRe[p] * s + paths.gainIm[p] * c;
      for (let k = 0; k < length; k++, i++) {
        signal.re[i] += x;
        signal.im[i] += y;
        const next = x * stepC - y * stepS;
        y = x * stepS + y * stepC;
        x = next;
      }
    }
  }
  let energy = 0;
  for (let i = 0; i < signal.re.length; i++) energy += signal.re[i] ** 2 + signal.im[i] ** 2;
  return energy;
}

/**
 * Logarithm of the mean of I0(2 |z|) over the bins, weighted with the prior.
 * @param {Float64Array} re
 * @param {Float64Array} im
 * @param {Float64Array} prior
 * @param {number} kept
 */
function logIntegral(re, im, prior, kept) {
  let top = 0;
  for (let b = 0; b < prior.length; b++) if (prior[b] > 0) top = Math.max(top, re[b] * re[b] + im[b] * im[b]);
  const peak = 2 * Math.sqrt(top);
  const least = Math.max(peak - kept, 0) ** 2 / 4;
  let total = 0;
  for (let b = 0; b < prior.length; b++) {
    const power = re[b] * re[b] + im[b] * im[b];
    if (power < least || prior[b] === 0) continue;
    const x = 2 * Math.sqrt(power);
    total += prior[b] * besselI0e(x) * Math.exp(x - peak);
  }
  return peak + Math.log(total);
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
 * Prior probability of each bin of the sync offset modulo the pilot period; bin 0 is centred on offset 0.
 * @param {import("./radio.js").Radio} radio
 * @param {number} numBins
 */
function foldedPrior(radio, numBins) {
  const mass = new Float64Array(numBins);
  if (radio.syncWindow === 0) return mass.fill(1, 0, 1);
  const window = radio.syncWindow / radio.period;
  /** @param {number} edge */
  const below = (edge) => (Math.floor(window) * edge + Math.min(edge, window % 1)) / window;
  for (let b = 0; b < numBins; b++) {
    mass[b] = below((b + 0.5) / numBins) - below(Math.max(b - 0.5, 0) / numBins);
  }
  mass[0] += below(1) - below(1 - 0.5 / numBins); // bin 0 wraps around the end of the period
  return mass;
}
