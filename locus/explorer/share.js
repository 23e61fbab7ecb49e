/** Ways out of the explorer and into it: what is shown in, a link, a picture or a file out; a room's file in, its text out. */

import { toGeoJson } from "./scene.js";

const LARGEST = 1 << 20; // [bytes] of a file that is opened

/**
 * Let the browser save a file.
 * @param {string} name
 * @param {Blob} content
 */
export function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * What is shown, for a file: the room in GeoJSON, the poses, the choices and the posterior.
 * @param {import("./world.js").World} world
 * @param {import("./scene.js").Choices} choices
 * @param {import("./locate.js").Look | import("./locate.js").WalkLook | null} result
 */
export function toFile({ room, receiver, transmitter, walk, error }, choices, result) {
  const { points = [], logPosterior = [], mass, entropy, mapError, observed } = result ?? {};
  const candidates = Array.from(points);
  const posterior = Array.from(logPosterior, Math.exp);
  const headings = result && "headings" in result ? result.headings : [];
  const shown = { mass, entropy, mapError, observed, candidates, posterior, headings };
  return { room: toGeoJson(room), receiver, transmitter, walk, error, choices, shown };
}

/**
 * A canvas as a picture, on the page's background.
 * @param {HTMLCanvasElement} canvas
 * @returns {Promise<Blob>}
 */
export function toPicture(canvas) {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d");
  if (context === null) throw new Error("Expected a browser that draws on a canvas, got none");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  return new Promise((done, fail) =>
    copy.toBlob((blob) => (blob ? done(blob) : fail(new Error("Expected a picture, got none from the browser")))),
  );
}

/**
 * Copy a text; where the browser does not allow it, select it in a prompt.
 * @param {string} text
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    window.prompt("Copy this link:", text);
    return false;
  }
}

/**
 * Call `open` with the text of files that are dropped on an element.
 * @param {HTMLElement} element
 * @param {(text: string) => void} open
 * @param {(message: string) => void} complain
 */
export function acceptDrops(element, open, complain) {
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("receiving");
  });
  element.addEventListener("dragleave", () => element.classList.remove("receiving"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("receiving");
    const file = event.dataTransfer?.files[0];
    if (file) void read(file, open, complain);
  });
}

/**
 * @param {File} file
 * @param {(text: string) => void} open
 * @param {(message: string) => void} complain
 */
export async function read(file, open, complain) {
  if (file.size > LARGEST) complain(`Expected a file of at most ${LARGEST / 1024} KiB, got ${Math.ceil(file.size / 1024)} KiB.`);
  else open(await file.text());
}
