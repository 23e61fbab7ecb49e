/**
 * A step of a walk: a snapshot and what earlier ones left of the shared errors in, likelihoods and corrections out.
 *
 * The second half of a port of `locus/score/walk_cpu.py`. The likelihood is that of `path_set.js`, with paths where the mean
 * of the shared errors puts them and with variances that their covariance gives. The assignment that fits best then
 * corrects the errors.
 */

import { integrate, synchronise } from "./path_offsets.js";
import { between, expectCompany, fillTerms, makeExpected, makeTerms, silence } from "./path_terms.js";
import { agreement, correct, makeResiduals } from "./walk_gauss.js";
import { AT_HEADING } from "./walk_images.js";
import { assign, dropDoubles, makePairs } from "./walk_pairs.js";
import { foresee, makeGeometry } from "./walk_terms.js";

/**
 * @typedef {import("./path_arrays.js").Components} Components
 * @typedef {import("./path_arrays.js").Seen} Seen
 * @typedef {import("./path_arrays.js").Traced} Traced
 * @typedef {import("./path_arrays.js").Widths} Widths
 * @typedef {import("./walk_images.js").Images} Images
 * @typedef {import("./walk_terms.js").Constants} Constants
 */

/**
 * @typedef {object} State what earlier snapshots have left, for every candidate and component
 * @property {Uint8Array} alive (candidate, component)
 * @property {Float64Array} weight (candidate, component), log weights
 * @property {Float64Array} mean (candidate, component, unknown) of the shared errors
 * @property {Float64Array} spread (candidate, component, unknown, unknown), their covariance
 * @property {Float64Array} hidden (candidate, component, slot), probability that a sequence of walls is blocked although the twin traces it
 * @property {Float64Array} chains (candidate, slot), the sequence; -1 if there is none
 */

/** @typedef {ReturnType<typeof makeWorkspace>} Workspace */

/**
 * @param {number} numTraced
 * @param {number} numSeen
 * @param {number} size
 */
function makeWorkspace(numTraced, numSeen, size) {
  return {
    expected: makeExpected(numTraced),
    geometry: makeGeometry(numTraced, size),
    terms: makeTerms(2 * numTraced * numSeen),
    pairs: makePairs(numSeen),
    rows: makeResiduals(numSeen, size),
    /** (path): probability that the assignment holds and includes a path. */
    reported: new Float64Array(numTraced),
  };
}

/**
 * Add the log likelihood of a snapshot, up to a factor, to the weights; correct mean, covariance and what is hidden.
 * @param {State} state
 * @param {Traced} traced
 * @param {Images} images
 * @param {Int32Array} slots (candidate, path): place of each path in `hidden`, or -1
 * @param {Seen} seen
 * @param {Widths} widths
 * @param {Components} components
 * @param {Float64Array} hiding (component): probability of being blocked for sequences that are not there
 * @param {import("./strength.js").Table} table
 * @param {Constants} constants
 */
export function advance(state, traced, images, slots, seen, widths, components, hiding, table, constants) {
  const { path_set: common, walk: own } = constants;
  const numComponents = components.weight.length;
  const size = state.mean.length / state.weight.length;
  const work = makeWorkspace(traced.width, seen.width, size);
  const { expected, geometry, terms, pairs, reported } = work;
  for (let at = 0; at < state.weight.length; at++) {
    if (state.alive[at] === 0) continue;
    const c = Math.trunc(at / numComponents), k = at % numComponents;
    const count = traced.numPaths[c];
    const mean = state.mean.subarray(at * size, (at + 1) * size);
    const spread = state.spread.subarray(at * size * size, (at + 1) * size * size);
    const hidden = state.hidden.subarray(at * own.num_slots, (at + 1) * own.num_slots);
    const place = slots.subarray(c * traced.width, (c + 1) * traced.width);
    const uncertain = foresee(expected, geometry, traced, images, c, components, k, widths, mean, spread, constants);
    for (let j = 0; j < count; j++) {
      const blocked = place[j] >= 0 ? hidden[place[j]] : hiding[k];
      const miss = Math.min(components.miss[k] - hiding[k] + blocked, own.most_missed);
      expectCompany(expected, j, traced, c * traced.width + j, miss, components.level[k] === 0, widths.tailShare);
    }
    const quiet = silence(expected, count, seen.rootThreshold, table);
    fillTerms(terms, expected, count, seen, k, widths, common);
    let ratio = 0, products = 0; // to that of clutter, scaled
    terms.best = 0;
    if (widths.window === 0) {
      products = synchronise(terms, widths, common);
      ratio = common.scale * (1 + terms.alone);
    } else {
      ratio = common.scale * (1 + terms.linear / widths.window);
      if (terms.most > common.least_share * ratio * widths.window) products = integrate(terms, widths, common);
    }
    reported.fill(0);
    if (uncertain && terms.count > 0) {
      const together = products > common.least_share * ratio;
      assign(pairs, terms, together, widths);
      if (pairs.count > 0) {
        setResiduals(work, images, c * traced.width, seen, widths, together, spread, common);
        products *= settle(work, together, ratio, products, mean, spread, constants);
      }
    }
    if (hiding[k] > 0) {
      for (let j = 0; j < count; j++) {
        if (place[j] < 0) continue;
        const missed = (1 - expected.miss[j]) / expected.odds[j];
        hidden[place[j]] = (1 - reported[j]) * Math.min(hidden[place[j]] / missed, 1);
      }
    }
    state.weight[at] += Math.log(quiet * seen.weight[k] * (ratio + products)) - Math.log(common.scale);
  }
}

