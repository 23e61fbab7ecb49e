/**
 * What a walk expects of a snapshot: traced paths and a Gaussian of the shared errors in, paths with variances out.
 *
 * The first half of a port of `locus/score/walk_cpu.py`.
 */

import { DECIBEL } from "./path_arrays.js";
import { expectStrength } from "./path_terms.js";
import { elementGainDb } from "./twin.js";
import { AT_HEADING } from "./walk_images.js";

/**
 * @typedef {import("./path_arrays.js").Components} Components
 * @typedef {import("./path_arrays.js").Traced} Traced
 * @typedef {import("./path_arrays.js").Widths} Widths
 * @typedef {import("./twin.js").TwinConstants} TwinConstants
 * @typedef {import("./walk_images.js").Images} Images
 * @typedef {ReturnType<typeof makeGeometry>} Geometry
 */

/**
 * @typedef {object} WalkConstants
 * @property {number} correlation between snapshots of what a twin with the full tolerance gets wrong in other ways than those carried
 * @property {number} hopeless_nats components of a candidate that are this much less probable than the best are given up
 * @property {number} same_view way [m] after which a path that was blocked is so with little more than the usual probability
 * @property {number} num_slots sequences of walls that are remembered for each candidate
 * @property {number} most_plan largest number of unknowns of a plan
 * @property {number} mismatch an image that is off by more than this [m] belongs to another sequence of walls
 * @property {number} least_length an image does not come closer [m]
 * @property {number} least_correction probability of an assignment below which it corrects nothing
 * @property {number} most_missed largest probability that a path above the threshold is not reported
 * @property {number} least_own share of its own variance that a residual keeps
 * @property {number} interval probability of the interval of a heading error
 * @property {number} least_weight weight of a Gaussian relative to the largest below which it is left out of that interval
 */

/** @typedef {import("./path_set.js").Constants & {walk: WalkConstants}} Constants */

/**
 * Workspace for each path of a candidate, as expected.
 * @param {number} numPaths
 * @param {number} size
 */
export function makeGeometry(numPaths, size) {
  const column = () => new Float64Array(numPaths);
  return {
    /** Unit vector towards the image. */
    east: column(),
    north: column(),
    /** [m] */
    length: column(),
    /** Of the angle of arrival. */
    cosine: column(),
    /** Variance of the image along any axis [m^2] that is independent of all others. */
    loose: column(),
    /** (path, 2, unknown): covariances of the image with the unknowns. */
    moment: new Float64Array(2 * numPaths * size),
    /** Variances of a path's length [m^2] and angle [rad^2] from the shared errors. */
    far: 0,
    aside: 0,
  };
}

/**
 * Fill in what component `k` expects of the paths of candidate `c`; returns whether any shared error is left.
 * @param {import("./path_terms.js").Expected} expected
 * @param {Geometry} geometry
 * @param {Traced} traced
 * @param {Images} images
 * @param {number} c
 * @param {Components} components
 * @param {number} k
 * @param {Widths} widths
 * @param {Float64Array} mean
 * @param {Float64Array} spread
 * @param {Constants} constants
 */
