/**
 * Arrays for the likelihood of path sets: traced and observed paths in, what is compared out.
 *
 * A port of `locus/score/path_arrays.py`.
 */

import { modulo } from "./radio.js";
import { leftOver } from "./soft_detection.js";

/** Relative change of an amplitude per decibel, for small changes. */
export const DECIBEL = Math.LN10 / 20;

/**
 * @typedef {import("./paths.js").Paths} Paths
 * @typedef {import("./radio.js").Radio} Radio
 */

/**
 * @typedef {object} FittedConstants constants that theory leaves open; a cell is 2 / antennas in the sine, one sample in delay
 * @property {number} sine_excess error of an estimated sine beyond the Cramér-Rao bound [cells]
 * @property {number} delay_excess error of an estimated delay beyond the Cramér-Rao bound [cells]
 * @property {number} strength_excess_db error of an estimated strength beyond the noise [dB]
 * @property {number} tail_share share of detected paths whose estimate is disturbed by another path
 * @property {number} tail_cells error of a disturbed sine or delay [cells]
 * @property {number} tail_db error of a disturbed strength [dB]
 * @property {number} merge_cells distance at which two paths are reported as one in exp(-1) of all cases [cells]
 * @property {number} miss probability that a path above the threshold is not reported
 * @property {number} doubt temperature that a twin at the full tolerance adds to 1
 * @property {number} floor share of the prior in every posterior
 */

/**
 * @typedef {object} Components error models of the mixture, each (component)
 * @property {number[]} weight prior probability
 * @property {number[]} heading turn that is added to all traced angles [rad]
 * @property {number[]} turn_variance variance of a path's angle about that turn [rad^2]
 * @property {number[]} variance variance of the receiver position along any axis [m^2]
 * @property {number[]} reflection_variance variance that each reflection adds to the position of an image [m^2]
 * @property {number[]} gain_variance variance that each reflection adds to the relative error of the amplitude
 * @property {number[]} miss probability that a path above the threshold is not reported
 * @property {number[]} unknown expected number of observed paths that the twin does not trace
 * @property {number[]} level errors of plan and position, relative to the tolerance; 1 if obstacles have changed
 */

/**
 * @typedef {object} PathSetConstants
 * @property {number} weakest energy below which a traced path is ignored
 * @property {number} strongest largest energy
 * @property {number} most_merged largest probability that a path is absorbed or disturbed
 * @property {number} lowest_level energy below which the density of false paths stays constant
 * @property {number} most_seen largest number of observed paths
 * @property {number} least_height height below which a term is dropped
 * @property {number} least_share products of terms count if they can add more than this share to the likelihood
 * @property {number} negligible share of other components below which products of terms are left out
 * @property {number} scale factor that keeps products within double precision
 * @property {number} far exponent from which on a Gaussian counts as zero
 * @property {number} least_root root of the energy of a path below which its errors are no wider
 * @property {number} most_sine largest variance of a sine
 * @property {number} no_angle in place of 1 / (2 variance) of a sine that is not observed
 * @property {number} close squared distance from a similar term with nodes, in its widths, within which there are no others
 * @property {number} similar ratio up to which the sharpness of terms is similar
 * @property {number} overlap exponent up to which two terms overlap
 * @property {number[]} nodes Gauss-Hermite nodes
 * @property {number[]} node_weights their weights
 * @property {import("./strength.js").TableConstants} table
 * @property {import("./soft_detection.js").SoftConstants} soft
 */

/** @typedef {ReturnType<typeof findWidths>} Widths */
/** @typedef {ReturnType<typeof arrangeTraced>} Traced */
/** @typedef {ReturnType<typeof arrangeObserved>} Seen */

/**
 * Scales of the errors of estimated paths. Transmitters are uniform in a square about their candidate.
 * @param {Radio} radio
 * @param {FittedConstants} fitted
 * @param {number} spacing side of that square [m]
 */