/**
 * Fill in the residuals of an assignment and their covariance.
 * @param {Workspace} work
 * @param {Images} images
 * @param {number} first index of the candidate's first path
 * @param {Seen} seen
 * @param {Widths} widths
 * @param {boolean} together
 * @param {Float64Array} spread
 * @param {import("./path_arrays.js").PathSetConstants} constants
 */
function setResiduals({ expected, geometry, terms, pairs, rows }, images, first, seen, widths, together, spread, constants) {
  const { most, size, residual, own, isDelay, slope, gain, covariance } = rows;
  const { samplesPerMetre: scale } = widths;
  const { moment } = geometry;
  rows.numPairs = pairs.count;
  rows.rowsPerPair = widths.sine > 0 ? 2 : 1;
  rows.synchronised = widths.window === 0;
  for (let pair = 0; pair < pairs.count; pair++) {
    const term = pairs.term[pair];
    const q = terms.seen[term], j = terms.traced[term], disturbed = terms.disturbed[term];
    const east = geometry.east[j], north = geometry.north[j], length = geometry.length[j];
    const cosine = geometry.cosine[j], loose = geometry.loose[j];
    const noise = expected.weakness[j] / seen.root[q];
    const [slopeX, slopeY] = [2 * size * (first + j), 2 * size * (first + j) + size];
    const [momentX, momentY] = [2 * size * j, 2 * size * j + size];
    let r = rows.rowsPerPair * pair;
    const late = widths.delay * noise + widths.delayExcess + loose * scale * scale + disturbed * widths.delayTail;
    residual[r] = together ? -between(terms.offset[term] - terms.best, widths.period) : 0;
    own[r] = Math.min(late, widths.mostDelay);
    isDelay[r] = 1;
    for (let i = 0; i < size; i++) {
      slope[size * r + i] = scale * (east * images.slope[slopeX + i] + north * images.slope[slopeY + i]);
      gain[size * r + i] = scale * (east * moment[momentX + i] + north * moment[momentY + i]);
    }
    if (rows.rowsPerPair === 1) continue;
    r += 1;
    const wide = widths.sine * noise + widths.sineExcess + disturbed * widths.sineTail;
    residual[r] = between(seen.sine[q] - expected.sine[j], 2);
    own[r] = Math.min(wide + (cosine * cosine * loose) / (length * length), constants.most_sine);
    isDelay[r] = 0;
    for (let i = 0; i < size; i++) {
      slope[size * r + i] = (cosine * (east * images.slope[slopeY + i] - north * images.slope[slopeX + i])) / length;
      const aside = (east * moment[momentY + i] - north * moment[momentX + i]) / length;
      gain[size * r + i] = cosine * (aside - spread[size * AT_HEADING + i]);
    }
    slope[size * r + AT_HEADING] -= cosine;
  }
  for (let r = 0; r < rows.rowsPerPair * pairs.count; r++) {
    for (let q = 0; q <= r; q++) {
      let value = 0;
      for (let i = 0; i < size; i++) value += slope[size * r + i] * gain[size * q + i];
      covariance[most * r + q] = value;
    }
    covariance[most * r + r] += own[r];
  }
}

/**
 * Correct the shared errors by an assignment; returns the factor by which they explain it better.
 * @param {Workspace} work
 * @param {boolean} together
 * @param {number} ratio
 * @param {number} products
 * @param {Float64Array} mean
 * @param {Float64Array} spread
 * @param {Constants} constants
 */
function settle({ terms, pairs, rows, reported }, together, ratio, products, mean, spread, { path_set: { scale }, walk }) {
  const { most, rowsPerPair, covariance, own, kept } = rows;
  let better = 1;
  let share = 0;
  if (together) {
    better = agreement(rows, pairs.height, walk.least_own);
    dropDoubles(pairs, terms, kept);
    share = (products * better) / (ratio + products * better);
    for (let r = 0; r < rowsPerPair * pairs.count; r++) {
      const doubt = 1 / pairs.share[Math.trunc(r / rowsPerPair)] - 1; // a doubtful pair counts less
      covariance[most * r + r] += own[r] * doubt;
    }
  } else {
    share = (scale * pairs.height[0]) / ratio;
    kept[0] = 1;
  }
  if (share > walk.least_correction) {
    share = Math.min(share, 1);
    for (let pair = 0; pair < pairs.count; pair++) {
      if (kept[pair]) reported[terms.traced[pairs.term[pair]]] = share * (together ? pairs.share[pair] : 1);
    }
    correct(rows, share, mean, spread, walk.least_own);
  }
  return better;
}
