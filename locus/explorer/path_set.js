/**
 * The likelihood of path sets: traced paths of every candidate and observed paths in, a posterior out.
 *
 * A port of `locus/score/path_set.py`, which has the formulas. It is not trained.
 */

import { agreement, makeRows, setDelay, setSine } from "./common_errors.js";
import { arrangeObserved, arrangeTraced, findWidths } from "./path_arrays.js";
import { integrate, synchronise } from "./path_offsets.js";
import { between, expect, fillTerms, makeExpected, makeTerms, silence } from "./path_terms.js";
import { addLogs, normalise } from "./score.js";
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
    const traced = arrangeTraced(paths, radio, constants);
    const expected = makeExpected(traced.width);
    const terms = makeTerms(2 * traced.width * seen.width);
    const rows = makeRows(seen.width);
    const result = new Float64Array(paths.rows);
    for (let c = 0; c < paths.rows; c++) {
      let total = 0;
      for (let k = 0; k < components.weight.length; k++) {
        expect(expected, traced, c, components, k, widths, this.#constants);
        const missed = silence(expected, traced.numPaths[c], seen.rootThreshold, widths.tailShare, table);
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
        if (products > constants.least_share * ratio) {
          const pairs = assign(rows, terms, expected, traced, c, seen, components, k, widths, constants);
          if (pairs > 1) products *= agreement(rows, pairs, widths.sine > 0 ? 2 : 1, widths.window === 0);
        }
        total += weight * (ratio + products);
      }
      result[c] = Math.log(total) - Math.log(constants.scale) + seen.logFactor;
    }
    return result;
  }

  /**
   * Log posterior from the likelihoods and a small share of the prior, which is uniform.
   * @param {Parameters<PathSet["logLikelihoods"]>} given
   * @returns {Float64Array} (candidate)
   */
  logPosterior(...given) {
    const { floor } = this.#description.fitted;
    const uniform = Math.log(floor / given[0].rows);
    return normalise(this.logLikelihoods(...given)).map((log) => addLogs(Math.log1p(-floor) + log, uniform));
  }
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
