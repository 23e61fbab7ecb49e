/**
 * The worker: scenes in, results of the newest scene out.
 *
 * The first message holds the settings. Every later one is a request {id, scene, dragging}, answered by
 * {id, result, coarse} or {id, error}. While something is dragged and a full evaluation is slow, a coarse one is sent first.
 */

import { Locator } from "./locate.js";

const PATIENCE = 40; // [ms], longest full evaluation that is not preceded by a coarse one

/** @typedef {{id: number, scene: import("./locate.js").Scene, dragging: boolean}} Request */
/** @typedef {{id: number, result?: import("./locate.js").Look, coarse?: boolean, error?: string}} Answer */

/** @type {Locator | null} */
let locator = null;
/** @type {Request | null} */
let pending = null;
/** @type {Map<string, number>} */
const usual = new Map(); // duration of a full evaluation [ms], by method and depth

self.onmessage = (/** @type {MessageEvent<{settings: import("./locate.js").Settings} | Request>} */ { data }) => {
  if ("settings" in data) {
    locator = new Locator(data.settings);
    return;
  }
  if (pending === null) setTimeout(work); // runs after all requests already queued
  pending = data;
};

function work() {
  const request = pending;
  if (request === null || locator === null) return;
  pending = null;
  const kind = `${request.scene.method} ${request.scene.depth}`;
  if (request.dragging && (usual.get(kind) ?? Infinity) > PATIENCE) {
    const gridPoints = Math.ceil(request.scene.gridPoints / 2);
    answer(locator, { ...request, scene: { ...request.scene, gridPoints } }, true);
    pending = { ...request, dragging: false };
    setTimeout(work); // lets a newer request replace this one
    return;
  }
  const milliseconds = answer(locator, request, false);
  if (milliseconds !== undefined) usual.set(kind, milliseconds);
}

/**
 * Compute and post the result; returns the duration [ms].
 * @param {Locator} locator
 * @param {Request} request
 * @param {boolean} coarse
 */
function answer(locator, { id, scene }, coarse) {
  try {
    const result = locator.locate(scene);
    self.postMessage({ id, result, coarse });
    return result.milliseconds;
  } catch (error) {
    self.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}
