/** Scenes as text: a world and the choices made for it in, a page's address out, and back; also rooms from GeoJSON. */

import { MOST_ERROR, PER_METRE } from "./believed.js";
import { boundsOf } from "./geometry.js";

/**
 * @typedef {import("./layout.js").Room} Room
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./layout.js").Shape} Shape
 * @typedef {import("./twin.js").Pose} Pose
 */

/**
 * @typedef {object} Choices
 * @property {string} method
 * @property {number} powerChange
 * @property {number} depth
 * @property {number} numPaths
 * @property {number} seed
 * @property {boolean} rays
 * @property {string[]} beside
 */

/** @typedef {{room: Room, receiver: Pose, transmitter: Place, walk: Pose[], error: number, choices: Choices}} Kept what an address keeps */

const MOST_CORNERS = 100; // of a shape
const MOST_WALLS = 250; // as `locus locate` allows
/** @type {[number, number]} */
const SIZES = [2, 1000]; // [m]

/** Whether the fragment of an address holds a scene, rather than naming a heading of the page. */
export const holdsScene = (/** @type {string} */ fragment) => /^#?room=/.test(fragment);

/**
 * A scene as the fragment of an address, without "#": lengths to the centimetre, the heading to a hundredth of a degree.
 * @param {Kept} scene
 */
export function toAddress({ room, receiver, transmitter, walk, error, choices }) {
  const shape = (/** @type {Shape} */ { corners, material }) => [material, ...corners.flat().map(short)].join("_");
  const pose = (/** @type {Pose} */ { x, y, heading }) => [x, y, (heading * 180) / Math.PI].map(short).join("_");
  const parts = [
    ["room", shape(room.outline)],
    ...room.obstacles.map((obstacle) => ["obstacle", shape(obstacle)]),
    ["clearance", short(room.clearance)],
    ["receiver", pose(receiver)],
    ["transmitter", [short(transmitter.x), short(transmitter.y)].join("_")],
    ["method", choices.method],
    ["power", choices.powerChange],
    ["depth", choices.depth],
    ["paths", choices.numPaths],
    ["seed", choices.seed],
    ["rays", Number(choices.rays)],
    ...(choices.beside.length > 0 ? [["beside", choices.beside.join("~")]] : []),
    ...(walk.length > 0 ? [["walk", walk.map(pose).join("~")]] : []),
    ...(error > 0 ? [["error", short(error)]] : []),
  ];
  return parts.map(([name, value]) => `${name}=${value}`).join("&");
}

/**
 * All digits that matter: half a centimetre is a fifth of a turn of the carrier's phase, and so makes another snapshot.
 * @param {number} value
 */
const short = (value) => `${Number(value.toPrecision(15))}`;

/**
 * The scene of an address.
 * @param {string} fragment with or without "#"
 * @param {Record<string, unknown>} materials names that a shape may have
 * @returns {Kept}
 * @throws {RangeError} it holds no scene, or one that cannot be shown
 */
export function fromAddress(fragment, materials) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const one = (/** @type {string} */ name) => {
    const text = parts.get(name);
    if (text === null) throw new RangeError(`Expected '${name}' in the address, got none`);
    return text;
  };
  const number = (/** @type {string} */ text, /** @type {string} */ name) => {
    const value = Number(text);
    if (text === "" || !Number.isFinite(value)) throw new RangeError(`Expected numbers in '${name}', got ${text}`);
    return value;
  };
  const numbers = (/** @type {string} */ name, /** @type {number} */ count, text = one(name)) => {
    const values = text.split("_").map((text) => number(text, name));
    if (values.length !== count) throw new RangeError(`Expected ${count} numbers in '${name}', got ${values.length}`);
    return values;
  };
  const pose = (/** @type {string} */ name, text = one(name)) => {
    const [x, y, degrees] = numbers(name, 3, text);
    return { x, y, heading: (degrees * Math.PI) / 180 };
  };
  const shape = (/** @type {string} */ text) => {
    const [material, ...flat] = text.split("_");
    const values = flat.map((one) => number(one, "room"));
    return { material, corners: values.flatMap((x, i) => (i % 2 ? [] : [/** @type {[number, number]} */ ([x, values[i + 1]])])) };
  };
  const [tx, ty] = numbers("transmitter", 2);
  const room = { outline: shape(one("room")), obstacles: parts.getAll("obstacle").map(shape), clearance: numbers("clearance", 1)[0] };
  checkRoom(room, materials);
  return {
    room,
    receiver: pose("receiver"),
    transmitter: { x: tx, y: ty },
    walk: (parts.get("walk") ?? "").split("~").filter(Boolean).map((text) => pose("walk", text)),
    error: readError(parts.has("error") ? numbers("error", 1)[0] : 0),
    choices: {
      method: one("method"),
      powerChange: numbers("power", 1)[0],
      depth: numbers("depth", 1)[0],
      numPaths: numbers("paths", 1)[0],
      seed: numbers("seed", 1)[0],
      rays: one("rays") === "1",
      beside: (parts.get("beside") ?? "").split("~").filter(Boolean),
    },
  };
}

