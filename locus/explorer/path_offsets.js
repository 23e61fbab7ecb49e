/**
 * The sync offset of path sets: terms in, what their products add to the likelihood out.
 *
 * The second half of a port of `locus/score/path_set_cpu.py`. Products of terms differ from 0 only where terms of different
 * observed paths overlap. Gauss-Hermite nodes about several of them, the *anchors*, are combined with weights that sum
 * to 1 everywhere and favour the sharpest term nearby (balance heuristic).
 */

/**
 * @typedef {import("./path_arrays.js").PathSetConstants} PathSetConstants
 * @typedef {import("./path_arrays.js").Widths} Widths
 * @typedef {import("./path_terms.js").Terms} Terms
 */

import { modulo } from "./radio.js";

/**
 * Products of terms of different observed paths, integrated over the prior of the sync offset, scaled.
 *
 * The offset at which they are largest becomes `terms.best`.
 * @param {Terms} terms
 * @param {Widths} widths
 * @param {PathSetConstants} constants
 */
export function integrate(terms, widths, constants) {
  const { nodes, node_weights: nodeWeights, scale } = constants;
  const { period, window } = widths;
  findAnchors(terms, widths, constants);
  let total = 0, largest = 0;
  terms.best = 0;
  for (let a = 0; a < terms.count; a++) {
    if (terms.anchor[a] === 0) continue;
    const sharpness = terms.sharpness[a];
    const width = 1 / Math.sqrt(sharpness);
    findNeighbours(terms, a, nodes[nodes.length - 1] * width, period, constants.far);
    for (let n = 0; n < nodes.length; n++) {
      const offset = terms.offset[a] + nodes[n] * width;
      if (window < period && modulo(offset, period) > window) continue;
      multiply(terms, offset, period, scale);
      const { product, balance, alone } = terms;
      total += ((nodeWeights[n] * width * sharpness * sharpness) / balance) * (product - scale * (1 + alone));
      if (product > largest) {
        largest = product;
        terms.best = offset;
      }
    }
  }
  return total / window;
}

/**
 * Products of terms of different observed paths at the sync offset 0, scaled.
 * @param {Terms} terms
 * @param {Widths} widths
 * @param {PathSetConstants} constants
 */
export function synchronise(terms, { period }, { far, scale }) {
  findNeighbours(terms, 0, period, period, far);
  multiply(terms, 0, period, scale);
  terms.best = 0;
  return terms.product - scale * (1 + terms.alone);
}

/**
 * Distance between two offsets modulo the period.
 * @param {number} a
 * @param {number} b
 * @param {number} period
 */
function distance(a, b, period) {
  const apart = Math.abs(a - b);
  return Math.min(apart, Math.abs(period - apart));
}

/**
 * List the terms that are not zero within `width` of the offset of term `a`.
 * @param {Terms} terms
 * @param {number} a
 * @param {number} width
 * @param {number} period
 * @param {number} far
 */
function findNeighbours(terms, a, width, period, far) {
  const { count, offset, sharpness, neighbours } = terms;
  let found = 0;
  for (let i = 0; i < count; i++) {
    const apart = Math.max(distance(offset[a], offset[i], period) - width, 0);
    if (apart * apart * sharpness[i] < far) neighbours[found++] = i;
  }
  terms.numNear = found;
}

/**
 * Mark the terms that get nodes.
 * @param {Terms} terms
 * @param {Widths} widths
 * @param {PathSetConstants} constants
 */
function findAnchors(terms, { period, window }, { least_share: leastShare, overlap, close, similar }) {
  const { count, offset, height, sharpness, seen, anchor } = terms;
  let highest = 0;
  for (let i = 0; i < count; i++) highest = Math.max(highest, height[i]);
  const least = (leastShare * window * (leastShare * window)) / Math.PI;
  for (let i = 0; i < count; i++) {
    if (!((height[i] * highest) ** 2 > least * sharpness[i])) continue;
    for (let a = 0; a < i; a++) {
      const together = sharpness[i] + sharpness[a];
      if (seen[a] === seen[i] || !((height[i] * height[a]) ** 2 > least * together)) continue;
      const apart = distance(offset[i], offset[a], period);
      if (apart * apart * sharpness[i] * sharpness[a] < overlap * together) anchor[i] = anchor[a] = 1;
    }
  }
  for (let i = 0; i < count; i++) {
    for (let a = 0; a < (anchor[i] ? i : 0); a++) {
      if (!anchor[a] || sharpness[i] > similar * sharpness[a]) continue;
      const apart = distance(offset[i], offset[a], period);
      if (apart * apart * sharpness[a] < close) anchor[i] = 0;
    }
  }
}

/**
 * Likelihood over that of clutter at one sync offset, scaled, from the terms that are neighbours; written to `terms`.
 * @param {Terms} terms
 * @param {number} at
 * @param {number} period
 * @param {number} scale
 */
function multiply(terms, at, period, scale) {
  const { numNear, neighbours, offset, height, sharpness, seen, anchor } = terms;
  let product = scale, balance = 0, alone = 0, together = 1, last = -1;
  for (let n = 0; n < numNear; n++) {
    const i = neighbours[n];
    if (seen[i] !== last) {
      product *= together;
      together = 1;
      last = seen[i];
    }
    const apart = distance(at, offset[i], period);
    const value = Math.exp(-sharpness[i] * apart * apart);
    together += height[i] * value;
    alone += height[i] * value;
    if (anchor[i]) balance += sharpness[i] * sharpness[i] * value;
  }
  terms.product = product * together;
  terms.balance = balance;
  terms.alone = alone;
}
