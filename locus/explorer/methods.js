/** Methods by name: traced paths and an observation in, the log posterior over the candidates out. */

import { scoreDensity } from "./baselines.js";
import { makeFeatures } from "./features.js";
import { bayes } from "./limit.js";
import { despread } from "./observation.js";
import { PathSet } from "./path_set.js";
import { embed, normalise, scorePairs } from "./score.js";

export const BAYES = "bayes";
export const PATH_SET = "path_set";

/** @typedef {{title: string, options: import("./features.js").NetworkOptions, weights: import("./score.js").Weights}} Method */

/**
 * @typedef {object} Evidence
 * @property {Float64Array} candidates (candidate, 2) [m]
 * @property {import("./paths.js").Paths} paths traced paths of the candidates
 * @property {import("./observation.js").Complex} iq the snapshot
 * @property {import("./paths.js").Paths} observed estimated paths, one row; for the path set, with its own options
 * @property {import("./twin.js").Pose} pose pose of the receiver
 * @property {import("./radio.js").Radio} radio
 * @property {number} [numPaths] number of strongest paths to estimate and compare; by default that of the method
 */

/**
 * @param {Record<string, Method | PathSet>} methods methods by name
 * @param {string} name one of them, or `bayes`
 * @param {Evidence} evidence
 * @param {{density: import("./baselines.js").DensityConstants, sync_offset: import("./sync_offset.js").SyncOffsetConstants}} constants
 * @returns {Float64Array} log posterior (candidate)
 */
export function logPosterior(methods, name, evidence, constants) {
  const { candidates, paths, iq, observed, pose, radio, numPaths } = evidence;
  if (name === BAYES) return bayes(paths, despread(iq, radio), radio, constants.sync_offset);
  if (!(name in methods)) {
    throw new RangeError(`Expected 'method' in ${[...Object.keys(methods), BAYES]}, got ${name}`);
  }
  const method = methods[name];
  if (method instanceof PathSet) return method.logPosterior(paths, observed, radio, { numPaths });
  const seen = makeFeatures(observed, radio, method.options, numPaths);
  if (name !== "locus_dt") return normalise(scoreDensity(name, method, candidates, seen, pose, constants.density));
  const embedded = embed(method.weights, makeFeatures(paths, radio, method.options, numPaths));
  return normalise(scorePairs(method.weights, embedded, seen));
}
