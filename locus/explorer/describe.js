/** A result in words: what the worker found in, the texts of the page's readouts and sentence out. */

import { sayHeading, sayTurn } from "./compass.js";

/**
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./locate.js").WalkLook} WalkLook
 */

// No line breaks between a number and its unit (\u00a0).
const EXACT = 0.05; // [m], error that counts as none
const SURE = 1e-4; // [rad], width of an interval of the compass that counts as none

/**
 * To two digits, so that shares next to each other agree with their ratio.
 * @param {number} share
 */
const percent = (share) => `${(100 * share).toFixed(share < 0.00995 ? 2 : share < 0.0995 ? 1 : 0)}\u00a0%`;

/** @param {number} number */
const count = (number) => (number < 10 ? number.toFixed(1) : number.toFixed(0));

/**
 * Texts of the readouts.
 * @param {Look} result
 */
export function readouts({ mass, uniformMass, entropy, mapError, numCandidates }) {
  return {
    mass: `${percent(mass)} (uniform: ${percent(uniformMass)})`,
    entropy: `${entropy.toFixed(2)} nat (≈ ${count(Math.exp(entropy))} of ${numCandidates} places)`,
    mapError: `${mapError.toFixed(1)} m`,
  };
}

/**
 * A sentence on what was heard or walked, and on what follows from it.
 * @param {Look | WalkLook} result
 * @param {import("./world.js").World} world
 * @param {string} title of the method
 * @param {number} near distance from the transmitter that counts as near [m]
 */
export function describe(result, { walk, belief }, title, near) {
  if ("headings" in result) return describeWalk(result, walk, -(belief?.turn ?? 0), near);
  const { observed } = result;
  const heard = observed.length === 0 ? "hears no path" : `hears ${observed.length} path${observed.length > 1 ? "s" : ""}`;
  return `The receiver ${heard}. ${title} gives ${judge(result, near)}.`;
}

/**
 * @param {WalkLook} result
 * @param {import("./twin.js").Pose[]} walk
 * @param {number} turn true error of the compass [rad]
 * @param {number} near
 */
function describeWalk(result, walk, turn, near) {
  const { headings } = result;
  const poses = walk.slice(0, headings.length);
  const way = poses.reduce((sum, { x, y }, i) => (i > 0 ? sum + Math.hypot(x - poses[i - 1].x, y - poses[i - 1].y) : 0), 0);
  const walked = headings.length > 1 ? `${headings.length} snapshots along a walk of ${way.toFixed(0)}\u00a0m` : "one snapshot";
  const last = headings[headings.length - 1];
  const estimate =
    last.high - last.low < SURE // all on the part of its mixture in which nothing is wrong
      ? "It takes the twin, and so the compass, to be exact"
      : `Its estimate of the compass error is ${sayHeading(last)}`;
  return `After ${walked}, the path set gives ${judge(result, near)}. ${estimate}; the true compass error is ${sayTurn(turn)}.`;
}

/**
 * @param {Look} result
 * @param {number} near
 */
function judge({ mass, uniformMass, mapError, numCandidates }, near) {
  const hit = mapError < EXACT ? "is the true one" : `is ${mapError.toFixed(1)}\u00a0m off`;
  return (
    `${percent(mass)} to the places within ${near}\u00a0m of the transmitter, about ${count(mass / uniformMass)} ` +
    `times a uniform guess; of ${numCandidates} places the most probable one ${hit}`
  );
}
