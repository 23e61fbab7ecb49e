/** The page around both canvases: its elements, and the choices made with them. */

import { RAYS, gradient } from "./colours.js";
import { BAYES, PATH_SET } from "./methods.js";

/**
 * @typedef {string | number | boolean | (() => void)} Attribute
 * @typedef {Record<"choose" | "select" | "newNoise" | "newRoom" | "addObstacle" | "removeObstacle", () => void>} Actions
 */

/**
 * Create an element with attributes and children; attributes named "on..." are event listeners.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute>} attributes
 * @param {...(Node | string)} children
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : `${value}`);
  }
  element.append(...children);
  return element;
}

const HELP =
  "Drag the star (transmitter), the blue dot (receiver), its arrow (heading) or an obstacle. With the keyboard: focus the " +
  "map, choose with T, R, H or O, move with the arrow keys (Shift: small steps), Delete removes an obstacle.";

/**
 * Fill `root` with the explorer's elements.
 * @param {HTMLElement} root
 * @param {import("./locate.js").Settings} settings
 * @param {{given: boolean}} options whether the room is given
 * @param {Actions} actions what buttons do; `choose` is called when a choice changes
 */
export function buildPage(root, settings, { given }, actions) {
  /** @type {[string, string][]} */
  const titles = Object.entries(settings.methods).map(([name, { title }]) => [name, title]);
  const method = choice([...titles, [PATH_SET, settings.path_set.title], [BAYES, "Bayes limit"]], actions.choose);
  const snr = slider("SNR", -20, 30, 0, actions.choose, (v) => `${v < 0 ? "−" : "+"}${Math.abs(v)} dB`);
  const depth = slider("Reflection depth", 0, settings.twin.max_depth, settings.twin.max_depth, actions.choose);
  const mostPaths = settings.estimator.num_paths;
  const numPaths = slider("Number of paths", 1, mostPaths, mostPaths, actions.choose);
  const seed = make("input", { type: "number", min: 0, max: 9999, step: 1, value: 0, oninput: actions.choose });
  const rays = make("input", { type: "checkbox", onchange: actions.choose });
  const selected = choice([], actions.select);
  const remove = make("button", { type: "button", onclick: actions.removeObstacle }, "Remove obstacle");
  const map = make("canvas", { class: "map", tabindex: 0, role: "application", "aria-label": "Map of the room" });
  const stems = make("canvas", { class: "stems", role: "img", "aria-label": "Angles and strengths of the paths" });
  const says = make("p", { class: "says", "aria-live": "polite" }, "Computing…");
  const output = (/** @type {string} */ name) => make("output", { name });
  const outputs = { mass: output("mass"), entropy: output("entropy"), mapError: output("mapError") };
  const ruler = make("span", { class: "ruler" });
  const help = make("p", { class: "help", id: `explorer-help-${Math.random().toString(36).slice(2)}` }, HELP);
  map.setAttribute("aria-describedby", help.id);
  const reset = given ? "Start again" : "New room";
  const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", onclick }, text);

  const left = make("div", { class: "left" }, map, legend(ruler, settings.constants.floor), says);
  const readouts = make(
    "dl",
    { class: "readouts" },
    ...readout(`Posterior mass within ${settings.constants.near} m of the truth`, outputs.mass),
    ...readout("Entropy", outputs.entropy),
    ...readout("MAP error", outputs.mapError),
  );
  const controls = make(
    "div",
    { class: "controls", role: "group", "aria-label": "Controls" },
    labelled("Method", method),
    snr.label,
    depth.label,
    numPaths.label,
    make("div", { class: "pair" }, labelled("Noise seed", seed), button("New noise", actions.newNoise)),
    make("label", { class: "tick" }, rays, " Rays of the transmitter ", raysLegend()),
    labelled("Selected", selected),
    make("div", { class: "pair" }, button("Add obstacle", actions.addObstacle), remove),
    make("div", { class: "pair" }, button(reset, actions.newRoom)),
  );
  const right = make("div", { class: "right" }, readouts, make("div", { class: "paths" }, stems, stemsLegend()), controls);
  root.replaceChildren(make("div", { class: "panes" }, left, right), help);
  const choices = () => ({
    method: method.value,
    powerChange: Number(snr.input.value),
    depth: Number(depth.input.value),
    numPaths: Number(numPaths.input.value),
    seed: Math.max(0, Math.floor(Number(seed.value) || 0)),
    rays: rays.checked,
  });
  return { map, stems, says, outputs, ruler, method, seed, selected, remove, choices };
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
  input.addEventListener("input", () => {
    shown.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", show(Number(input.value)));
    changed();
  });
  return { input, label: make("label", {}, make("span", {}, `${text} `, shown), input) };
}

/** @type {(text: string, output: HTMLElement) => HTMLElement[]} */
const readout = (text, output) => [make("dt", {}, text), make("dd", {}, output)];

/**
 * @param {HTMLElement} ruler
 * @param {number} floor
 */
function legend(ruler, floor) {
  const bar = make("span", { class: "bar", style: `background: ${gradient}`, "aria-hidden": true });
  const scale = [`${floor}`.replace("-", "−"), bar, "0 nat: log posterior, relative to the most probable place ○"];
  return make("div", { class: "legend" }, make("span", {}, ...scale), make("span", { class: "length" }, ruler));
}

/** Legend of the ray colours by number of reflections. */
function raysLegend() {
  const marks = RAYS.map((colour, order) => make("span", { class: "ray", style: `background: ${colour}` }, `${order}`));
  return make("span", { class: "bounces" }, ...marks, " bounces");
}

function stemsLegend() {
  const mark = (/** @type {string} */ name) => make("span", { class: `mark ${name}`, "aria-hidden": true });
  return make(
    "div",
    { class: "legend" },
    make("span", {}, mark("observed"), "observed paths"),
    make("span", {}, mark("predicted"), "twin’s paths of the most probable place"),
  );
}
