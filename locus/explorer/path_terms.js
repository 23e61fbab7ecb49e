/**
 * Terms of the likelihood of path sets: traced and observed paths in, the pairs that may belong together out.
 *
 * The first half of a port of `locus/score/path_set_cpu.py`. A *term* is a pair of a traced and an observed path, or the
 * same pair with a disturbed estimate. Its height is the density of the observed path, if it stems from the traced one, over
 * that of clutter, at the sync offset that brings their delays together.
 */

import { modulo } from "./radio.js";
import { centreOf, density, detection, widening } from "./strength.js";
import { elementGainDb } from "./twin.js";

/**
 * @typedef {import("./path_arrays.js").Components} Components
 * @typedef {import("./path_arrays.js").PathSetConstants} PathSetConstants
 * @typedef {import("./path_arrays.js").Seen} Seen
 * @typedef {import("./path_arrays.js").Traced} Traced
 * @typedef {import("./path_arrays.js").Widths} Widths
 * @typedef {ReturnType<typeof makeExpected>} Expected
 * @typedef {ReturnType<typeof makeTerms>} Terms
 */

/**
 * Workspace for what a component expects of each traced path of a candidate.
 * @param {number} numPaths
 */
export function makeExpected(numPaths) {
  const column = () => new Float64Array(numPaths);
  return {
    azimuth: column(),
    sine: column(),
    /** [samples] */
    delay: column(),
    /** Probability of not being reported although above the threshold. */
    miss: column(),
    /** Probability that its estimate is disturbed. */
    share: column(),
    /** One over the root of the energy. */
    weakness: column(),
    /** Variances without noise. */
    sineVariance: column(),
    delayVariance: column(),
    /** Centre of the strength's root and one over the root of its widening, undisturbed and disturbed. */
    centre: column(),
    inverse: column(),
    tailCentre: column(),
    tailInverse: column(),
    /** Probability of being reported over that of not, without the density of what is seen. */
    odds: column(),
    logOdds: column(),
  };
}

/**
 * Workspace for the terms of a candidate and a component, those of each observed path together.
 * @param {number} most
 */
export function makeTerms(most) {
  return {
    count: 0,
    /** Integral of the sum of all terms over the sync offset. */
    linear: 0,
    /** Bound on the integral of their products, scaled. */
    most: 0,
    /** Sync offset [samples] at which the delays agree, and 1 / (2 variance) of their difference. */
    offset: new Float64Array(most),
    sharpness: new Float64Array(most),
    height: new Float64Array(most),
    /** Observed and traced path, and whether the estimate is disturbed. */
    seen: new Int32Array(most),
    traced: new Int32Array(most),
    disturbed: new Uint8Array(most),
    /** Whether the integral over the offset has nodes about the term. */
    anchor: new Uint8Array(most),
    /** Indices of the terms that matter about one of them, and their number. */
    neighbours: new Int32Array(most),
    numNear: 0,
    /** What `multiply` finds at one offset: product, sum of all terms, and summed weights of the anchors. */
    product: 0,
    alone: 0,
    balance: 0,
    /** Offset at which the product is largest. */
    best: 0,
  };
}

/**
 * Fill in what component `k` expects of the paths of candidate `c`.
 * @param {Expected} expected
 * @param {Traced} traced
 * @param {number} c
 * @param {Components} components
 * @param {number} k
 * @param {Widths} widths
 * @param {{twin: import("./twin.js").TwinConstants, path_set: PathSetConstants}} constants
 */
export function expect(expected, traced, c, components, k, widths, constants) {
  const turn = components.heading[k];
  for (let j = 0, i = c * traced.width; j < traced.numPaths[c]; j++, i++) {
    let azimuth = traced.azimuth[i];
    let root = traced.root[i];
    if (turn !== 0) {
      let turned = azimuth + turn;
      if (turned >= Math.PI) turned -= 2 * Math.PI;
      else if (turned < -Math.PI) turned += 2 * Math.PI;
      const change = elementGainDb(turned, constants.twin) - elementGainDb(azimuth, constants.twin);
      root *= Math.exp((Math.LN10 / 20) * change);
      azimuth = turned;
    }
    const sine = Math.sin(azimuth);
    const moved = components.variance[k] + components.reflection_variance[k] * traced.order[i] + widths.blur;
    const angle = moved / (traced.length[i] * traced.length[i]) + components.turn_variance[k];
    const gain = widths.gainExcess + components.gain_variance[k] * traced.order[i];
    expected.azimuth[j] = azimuth;
    expected.sine[j] = sine;
    expected.delay[j] = traced.delay[i];
    expectCompany(expected, j, traced, i, components.miss[k], components.level[k] === 0, widths.tailShare);
    expected.weakness[j] = 1 / Math.max(root, constants.path_set.least_root);
    expected.sineVariance[j] = widths.sineExcess + (1 - sine * sine) * angle;
    expected.delayVariance[j] = widths.delayExcess + moved * widths.samplesPerMetre * widths.samplesPerMetre;
    expectStrength(expected, j, root * root, gain, widths.gainTail);
  }
}

/**
 * Fill in how probably path `j` is missed and disturbed.
 * @param {Expected} expected
 * @param {number} j
 * @param {Traced} traced
 * @param {number} i its index there
 * @param {number} miss probability of not being reported by itself
 * @param {boolean} merges whether the twin says which paths are side by side
 * @param {number} tailShare
 */
