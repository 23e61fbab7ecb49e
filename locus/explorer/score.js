/** LOCUS-DT: features of every candidate and of an observation in, the score of each candidate out. */

/**
 * @typedef {{shape: number[], values: ArrayLike<number>}} Tensor values in row-major order
 * @typedef {Record<string, Tensor>} Weights
 */

/**
 * Weights times a vector plus a bias; the vector starts at `from`.
 * @param {Tensor} weight
 * @param {Tensor | null} bias
 * @param {Float64Array} vector
 * @param {Float64Array} result where to write, at `to`; what it holds elsewhere stays
 */
export function linear(weight, bias, vector, from = 0, result = new Float64Array(weight.shape[0]), to = 0) {
  const [rows, columns] = weight.shape;
  const { values } = weight;
  let r = 0;
  // Four rows at a time: a sum waits for its last addition, four sums do not wait for each other.
  for (; r + 4 <= rows; r += 4) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let k = 0, at = r * columns; k < columns; k++, at++) {
      const one = vector[from + k];
      a += values[at] * one;
      b += values[at + columns] * one;
      c += values[at + 2 * columns] * one;
      d += values[at + 3 * columns] * one;
    }
    result[to + r] = a;
    result[to + r + 1] = b;
    result[to + r + 2] = c;
    result[to + r + 3] = d;
  }
  for (; r < rows; r++) {
    let total = 0;
    for (let k = 0; k < columns; k++) total += values[r * columns + k] * vector[from + k];
    result[to + r] = total;
  }
  if (bias) for (r = 0; r < rows; r++) result[to + r] += bias.values[r];
  return result;
}

/**
 * Rectifier: set negative numbers to zero, in place.
 * @param {Float64Array} vector
 */
export function relu(vector) {
  for (let i = 0; i < vector.length; i++) if (vector[i] < 0) vector[i] = 0;
  return vector;
}

/**
 * The candidates' part of the first layer (candidate, unit), which all snapshots share.
 * @param {Weights} weights
 * @param {Float64Array} candidates features of all candidates
 */
export function embed(weights, candidates) {
  const [units, columns] = weights.twin.shape;
  const result = new Float64Array((candidates.length / columns) * units);
  for (let c = 0; c < candidates.length / columns; c++) {
    linear(weights.twin, null, candidates, c * columns, result, c * units);
  }
  return result;
}

/**
 * @param {Weights} weights
 * @param {Float64Array} embedded result of `embed` for the candidates
 * @param {Float64Array} observed features of the observation
 * @returns {Float64Array} scores (candidate)
 */
export function scorePairs(weights, embedded, observed) {
  const shift = linear(weights.observation, weights.bias, observed);
  const units = shift.length;
  const scores = new Float64Array(embedded.length / units);
  const first = new Float64Array(units);
  const { "hidden.weight": hidden, "hidden.bias": bias, "last.weight": last, "last.bias": lastBias } = weights;
  const second = new Float64Array(hidden.shape[0]); // used again for every candidate, as is the first
  for (let c = 0; c < scores.length; c++) {
    for (let u = 0; u < units; u++) first[u] = Math.max(embedded[c * units + u] + shift[u], 0);
    relu(linear(hidden, bias, first, 0, second));
    linear(last, lastBias, second, 0, scores, c);
  }
  return scores;
}

/**
 * Log posterior from scores, without overflow.
 * @param {Float64Array} scores
 */
export function normalise(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - largest), 0);
  return scores.map((score) => score - largest - Math.log(total));
}

/**
 * Logarithm of a sum from the logarithms of its parts, without underflow.
 * @param {number} a
 * @param {number} b
 */
export function addLogs(a, b) {
  const large = Math.max(a, b);
  return large === -Infinity ? large : large + Math.log1p(Math.exp(Math.min(a, b) - large));
}
