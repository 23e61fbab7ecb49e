/**
 * The worker: scenes in, results of the newest scene out.
 *
 * The first message holds the settings. Every later one is a request {id, scene, poses, dragging}, answered by
 * {id, result, coarse} or {id, error}. While something is dragged and a full evaluation is slow, a coarse one is sent first.
 * If there are poses, the request is about the walk through all of them, and {id, progress} comes after each snapshot.
 * A message {look, scene}, a place that is pointed at, is answered by {place}.
 */

import { Locator } from "./locate.js";
import { finish } from "./walk_scene.js";

const PATIENCE = 40; // [ms], longest full evaluation that is not preceded by a coarse one

/**
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./locate.js").Scene} Scene
 * @typedef {import("./locate.js").WalkLook} WalkLook
 */

/** @typedef {{id: number, scene: Scene, poses: import("./twin.js").Pose[], dragging: boolean}} Request */
/** @typedef {{look: import("./layout.js").Place, scene: Scene}} Question */
/** @typedef {{id: number, result?: Look | WalkLook, coarse?: boolean, progress?: number, error?: string}} Answer */
/** @typedef {{place: import("./locate.js").Inspected}} PlaceAnswer */

/** @type {Locator | null} */
let locator = null;
/** @type {Request | null} */
let pending = null;
let walking = false;
/** @type {Map<string, number>} */
const usual = new Map(); // duration of a full evaluation [ms], by methods and depth

self.onmessage = (/** @type {MessageEvent<{settings: import("./locate.js").Settings} | Request | Question>} */ { data }) => {
  if ("settings" in data) {
    locator = new Locator(data.settings);
    return;
  }
  if ("look" in data) {
    if (locator && pending === null && !walking) self.postMessage({ place: locator.inspect(data.scene, data.look) });
    return;
  }
  if (pending === null && !walking) setTimeout(work); // runs after all requests already queued
  pending = data;
};

function work() {
  const request = pending;
  if (request === null || locator === null) return;
  pending = null;
  const { scene, poses } = request;
  const coarse = { ...scene, gridPoints: Math.ceil(scene.gridPoints / 2) };
  if (poses.length > 0) {
    void follow(locator, request, coarse);
    return;
  }
  const kind = `${scene.method} ${scene.depth} ${scene.beside}`;
  if (request.dragging && (usual.get(kind) ?? Infinity) > PATIENCE) {
    answer(locator, { ...request, scene: coarse }, true);
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
    self.postMessage({ id, error: messageOf(error) });
    return undefined;
  }
}

/**
 * Compute and post a walk, unless a newer request comes in between; while something is dragged, first on a coarse grid.
 * @param {Locator} locator
 * @param {Request} request
 * @param {Scene} coarse
 */
async function follow(locator, { id, scene, poses, dragging }, coarse) {
  walking = true;
  try {
    // Not interrupted: while something is dragged, newer requests come all the time.
    if (dragging) self.postMessage({ id, result: finish(locator.walk(coarse, poses)), coarse: true });
    const steps = locator.walk(scene, poses);
    let step = steps.next();
    while (!step.done) {
      self.postMessage({ id, progress: step.value / poses.length });
      await new Promise((resume) => setTimeout(resume)); // lets a newer request come in
      if (pending !== null) break;
      step = steps.next();
    }
    if (step.done) self.postMessage({ id, result: step.value, coarse: false });
  } catch (error) {
    self.postMessage({ id, error: messageOf(error) });
  }
  walking = false;
  if (pending !== null) setTimeout(work);
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));
