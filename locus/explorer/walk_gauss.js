/**
 * Gaussian of the errors that a walk's snapshots share: an assignment in; its density, and the errors corrected, out.
 *
 * A port of `locus/score/walk_gauss.py`.
 */

/** @typedef {ReturnType<typeof makeResiduals>} Residuals */

/**
 * Workspace for the residuals of assigned pairs, (row); the rows of a pair follow each other.
 * @param {number} numPairs at most
 * @param {number} size number of shared unknowns
 */
export function makeResiduals(numPairs, size) {
  const most = 2 * numPairs;
  const column = () => new Float64Array(most);
  return {
    most,
    size,
    numPairs: 0,
    rowsPerPair: 2,
    /** Whether the sync offset is known. */
    synchronised: false,
    residual: column(),
    /** Variance of its own. */
    own: column(),
    isDelay: column(),
    /** Residuals and offset, divided by the factor. */
    white: column(),
    offsetWhite: column(),
    /** (row, unknown): derivatives, and their products with the covariance of the unknowns. */
    slope: new Float64Array(most * size),
    gain: new Float64Array(most * size),
    /** (row, row): covariance of all residuals, and its Cholesky factor; the lower triangles. */
    covariance: new Float64Array(most * most),
    factor: new Float64Array(most * most),
    /** (pair) */
    kept: new Uint8Array(numPairs),
    /** (unknown) */
    pull: new Float64Array(size),
    lost: new Float64Array(size),
  };
}

/**
 * Likelihood of an assignment with shared errors, relative to that with independent errors of the same size.
 *
 * As in `common_errors.js`, assignments with pairs left out are included as long as that helps. `kept` says in the end
 * which pairs are left.
 * @param {Residuals} rows
 * @param {Float64Array} height (pair), density of the pair over that of clutter
 * @param {number} leastOwn
 */
export function agreement(rows, height, leastOwn) {
  const { kept, numPairs } = rows;
  kept.fill(1, 0, numPairs);
  let weight = 1;
  let last = ratio(rows, leastOwn);
  let shared = last, alone = 1;
  for (let left = numPairs; left > 2; left--) {
    let best = -1, most = last;
    for (let pair = 0; pair < numPairs; pair++) {
      if (kept[pair] === 0) continue;
      kept[pair] = 0;
      const without = weight / height[pair];
      const value = without * ratio(rows, leastOwn);
      kept[pair] = 1;
      shared += value;
      alone += without;
      if (value > most) [best, most] = [pair, value];
    }
    if (best < 0) break;
    kept[best] = 0;
    weight /= height[best];
    last = most;
  }
  return shared / alone;
}

/**
 * Correct `mean` (unknown) and covariance `spread` (unknown, unknown) with the kept pairs; `gain` is overwritten.
 *
 * The assignment holds with probability `share`: the result has the moments of the mixture of what it was and what the
 * assignment makes of it.
 * @param {Residuals} rows
 * @param {number} share
 * @param {Float64Array} mean
 * @param {Float64Array} spread
 * @param {number} leastOwn
 */
export function correct(rows, share, mean, spread, leastOwn) {
  const { most, size, numPairs, rowsPerPair, white, offsetWhite, gain, factor, kept, pull, lost } = rows;
  whiten(rows, leastOwn);
  pull.fill(0);
  lost.fill(0);
  let square = 0, along = 0;
  for (let r = 0; r < numPairs * rowsPerPair; r++) {
    if (kept[Math.trunc(r / rowsPerPair)] === 0) continue;
    square += offsetWhite[r] ** 2;
    along += offsetWhite[r] * white[r];
    for (let q = 0; q < r; q++) {
      if (kept[Math.trunc(q / rowsPerPair)] === 0) continue;
      const steep = factor[most * r + q];
      for (let i = 0; i < size; i++) gain[size * r + i] -= steep * gain[size * q + i];
    }
    for (let i = 0; i < size; i++) {
      gain[size * r + i] /= factor[most * r + r];
      pull[i] += gain[size * r + i] * white[r];
      lost[i] += gain[size * r + i] * offsetWhite[r];
    }
  }
  if (!rows.synchronised && square > 0) {
    for (let i = 0; i < size; i++) pull[i] -= (lost[i] * along) / square;
  } else {
    lost.fill(0);
    square = 1;
  }
  for (let r = 0; r < numPairs * rowsPerPair; r++) {
    if (kept[Math.trunc(r / rowsPerPair)] === 0) continue;
    for (let i = 0; i < size; i++) {
      const part = share * gain[size * r + i];
      for (let j = 0; j < size; j++) spread[size * i + j] -= part * gain[size * r + j];
    }
  }
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      spread[size * i + j] += share * ((lost[i] * lost[j]) / square + (1 - share) * pull[i] * pull[j]);
    }
    mean[i] += share * pull[i];
  }
}

/**
 * Cholesky factor of the kept rows; residuals and offset divided by it. Returns the log of its determinant.
 * @param {Residuals} rows
 * @param {number} leastOwn share of its own variance that a residual keeps; matters with rounding only
 */
function whiten({ most, numPairs, rowsPerPair, residual, own, isDelay, white, offsetWhite, covariance, factor, kept }, leastOwn) {
  let logs = 0;
  for (let r = 0; r < numPairs * rowsPerPair; r++) {
    if (kept[Math.trunc(r / rowsPerPair)] === 0) continue;
    let apart = residual[r], delay = isDelay[r];
    for (let q = 0; q <= r; q++) {
      if (kept[Math.trunc(q / rowsPerPair)] === 0) continue;
      let value = covariance[most * r + q];
      for (let p = 0; p < q; p++) {
        if (kept[Math.trunc(p / rowsPerPair)] > 0) value -= factor[most * r + p] * factor[most * q + p];
      }
      if (q < r) {
        const steep = value / factor[most * q + q];
        factor[most * r + q] = steep;
        apart -= steep * white[q];
        delay -= steep * offsetWhite[q];
      } else {
        factor[most * r + r] = Math.sqrt(Math.max(value, leastOwn * own[r]));
      }
    }
    const diagonal = factor[most * r + r];
    white[r] = apart / diagonal;
    offsetWhite[r] = delay / diagonal;
    logs += Math.log(diagonal);
  }
  return logs;
}

/**
 * Density of the residuals of the kept pairs with shared errors over that with independent ones.
 * @param {Residuals} rows
 * @param {number} leastOwn
 */
function ratio(rows, leastOwn) {
  const { most, numPairs, rowsPerPair, residual, isDelay, white, offsetWhite, covariance, kept } = rows;
  let shared = 2 * whiten(rows, leastOwn), alone = 0; // exponents, times -2
  let square = 0, along = 0, precision = 0, pull = 0;
  for (let r = 0; r < numPairs * rowsPerPair; r++) {
    if (kept[Math.trunc(r / rowsPerPair)] === 0) continue;
    const total = covariance[most * r + r];
    shared += white[r] ** 2;
    alone += residual[r] ** 2 / total + Math.log(total);
    square += offsetWhite[r] ** 2;
    along += offsetWhite[r] * white[r];
    precision += isDelay[r] / total;
    pull += (isDelay[r] * residual[r]) / total;
  }
  if (!rows.synchronised && square > 0) {
    shared += Math.log(square) - along ** 2 / square;
    alone += Math.log(precision) - pull ** 2 / precision;
  }
  return Math.exp(0.5 * (alone - shared));
}
