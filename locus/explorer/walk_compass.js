/**
 * The compass on a walk: a mixture of Gaussians of its error in; mean, deviation and an interval out.
 *
 * A port of `locus/score/walk_compass.py`.
 */

const REACH = 10; // deviations from the mean that bisection starts with
const HALVINGS = 60;
const SERIES = 3; // deviations up to which the series of the normal distribution is used

/**
 * @typedef {object} HeadingError true heading minus that of the given poses [rad]
 * @property {number} mean
 * @property {number} deviation standard deviation
 * @property {number} low lower end of the central interval
 * @property {number} high upper end
 */

/** @typedef {{share: number, mean: number, deviation: number}} Gaussian */

/**
 * Posterior from the weights, means [rad] and variances [rad^2] of Gaussians.
 * @param {ArrayLike<number>} weight
 * @param {(i: number) => {mean: number, variance: number}} gaussian
 * @param {{interval: number, least_weight: number}} constants
 * @returns {HeadingError}
 */
export function headingPosterior(weight, gaussian, { interval, least_weight: leastWeight }) {
  let largest = 0;
  for (let i = 0; i < weight.length; i++) largest = Math.max(largest, weight[i]);
  /** @type {Gaussian[]} */
  const kept = [];
  for (let i = 0; i < weight.length; i++) {
    if (!(weight[i] > leastWeight * largest)) continue;
    const { mean, variance } = gaussian(i);
    kept.push({ share: weight[i], mean, deviation: Math.sqrt(Math.max(variance, 0)) });
  }
  const total = kept.reduce((sum, { share }) => sum + share, 0);
  for (const one of kept) one.share /= total;
  const centre = kept.reduce((sum, { share, mean }) => sum + share * mean, 0);
  const square = kept.reduce((sum, { share, mean, deviation }) => sum + share * (deviation ** 2 + (mean - centre) ** 2), 0);
  const [low, high] = [(1 - interval) / 2, (1 + interval) / 2].map((end) => quantile(kept, end));
  return { mean: centre, deviation: Math.sqrt(square), low, high };
}

/**
 * Quantile of a mixture of normal distributions, by bisection.
 * @param {Gaussian[]} mixture
 * @param {number} wanted
 */
function quantile(mixture, wanted) {
  let [low, high] = [Infinity, -Infinity];
  for (const { mean, deviation } of mixture) {
    low = Math.min(low, mean - REACH * deviation);
    high = Math.max(high, mean + REACH * deviation);
  }
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    let below = 0;
    for (const { share, mean, deviation } of mixture) {
      below += share * (deviation > 0 ? normal((middle - mean) / deviation) : middle < mean ? 0 : 1);
    }
    if (below < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Probability that a standard normal variable is below `z`, in double precision.
 * @param {number} z
 */
export function normal(z) {
  const x = Math.abs(z);
  if (x > REACH) return z > 0 ? 1 : 0;
  const density = Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
  if (x < SERIES) {
    let sum = x;
    for (let n = 1, term = x; term > Number.EPSILON * sum; n++) {
      term *= (x * x) / (2 * n + 1);
      sum += term;
    }
    return 0.5 + Math.sign(z) * density * sum;
  }
  let rest = x; // Laplace's continued fraction of the tail
  for (let n = HALVINGS; n > 0; n--) rest = x + n / rest;
  return z > 0 ? 1 - density / rest : density / rest;
}