export function findWidths(radio, fitted, spacing) {
  const { numSubcarriers: n, numAntennas: m } = radio;
  const cell = 2 / m;
  const offsets = Math.min(radio.syncWindow / radio.period, 1) * n;
  const known = offsets <= 1; // a window this narrow only blurs the delays
  return {
    /** Variance of an estimated sine at energy 1; 0 if a single antenna sees no angles. */
    sine: m > 1 ? 6 / (Math.PI ** 2 * (m * m - 1)) : 0,
    /** Variance of an estimated delay at energy 1 [samples^2]. */
    delay: (3 * n * n) / (2 * Math.PI ** 2 * (n * n - 1)),
    /** Variances at infinite energy of sine, delay and relative amplitude. */
    sineExcess: (fitted.sine_excess * cell) ** 2,
    delayExcess: fitted.delay_excess ** 2 + (known ? offsets ** 2 / 12 : 0),
    gainExcess: (DECIBEL * fitted.strength_excess_db) ** 2,
    /** Variances that a disturbed estimate has in addition. */
    sineTail: (fitted.tail_cells * cell) ** 2,
    delayTail: fitted.tail_cells ** 2,
    gainTail: (DECIBEL * fitted.tail_db) ** 2,
    /** Probability that an estimate is disturbed. */
    tailShare: fitted.tail_share,
    /** Delay per metre [samples/m]. */
    samplesPerMetre: n / radio.period / radio.speedOfLight,
    /** Largest variance of a delay [samples^2], which is known modulo the period only. */
    mostDelay: (n / 6) ** 2,
    /** Period of the pilot [samples]. */
    period: n,
    /** Variance of the transmitter's place about its candidate along any axis [m^2]. */
    blur: spacing ** 2 / 12,
    /** Sync offsets are uniform in [0, window), at most a period [samples]; 0 if the offset is known to be 0. */
    window: known ? 0 : offsets,
  };
}

/**
 * Traced paths (candidate, path) that are strong enough to matter. They are strongest first and not of length zero.
 * @param {Paths} paths
 * @param {Radio} radio
 * @param {PathSetConstants} constants
 * @param {number} mergeCells distance at which two paths are reported as one in exp(-1) of all cases [cells]
 */
export function arrangeTraced(paths, radio, constants, mergeCells) {
  const { rows, width } = paths;
  const [azimuth, root, delay, length] = Array.from({ length: 4 }, () => new Float64Array(rows * width));
  const numPaths = new Int32Array(rows);
  for (let row = 0; row < rows; row++) {
    for (let i = row * width; i < (row + 1) * width; i++) {
      const energy = energyOf(paths, i, radio, constants.strongest);
      if (energy < constants.weakest) break;
      azimuth[i] = modulo(paths.aoa[i] + Math.PI, 2 * Math.PI) - Math.PI;
      root[i] = Math.sqrt(energy);
      delay[i] = paths.delay[i] * (radio.numSubcarriers / radio.period);
      length[i] = paths.delay[i] * radio.speedOfLight;
      numPaths[row]++;
    }
  }
  const { merged, disturbed } = merge(width, numPaths, azimuth, delay, root, radio, mergeCells, constants.most_merged);
  return { width, numPaths, azimuth, root, delay, length, order: paths.order, merged, disturbed };
}

/**
 * Probabilities (candidate, path) that a path is absorbed by a stronger one, and that it absorbs a weaker one and errs by it.
 * @param {number} width
 * @param {Int32Array} numPaths
 * @param {Float64Array} azimuth
 * @param {Float64Array} delay [samples]
 * @param {Float64Array} root
 * @param {Radio} radio
 * @param {number} cells
 * @param {number} most
 */
function merge(width, numPaths, azimuth, delay, root, { numSubcarriers: n, numAntennas: m }, cells, most) {
  const [alone, clean] = [new Float64Array(root.length).fill(1), new Float64Array(root.length).fill(1)];
  const sine = azimuth.map(Math.sin);
  for (let c = 0; c < numPaths.length; c++) {
    for (let j = c * width + 1; j < c * width + numPaths[c]; j++) {
      for (let i = c * width; i < j; i++) {
        const late = modulo(delay[i] - delay[j] + n / 2, n) - n / 2;
        if (Math.abs(late) > 6 * cells) continue; // the probability would be below 1e-15
        const apart = Math.abs(sine[i] - sine[j]);
        const beside = m > 1 ? (Math.min(apart, 2 - apart) * m) / 2 : 0;
        const both = Math.exp(-(beside * beside + late * late) / (cells * cells));
        alone[j] *= 1 - both;
        clean[i] *= 1 - (both * root[j]) / root[i];
      }
    }
  }
  const complement = (/** @type {number} */ value) => Math.min(1 - value, most);
  return { merged: alone.map(complement), disturbed: clean.map(complement) };
}

/**
 * Observed paths of a snapshot, strongest first, and what each component expects of clutter.
 *
 * If all reportable paths are reported, the weakest of them is the threshold.
 * @param {Paths} observed one row
 * @param {Radio} radio
 * @param {{num_paths: number, threshold: number}} estimator options with which the paths were estimated
 * @param {Components} components
 * @param {Widths} widths
 * @param {PathSetConstants} constants
 */
