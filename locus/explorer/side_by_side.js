/** Further methods side by side: a world and their posteriors in, a small map with a title for each out. */

import { MapView } from "./map.js";

export class SideBySide {
  /** @type {{figure: HTMLElement, caption: HTMLElement, view: MapView}[]} */
  #maps = [];

  /**
   * @param {HTMLElement} root
   * @param {import("./locate.js").Constants} constants
   * @param {(name: string) => string} titleOf
   */
  constructor(root, constants, titleOf) {
    this.root = root;
    this.constants = constants;
    this.titleOf = titleOf;
  }

  /**
   * @param {import("./world.js").World} world
   * @param {import("./locate.js").Look | null} result
   */
  draw(world, result) {
    const beside = result?.beside ?? [];
    while (this.#maps.length < beside.length) this.#maps.push(this.#make());
    this.#maps.forEach(({ figure, caption, view }, i) => {
      figure.hidden = i >= beside.length;
      if (figure.hidden) return;
      const { method, mass } = beside[i];
      const alone = world.walk.length > 1 ? ", last snapshot" : "";
      caption.textContent = `${this.titleOf(method)}${alone}: ${(100 * mass).toFixed(0)} %`;
      view.canvas.setAttribute("aria-label", `Map by ${caption.textContent} near the transmitter`);
      view.fit(world.room.outline.corners, world.error);
      view.draw(world, { observed: [], predicted: [], rays: [], beside: [], milliseconds: 0, ...beside[i] });
    });
  }

  #make() {
    const [figure, canvas, caption] = ["figure", "canvas", "figcaption"].map((tag) => document.createElement(tag));
    if (!(canvas instanceof HTMLCanvasElement)) throw new TypeError("Expected a canvas");
    canvas.setAttribute("role", "img");
    figure.append(canvas, caption);
    this.root.append(figure);
    const view = new MapView(canvas, this.constants.map, this.constants.colours);
    view.size = 0.6;
    return { figure, caption, view };
  }
}
