/**
 * The worker: scenes in, results out, the newest scene only.
 *
 * The first message holds the settings. Each other one is a request {id, scene, dragging}; its answer is
 * {id, result, coarse} or {id, error}. While something is dragged and a full look takes long, a coarse one goes ahead.
 */

import { Locator } from "./locate.js";

const PATIENCE = 40; // [ms] that a full look may take without a coarse one before it

/** @type {Locator} */
let locator;
let pending = null;
const usual = new Map(); // how long a full look takes, by method and depth

self.onmessage = ({ data }) => {
  if (data.settings) {
    locator = new Locator(data.settings);
    return;
  }
  if (pending === null) setTimeout(work); // after all requests that wait already
  pending = data;
};

function work() {
  const request = pending;
  pending = null;
  const kind = `${request.scene.method} ${request.scene.depth}`;
  if (request.dragging && (usual.get(kind) ?? Infinity) > PATIENCE) {
    const gridPoints = Math.ceil(request.scene.gridPoints / 2);
    answer({ ...request, scene: { ...request.scene, gridPoints } }, true);
    pending = { ...request, dragging: false };
    setTimeout(work); // a newer request takes its place
    return;
  }
  const milliseconds = answer(request, false);
  if (milliseconds !== undefined) usual.set(kind, milliseconds);
}

/** Compute and post; returns how long it took. */
function answer({ id, scene }, coarse) {
  try {
    const result = locator.locate(scene);
    self.postMessage({ id, result, coarse });
    return result.milliseconds;
  } catch (error) {
    self.postMessage({ id, error: String(error.message ?? error) });
    return undefined;
  }
}
