/** Snapshots: traced paths of one transmitter in, the IQ samples that the receiver captures out. */

import { fft } from "./fft.js";

/** @typedef {{re: Float64Array, im: Float64Array}} Complex samples or subcarriers of each antenna, (antenna, sample) */

/**
 * Spectrum of the pilot, a Zadoff-Chu sequence, by a unitary transform; it has unit amplitude.
 * @param {number} length
 * @returns {Complex}
 */
export function pilotSpectrum(length) {
  const re = new Float64Array(length);
  const im = new Float64Array(length);
  for (let n = 0; n < length; n++) {
    const phase = (-Math.PI * n * (n + (length % 2))) / length;
    re[n] = Math.cos(phase) / Math.sqrt(length);
    im[n] = Math.sin(phase) / Math.sqrt(length);
  }
  fft(re, im);
  return { re, im };
}

/**
 * One period of the pilot, received over all paths with random sync offset and carrier phase, in noise.
 * @param {import("./paths.js").Paths} paths one row
 * @param {import("./radio.js").Radio} radio
 * @param {import("./random.js").Random} random
 * @returns {Complex}
 */
export function observe(paths, radio, random) {
  const offset = random.uniform(0, radio.syncWindow);
  const phase = random.uniform(0, 2 * Math.PI);
  const iq = receive(paths, offset, phase, radio);
  const amplitude = Math.sqrt(radio.noisePower / 2);
  for (let i = 0; i < iq.re.length; i++) {
    iq.re[i] += amplitude * random.normal();
    iq.im[i] += amplitude * random.normal();
  }
  return iq;
}

/**
 * Noiseless samples: for each antenna, the pilot's spectrum times the channel.
 * @param {import("./paths.js").Paths} paths one row
 * @param {number} offset [s]
 * @param {number} phase [rad]
 * @param {import("./radio.js").Radio} radio
 * @returns {Complex}
 */
export function receive(paths, offset, phase, radio) {
  const { numSubcarriers: length, numAntennas } = radio;
  const pilot = pilotSpectrum(length);
  const amplitude = Math.sqrt(radio.txPower / length); // for a unitary transform
  const iq = { re: new Float64Array(length * numAntennas), im: new Float64Array(length * numAntennas) };
  for (let antenna = 0; antenna < numAntennas; antenna++) {
    const re = iq.re.subarray(antenna * length, (antenna + 1) * length);
    const im = iq.im.subarray(antenna * length, (antenna + 1) * length);
    for (let p = 0; p < paths.width; p++) {
      if (paths.order[p] < 0) continue;
      const start = phase - Math.PI * antenna * Math.sin(paths.aoa[p]);
      const step = (-2 * Math.PI * (paths.delay[p] - offset)) / radio.period;
      for (let k = 0; k < length; k++) {
        const c = amplitude * Math.cos(start + k * step);
        const s = amplitude * Math.sin(start + k * step);
        re[k] += paths.gainRe[p] * c - paths.gainIm[p] * s;
        im[k] += paths.gainRe[p] * s + paths.gainIm[p] * c;
      }
    }
    for (let k = 0; k < length; k++) {
      [re[k], im[k]] = [re[k] * pilot.re[k] - im[k] * pilot.im[k], re[k] * pilot.im[k] + im[k] * pilot.re[k]];
    }
    fft(re, im, true);
  }
  return iq;
}

/**
 * Channel at each antenna and subcarrier, with noise of unit variance: the spectrum divided by the pilot's.
 * @param {Complex} iq
 * @param {import("./radio.js").Radio} radio
 * @returns {Complex}
 */
export function despread(iq, radio) {
  const { numSubcarriers: length, numAntennas } = radio;
  const pilot = pilotSpectrum(length);
  const scale = 1 / Math.sqrt(length * radio.noisePower);
  const channel = { re: iq.re.slice(), im: iq.im.slice() };
  for (let antenna = 0; antenna < numAntennas; antenna++) {
    const re = channel.re.subarray(antenna * length, (antenna + 1) * length);
    const im = channel.im.subarray(antenna * length, (antenna + 1) * length);
    fft(re, im);
    for (let k = 0; k < length; k++) {
      const x = re[k] * scale;
      const y = im[k] * scale;
      re[k] = x * pilot.re[k] + y * pilot.im[k];
      im[k] = y * pilot.re[k] - x * pilot.im[k];
    }
  }
  return channel;
}
