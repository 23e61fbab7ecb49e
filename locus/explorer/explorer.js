/**
 * The live explorer: an element of a page in, an interactive room with draggable objects in it out.
 *
 * The main thread draws and listens; a worker computes. Requests are numbered, and only the newest answer is shown.
 */

import { buildPage } from "./controls.js";
import { handle } from "./pointer.js";
import { MapView } from "./map.js";
import { drawStems } from "./stems.js";
import { World, indexOf } from "./world.js";

const FIRST_ROOM = 163; // a posterior with several modes, the true one highest
const PAUSE = 500; // [ms] without changes before the description is updated, to spare screen readers

/**
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./locate.js").Settings} Settings
 */

/**
 * @param {HTMLElement} root
 * @param {object} [options]
 * @param {Settings} [options.settings] exported by `locus.explorer`; by default the file beside this module
 * @param {string | URL} [options.worker] the worker's module; by default the one beside this module
 * @param {Room | null} [options.room] a room to explore instead of random ones
 */
export async function mount(root, options = {}) {
  root.classList.add("locus-explorer");
  try {
    const settings = options.settings ?? (await load(new URL("./settings.json", import.meta.url)));
    const worker = new Worker(options.worker ?? new URL("./worker.js", import.meta.url), { type: "module" });
    Object.assign(root, { explorer: new Explorer(root, settings, worker, options.room ?? null) });
  } catch (error) {
    root.textContent = `The explorer could not start: ${error instanceof Error ? error.message : error}`;
    throw error;
  }
}

/**
 * @param {URL} address
 * @returns {Promise<Settings>}
 */
async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`Expected the run's weights at ${address}, got status ${response.status}`);
  return response.json();
}

class Explorer {
  #newest = 0;
  #roomSeed = FIRST_ROOM;
  #drawing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pause;

  /**
   * @param {HTMLElement} root
   * @param {Settings} settings
   * @param {Worker} worker
   * @param {Room | null} room
   */
  constructor(root, settings, worker, room) {
    this.root = root;
    this.settings = settings;
    this.worker = worker;
    this.world = new World(settings, room, FIRST_ROOM);
    /** @type {Look | null} */
    this.result = null;
    const look = (/** @type {boolean} */ dragging) => this.#look(dragging);
    const actions = {
      choose: () => look(false),
      select: () => this.#select(this.page.selected.value),
      newNoise: () => {
        this.page.seed.value = `${Number(this.page.seed.value) + 1}`;
        look(false);
      },
      newRoom: () => {
        this.world.reset(++this.#roomSeed);
        this.#start();
      },
      addObstacle: () => this.#change(this.world.addObstacle(this.#newest), "There is no space for another obstacle."),
      removeObstacle: () => this.#change(this.world.removeObstacle(), "Select an obstacle to remove it."),
    };
    this.page = buildPage(root, settings, { given: room !== null }, actions);
    this.view = new MapView(this.page.map, settings.constants.floor, settings.constants.colours);
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => this.#say(`The computation failed: ${event.message}`);
    worker.postMessage({ settings });
    this.#start();
    handle(this.view, this.world, {
      moved: look,
      selected: () => this.#select(this.world.selected),
      remove: actions.removeObstacle,
    });
    for (const name of ["focus", "blur"]) this.page.map.addEventListener(name, () => this.#draw());
    new ResizeObserver(() => this.#fit()).observe(root);
    new MutationObserver(() => this.#draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /**
   * Position of an object on the page [px], for tests that point at it.
   * @param {string} thing
   */
  pointTo(thing) {
    const box = this.page.map.getBoundingClientRect();
    const { x, y } = this.world.positionOf(thing);
    const [u, v] = this.view.toPixel(x, y);
    return { x: box.left + u, y: box.top + v };
  }

  /** Show a new world. */
  #start() {
    this.result = null;
    this.#fit();
    this.#select("transmitter");
    this.#look(false);
  }

  /**
   * @param {boolean} done whether an obstacle was added or removed
   * @param {string} otherwise message to announce if not
   */
  #change(done, otherwise) {
    if (!done) {
      this.#say(otherwise);
      return;
    }
    this.#select(this.world.selected);
    this.#look(false);
  }

  /** @param {string} thing */
  #select(thing) {
    this.world.selected = thing;
    const { selected, remove } = this.page;
    selected.replaceChildren(...this.world.things.map((name) => new Option(name, name, false, name === thing)));
    remove.disabled = indexOf(thing) < 0;
    this.page.map.setAttribute("aria-label", `Map of the room; arrow keys move the ${thing}`);
    this.#draw();
  }

  /**
   * Ask the worker to compute the current scene.
   * @param {boolean} dragging
   */
  #look(dragging) {
    const { room, receiver, transmitter, gridPoints } = this.world;
    const scene = { room, receiver, transmitter, gridPoints, ...this.page.choices() };
    this.root.dataset.settled = "false";
    this.worker.postMessage({ id: ++this.#newest, scene, dragging });
    this.#draw();
  }

  /** @param {import("./worker.js").Answer} answer */
  #receive({ id, result, coarse, error }) {
    if (!result) {
      this.#say(error ?? "");
      return;
    }
    // While something is dragged, a late answer is better than none.
    this.result = result;
    if (id === this.#newest && !coarse) this.root.dataset.settled = "true";
    this.#showReadouts(result);
    this.#draw();
  }

  /** @param {Look} result */
  #showReadouts(result) {
    const { mass, uniformMass, entropy, mapError, numCandidates, milliseconds } = result;
    const { outputs } = this.page;
    const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
    outputs.mass.textContent = `${percent(mass)} (uniform: ${percent(uniformMass)})`;
    outputs.entropy.textContent = `${entropy.toFixed(2)} nat (≈ ${count(Math.exp(entropy))} of ${numCandidates} places)`;
    outputs.mapError.textContent = `${mapError.toFixed(1)} m`;
    Object.assign(this.root.dataset, { mass, uniformMass, entropy, mapError, numCandidates, milliseconds });
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#say(this.#describe(result)), PAUSE);
  }

  /** @param {Look} result */
  #describe({ mass, uniformMass, mapError, numCandidates, observed }) {
    const name = this.page.method.selectedOptions[0].textContent;
    const heard = observed.length === 0 ? "hears no path" : `hears ${observed.length} path${observed.length > 1 ? "s" : ""}`;
    const hit = mapError < 0.05 ? "is the true one" : `is ${mapError.toFixed(1)} m off`;
    return (
      `The receiver ${heard}. ${name} gives ${(100 * mass).toFixed(0)} % to the places within ${this.settings.constants.near} m of the transmitter, ` +
      `${(mass / uniformMass).toFixed(1)} times a uniform guess; of ${numCandidates} places the most probable one ${hit}.`
    );
  }

  /** @param {string} text */
  #say(text) {
    this.page.says.textContent = text;
  }

  #fit() {
    this.view.fit(this.world.room.outline.corners);
    const metres = 10 ** Math.floor(Math.log10(this.world.bounds[2] - this.world.bounds[0])) / 5;
    this.page.ruler.style.width = `${this.view.scale * metres}px`;
    this.page.ruler.dataset.length = `${metres} m`;
    this.#drawNow(); // resizing clears a canvas
  }

  /** Draw once before the next frame, however often this is called. */
  #draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#drawNow();
    });
  }

  #drawNow() {
    this.view.draw(this.world, this.result, document.activeElement === this.page.map);
    drawStems(this.page.stems, this.result, this.settings.methods.locus_dt.options.features.snr_range);
  }
}

/** @param {number} number */
const count = (number) => (number < 10 ? number.toFixed(1) : number.toFixed(0));
