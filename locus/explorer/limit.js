/**
 * The Bayes limit: traced paths of all candidates and a snapshot in, the log posterior that no method can beat out.
 *
 * The receiver knows each candidate's signal except for carrier phase, which is integrated in closed form, and sync offset,
 * which is integrated numerically. The result equals that of `locus.score.limits.bayes`.
 */

import { normalise } from "./score.js";
import { logLikelihoods } from "./sync_offset.js";

/**
 * @param {import("./paths.js").Paths} paths traced paths of all candidates
 * @param {import("./observation.js").Complex} channel channel of the snapshot, with noise of unit variance
 * @param {import("./radio.js").Radio} radio
 * @param {import("./sync_offset.js").SyncOffsetConstants} constants
 * @returns {Float64Array} log posterior (candidate); -Infinity without a path
 */
export function bayes(paths, channel, radio, constants) {
  const length = radio.numSubcarriers;
  const signal = { re: new Float64Array(channel.re.length), im: new Float64Array(channel.re.length) };
  const rows = Array.from({ length: paths.rows }, (_, row) => row).filter((row) => paths.order[row * paths.width] >= 0);
  const energies = new Float64Array(rows.length);
  const outputs = rows.map((row, index) => {
    energies[index] = fillSignal(signal, paths, row, radio);
    const [re, im] = [new Float64Array(length), new Float64Array(length)];
    for (let i = 0; i < signal.re.length; i++) {
      const k = i % length;
      re[k] += signal.re[i] * channel.re[i] + signal.im[i] * channel.im[i];
      im[k] += signal.re[i] * channel.im[i] - signal.im[i] * channel.re[i];
    }
    return { re, im };
  });
  const scores = new Float64Array(paths.rows).fill(-Infinity);
  logLikelihoods(outputs, energies, radio, constants).forEach((score, index) => (scores[rows[index]] = score));
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
