/**
 * Strength of a detected path: its energy, as the twin predicts it, in; density and detection probability out.
 *
 * A port of `locus/score/strength.py`, which has the formulas.
 */

/**
 * @typedef {object} TableConstants
 * @property {number} bend a centre a is stored in row a / (a + bend), as a share of all rows
 * @property {number} rows
 * @property {number} tabulated distance from the centre that is tabulated
 * @property {number} steps entries per unit of distance
 * @property {number} fine integration steps per entry
 */

/** @typedef {TableConstants & {values: Float64Array, columns: number}} Table probabilities (centre, distance) */

/**
 * exp(-z) I1(z) / z for z >= 0, with a relative error below 1e-6 (Abramowitz and Stegun 9.8.3 and 9.8.4).
 * @param {number} z
 */
function besselOver(z) {
  if (z < 3.75) {
    const t = (z * z) / 14.0625;
    const value = 0.00301532 + t * 0.00032411;
    return (
      (0.5 + t * (0.87890594 + t * (0.51498869 + t * (0.15084934 + t * (0.02658733 + t * value))))) * Math.exp(-z)
    );
  }
  const t = 3.75 / z;
  const value = 0.02282967 + t * (-0.02895312 + t * (0.01787654 - t * 0.00420059));
  return (
    (0.39894228 + t * (-0.03988024 + t * (-0.00362018 + t * (0.00163801 + t * (-0.01031555 + t * value))))) /
    (z * Math.sqrt(z))
  );
}

/**
 * By how much an uncertain amplitude widens the strength of a path.
 * @param {number} energy
 * @param {number} gainVariance variance of the relative error of the amplitude
 */
export const widening = (energy, gainVariance) => 1 + 2 * gainVariance * energy;

/**
 * Centre of the root of a path's strength, divided by the root of its widening.
 * @param {number} energy
 * @param {number} wider its widening
 */
export const centreOf = (energy, wider) => Math.sqrt(Math.max((energy + 2) / wider - 2, 0));

/**
 * Density of the strength x = (y / inverse)^2, divided by exp(-(y - centre)^2).
 * @param {number} y
 * @param {number} centre
 * @param {number} inverse 1 / sqrt(widening)
 */
export const density = (y, centre, inverse) => 2 * (y * inverse) * (y * inverse) * besselOver(2 * y * centre);

/**
 * Probability that the strength exceeds the square of `rootThreshold`, interpolated.
 * @param {Table} table
 * @param {number} rootThreshold
 * @param {number} centre
 * @param {number} inverse
 */
export function detection(table, rootThreshold, centre, inverse) {
  const { values, columns, rows } = table;
  const column = (rootThreshold * inverse - centre + table.tabulated) * table.steps;
  if (column <= 0) return 1;
  if (column >= columns - 1) return 0;
  const row = (centre / (centre + table.bend)) * rows;
  const r = Math.min(Math.trunc(row), rows - 2);
  const c = Math.trunc(column);
  const at = r * columns + c;
  const right = column - c;
  const above = values[at] + right * (values[at + 1] - values[at]);
  const below = values[at + columns] + right * (values[at + columns + 1] - values[at + columns]);
  return above + Math.min(row - r, 1) * (below - above);
}

/**
 * Marcum's Q_2 as P(sqrt(x) > centre + distance), integrated from the density.
 * @param {TableConstants} constants
 * @returns {Table}
 */
export function makeTable(constants) {
  const { bend, rows, tabulated: reach, steps, fine } = constants;
  const last = 2 * reach * steps; // column
  const values = new Float64Array(rows * (last + 1));
  const step = 1 / (steps * fine);
  for (let row = 0; row < rows; row++) {
    const centre = (bend * row) / (rows - row);
    for (let i = last * fine, total = 0, before = 0; i >= 0; i--) {
      const root = Math.max(centre + i * step - reach, 0);
      const now = 2 * root * density(root, centre, 1) * Math.exp(-((root - centre) ** 2));
      total += (step * (now + before)) / 2;
      before = now;
      if (i % fine === 0) values[row * (last + 1) + i / fine] = Math.min(total, 1);
    }
  }
  return { ...constants, values, columns: last + 1 };
}
