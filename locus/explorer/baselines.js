/**
 * The baselines of Sec. III-C: observed features and the receiver's pose in, log densities of the candidates out.
 *
 * A port of `locus/score/densities.py`; terms equal for all candidates are omitted, as normalisation cancels them.
 */

import { linear, relu } from "./score.js";

/**
 * @typedef {object} DensityConstants
 * @property {number} least_width smallest standard deviation of a density
 * @property {number} least_distance distance from the receiver below which a polar density is constant
 * @property {number} wraps number of turns to either side in the sum of a wrapped Gaussian
 */

/** @typedef {(x: number, y: number) => number} Density log density at a position, up to a constant */

/** @param {number} x */
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
/** @param {number} x */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** @param {number[]} values */
function logSumExp(values) {
  const largest = Math.max(...values);
  return largest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
}

/**
 * Input of the network: features and pose; lengths in units of half the room's side.
 * @param {Float64Array} observed
 * @param {import("./twin.js").Pose} pose
 * @param {import("./features.js").NetworkOptions} options
 * @returns {Float64Array}
 */
function makeConditions(observed, pose, options) {
  const { size, encoding, num_paths: numPaths, num_features: numFeatures } = options;
  const seen = observed.slice();
  const [cos, sin] = [Math.cos(pose.heading), Math.sin(pose.heading)];
  if (encoding === "turned") {
    for (let i = 0; i < seen.length; i += numFeatures / numPaths) {
      [seen[i], seen[i + 1]] = [seen[i] * cos - seen[i + 1] * sin, seen[i] * sin + seen[i + 1] * cos];
    }
  }
  return Float64Array.of(...seen, (2 * pose.x) / size - 1, (2 * pose.y) / size - 1, cos, sin);
}

/**
 * @param {string} name gauss_cart, gauss_polar or gmm_cart
 * @param {import("./methods.js").Method} method
 * @param {Float64Array} candidates (candidate, 2) [m]
 * @param {Float64Array} observed features of the observation
 * @param {import("./twin.js").Pose} pose
 * @param {DensityConstants} constants
 * @returns {Float64Array} scores (candidate)
 */
export function scoreDensity(name, { weights, options }, candidates, observed, pose, constants) {
  let values = makeConditions(observed, pose, options);
  const [px, py] = values.slice(-4);
  values = relu(linear(weights["network.0.weight"], weights["network.0.bias"], values));
  values = relu(linear(weights["network.2.weight"], weights["network.2.bias"], values));
  const outputs = linear(weights["network.4.weight"], weights["network.4.bias"], values);
  const turned = options.encoding === "turned";
  const density = DENSITIES[name](outputs, constants, turned, pose);
  const scores = new Float64Array(candidates.length / 2);
  for (let c = 0; c < scores.length; c++) {
    const x = (2 * candidates[2 * c]) / options.size - 1;
    const y = (2 * candidates[2 * c + 1]) / options.size - 1;
    // Cartesian positions in the room or relative to the receiver; polar ones are always relative to it
    scores[c] = turned || name === "gauss_polar" ? density(x - px, y - py) : density(x, y);
  }
  return scores;
}

/**
 * @param {Float64Array} outputs
 * @param {DensityConstants} constants
 * @returns {Density}
 */
const gaussCart = (outputs, constants) => gaussian(outputs, constants.least_width);

/**
 * @param {Float64Array} outputs
 * @param {DensityConstants} constants
 * @returns {Density}
 */
function gmmCart(outputs, constants) {
  const parts = Array.from({ length: outputs.length / 6 }, (_, i) => outputs.slice(6 * i, 6 * i + 6));
  const densities = parts.map((part) => gaussian(part.slice(1), constants.least_width));
  return (x, y) => logSumExp(densities.map((density, i) => parts[i][0] + density(x, y)));
}

/**
 * Log density of a Gaussian; outputs are its mean, then the Cholesky factor of its covariance, diagonal first.
 * @param {Float64Array} outputs
 * @param {number} leastWidth
 * @returns {Density}
 */
function gaussian([meanX, meanY, rawFirst, rawSecond, below], leastWidth) {
  const first = softplus(rawFirst) + leastWidth;
  const second = softplus(rawSecond) + leastWidth;
  const constant = Math.log(first) + Math.log(second);
  return (x, y) => {
    const u = (x - meanX) / first;
    const v = (y - meanY - below * u) / second;
    return -0.5 * (u * u + v * v) - constant;
  };
}

/**
 * A Gaussian in distance times a wrapped Gaussian in direction, whose mean is linear in the distance.
 * @param {Float64Array} outputs
 * @param {DensityConstants} constants
 * @param {boolean} turned
 * @param {import("./twin.js").Pose} pose
 * @returns {Density}
 */
function gaussPolar([rawMean, rawWidth, cosine, sine, slope, rawSpread], constants, turned, pose) {
  const { least_width: leastWidth, least_distance: leastDistance, wraps: most } = constants;
  const mean = softplus(rawMean);
  const width = softplus(rawWidth) + leastWidth;
  const middle = Math.atan2(sine, cosine) + (turned ? 0 : pose.heading);
  const spread = Math.PI * sigmoid(rawSpread) + leastWidth;
  return (x, y) => {
    const distance = Math.max(Math.hypot(x, y), leastDistance);
    const standard = (distance - mean) / width;
    let turn = Math.atan2(y, x) - middle - slope * standard;
    turn -= 2 * Math.PI * Math.round(turn / (2 * Math.PI));
    const wraps = [];
    for (let k = -most; k <= most; k++) wraps.push(-0.5 * ((turn + 2 * Math.PI * k) / spread) ** 2);
    return -0.5 * standard ** 2 + logSumExp(wraps) - Math.log(distance);
  };
}

/** @type {Record<string, typeof gaussPolar>} */
const DENSITIES = { gauss_cart: gaussCart, gauss_polar: gaussPolar, gmm_cart: gmmCart };
