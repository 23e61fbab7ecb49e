/** The scene in the browser's history: scenes in, entries of the history out; Back and Forward give scenes back. */

import { holdsScene } from "./scene.js";

const PAUSE = 400; // [ms] without changes before the address is written; browsers allow few writes a second

/** Keeps the newest scene in the entry of the history that is shown, and in its address unless that names a heading. */
export class Past {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pause;
  #newest = "";

  /** @param {(scene: string) => void} show called with a scene when the reader goes back or forward to it */
  constructor(show) {
    addEventListener("popstate", () => {
      const { kept } = this;
      if (!kept) {
        this.#write(); // an entry that the reader made by following a link within the page
        return;
      }
      clearTimeout(this.#pause);
      this.#newest = kept;
      show(kept);
    });
    addEventListener("pagehide", () => this.#write());
  }

  /** The scene of the entry shown, or an empty text. */
  get kept() {
    const { state } = history;
    if (typeof state?.scene === "string") return state.scene;
    return holdsScene(location.hash) ? location.hash.slice(1) : "";
  }

  /**
   * Note the first scene in the entry shown, and leave its address as it is.
   * @param {string} scene
   */
  begin(scene) {
    this.#newest = scene;
    history.replaceState({ ...history.state, scene }, "");
  }

  /**
   * Keep a scene in the entry shown, once changes pause.
   * @param {string} scene
   */
  keep(scene) {
    this.#newest = scene;
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#write(), PAUSE);
  }

  /**
   * Make a new entry, to which Back leads from later ones.
   * @param {string} scene
   */
  add(scene) {
    this.#write();
    this.#newest = scene;
    history.pushState({ scene }, "", `#${scene}`);
  }

  #write() {
    clearTimeout(this.#pause);
    if (!this.#newest) return;
    const names = location.hash.length > 1 && !holdsScene(location.hash);
    history.replaceState({ ...history.state, scene: this.#newest }, "", names ? location.hash : `#${this.#newest}`);
  }
}
