/**
 * The likelihood of path sets: traced paths of every candidate and observed paths in, a posterior out.
 *
 * A port of `locus/score/path_set.py`, which has the formulas. It is not trained.
 */

import { agreement, makeRows, setDelay, setSine } from "./common_errors.js";
import { arrangeObserved, arrangeTraced, findWidths } from "./path_arrays.js";
import { integrate, synchronise } from "./path_offsets.js";
import { between, expect, fillTerms, makeExpected, makeTerms, silence } from "./path_terms.js";
import { modulo } from "./radio.js";
import { addLogs, normalise } from "./score.js";
import { unreported } from "./soft_detection.js";
import { makeTable } from "./strength.js";

/**
 * @typedef {import("./path_arrays.js").Components} Components
 * @typedef {import("./path_arrays.js").Seen} Seen
 * @typedef {import("./path_arrays.js").Traced} Traced
 * @typedef {import("./path_arrays.js").Widths} Widths
 * @typedef {import("./path_terms.js").Expected} Expected
 * @typedef {import("./path_terms.js").Terms} Terms
 * @typedef {import("./paths.js").Paths} Paths
 * @typedef {import("./radio.js").Radio} Radio
 */

/**
 * @typedef {object} Description exported by `locus.explorer`
 * @property {string} title
 * @property {import("./estimator.js").EstimatorOptions} estimator options to estimate paths with
 * @property {import("./path_arrays.js").FittedConstants} fitted
 * @property {Components} components
 */

/** @typedef {{twin: import("./twin.js").TwinConstants, path_set: import("./path_arrays.js").PathSetConstants}} Constants */

export class PathSet {
  #description;
  #constants;
  /** @type {import("./strength.js").Table | null} */
  #table = null;
  /** Mean level (candidate) of the components at the last call, weighted by their likelihoods. */
  #level = new Float64Array(0);

  /**
   * @param {Description} description
   * @param {Constants} constants
   */
  constructor(description, constants) {
    this.#description = description;
    this.#constants = constants;
    /** Options with which to estimate paths for this likelihood. */
    this.estimator = description.estimator;
  }