export function foresee(expected, geometry, traced, images, c, components, k, widths, mean, spread, constants) {
  const size = mean.length;
  let uncertain = false;
  for (let i = 0; i < size; i++) uncertain ||= spread[size * i + i] > 0;
  for (let j = 0, at = c * traced.width; j < traced.numPaths[c]; j++, at++) {
    let azimuth = traced.azimuth[at], root = traced.root[at], length = traced.length[at];
    let east = images.east[at], north = images.north[at], delay = traced.delay[at];
    let turn = components.heading[k];
    geometry.far = geometry.aside = 0;
    if (uncertain) {
      const first = 2 * size * at;
      let x = 0, y = 0;
      for (let i = 0; i < size; i++) {
        x += images.slope[first + i] * mean[i];
        y += images.slope[first + size + i] * mean[i];
      }
      if (x !== 0 || y !== 0) {
        const vx = length * east + x, vy = length * north + y;
        const moved = Math.max(Math.hypot(vx, vy), constants.walk.least_length);
        turn += Math.atan2(east * vy - north * vx, east * vx + north * vy);
        delay += (moved - length) * widths.samplesPerMetre;
        [east, north, length] = [vx / moved, vy / moved, moved];
      }
      turn -= mean[AT_HEADING];
      findVariances(geometry, j, images.slope, first, spread, size, east, north, length);
    }
    if (turn !== 0) {
      let turned = azimuth + turn;
      turned -= 2 * Math.PI * Math.floor(turned / (2 * Math.PI) + 0.5);
      root *= Math.exp(DECIBEL * (elementGainDb(turned, constants.twin) - elementGainDb(azimuth, constants.twin)));
      azimuth = turned;
    }
    const sine = Math.sin(azimuth);
    const { far, aside } = geometry;
    const loose = components.reflection_variance[k] * images.bounces[at] + widths.blur * images.apart[at];
    const steep = elementSlope(azimuth, constants.twin);
    const gain = widths.gainExcess + components.gain_variance[k] * traced.order[at] + steep * steep * aside;
    geometry.east[j] = east;
    geometry.north[j] = north;
    geometry.length[j] = length;
    geometry.cosine[j] = Math.cos(azimuth);
    geometry.loose[j] = loose;
    expected.azimuth[j] = azimuth;
    expected.sine[j] = sine;
    expected.delay[j] = delay;
    expected.weakness[j] = 1 / Math.max(root, constants.path_set.least_root);
    expected.sineVariance[j] = widths.sineExcess + (1 - sine * sine) * (loose / (length * length) + aside);
    expected.delayVariance[j] = widths.delayExcess + (loose + far) * widths.samplesPerMetre ** 2;
    expectStrength(expected, j, root * root, gain, widths.gainTail);
  }
  return uncertain;
}

/**
 * Relative change of an element's amplitude per radian: the derivative of `elementGainDb`.
 * @param {number} azimuth
 * @param {TwinConstants} constants
 */
function elementSlope(azimuth, { half_power_width: width, most_loss_db: most }) {
  if (12 * (azimuth / width) ** 2 > most) return 0;
  return ((-24 * azimuth) / width ** 2) * DECIBEL;
}

/**
 * Fill in the covariances of an image with the unknowns, and the variances of length and angle that follow.
 * @param {Geometry} geometry
 * @param {number} j path
 * @param {Float64Array} slope those of this image start at `first`
 * @param {number} first
 * @param {Float64Array} spread
 * @param {number} size
 * @param {number} east
 * @param {number} north
 * @param {number} length
 */
function findVariances(geometry, j, slope, first, spread, size, east, north, length) {
  const { moment } = geometry;
  const [own, other] = [2 * size * j, 2 * size * j + size];
  moment.fill(0, own, own + 2 * size);
  for (let axis = 0; axis < 2; axis++) {
    const from = own + axis * size;
    for (let i = 0; i < size; i++) {
      const value = slope[first + axis * size + i];
      if (value === 0) continue;
      for (let n = 0; n < size; n++) moment[from + n] += value * spread[size * i + n];
    }
  }
  let xx = 0, xy = 0, yy = 0;
  for (let i = 0; i < size; i++) {
    xx += moment[own + i] * slope[first + i];
    xy += moment[own + i] * slope[first + size + i];
    yy += moment[other + i] * slope[first + size + i];
  }
  const across = north * north * xx - 2 * east * north * xy + east * east * yy;
  const skew = (-north * moment[own + AT_HEADING] + east * moment[other + AT_HEADING]) / length;
  geometry.far = Math.max(east * east * xx + 2 * east * north * xy + north * north * yy, 0);
  geometry.aside = Math.max(across / (length * length) - 2 * skew + spread[size * AT_HEADING + AT_HEADING], 0);
}