/** @param {number} error [m], which a slider has in steps */
function readError(error) {
  if (!(error >= 0 && error <= MOST_ERROR)) throw new RangeError(`Expected 'error' from 0 to ${MOST_ERROR} m, got ${error}`);
  return Math.round(error * PER_METRE) / PER_METRE;
}

/**
 * @param {Room} room
 * @param {Record<string, unknown>} materials
 */
function checkRoom({ outline, obstacles, clearance }, materials) {
  const shapes = [outline, ...obstacles];
  for (const { corners, material } of shapes) {
    if (corners.length < 3 || corners.length > MOST_CORNERS || !corners.flat().every(Number.isFinite)) {
      throw new RangeError(`Expected 3 to ${MOST_CORNERS} corners of a shape, got ${corners.length}`);
    }
    if (!Object.hasOwn(materials, material)) {
      throw new RangeError(`Expected a material of ${Object.keys(materials).join(", ")}, got ${material}`);
    }
  }
  const walls = shapes.reduce((sum, { corners }) => sum + corners.length, 0);
  if (walls > MOST_WALLS) throw new RangeError(`Expected at most ${MOST_WALLS} walls, got ${walls}`);
  const [x0, y0, x1, y1] = boundsOf(outline.corners);
  const [least, most] = [Math.min(x1 - x0, y1 - y0), Math.max(x1 - x0, y1 - y0)];
  if (least < SIZES[0] || most > SIZES[1]) {
    throw new RangeError(`Expected a room of ${SIZES[0]} to ${SIZES[1]} m, got ${(x1 - x0).toFixed(1)} by ${(y1 - y0).toFixed(1)} m`);
  }
  if (!(clearance >= 0 && clearance < least / 4)) throw new RangeError(`Expected a small 'clearance', got ${clearance}`);
}

/**
 * The room of a GeoJSON FeatureCollection of polygons in metres, as `locus.Layout.from_geojson` reads it.
 * @param {string} text
 * @param {Record<string, unknown>} materials
 * @param {number} clearance
 * @returns {Room}
 * @throws {RangeError} it is no such file
 */
export function fromGeoJson(text, materials, clearance) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new RangeError("Expected GeoJSON, got a file that is not JSON");
  }
  if (!Array.isArray(content?.features)) throw new RangeError("Expected a GeoJSON FeatureCollection, got JSON without 'features'");
  /** @type {Record<string, Shape[]>} */
  const found = { room: [], obstacle: [] };
  for (const feature of content.features) {
    const { role, material = "concrete" } = feature?.properties ?? {};
    if (!Object.hasOwn(found, role)) throw new RangeError(`Expected 'role' room or obstacle, got ${role}`);
    const ring = feature.geometry?.type === "Polygon" ? feature.geometry.coordinates?.[0] : null;
    if (!Array.isArray(ring) || !ring.every((corner) => Array.isArray(corner))) {
      throw new RangeError("Expected a Polygon in each feature");
    }
    const corners = ring.slice(0, -1).map(([x, y]) => /** @type {[number, number]} */ ([Number(x), Number(y)]));
    found[role].push({ corners, material: `${material}` });
  }
  if (found.room.length !== 1) throw new RangeError(`Expected one feature with role 'room', got ${found.room.length}`);
  const room = { outline: found.room[0], obstacles: found.obstacle, clearance };
  checkRoom(room, materials);
  return room;
}

/**
 * A room as a GeoJSON FeatureCollection.
 * @param {Room} room
 */
export function toGeoJson({ outline, obstacles }) {
  const feature = (/** @type {Shape} */ { corners, material }, /** @type {string} */ role) => ({
    type: "Feature",
    properties: { role, material },
    geometry: { type: "Polygon", coordinates: [[...corners, corners[0]]] },
  });
  return { type: "FeatureCollection", features: [feature(outline, "room"), ...obstacles.map((one) => feature(one, "obstacle"))] };
}
