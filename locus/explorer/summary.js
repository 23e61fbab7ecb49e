/** Read-outs: a log posterior over candidates and the true position in, the numbers and the set that the page shows out. */

/**
 * @param {Float64Array} logs log posterior (candidate)
 * @param {Float64Array} candidates (candidate, 2) [m]
 * @param {{x: number, y: number}} truth
 * @param {number} near distance [m] from the truth within which mass is counted
 */
export function summarise(logs, candidates, truth, near) {
  let [mass, numNear, entropy, best] = [0, 0, 0, 0];
  for (let c = 0; c < logs.length; c++) {
    const probability = Math.exp(logs[c]);
    if (probability > 0) entropy -= probability * logs[c];
    if (logs[c] > logs[best]) best = c;
    if (Math.hypot(candidates[2 * c] - truth.x, candidates[2 * c + 1] - truth.y) <= near) {
      mass += probability;
      numNear++;
    }
  }
  const place = { x: candidates[2 * best], y: candidates[2 * best + 1] };
  const mapError = Math.hypot(place.x - truth.x, place.y - truth.y);
  return { best, place, mass, uniformMass: numNear / logs.length, entropy, mapError, numCandidates: logs.length };
}

/**
 * Mask (candidate) of the smallest set that holds a share of the posterior.
 * @param {Float64Array} logs log posterior (candidate)
 * @param {number} mass
 * @param {number} rounding slack: in floating point nine times 0.1 is less than 0.9, but must be enough
 */
export function smallestSet(logs, mass, rounding) {
  const order = Array.from(logs.keys()).sort((a, b) => logs[b] - logs[a]);
  const inside = new Uint8Array(logs.length);
  const total = logs.reduce((sum, value) => sum + Math.exp(value), 0);
  let reached = 0;
  for (const c of order) {
    if (reached >= (mass - rounding) * total) break;
    inside[c] = 1;
    reached += Math.exp(logs[c]);
  }
  return inside;
}
