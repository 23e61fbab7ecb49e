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
 */
export function linear(weight, bias, vector, from = 0) {
  const [rows, columns] = weight.shape;
  const result = new Float64Array(rows);
  for (let r = 0; r < rows; r++) {
    let total = bias ? bias.values[r] : 0;
    for (let c = 0; c < columns; c++) total += weight.values[r * columns + c] * vector[from + c];
    result[r] = total;
  }
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
    result.set(linear(weights.twin, null, candidates, c * columns), c * units);
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
  for (let c = 0; c < scores.length; c++) {
    for (let u = 0; u < units; u++) first[u] = Math.max(embedded[c * units + u] + shift[u], 0);
    const second = relu(linear(weights["hidden.weight"], weights["hidden.bias"], first));
    scores[c] = linear(weights["last.weight"], weights["last.bias"], second)[0];
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