export function expectCompany(expected, j, traced, i, miss, merges, tailShare) {
  expected.miss[j] = merges ? miss + (1 - miss) * traced.merged[i] : miss;
  expected.share[j] = merges ? tailShare + (1 - tailShare) * traced.disturbed[i] : tailShare;
}

/**
 * Fill in the strength of path `j`.
 * @param {Expected} expected
 * @param {number} j
 * @param {number} energy
 * @param {number} gain variance of the relative error of its amplitude
 * @param {number} gainTail what a disturbed estimate has in addition
 */
export function expectStrength(expected, j, energy, gain, gainTail) {
  const wider = widening(energy, gain);
  const tailWider = widening(energy, gain + gainTail);
  expected.centre[j] = centreOf(energy, wider);
  expected.inverse[j] = 1 / Math.sqrt(wider);
  expected.tailCentre[j] = centreOf(energy, tailWider);
  expected.tailInverse[j] = 1 / Math.sqrt(tailWider);
}

/**
 * Fill in the odds of each path; returns the probability that none is reported.
 * @param {Expected} expected
 * @param {number} count
 * @param {number} rootThreshold
 * @param {import("./strength.js").Table} table
 */
export function silence(expected, count, rootThreshold, table) {
  const { centre, inverse, tailCentre, tailInverse, miss, share, odds, logOdds } = expected;
  let total = 1;
  for (let j = 0; j < count; j++) {
    const clean = detection(table, rootThreshold, centre[j], inverse[j]);
    const tail = detection(table, rootThreshold, tailCentre[j], tailInverse[j]);
    const missed = 1 - (1 - miss[j]) * (clean + share[j] * (tail - clean));
    total *= missed;
    odds[j] = (1 - miss[j]) / missed;
    logOdds[j] = Math.log(odds[j]);
  }
  return total;
}

/**
 * Fill in the terms of a snapshot in component `k`.
 * @param {Terms} terms
 * @param {Expected} expected
 * @param {number} numTraced
 * @param {Seen} seen
 * @param {number} k
 * @param {Widths} widths
 * @param {PathSetConstants} constants
 */
export function fillTerms(terms, expected, numTraced, seen, k, widths, constants) {
  const { offset, height, sharpness } = terms;
  const { sine: sineNoise, delay: delayNoise, period, window, mostDelay } = widths;
  const { least_height: leastHeight, most_sine: mostSine, far, scale, no_angle: noAngle } = constants;
  const angles = sineNoise > 0;
  let count = 0, linear = 0, most = scale, heights = 0, widest = 0;
  for (let q = 0; q < seen.count; q++) {
    const root = seen.root[q], sine = seen.sine[q], delay = seen.delay[q];
    const rarity = 1 / seen.clutter[k * seen.width + q];
    const limit = seen.limit[k * seen.width + q], tailLimit = seen.tailLimit[k * seen.width + q];
    let together = 1;
    for (let j = 0; j < numTraced; j++) {
      let apart = 0; // modulo 2
      if (angles) {
        apart = Math.abs(sine - expected.sine[j]);
        apart = Math.min(apart, 2 - apart);
      }
      const noise = expected.weakness[j] / root;
      for (let disturbed = 0; disturbed < 2; disturbed++) {
        const tail = disturbed === 1;
        const centre = tail ? expected.tailCentre[j] : expected.centre[j];
        const inverse = tail ? expected.tailInverse[j] : expected.inverse[j];
        const extra = tail ? widths.sineTail : 0;
        const y = root * inverse;
        const share = tail ? expected.share[j] : 1 - expected.share[j];
        const bound = tail ? tailLimit + Math.log(share) : limit;
        const left = bound + expected.logOdds[j] - (y - centre) * (y - centre);
        const variance = Math.min(sineNoise * noise + expected.sineVariance[j] + extra, mostSine);
        if (0.5 * apart * apart > left * variance) continue;
        const half = angles ? 0.5 / variance : noAngle;
        const spread = delayNoise * noise + expected.delayVariance[j] + (tail ? widths.delayTail : 0);
        const sharp = 0.5 / Math.min(spread, mostDelay);
        const width = Math.sqrt(Math.PI / sharp);
        let high = share * expected.odds[j] * rarity * Math.sqrt(half / Math.PI) / width;
        high *= density(y, centre, inverse) * Math.exp(-(y - centre) * (y - centre) - half * apart * apart);
        const around = 4 * half * (1 - apart); // by how much the exponent is larger the other way round
        if (angles && around < far) high *= 1 + Math.exp(-around);
        if (!(high > leastHeight)) continue;
        const late = expected.delay[j] - delay;
        offset[count] = between(late, period);
        height[count] = high;
        sharpness[count] = sharp;
        terms.seen[count] = q;
        terms.traced[count] = j;
        terms.disturbed[count] = disturbed;
        terms.anchor[count] = 0;
        count++;
        together += high;
        widest = Math.max(widest, width);
        if (window === period || modulo(late, period) < window) linear += high * width;
      }
    }
    most *= together;
    heights += together - 1;
  }
  terms.count = count;
  terms.linear = linear;
  terms.most = (most - scale * (1 + heights)) * widest;
}

/**
 * A number modulo the period, in about [-period / 2, period / 2].
 * @param {number} value
 * @param {number} period
 */
export const between = (value, period) => value - period * Math.floor(value / period + 0.5);
