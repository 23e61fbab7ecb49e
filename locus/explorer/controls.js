/** The page around both canvases: its elements, and the choices made with them. */

import { MOST_ERROR, PER_METRE } from "./believed.js";
import { RAYS, gradient } from "./colours.js";
import { make } from "./elements.js";
import { BAYES, PATH_SET } from "./methods.js";

/**
 * @typedef {Record<"choose" | "select" | "newNoise" | "newRoom" | "addObstacle" | "removeObstacle" | "err" | "copyLink" | "savePicture" | "saveScene", () => void>
 *   & {openFile: (file: File) => void}} Actions
 */

const HELP =
  "Drag the star (transmitter), the blue dot (receiver), its arrow (heading) or an obstacle. Point at any other place, or tap it, " +
  "to see its predicted paths. With the keyboard: focus the map, choose with T, R, H or O, move with the arrow keys (Shift: small " +
  "steps); Delete removes an obstacle. On a walk, each time you drop or turn the receiver it listens once more; with the " +
  "keyboard, Enter listens and Ctrl-Z undoes. Drop a GeoJSON file on the map to open your own room.";
const MOST_BESIDE = 3;

/**
 * Fill `root` with the explorer's elements.
 * @param {HTMLElement} root
 * @param {import("./locate.js").Settings} settings
 * @param {{given: boolean, walk: import("./walk_mode.js").WalkMode}} options whether the room is given, and what belongs to walks
 * @param {Actions} actions what buttons do; `choose` is called when a choice changes
 */
export function buildPage(root, settings, { given, walk }, actions) {
  /** @type {[string, string][]} */
  const titles = Object.entries(settings.methods).map(([name, { title }]) => [name, title]);
  const method = choice([...titles, [PATH_SET, settings.path_set.title], [BAYES, "Bayes limit"]], actions.choose);
  const dbm = (/** @type {number} */ change) => `${settings.radio.tx_power_dbm + change} dBm`.replace("-", "−");
  const snr = slider("Transmit power", -20, 30, 0, actions.choose, dbm);
  const depth = slider("Reflection depth", 0, settings.twin.max_depth, settings.twin.max_depth, actions.choose);
  const mostPaths = settings.estimator.num_paths;
  const numPaths = slider("Number of paths", 1, mostPaths, mostPaths, actions.choose);
  const error = slider("Wrong twin", 0, MOST_ERROR * PER_METRE, 0, actions.err, sayError(settings.constants.errors.heading_per_metre));
  const seed = make("input", { type: "number", min: 0, max: 9999, step: 1, value: 0, oninput: actions.choose });
  const rays = make("input", { type: "checkbox", onchange: actions.choose });
  const selected = choice([], actions.select);
  const remove = make("button", { type: "button", onclick: actions.removeObstacle }, "Remove obstacle");
  const all = [...titles, [PATH_SET, settings.path_set.title], [BAYES, "Bayes limit"]];
  const compared = all.map(([value, text]) => {
    const input = make("input", { type: "checkbox", value });
    input.addEventListener("change", () => compare(input));
    return { input, label: make("label", { class: "tick" }, input, ` ${text}`) };
  });
  const compare = (/** @type {HTMLInputElement} */ last) => {
    const ticked = compared.filter(({ input }) => input.checked);
    if (ticked.length > MOST_BESIDE) (ticked.find(({ input }) => input !== last) ?? ticked[0]).input.checked = false;
    actions.choose();
  };
  const beside = make("div", { class: "beside" });
  const opener = make("input", { type: "file", accept: ".geojson,.json", "aria-label": "Open a room in GeoJSON" });
  opener.addEventListener("change", () => {
    if (opener.files?.[0]) actions.openFile(opener.files[0]);
    opener.value = "";
  });
  const map = make("canvas", { class: "map", tabindex: 0, role: "application", "aria-label": "Map of the room" });
  const stems = make("canvas", { class: "stems", role: "img", "aria-label": "Angles and strengths of the paths" });
  const stemsNote = make("span", {}, OF_BEST);
  const says = make("p", { class: "says" }, "Computing…");
  const announces = make("p", { class: "announces", "aria-live": "polite" });
  const output = (/** @type {string} */ name) => make("output", { name });
  const outputs = { mass: output("mass"), entropy: output("entropy"), mapError: output("mapError") };
  const ruler = make("span", { class: "ruler" });
  const believes = make("span", { hidden: true }, make("span", { class: "mark believed", "aria-hidden": true }), "what the twin believes");
  const help = make("p", { class: "help", id: `explorer-help-${Math.random().toString(36).slice(2)}` }, HELP);
  map.setAttribute("aria-describedby", help.id);
  const reset = given ? "Start again" : "New room";
  const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", onclick }, text);

  const left = make("div", { class: "left" }, walk.progress, map, legend(ruler, believes, settings.constants.map.floor), says, announces, beside);
  const readouts = make(
    "dl",
    { class: "readouts" },
    ...readout(`Posterior mass within ${settings.constants.near} m of the truth`, outputs.mass),
    ...readout("Entropy", outputs.entropy),
    ...readout("Error of the most probable place", outputs.mapError),
  );
  const controls = make(
    "div",
    { class: "controls", role: "group", "aria-label": "Controls" },
    labelled("Method", method),
    walk.row,
    error.label,
    snr.label,
    depth.label,
    numPaths.label,
    make("div", { class: "pair" }, labelled("Noise seed", seed), button("New noise", actions.newNoise)),
    make("label", { class: "tick" }, rays, " Rays of the transmitter ", raysLegend()),
    labelled("Selected", selected),
    make("div", { class: "pair" }, button("Add obstacle", actions.addObstacle), remove),
    make("div", { class: "pair" }, button(reset, actions.newRoom)),
    make("details", { class: "more" }, make("summary", {}, "Compare methods (up to three)"), ...compared.map(({ label }) => label)),
    make(
      "details",
      { class: "more" },
      make("summary", {}, "Share, save, open"),
      make("div", { class: "pair" }, button("Copy link", actions.copyLink), button("Save PNG", actions.savePicture)),
      make("div", { class: "pair" }, button("Save JSON", actions.saveScene), make("label", { class: "file" }, "Open GeoJSON", opener)),
    ),
  );
  const paths = make("div", { class: "paths" }, stems, stemsLegend(stemsNote));
  const told = make("div", { class: "told" }, readouts, walk.compass);
  root.replaceChildren(make("div", { class: "panes" }, left, paths, told, controls, help));
  const choices = () => ({
    method: method.value,
    powerChange: Number(snr.input.value),
    depth: Number(depth.input.value),
    numPaths: Number(numPaths.input.value),
    seed: Math.max(0, Math.floor(Number(seed.value) || 0)),
    rays: rays.checked,
    beside: compared.filter(({ input }) => input.checked && input.value !== method.value).map(({ input }) => input.value),
  });
  const errorOf = () => Number(error.input.value) / PER_METRE;
  const setError = (/** @type {number} */ metres) => error.set(Math.round(metres * PER_METRE));
  /** @type {string | null} */
  let former = null; // method that was chosen before the walk
  const setWalking = (/** @type {boolean} */ walking) => {
    if (walking && former === null) {
      former = method.value;
      method.value = PATH_SET;
    } else if (!walking && former !== null) {
      method.value = former;
      former = null;
    }
    method.disabled = walking;
  };
  const titleOf = (/** @type {string} */ name) => all.find(([value]) => value === name)?.[1] ?? name;
  const choose = (/** @type {import("./scene.js").Choices} */ given) => {
    if ([...method.options].some(({ value }) => value === given.method)) method.value = given.method;
    snr.set(given.powerChange);
    depth.set(given.depth);
    numPaths.set(given.numPaths);
    seed.value = `${given.seed}`;
    rays.checked = given.rays;
    for (const { input } of compared) input.checked = given.beside.includes(input.value);
  };
  return { map, stems, stemsNote, says, announces, beside, titleOf, outputs, ruler, believes, method, seed, selected, remove, choices, choose, errorOf, setError, setWalking };
}

