/** Features: path sets in, the inputs of the networks out (Sec. II-F). */

import { snrDb } from "./radio.js";

/**
 * @typedef {object} NetworkOptions options that a trained network is used with
 * @property {number} num_paths
 * @property {number} num_features number of features of a path set
 * @property {{snr_range: [number, number], order: string}} features
 * @property {number} size side of the training rooms [m]
 * @property {string} encoding
 */

/**
 * Cosine and sine of the angle and the scaled SNR of the strongest paths; a missing path is three zeros.
 * @param {import("./paths.js").Paths} paths
 * @param {import("./radio.js").Radio} radio
 * @param {NetworkOptions} options
 * @param {number} [used] number of strongest paths to use, all by default; the others count as missing
 * @returns {Float64Array} (row, feature)
 */
export function makeFeatures(paths, radio, options, used = options.num_paths) {
  const { num_paths: numPaths, num_features: numFeatures, features } = options;
  const [low, high] = features.snr_range;
  const numbers = new Float64Array(paths.rows * numFeatures);
  for (let row = 0; row < paths.rows; row++) {
    const kept = [];
    for (let p = 0; p < Math.min(numPaths, used, paths.width); p++) {
      if (paths.order[row * paths.width + p] >= 0) kept.push(row * paths.width + p);
    }
    // By the sine, the only part of the angle that a linear array observes
    if (features.order === "angle") kept.sort((a, b) => Math.sin(paths.aoa[a]) - Math.sin(paths.aoa[b]));
    kept.forEach((i, p) => {
      const snr = snrDb(paths.gainRe[i] ** 2 + paths.gainIm[i] ** 2, radio);
      const at = row * numFeatures + (p * numFeatures) / numPaths;
      numbers[at] = Math.cos(paths.aoa[i]);
      numbers[at + 1] = Math.sin(paths.aoa[i]);
      numbers[at + 2] = (Math.min(Math.max(snr, low), high) - low) / (high - low);
    });
  }
  return numbers;
}
