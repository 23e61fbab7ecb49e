/**
 * The live explorer: an element of a page in, an interactive room with draggable objects in it out.
 *
 * The main thread draws and listens; a worker computes. Requests are numbered, and only the newest answer is shown.
 */

import { OF_BEST, OF_POINTED, buildPage } from "./controls.js";
import { describe, readouts } from "./describe.js";
import { MapView } from "./map.js";
import { Past } from "./past.js";
import { handle } from "./pointer.js";
import { fromAddress, fromGeoJson, toAddress } from "./scene.js";
import { acceptDrops, copy, read, save, toFile, toPicture } from "./share.js";
import { SideBySide } from "./side_by_side.js";
import { drawStems } from "./stems.js";
import { FULL, WalkMode } from "./walk_mode.js";
import { World, indexOf } from "./world.js";

const PAUSE = 500; // [ms] without changes before the description is announced, to spare screen readers
const TOO_NARROW = "The room is too narrow for such an error: the twin is exact. ";

/**
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./locate.js").Look} Look
 * @typedef {import("./locate.js").Settings} Settings
 * @typedef {import("./locate.js").WalkLook} WalkLook
 */

/**
 * @param {HTMLElement} root
 * @param {object} [options]
 * @param {Settings} [options.settings] exported by `locus.explorer`; by default the file beside this module
 * @param {string | URL} [options.worker] the worker as a script without imports; by default the module beside this one
 * @param {Room | null} [options.room] a room to explore instead of random ones
 * @param {boolean} [options.addressable] the page's address holds the scene; by default without `options.settings`
 */
