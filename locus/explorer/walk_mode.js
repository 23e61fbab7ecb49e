/** Walk mode: a world and what is known after its walk in, buttons, a sign of progress and the compass on the page out. */

import { drawCompass, sayHeading, sayTurn } from "./compass.js";
import { make } from "./elements.js";
import { MOST_SNAPSHOTS } from "./world.js";

const PATIENCE = 100; // [ms] without a result before the page shows progress

/**
 * @typedef {import("./locate.js").Look | import("./locate.js").WalkLook} Result
 * @typedef {import("./world.js").World} World
 */

export class WalkMode {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #waits;

  /** @param {{toggle: () => void, goBack: () => void, clear: () => void}} actions */
  constructor({ toggle, goBack, clear }) {
    const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", onclick }, text);
    this.toggle = button("Walk", toggle);
    this.goBack = button("Undo", goBack);
    this.clear = button("Clear", clear);
    this.row = make("div", { class: "pair walk" }, this.toggle, this.goBack, this.clear);
    this.progress = make("progress", { class: "busy", max: 1, "aria-label": "Computing the walk", hidden: true });
    this.error = make("output", { name: "heading" });
    this.plot = make("canvas", { class: "compass", role: "img" });
    const marks = [["predicted bar", "90 % after each snapshot"], ["truth", "true"]].map(([name, text]) =>
      make("span", {}, make("span", { class: `mark ${name}`, "aria-hidden": true }), text),
    );
    this.compass = make("div", {}, make("dl", { class: "readouts" }, make("dt", {}, "Compass error"), make("dd", {}, this.error)));
    this.compass.append(this.plot, make("div", { class: "legend" }, ...marks));
  }

  /**
   * Show what can be done.
   * @param {World} world
   */
  offer({ walk }) {
    const walking = walk.length > 0;
    this.toggle.setAttribute("aria-pressed", `${walking}`);
    for (const element of [this.goBack, this.clear, this.compass]) element.hidden = !walking;
    this.goBack.disabled = this.clear.disabled = walk.length < 2;
  }

  /**
   * Show what a walk tells of the compass.
   * @param {World} world
   * @param {Result | null} result
   */
  draw({ belief }, result) {
    if (this.compass.hidden) return;
    const headings = result && "headings" in result ? result.headings : [];
    const truth = -(belief?.turn ?? 0);
    const last = headings.at(-1);
    this.error.textContent = last ? sayHeading(last) : "…";
    drawCompass(this.plot, headings, truth);
    const known = last ? `Compass error after ${headings.length} snapshots: ${sayHeading(last)}; ` : "";
    this.plot.setAttribute("aria-label", `${known}true: ${sayTurn(truth)}`);
  }

  /** Show progress if there is no result soon. */
  wait() {
    if (this.#waits !== undefined) return;
    this.progress.removeAttribute("value");
    this.#waits = setTimeout(() => (this.progress.hidden = false), PATIENCE);
  }

  /** @param {number} share of the work */
  advance(share) {
    this.progress.value = share;
  }

  /** Hide progress: there is a result. */
  arrive() {
    clearTimeout(this.#waits);
    this.#waits = undefined;
    this.progress.hidden = true;
  }
}

/** What is said to those who want to go on. */
export const FULL = `A walk has at most ${MOST_SNAPSHOTS} snapshots. Undo some, or clear them.`;
