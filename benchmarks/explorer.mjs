/** Updates and walks of the explorer in new rooms: settings from standard input, processor times [ms] to standard output. */

import { readFileSync, writeFileSync } from "node:fs";

import { drawPoint, drawRoom } from "../locus/explorer/layout.js";
import { Locator } from "../locus/explorer/locate.js";
import { Random } from "../locus/explorer/random.js";

/** @typedef {{user: number, system: number}} Usage processor time [us] */
/** @typedef {{process: {cpuUsage: (before?: Usage) => Usage}}} Node */

// Not imported: the module node:process opens standard input in a way in which it cannot be read at once.
const { process } = /** @type {typeof globalThis & Node} */ (globalThis);

const settings = JSON.parse(readFileSync(0, "utf8"));
const locator = new Locator(settings);

/**
 * Nothing can be used again from another room.
 * @param {number} seed
 */
function timeUpdate(seed) {
  const random = new Random(seed);
  const room = drawRoom(random, settings.room, settings.constants.room);
  const place = () => {
    const point = drawPoint(room, random);
    if (point === null) throw new RangeError("Expected a room with free space, got none");
    return point;
  };
  const receiver = { ...place(), heading: random.uniform(-Math.PI, Math.PI) };
  const scene = { room, receiver, transmitter: place(), gridPoints: settings.room.grid_points };
  const before = process.cpuUsage();
  const choices = { depth: 2, numPaths: 6, powerChange: 0, seed, method: "locus_dt", rays: true };
  const { numCandidates } = locator.locate({ ...scene, ...choices });
  const { user, system } = process.cpuUsage(before);
  const poses = [receiver, ...Array.from({ length: 3 }, () => ({ ...place(), heading: random.uniform(-Math.PI, Math.PI) }))];
  const steps = timeWalk({ ...scene, ...choices }, poses);
  return { numCandidates, milliseconds: (user + system) / 1000, stepMilliseconds: steps / poses.length };
}

/**
 * @param {import("../locus/explorer/locate.js").Scene} scene
 * @param {import("../locus/explorer/twin.js").Pose[]} poses
 */
function timeWalk(scene, poses) {
  const before = process.cpuUsage();
  const steps = locator.walk(scene, poses);
  while (!steps.next().done);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

writeFileSync(1, JSON.stringify(Array.from({ length: 30 }, (_, seed) => timeUpdate(seed))));