  /**
   * Log density of the observed path set for each candidate, averaged over the errors of the twin.
   * @param {Paths} paths traced paths of the candidates
   * @param {Paths} observed estimated paths, one row
   * @param {Radio} radio
   * @param {{numPaths?: number, spacing?: number}} [options] largest number of paths that the estimator reports, by default that of `estimator`, and distance between neighbouring candidates [m], if the transmitter may be between them
   * @returns {Float64Array} (candidate) [nat]
   */
  logLikelihoods(paths, observed, radio, { numPaths = this.estimator.num_paths, spacing = 0 } = {}) {
    const { fitted, components, estimator } = this.#description;
    const { path_set: constants } = this.#constants;
    this.#table ??= makeTable(constants.table);
    const table = this.#table;
    const widths = findWidths(radio, fitted, spacing);
    const options = { ...estimator, num_paths: numPaths };
    const seen = arrangeObserved(observed, radio, options, components, widths, constants);
    const traced = arrangeTraced(paths, radio, constants, fitted.merge_cells);
    const expected = makeExpected(traced.width);
    const terms = makeTerms(2 * traced.width * seen.width);
    const rows = makeRows(seen.width);
    const result = new Float64Array(paths.rows);
    this.#level = new Float64Array(paths.rows);
    for (let c = 0; c < paths.rows; c++) {
      let total = 0, levels = 0;
      for (let k = 0; k < components.weight.length; k++) {
        expect(expected, traced, c, components, k, widths, this.#constants);
        const missed = silence(expected, traced.numPaths[c], seen.rootThreshold, table);
        const weight = missed * seen.weight[k];
        fillTerms(terms, expected, traced.numPaths[c], seen, k, widths, constants);
        let ratio = 0, products = 0; // to that of clutter, scaled
        if (widths.window === 0) {
          products = synchronise(terms, widths, constants);
          ratio = constants.scale * (1 + terms.alone);
        } else {
          ratio = constants.scale * (1 + terms.linear / widths.window);
          const most = terms.most / widths.window;
          const matters = most > constants.least_share * ratio && weight * most > constants.negligible * total;
          if (matters) products = integrate(terms, widths, constants);
        }
        if (seen.leftOver && isExact(components, k)) {
          const at = (/** @type {number} */ offset) =>
            unreported(expected, traced.numPaths[c], seen, /** @type {NonNullable<typeof seen.leftOver>} */ (seen.leftOver), offset, widths.period, constants.soft);
          if (products > constants.least_share * ratio) products *= at(terms.best);
          ratio = weighSingles(terms, ratio, widths, constants, at);
        }
        if (products > constants.least_share * ratio) {
          const pairs = assign(rows, terms, expected, traced, c, seen, components, k, widths, constants);
          if (pairs > 1) products *= agreement(rows, pairs, widths.sine > 0 ? 2 : 1, widths.window === 0);
        }
        total += weight * (ratio + products);
        levels += components.level[k] * weight * (ratio + products);
      }
      result[c] = Math.log(total) - Math.log(constants.scale) + seen.logFactor;
      this.#level[c] = levels / total;
    }
    return result;
  }

  /**
   * Log posterior from the likelihoods and a small share of the prior, which is uniform.
   * @param {Parameters<PathSet["logLikelihoods"]>} given
   * @returns {Float64Array} (candidate)
   */
  logPosterior(...given) {
    const { floor, doubt } = this.#description.fitted;
    const uniform = Math.log(floor / given[0].rows);
    const logs = this.logLikelihoods(...given);
    const level = normalise(logs).reduce((mean, log, c) => mean + Math.exp(log) * this.#level[c], 0);
    return normalise(logs.map((log) => log / (1 + doubt * level))).map((log) => addLogs(Math.log1p(-floor) + log, uniform));
  }
}

/**
 * Whether a component knows where every path would be.
 * @param {Components} components
 * @param {number} k
 */
function isExact({ heading, turn_variance: turn, variance, reflection_variance: reflection }, k) {
  return Math.abs(heading[k]) + turn[k] + variance[k] + reflection[k] === 0;
}

/**
 * Likelihood of one reported path that is traced, or none, with what is left over where the others should be.
 * @param {Terms} terms
 * @param {number} ratio without it
 * @param {Widths} widths
 * @param {import("./path_arrays.js").PathSetConstants} constants
 * @param {(offset: number) => number} factor at a sync offset
 */
function weighSingles(terms, ratio, { window, period }, { scale, least_share: leastShare }, factor) {
  let changed = ratio;
  for (let i = 0; i < terms.count; i++) {
    const offset = terms.offset[i];
    let share = scale * terms.height[i];
    if (window > 0) {
      if (window < period && modulo(offset, period) > window) continue;
      share *= Math.sqrt(Math.PI / terms.sharpness[i]) / window;
    } else share *= Math.exp(-terms.sharpness[i] * offset * offset);
    if (share > leastShare * ratio) changed += share * (factor(window > 0 ? offset : 0) - 1);
  }
  return Math.max(changed, scale);
}

/**
 * Fill in the residuals of the best assignment at the offset `terms.best`; returns its number of pairs.
 *
 * It is zero if the component has no errors that all paths share.
 * @param {import("./common_errors.js").Rows} rows
 * @param {Terms} terms
 * @param {Expected} expected
 * @param {Traced} traced
 * @param {number} c
 * @param {Seen} seen
 * @param {Components} components
 * @param {number} k
 * @param {Widths} widths
 * @param {import("./path_arrays.js").PathSetConstants} constants
 */
function assign(rows, terms, expected, traced, c, seen, components, k, widths, constants) {
  const heading = Math.sqrt(components.turn_variance[k]);
  const position = Math.sqrt(components.variance[k]);
  if (heading + position === 0) return 0;
  const { samplesPerMetre, period } = widths;
  const angles = widths.sine > 0;
  let pairs = 0;
  for (let i = 0; i < terms.count; ) {
    const q = terms.seen[i];
    let best = -1, highest = 1; // only paths that are more likely traced than clutter
    for (; i < terms.count && terms.seen[i] === q; i++) {
      const apart = between(terms.offset[i] - terms.best, period);
      const height = terms.height[i] * Math.exp(-terms.sharpness[i] * apart * apart);
      if (height > highest) {
        best = i;
        highest = height;
      }
    }
    if (best < 0) continue;
    const j = terms.traced[best];
    const at = c * traced.width + j;
    const disturbed = terms.disturbed[best];
    const noise = expected.weakness[j] / seen.root[q];
    const moved = components.reflection_variance[k] * traced.order[at] + widths.blur;
    const row = (angles ? 2 : 1) * pairs;
    const delay = widths.delay * noise + widths.delayExcess + moved * samplesPerMetre ** 2 + disturbed * widths.delayTail;
    const late = between(terms.offset[best] - terms.best, period);
    setDelay(rows, row, late, Math.min(delay, widths.mostDelay), expected.azimuth[j], position * samplesPerMetre);
    if (angles) {
      const own = ((1 - expected.sine[j] ** 2) * moved) / (traced.length[at] * traced.length[at]);
      const sine = Math.min(widths.sine * noise + widths.sineExcess + own + disturbed * widths.sineTail, constants.most_sine);
      const apart = between(seen.sine[q] - expected.sine[j], 2);
      setSine(rows, row + 1, apart, sine, expected.azimuth[j], heading, position / traced.length[at]);
    }
    rows.height[pairs++] = highest;
  }
  return pairs;
}
