/**
 * A walk: snapshots of one still transmitter from several poses in, a posterior after each of them out.
 *
 * A port of `locus/score/walk.py`, which says what is carried from snapshot to snapshot.
 */

import { arrangeObserved, arrangeTraced, findWidths } from "./path_arrays.js";
import { modulo } from "./radio.js";
import { addLogs, normalise } from "./score.js";
import { makeTable } from "./strength.js";
import { headingPosterior } from "./walk_compass.js";
import { AT_HEADING, AT_PLAN, AT_RECEIVER, AT_TRANSMITTER, findBodies, findImages } from "./walk_images.js";
import { advance } from "./walk_steps.js";

/**
 * @typedef {import("./path_set.js").Description} Description
 * @typedef {import("./paths.js").Paths} Paths
 * @typedef {import("./twin.js").Pose} Pose
 * @typedef {import("./walk_images.js").Plan} Plan
 * @typedef {import("./walk_steps.js").State} State
 * @typedef {import("./walk_terms.js").Constants} Constants
 */

/**
 * @typedef {object} Options
 * @property {number} [spacing] distance between neighbouring candidates [m], if the transmitter may be between them
 * @property {{positionPerMetre: number, headingPerMetre: number, headingPerRadian: number}} [odometry] errors of the pose [m, rad] after one metre or radian, which grow with the square root of the way; by default none
 * @property {ArrayLike<number>} [prior] (candidate), non-negative; uniform by default
 * @property {number} [correlation] of what snapshots get wrong, if the twin has the full tolerance
 */

export class Walk {
  #plan;
  #candidates;
  #description;
  #radio;
  #constants;
  #spacing;
  #odometry;
  #logPrior;
  #correlation;
  #bodies;
  #hiding;
  /** @type {import("./strength.js").Table | null} */
  #table = null;
  /** @type {Pose | null} */
  #pose = null;
  /** @type {State | null} */
  #state = null;

  /**
   * @param {Plan} plan that the paths are traced in
   * @param {Float64Array} candidates (candidate, 2) [m]
   * @param {Description} description of the likelihood of a single snapshot
   * @param {import("./radio.js").Radio} radio
   * @param {Constants} constants
   * @param {Options} [options]
   */
  constructor(plan, candidates, description, radio, constants, options = {}) {
    const { walk } = constants;
    this.#plan = plan;
    this.#candidates = candidates;
    this.#description = description;
    this.#radio = radio;
    this.#constants = constants;
    this.#spacing = options.spacing ?? 0;
    this.#odometry = options.odometry ?? { positionPerMetre: 0, headingPerMetre: 0, headingPerRadian: 0 };
    this.#logPrior = normalise(Float64Array.from({ length: candidates.length / 2 }, (_, c) => Math.log(options.prior?.[c] ?? 1)));
    this.#correlation = options.correlation ?? walk.correlation;
    this.#bodies = findBodies(plan, walk.most_plan);
    const usual = Math.min(description.fitted.miss, 0.5);
    this.#hiding = Float64Array.from(description.components.miss, (miss) => Math.max(miss - usual, 0));
    /** Number of snapshots added so far. */
    this.numSteps = 0;
  }

