/**
 * Pairs of a snapshot: terms of traced and observed paths in, the assignment that fits best out.
 *
 * A port of `locus/score/walk_pairs.py`.
 */

import { between } from "./path_terms.js";

/**
 * @typedef {import("./path_terms.js").Terms} Terms
 * @typedef {ReturnType<typeof makePairs>} Pairs
 */

/** @param {number} most */
export function makePairs(most) {
  return {
    count: 0,
    /** Index of the term, its height at the offset, and the probability of the pair. */
    term: new Int32Array(most),
    height: new Float64Array(most),
    share: new Float64Array(most),
  };
}

/**
 * Fill in the best pairs at the sync offset `terms.best`, or the best one at its own, `together` or not.
 * @param {Pairs} pairs
 * @param {Terms} terms
 * @param {boolean} together
 * @param {import("./path_arrays.js").Widths} widths
 */
export function assign(pairs, terms, together, { period, window }) {
  const heightOf = (/** @type {number} */ i) => {
    if (!together) return (terms.height[i] * Math.sqrt(Math.PI / terms.sharpness[i])) / Math.max(window, 1);
    const apart = between(terms.offset[i] - terms.best, period);
    return terms.height[i] * Math.exp(-terms.sharpness[i] * apart * apart);
  };
  pairs.count = 0;
  for (let i = 0; i < terms.count; ) {
    const first = i, q = terms.seen[i];
    let best = -1, highest = 0, total = 1;
    for (; i < terms.count && terms.seen[i] === q; i++) {
      const height = heightOf(i);
      total += height;
      if (height > highest) [best, highest] = [i, height];
    }
    if (best < 0 || (together && highest <= 1)) continue; // only paths that are more likely traced than clutter
    let both = 0; // disturbed or not
    for (let n = first; n < i; n++) if (terms.traced[n] === terms.traced[best]) both += heightOf(n);
    if (!together && pairs.count > 0) {
      if (both <= pairs.height[0]) continue;
      pairs.count = 0;
    }
    pairs.term[pairs.count] = best;
    pairs.height[pairs.count] = together ? highest : both;
    pairs.share[pairs.count++] = both / total;
  }
}

/**
 * Keep one observed path per traced one: the one that fits better.
 * @param {Pairs} pairs
 * @param {Terms} terms
 * @param {Uint8Array} kept (pair)
 */
export function dropDoubles({ count, term, height }, terms, kept) {
  for (let one = 0; one < count; one++) {
    for (let other = 0; other < one; other++) {
      const same = terms.traced[term[one]] === terms.traced[term[other]];
      if (same && kept[one] && kept[other]) kept[height[one] < height[other] ? one : other] = 0;
    }
  }
}