/**
 * How an error of the twin is called.
 * @param {number} headingPerMetre [rad/m]
 */
function sayError(headingPerMetre) {
  return (/** @type {number} */ steps) => {
    const metres = steps / PER_METRE;
    return steps > 0 ? `${metres.toFixed(2)} m, ${((metres * headingPerMetre * 180) / Math.PI).toFixed(1)}°` : `${metres} m (exact)`;
  };
}

/** @type {(text: string, element: HTMLElement) => HTMLElement} */
const labelled = (text, element) => make("label", {}, make("span", {}, text), element);

/**
 * @param {[string, string][]} options values and texts
 * @param {() => void} onchange
 */
function choice(options, onchange) {
  return make("select", { onchange }, ...options.map(([value, text]) => make("option", { value }, text)));
}

/**
 * A slider whose label shows its value.
 * @param {string} text
 * @param {number} min
 * @param {number} max
 * @param {number} value
 * @param {() => void} changed
 * @param {(value: number) => string} show
 */
function slider(text, min, max, value, changed, show = String) {
  const shown = make("span", {}, show(value));
  const input = make("input", { type: "range", min, max, step: 1, value, "aria-valuetext": show(value) });
  const tell = () => {
    shown.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", show(Number(input.value)));
  };
  input.addEventListener("input", () => {
    tell();
    changed();
  });
  const set = (/** @type {number} */ given) => {
    input.value = `${given}`;
    tell();
  };
  return { input, set, label: make("label", {}, make("span", {}, `${text} `, shown), input) };
}

/** @type {(text: string, output: HTMLElement) => HTMLElement[]} */
const readout = (text, output) => [make("dt", {}, text), make("dd", {}, output)];

/**
 * @param {HTMLElement} ruler
 * @param {HTMLElement} believes what is dashed
 * @param {number} floor
 */
function legend(ruler, believes, floor) {
  const bar = make("span", { class: "bar", style: `background: ${gradient}`, "aria-hidden": true });
  const scale = [`${floor}`.replace("-", "−"), bar, "0 nat: log posterior relative to the most probable place (+)"];
  return make("div", { class: "legend" }, make("span", {}, ...scale), make("span", {}, "white line: 90 % set"), believes, make("span", { class: "length" }, ruler));
}

/** Legend of the ray colours by number of reflections. */
function raysLegend() {
  const marks = RAYS.map((colour, order) => make("span", { class: "ray", style: `background: ${colour}` }, `${order}`));
  return make("span", { class: "bounces" }, ...marks, " bounces");
}

/** Whose predicted paths are shown. */
export const OF_BEST = "twin’s paths of the most probable place";
export const OF_POINTED = "twin’s paths of the place pointed at";

/** @param {HTMLElement} note whose predicted paths are shown */
function stemsLegend(note) {
  const mark = (/** @type {string} */ name) => make("span", { class: `mark ${name}`, "aria-hidden": true });
  return make(
    "div",
    { class: "legend" },
    make("span", {}, mark("observed"), "observed paths"),
    make("span", {}, mark("predicted"), note),
  );
}