  /**
   * Add a snapshot.
   * @param {Paths} paths traced paths of all candidates from the pose
   * @param {Paths} observed estimated paths, one row
   * @param {Pose} pose
   * @param {{numPaths?: number}} [options] largest number of paths that the estimator reports, by default that of the likelihood's own
   */
  add(paths, observed, pose, { numPaths = this.#description.estimator.num_paths } = {}) {
    const numCandidates = this.#candidates.length / 2;
    if (paths.rows !== numCandidates) {
      throw new RangeError(`Expected the paths of ${numCandidates} candidates, got those of ${paths.rows}; trace the same candidates from every pose`);
    }
    const { fitted, components, estimator } = this.#description;
    const { path_set: common, walk } = this.#constants;
    this.#table ??= makeTable(common.table);
    const widths = findWidths(this.#radio, fitted, this.#spacing);
    // Weights are carried along here, and what is known of the position shrinks
    const fresh = { ...components, weight: components.weight.map(() => 1), variance: components.variance.map(() => 0) };
    const seen = arrangeObserved({ ...observed, residual: undefined }, this.#radio, { ...estimator, num_paths: numPaths }, fresh, widths, common);
    const traced = arrangeTraced(paths, this.#radio, common, fitted.merge_cells);
    const images = findImages(this.#plan, this.#bodies, traced, pose, this.#candidates, walk.mismatch);
    const state = (this.#state ??= this.#start());
    this.#drift(state, pose);
    const slots = this.#findSlots(state, images.chain, traced.width);
    advance(state, traced, images, slots, seen, widths, components, this.#hiding, this.#table, this.#constants);
    const { alive, weight } = state;
    const largest = weight.reduce((most, log, i) => (alive[i] ? Math.max(most, log) : most), -Infinity);
    for (let i = 0; i < weight.length; i++) {
      if (!(weight[i] > largest - walk.hopeless_nats)) alive[i] = 0;
      weight[i] -= largest;
    }
    this.numSteps++;
  }

  /** Copy of the walk so far, to try another snapshot without changing this one. */
  fork() {
    const options = { spacing: this.#spacing, odometry: this.#odometry, correlation: this.#correlation };
    const other = new Walk(this.#plan, this.#candidates, this.#description, this.#radio, this.#constants, options);
    other.#logPrior = this.#logPrior;
    other.#table = this.#table;
    other.#pose = this.#pose;
    other.numSteps = this.numSteps;
    if (this.#state) {
      const { alive, weight, mean, spread, hidden, chains } = this.#state;
      other.#state = {
        alive: alive.slice(),
        weight: weight.slice(),
        mean: mean.slice(),
        spread: spread.slice(),
        hidden: hidden.slice(),
        chains: chains.slice(),
      };
    }
    return other;
  }

  /**
   * Log posterior after the snapshots so far, with a small share of the prior.
   * @returns {Float64Array} (candidate)
   */
  logPosterior() {
    const { alive, weight } = this.#started();
    const { fitted, components } = this.#description;
    const count = components.weight.length;
    const temperature = this.#temperature();
    const logs = this.#logPrior.map((prior, c) => {
      let log = -Infinity;
      for (let i = c * count; i < (c + 1) * count; i++) if (alive[i]) log = addLogs(log, weight[i]);
      return log / temperature + prior;
    });
    const [own, share] = [Math.log1p(-fitted.floor), Math.log(fitted.floor)];
    return normalise(logs).map((log, c) => addLogs(own + log, share + this.#logPrior[c]));
  }

  /** Posterior of the compass error at the last pose, averaged over all candidates. */
  headingError() {
    const { mean, spread } = this.#started();
    const { heading } = this.#description.components;
    const { size } = this.#bodies;
    const gaussian = (/** @type {number} */ i) => ({
      mean: mean[size * i + AT_HEADING] - heading[i % heading.length],
      variance: spread[size * (size * i + AT_HEADING) + AT_HEADING],
    });
    return headingPosterior(this.#joint(), gaussian, this.#constants.walk);
  }

  /** By how much snapshots with errors that the filter does not model count less than independent ones. */
  #temperature() {
    const { level } = this.#description.components;
    let sum = 0, total = 0;
    this.#joint().forEach((weight, i) => {
      sum += weight * level[i % level.length];
      total += weight;
    });
    return 1 + Math.min(sum / total, 1) * (this.#description.fitted.doubt + this.#correlation * (this.numSteps - 1));
  }

  /** Weights (candidate, component) with the prior of the candidates; the largest is 1. */
  #joint() {
    const { alive, weight } = this.#started();
    const count = this.#description.components.weight.length;
    const logs = weight.map((log, i) => (alive[i] ? log + this.#logPrior[Math.trunc(i / count)] : -Infinity));
    const largest = logs.reduce((a, b) => Math.max(a, b), -Infinity);
    return logs.map((log) => Math.exp(log - largest));
  }

  #started() {
    if (this.#state === null) throw new RangeError("Expected a walk of at least one snapshot, got none; use add first");
    return this.#state;
  }

  /**
   * Prior of the shared errors: the Gaussians of every candidate and component.
   * @returns {State}
   */
  #start() {
    const { components } = this.#description;
    const { num_slots: numSlots } = this.#constants.walk;
    const { size, numSides } = this.#bodies;
    const count = components.weight.length;
    const numCandidates = this.#candidates.length / 2;
    const all = numCandidates * count;
    const spread = new Float64Array(all * size * size);
    const hidden = new Float64Array(all * numSlots);
    for (let at = 0; at < all; at++) {
      const k = at % count;
      // A side is displaced along its normal, an obstacle in a random direction; twice the square per reflection
      const square = components.reflection_variance[k] / 2;
      for (let i = 0; i < size; i++) {
        let variance = i < AT_PLAN + numSides ? square : square / 2;
        if (i < AT_PLAN) variance = this.#spacing ** 2 / 12;
        if (i < AT_TRANSMITTER) variance = components.variance[k];
        if (i < AT_RECEIVER) variance = components.turn_variance[k];
        spread[size * (size * at + i) + i] = variance;
      }
      hidden.fill(this.#hiding[k], at * numSlots, (at + 1) * numSlots);
    }
    return {
      alive: new Uint8Array(all).fill(1),
      weight: Float64Array.from({ length: all }, (_, at) => Math.log(components.weight[at % count])),
      mean: new Float64Array(all * size),
      spread,
      hidden,
      chains: new Float64Array(numCandidates * numSlots).fill(-1),
    };
  }

  /**
   * Add what the pose's error has grown by on the way from the last pose, and forget what blocked paths there.
   * @param {State} state
   * @param {Pose} pose
   */
  #drift({ spread, hidden }, pose) {
    const last = this.#pose;
    this.#pose = pose;
    if (last === null) return;
    const { num_slots: numSlots, same_view: sameView } = this.#constants.walk;
    const { positionPerMetre, headingPerMetre, headingPerRadian } = this.#odometry;
    const { size } = this.#bodies;
    const way = Math.hypot(pose.x - last.x, pose.y - last.y);
    const turn = Math.abs(modulo(pose.heading - last.heading + Math.PI, 2 * Math.PI) - Math.PI);
    const left = Math.exp(-way / sameView);
    for (let i = 0; i < hidden.length; i++) {
      const usual = this.#hiding[Math.trunc(i / numSlots) % this.#hiding.length];
      hidden[i] = usual + (hidden[i] - usual) * left;
    }
    for (let first = 0; first < spread.length; first += size * size) {
      for (const axis of [AT_RECEIVER, AT_RECEIVER + 1]) spread[first + size * axis + axis] += positionPerMetre ** 2 * way;
      spread[first + size * AT_HEADING + AT_HEADING] += headingPerMetre ** 2 * way + headingPerRadian ** 2 * turn;
    }
  }

  /**
   * Place (candidate, path) of each sequence of walls in the memory, new ones included; -1 if there is none.
   * @param {State} state
   * @param {Float64Array} chain (candidate, path)
   * @param {number} width
   */
  #findSlots({ chains }, chain, width) {
    const { num_slots: numSlots } = this.#constants.walk;
    return Int32Array.from(chain, (number, i) => {
      if (number < 0) return -1;
      const first = Math.trunc(i / width) * numSlots;
      const own = chains.subarray(first, first + numSlots);
      const known = own.indexOf(number);
      const place = known >= 0 ? known : own.indexOf(-1);
      if (place >= 0) own[place] = number;
      return place;
    });
  }
}