export function arrangeObserved(observed, radio, estimator, components, widths, constants) {
  const most = Math.min(observed.width, constants.most_seen);
  const [sine, root, delay] = Array.from({ length: 3 }, () => new Float64Array(most));
  const usual = estimator.threshold * radio.numSubcarriers * radio.numAntennas;
  let count = 0, weakest = Infinity;
  for (; count < most && observed.order[count] >= 0; count++) {
    weakest = energyOf(observed, count, radio, constants.strongest);
    sine[count] = Math.sin(observed.aoa[count]);
    root[count] = Math.sqrt(weakest);
    delay[count] = observed.delay[count] * (radio.numSubcarriers / radio.period);
  }
  const full = count >= Math.min(estimator.num_paths, constants.most_seen);
  const level = full ? weakest : Math.min(usual, weakest);

  const numComponents = components.weight.length;
  const [clutter, limit, tailLimit] = Array.from({ length: 3 }, () => new Float64Array(numComponents * most));
  const logs = new Float64Array(numComponents); // of the density of the observed paths, if all are clutter
  const { sineExcess, sineTail, delayExcess, delayTail, samplesPerMetre } = widths;
  for (let k = 0; k < numComponents; k++) {
    const moved = components.variance[k] * samplesPerMetre ** 2;
    // A path of any length and order has at least these variances, and its strength a density below 1
    const least = 2 * Math.PI * constants.least_height * Math.sqrt(sineExcess * (delayExcess + moved));
    const tail = (sineExcess + sineTail) * (delayExcess + delayTail + moved);
    const tailLeast = 2 * Math.PI * constants.least_height * Math.sqrt(tail);
    logs[k] = -components.unknown[k] * Math.sqrt(usual / level);
    for (let q = 0; q < count; q++) {
      const energy = root[q] * root[q];
      // The density of paths that the twin does not trace falls with the energy
      const unknown = (components.unknown[k] * 0.5 * Math.sqrt(usual)) / (energy * root[q]);
      const value = (falsePaths(energy, radio, constants) + unknown) / (2 * radio.numSubcarriers);
      clutter[k * most + q] = value;
      limit[k * most + q] = -Math.log(least * value);
      tailLimit[k * most + q] = -Math.log(tailLeast * value);
      logs[k] += Math.log(value);
    }
  }
  return {
    count,
    width: most,
    /** Root of the energy above which a path would have been reported. */
    rootThreshold: Math.sqrt(level),
    sine,
    root,
    delay,
    /** (component, path): density of untraced paths in energy, sine and delay [1/sample] at the observed. */
    clutter,
    /** (component): probability of the component and of the observed paths, if all are clutter, up to a factor. */
    weight: logs.map((log, k) => components.weight[k] * Math.exp(log - logs[0])),
    /** (component, path): exponents from which on a term is too low, whatever the traced path. */
    limit,
    tailLimit,
    /** What the observed paths leave; null if unknown. */
    leftOver: leftOver(observed.residual, radio, constants.soft),
    /** Logarithm of the factor left out of `weight`. */
    logFactor: logs[0] - numFalsePaths(level, radio, constants),
  };
}

/**
 * Energy after integration over all samples and antennas, in units of the noise; 0 for padding.
 * @param {Paths} paths
 * @param {number} i
 * @param {Radio} radio
 * @param {number} strongest
 */
function energyOf(paths, i, radio, strongest) {
  if (paths.order[i] < 0) return 0;
  const power = paths.gainRe[i] ** 2 + paths.gainIm[i] ** 2;
  return Math.min(radio.numSubcarriers * radio.numAntennas * power * (radio.txPower / radio.noisePower), strongest);
}

/** @param {Radio} radio */
function cellsOf({ numSubcarriers: n, numAntennas: m }) {
  return (Math.PI / 3) * Math.sqrt((n * n - 1) * Math.max(m * m - 1, 1));
}

/**
 * Expected number of noise peaks above a level of energy.
 * @param {number} level
 * @param {Radio} radio
 * @param {PathSetConstants} constants
 */
function numFalsePaths(level, radio, constants) {
  const high = Math.max(level, constants.lowest_level);
  return cellsOf(radio) * (high - 0.5) * Math.exp(-high) + (high - level) * falsePaths(level, radio, constants);
}

/**
 * Density of noise peaks in energy, the derivative of their expected number.
 * @param {number} energy
 * @param {Radio} radio
 * @param {PathSetConstants} constants
 */
function falsePaths(energy, radio, constants) {
  const high = Math.max(energy, constants.lowest_level);
  return cellsOf(radio) * (high - 1.5) * Math.exp(-high);
}