export async function mount(root, options = {}) {
  root.classList.add("locus-explorer");
  try {
    const settings = options.settings ?? (await load(new URL("./settings.json", import.meta.url)));
    const worker = options.worker
      ? new Worker(options.worker) // a module cannot be one on a page that was opened from disk
      : new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    const addressable = options.addressable ?? options.settings === undefined;
    Object.assign(root, { explorer: new Explorer(root, settings, worker, options.room ?? null, addressable) });
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
  #oldest = 0; // first request of the world that is shown
  #roomSeed;
  #drawing = false;
  #notice = ""; // shown until something changes
  #points = false; // whether the pointer is at a place
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pause;

  /**
   * @param {HTMLElement} root
   * @param {Settings} settings
   * @param {Worker} worker
   * @param {Room | null} room
   * @param {boolean} addressable whether to keep the scene in the page's address
   */
  constructor(root, settings, worker, room, addressable) {
    this.root = root;
    this.settings = settings;
    this.worker = worker;
    this.#roomSeed = settings.constants.first_room;
    this.world = new World(settings, room, this.#roomSeed);
    /** @type {Look | WalkLook | null} */
    this.result = null;
    const look = (/** @type {boolean} */ dragging) => this.#look(dragging);
    const actions = {
      choose: () => look(false),
      err: () => {
        this.world.error = this.page.errorOf();
        this.#fit();
        look(true);
      },
      select: () => this.#select(this.page.selected.value),
      newNoise: () => {
        this.page.seed.value = `${Number(this.page.seed.value) + 1}`;
        look(false);
      },
      newRoom: () => {
        this.world.reset(++this.#roomSeed);
        this.past?.add(this.#address());
        this.#start();
      },
      addObstacle: () => this.#change(this.world.addObstacle(this.#newest), "There is no space for another obstacle."),
      removeObstacle: () => this.#change(this.world.removeObstacle(), "Select an obstacle to remove it."),
      copyLink: async () => {
        const address = new URL(`#${this.#address()}`, location.href).href;
        if (await copy(address)) this.#say("The link to this scene is copied.");
      },
      savePicture: async () => save("locus.png", await toPicture(this.page.map)),
      saveScene: () => save("locus.json", new Blob([JSON.stringify(toFile(this.world, this.page.choices(), this.result), null, 1)], { type: "application/json" })),
      openFile: (/** @type {File} */ file) => void read(file, (text) => this.#open(text), (message) => this.#say(message)),
    };
    this.walk = new WalkMode({
      toggle: () => this.#walk(() => (this.world.walk.length > 0 ? (this.world.walk = []) : this.world.setOut())),
      goBack: () => this.#walk(() => this.world.goBack()),
      clear: () => this.#walk(() => this.world.setOut()),
    });
    this.page = buildPage(root, settings, { given: room !== null, walk: this.walk }, actions);
    this.view = new MapView(this.page.map, settings.constants.map, settings.constants.colours);
    this.view.invites = true;
    this.sideBySide = new SideBySide(this.page.beside, settings.constants, this.page.titleOf);
    /** @type {import("./locate.js").Inspected | null} */
    this.place = null;
    worker.onmessage = ({ data }) => ("place" in data ? this.#showPlace(data.place) : this.#receive(data));
    worker.onerror = (event) => this.#say(`The computation failed: ${event.message}`);
    worker.postMessage({ settings });
    this.past = addressable ? new Past((scene) => this.#show(scene)) : null;
    if (this.past?.kept) this.#show(this.past.kept);
    else this.#start();
    this.past?.begin(this.#address());
    handle(this.view, this.world, {
      moved: (dragging) => this.#move(dragging),
      listen: () => this.#walk(() => this.world.listen() || FULL),
      goBack: () => this.#walk(() => this.world.goBack()),
      selected: () => this.#select(this.world.selected),
      remove: actions.removeObstacle,
      redraw: () => this.#draw(),
      pointedAt: (place) => this.#pointAt(place),
    });
    acceptDrops(this.page.map, (text) => this.#open(text), (message) => this.#say(message));
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
    this.place = null;
    this.#offer();
    clearTimeout(this.#pause); // else the old world would be described
    this.#oldest = this.#newest + 1;
    this.#fit();
    this.#select("transmitter");
    this.#look(false);
  }

  /**
   * Show the scene of an address; if that is impossible, say why.
   * @param {string} scene
   */
  #show(scene) {
    try {
      const kept = fromAddress(scene, this.settings.materials);
      this.world.show(kept);
      this.page.setWalking(false);
      this.page.choose(kept.choices);
      this.page.setError(kept.error);
      this.#start();
    } catch (error) {
      this.#notice = `The address holds no scene that can be shown. ${error instanceof Error ? error.message : error}. `;
      this.#start();
    }
  }

  /**
   * Open a room, with receiver and transmitter at random places in it.
   * @param {string} text GeoJSON
   */
  #open(text) {
    try {
      const { materials, room } = this.settings;
      this.world.enter(fromGeoJson(text, materials, room.clearance), this.#roomSeed);
      this.past?.add(this.#address());
      this.#start();
    } catch (error) {
      this.#say(`The file holds no room that can be shown. ${error instanceof Error ? error.message : error}.`);
    }
  }

  /**
   * Ask for the paths of a place that is pointed at.
   * @param {import("./layout.js").Place | null} place
   */
  #pointAt(place) {
    if (place) this.worker.postMessage({ look: place, scene: this.#scene() });
    else if (this.place) this.#showPlace(null);
    this.#points = place !== null;
  }

  /** @param {import("./locate.js").Inspected | null} place */
  #showPlace(place) {
    if (place && (!this.#points || place.candidate === this.place?.candidate)) return;
    this.place = place;
    this.page.stemsNote.textContent = place ? OF_POINTED : OF_BEST;
    this.#draw();
  }

  /** The scene as the fragment of an address. */
  #address() {
    const { room, receiver, transmitter, walk, error } = this.world;
    return toAddress({ room, receiver, transmitter, walk, error, choices: this.page.choices() });
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

  #scene() {
    const { room, belief, receiver, transmitter, gridPoints } = this.world;
    return { room, belief, receiver, transmitter, gridPoints, ...this.page.choices() };
  }

  /** Show what can be done, walking or not. */
  #offer() {
    this.page.setWalking(this.world.walk.length > 0);
    this.walk.offer(this.world);
  }

  /**
   * Something moved. On a walk, the receiver listens only where it is dropped.
   * @param {boolean} dragging
   */
  #move(dragging) {
    if (this.world.strays && !dragging) this.#say("Enter listens here.");
    if (this.world.strays) this.#draw();
    else this.#look(dragging);
  }

  /**
   * Change the walk.
   * @param {() => unknown} change returns a message if it is impossible
   */
  #walk(change) {
    const refused = change();
    this.#offer();
    if (typeof refused === "string") this.#say(refused);
    else this.#look(false);
  }

  /**
   * Ask the worker to compute the current scene.
   * @param {boolean} dragging
   */
  #look(dragging) {
    this.root.dataset.settled = "false";
    const { walk, belief, error } = this.world;
    this.worker.postMessage({ id: ++this.#newest, scene: this.#scene(), poses: walk, dragging });
    if (this.#newest > this.#oldest) {
      this.#notice = "";
      this.past?.keep(this.#address());
    }
    if (error > 0 && belief === null) this.#notice = TOO_NARROW;
    if (walk.length > 0) this.walk.wait();
    this.#draw();
  }

  /** @param {import("./worker.js").Answer} answer */
  #receive({ id, result, coarse, progress, error }) {
    if (id < this.#oldest) return; // about a world that is gone
    if (progress !== undefined) {
      this.walk.advance(progress);
      return;
    }
    if (id === this.#newest && !coarse) this.walk.arrive();
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

  /** @param {Look | WalkLook} result */
  #showReadouts(result) {
    const { mass, uniformMass, entropy, mapError, numCandidates, milliseconds } = result;
    const { outputs, method } = this.page;
    const texts = readouts(result);
    for (const name of /** @type {const} */ (["mass", "entropy", "mapError"])) outputs[name].textContent = texts[name];
    Object.assign(this.root.dataset, { mass, uniformMass, entropy, mapError, numCandidates, milliseconds });
    const title = method.selectedOptions[0].text;
    const text = this.#notice + describe(result, this.world, title, this.settings.constants.near);
    this.page.says.textContent = text;
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => (this.page.announces.textContent = text), PAUSE);
  }

  /**
   * Show and announce a message.
   * @param {string} text
   */
  #say(text) {
    clearTimeout(this.#pause);
    this.page.says.textContent = text;
    this.page.announces.textContent = text;
  }

  #fit() {
    this.view.fit(this.world.room.outline.corners, this.world.error);
    const metres = 10 ** Math.floor(Math.log10(this.world.bounds[2] - this.world.bounds[0])) / 5;
    this.page.ruler.style.width = `${this.view.scale * metres}px`;
    this.page.ruler.style.marginInline = `${this.view.toPixel(this.world.bounds[0], 0)[0]}px`; // ends below the frame
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
    const { result, place } = this;
    this.view.draw(this.world, result, { focused: document.activeElement === this.page.map, place });
    this.sideBySide.draw(this.world, result);
    this.walk.draw(this.world, result);
    this.page.believes.hidden = this.world.belief === null;
    const paths = result && { observed: result.observed, predicted: (place ?? result).predicted };
    drawStems(this.page.stems, paths, this.settings.methods.locus_dt.options.features.snr_range);
  }
}
