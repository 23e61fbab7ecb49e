/** Colours: those of the book's figures, in both themes. */

const VIRIDIS = `440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b
  addc30 d8e219 fde725`;

const anchors = VIRIDIS.split(/\s+/).map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));

/**
 * Colour [r, g, b] for a value in [0, 1]: matplotlib's viridis, interpolated between 17 of its colours.
 * @param {number} share
 */
export function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (anchors.length - 1);
  const below = Math.min(Math.floor(at), anchors.length - 2);
  return anchors[below].map((value, i) => Math.round(value + (at - below) * (anchors[below + 1][i] - value)));
}

/** The colour map as a CSS gradient. */
export const gradient = `linear-gradient(to right, ${anchors.map((rgb) => `rgb(${rgb})`).join(", ")})`;

/** Okabe-Ito colours by number of reflections, to be drawn on the dark end of the colour map. */
export const RAYS = ["#ffffff", "#56b4e9", "#e69f00", "#f0a0c8"];

/** @typedef {ReturnType<typeof themeOf>} Theme */

/**
 * Colours of the theme that an element is shown in.
 * @param {Element} element
 */
export function themeOf(element) {
  const style = getComputedStyle(element);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--explorer-${name}`).trim();
  return {
    ink: read("ink"),
    faint: read("faint"),
    ground: read("ground"),
    solid: read("solid"),
    observed: read("observed"),
    predicted: read("predicted"),
    believed: "#7fd0ff", // as bright in both themes, as it lies on the colour map
  };
}
