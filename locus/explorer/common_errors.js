/**
 * Errors that all paths share: an assignment of observed to traced paths in, how much better they explain it out.
 *
 * A port of `locus/score/common_errors.py`, which has the derivatives. Shared are the sync offset, and the receiver's heading,
 * x and y, the latter three in standard deviations of their priors.
 */

const SIZE = 4; // sync offset, heading, x and y

/**
 * @typedef {object} Rows residuals of assigned pairs, (row); the rows of a pair follow each other
 * @property {Float64Array} residual
 * @property {Float64Array} own variance of the row alone
 * @property {Float64Array} all variance with the shared errors
 * @property {Float64Array} slope (row, 4), derivatives with respect to the shared errors
 * @property {Float64Array} height (pair), density of the pair over that of clutter
 * @property {Uint8Array} kept (pair), workspace
 */

/**
 * @param {number} numPairs at most
 * @returns {Rows}
 */
export function makeRows(numPairs) {
  const columns = Array.from({ length: 3 }, () => new Float64Array(2 * numPairs));
  return {
    residual: columns[0],
    own: columns[1],
    all: columns[2],
    slope: new Float64Array(2 * numPairs * SIZE),
    height: new Float64Array(numPairs),
    kept: new Uint8Array(numPairs),
  };
}

/**
 * Fill in the row of a delay [samples]: residual offset of an assigned pair, and variance of its own.
 * @param {Rows} rows
 * @param {number} row
 * @param {number} residual
 * @param {number} own
 * @param {number} azimuth
 * @param {number} moved standard deviation of the position [samples]
 */
export function setDelay(rows, row, residual, own, azimuth, moved) {
  rows.residual[row] = residual;
  rows.own[row] = own;
  rows.all[row] = own + moved * moved;
  rows.slope[SIZE * row] = 1;
  rows.slope[SIZE * row + 1] = 0;
  rows.slope[SIZE * row + 2] = moved * Math.cos(azimuth);
  rows.slope[SIZE * row + 3] = moved * Math.sin(azimuth);
}

/**
 * Fill in the row of a sine.
 * @param {Rows} rows
 * @param {number} row
 * @param {number} residual
 * @param {number} own
 * @param {number} azimuth
 * @param {number} turned standard deviation of the heading [rad]
 * @param {number} moved standard deviation of the position, relative to the length of the path
 */
export function setSine(rows, row, residual, own, azimuth, turned, moved) {
  const slope = Math.cos(azimuth);
  const far = slope * moved;
  rows.residual[row] = residual;
  rows.own[row] = own;
  rows.all[row] = own + slope * turned * (slope * turned) + far * far;
  rows.slope[SIZE * row] = 0;
  rows.slope[SIZE * row + 1] = -slope * turned;
  rows.slope[SIZE * row + 2] = far * Math.sin(azimuth);
  rows.slope[SIZE * row + 3] = -far * slope;
}

/**
 * Likelihood of an assignment with shared errors, relative to that with independent errors of the same size.
 *
 * A wrong pair contradicts the others, however well it fits alone, so sums over assignments with one pair less are
 * included, as long as removing a pair helps.
 * @param {Rows} rows
 * @param {number} numPairs
 * @param {number} rowsPerPair
 * @param {boolean} synchronised whether the sync offset is known
 */
export function agreement(rows, numPairs, rowsPerPair, synchronised) {
  const { height, kept } = rows;
  kept.fill(1, 0, numPairs);
  let weight = 1;
  let last = ratio(rows, numPairs, rowsPerPair, synchronised);
  let shared = last;
  let alone = 1;
  for (let left = numPairs; left > 2; left--) {
    let best = -1;
    let most = last;
    for (let pair = 0; pair < numPairs; pair++) {
      if (kept[pair] === 0) continue;
      kept[pair] = 0;
      const without = weight / height[pair];
      const value = without * ratio(rows, numPairs, rowsPerPair, synchronised);
      kept[pair] = 1;
      shared += value;
      alone += without;
      if (value > most) {
        best = pair;
        most = value;
      }
    }
    if (best < 0) break;
    kept[best] = 0;
    weight /= height[best];
    last = most;
  }
  return shared / alone;
}

const precision = new Float64Array(SIZE * SIZE);
const pull = new Float64Array(SIZE);

/**
 * Density of the residuals of the kept pairs with shared errors over that with independent ones.
 *
 * Both are integrated over the sync offset, unless the receiver is synchronised.
 * @param {Rows} rows
 * @param {number} numPairs
 * @param {number} rowsPerPair
 * @param {boolean} synchronised
 */
function ratio({ residual, own, all, slope, kept }, numPairs, rowsPerPair, synchronised) {
  precision.fill(0);
  pull.fill(0);
  const first = synchronised ? 1 : 0;
  for (let i = 1 - first; i < SIZE; i++) precision[SIZE * i + i] = 1;
  // Exponents, times -2
  let shared = 0, alone = 0, offsetPrecision = first, offsetPull = 0;
  for (let r = 0; r < numPairs * rowsPerPair; r++) {
    if (kept[rowsPerPair === 2 ? r >> 1 : r] === 0) continue;
    const apart = residual[r];
    shared += (apart * apart) / own[r] + Math.log(own[r] / all[r]);
    alone += (apart * apart) / all[r];
    for (let i = first; i < SIZE; i++) {
      const steep = slope[SIZE * r + i] / own[r];
      pull[i] += steep * apart;
      for (let j = first; j <= i; j++) precision[SIZE * i + j] += steep * slope[SIZE * r + j];
    }
    if (!synchronised) {
      offsetPrecision += slope[SIZE * r] / all[r];
      offsetPull += (slope[SIZE * r] * apart) / all[r];
    }
  }
  alone += Math.log(offsetPrecision) - (offsetPull * offsetPull) / offsetPrecision;
  return Math.exp(0.5 * (alone - shared - explained()));
}

/**
 * Logarithm of the determinant of the precision minus what the shared errors explain; factors and solves in place.
 */
function explained() {
  let total = 0;
  for (let i = 0; i < SIZE; i++) {
    for (let j = 0; j <= i; j++) {
      let value = precision[SIZE * i + j];
      for (let k = 0; k < j; k++) value -= precision[SIZE * i + k] * precision[SIZE * j + k];
      precision[SIZE * i + j] = i === j ? Math.sqrt(value) : value / precision[SIZE * j + j];
    }
    const diagonal = precision[SIZE * i + i];
    for (let k = 0; k < i; k++) pull[i] -= precision[SIZE * i + k] * pull[k];
    pull[i] /= diagonal;
    total += 2 * Math.log(diagonal) - pull[i] * pull[i];
  }
  return total;
}
