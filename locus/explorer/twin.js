/** The exact twin: a room, a receiver and candidates in, every specular path in double precision out. */

import { inBeam, makeBeams, makeGates } from "./beams.js";
import { insertPath, makePaths } from "./paths.js";
import { modulo } from "./radio.js";

/** @typedef {import("./paths.js").Paths} Paths */
/** @typedef {import("./beams.js").Beam} Beam */
/** @typedef {[number, number]} Complex */
/** @typedef {{walls: Float64Array, eta: Complex[]}} Walls of a room, (wall, 4), and the permittivity of each */
/** @typedef {{x: number, y: number, heading: number}} Pose position [m] and broadside direction [rad] */

/**
 * @typedef {object} TwinConstants
 * @property {number} slack tolerance of beams on cross products [m^2]
 * @property {number} element_gain_db gain at broadside [dBi]
 * @property {number} most_loss_db largest attenuation relative to broadside [dB]
 * @property {number} half_power_width half-power beamwidth of an element [rad]
 */

/**
 * Gain [dBi] of the 3GPP TR 38.901 element in the horizontal plane; azimuth in [-pi, pi).
 * @param {number} azimuth
 * @param {TwinConstants} constants
 */
export function elementGainDb(azimuth, constants) {
  const loss = 12 * (azimuth / constants.half_power_width) ** 2;
  return constants.element_gain_db - Math.min(loss, constants.most_loss_db);
}

/**
 * TE reflection coefficient of a slab, ITU-R P.2040.
 * @param {number} cosine of the angle of incidence
 * @param {Complex} eta complex relative permittivity
 * @param {number} thickness [m]
 * @param {number} wavelength [m]
 * @returns {Complex}
 */
function slabReflection(cosine, [etaRe, etaIm], thickness, wavelength) {
  const s = squareRoot(etaRe - (1 - cosine * cosine), etaIm);
  const r = divide(cosine - s[0], -s[1], cosine + s[0], s[1]);
  const turn = (4 * Math.PI * thickness) / wavelength;
  const shrink = Math.exp(turn * s[1]);
  /** @type {Complex} */
  const e = [shrink * Math.cos(turn * s[0]), -shrink * Math.sin(turn * s[0])];
  const above = multiply(r[0], r[1], 1 - e[0], -e[1]);
  const again = multiply(...multiply(...r, ...r), ...e);
  return divide(...above, 1 - again[0], -again[1]);
}

/** @type {(a: number, b: number, c: number, d: number) => Complex} */
const multiply = (a, b, c, d) => [a * c - b * d, a * d + b * c];

/** @type {(a: number, b: number, c: number, d: number) => Complex} */
function divide(a, b, c, d) {
  const square = c * c + d * d;
  return [(a * c + b * d) / square, (b * c - a * d) / square];
}

/** @type {(a: number, b: number) => Complex} */
function squareRoot(a, b) {
  const size = Math.hypot(a, b);
  const re = Math.sqrt((size + a) / 2);
  const im = Math.sqrt((size - a) / 2);
  return [re, b < 0 ? -im : im];
}

/** Paths from one receiver position in one room. */
export class Twin {
  /**
   * @param {Walls} room
   * @param {{x: number, y: number}} receiver
   * @param {{maxDepth: number, maxPaths: number, wallThickness: number}} options
   * @param {import("./radio.js").Radio} radio
   * @param {TwinConstants} constants
   */
  constructor(room, receiver, options, radio, constants) {
    this.room = room;
    this.options = options;
    this.radio = radio;
    this.constants = constants;
    this.beams = makeBeams(room.walls, receiver.x, receiver.y, options.maxDepth, constants.slack);
    this.gates = makeGates(room.walls, this.beams);
    this.points = new Float64Array(2 * (options.maxDepth + 2)); // receiver, reflections, candidate
  }

  /**
   * Trace the strongest paths of each candidate.
   * @param {number} heading [rad]
   * @param {Float64Array} candidates (candidate, 2) [m]
   * @returns {Paths}
   */
  trace(heading, candidates) {
    const rows = candidates.length / 2;
    const paths = makePaths(rows, this.options.maxPaths);
    for (let row = 0; row < rows; row++) {
      this.#visit(candidates[2 * row], candidates[2 * row + 1], (beam) => {
        const { aoa, length, re, im } = this.#describe(beam, heading);
        insertPath(paths, row, aoa, length / this.radio.speedOfLight, re, im, beam.chain.length);
      });
    }
    return paths;
  }

  /**
   * Polylines of all paths to one position, for drawing.
   * @param {number} heading [rad]
   * @param {number} x
   * @param {number} y
   * @returns {{order: number, power: number, points: number[]}[]} strongest first; points x y x y ...
   */
  rays(heading, x, y) {
    /** @type {{order: number, power: number, points: number[]}[]} */
    const found = [];
    this.#visit(x, y, (beam) => {
      const { re, im } = this.#describe(beam, heading);
      const points = Array.from(this.points.subarray(0, 2 * (beam.chain.length + 2)));
      found.push({ order: beam.chain.length, power: re * re + im * im, points });
    });
    return found.sort((a, b) => b.power - a.power).slice(0, this.options.maxPaths);
  }

  /**
   * Call `found` for each beam that carries a path to (x, y), its points in `this.points`.
   * @param {number} x
   * @param {number} y
   * @param {(beam: Beam) => void} found
   */
  #visit(x, y, found) {
    const { beams, gates } = this;
    const { slack } = this.constants;
    for (let b = 0; b < beams.length; b++) {
      if (b > 0 && !inBeam(gates, b, x, y, slack)) continue;
      if (this.#traceBack(beams[b], x, y)) found(beams[b]);
    }
  }

  /**
   * Fill the points of the path to (x, y); false if it misses a wall or is blocked.
   * @param {Beam} beam
   * @param {number} x
   * @param {number} y
   */
  #traceBack({ chain, images }, x, y) {
    const { points } = this;
    const { walls } = this.room;
    const order = chain.length;
    points[0] = images[0][0];
    points[1] = images[0][1];
    points[2 * order + 2] = x;
    points[2 * order + 3] = y;
    for (let bounce = order; bounce > 0; bounce--) {
      const w = 4 * chain[bounce - 1];
      const ux = walls[w], uy = walls[w + 1];
      const ex = walls[w + 2] - ux, ey = walls[w + 3] - uy;
      const ax = points[2 * bounce + 2], ay = points[2 * bounce + 3];
      const ix = images[bounce][0], iy = images[bounce][1];
      const sideA = ex * (ay - uy) - ey * (ax - ux);
      const sideI = ex * (iy - uy) - ey * (ix - ux);
      if (sideA <= 0 || sideI >= 0) return false;
      const t = sideA / (sideA - sideI);
      const px = ax + t * (ix - ax), py = ay + t * (iy - ay);
      const along = (px - ux) * ex + (py - uy) * ey;
      if (along < 0 || along > ex * ex + ey * ey) return false;
      points[2 * bounce] = px;
      points[2 * bounce + 1] = py;
    }
    for (let segment = 0; segment <= order; segment++) {
      const from = segment > 0 ? chain[segment - 1] : -1;
      const to = segment < order ? chain[segment] : -1;
      if (this.#blocked(2 * segment, from, to)) return false;
    }
    return true;
  }

  /**
   * Whether a wall blocks the segment that starts at `points[at]`, other than the walls at its ends.
   * @param {number} at
   * @param {number} from
   * @param {number} to
   */
  #blocked(at, from, to) {
    const { walls } = this.room;
    const ax = this.points[at], ay = this.points[at + 1];
    const bx = this.points[at + 2], by = this.points[at + 3];
    const dx = bx - ax, dy = by - ay;
    for (let w = 0, i = 0; i < walls.length; w++, i += 4) {
      if (w === from || w === to) continue;
      const ux = walls[i], uy = walls[i + 1], vx = walls[i + 2], vy = walls[i + 3];
      if ((dx * (uy - ay) - dy * (ux - ax)) * (dx * (vy - ay) - dy * (vx - ax)) > 0) continue;
      const ex = vx - ux, ey = vy - uy;
      if ((ex * (ay - uy) - ey * (ax - ux)) * (ex * (by - uy) - ey * (bx - ux)) <= 0) return true;
    }
    return false;
  }

  /**
   * Angle, length and gain of the path in `this.points`.
   * @param {Beam} beam
   * @param {number} heading
   */
  #describe({ chain, images }, heading) {
    const { points } = this;
    const { wavelength } = this.radio;
    const order = chain.length;
    const image = images[order];
    const length = Math.hypot(points[2 * order + 2] - image[0], points[2 * order + 3] - image[1]);
    const direction = Math.atan2(points[3] - points[1], points[2] - points[0]);
    let aoa = modulo(direction - heading + Math.PI, 2 * Math.PI) - Math.PI;
    if (aoa >= Math.PI) aoa -= 2 * Math.PI; // the remainder of a tiny negative number rounds to 2 pi
    const amplitude = (wavelength / (4 * Math.PI * length)) * 10 ** (elementGainDb(aoa, this.constants) / 20);
    // Reduce the phase to one turn first, as length / wavelength is in the thousands.
    const turns = length / wavelength;
    const phase = -2 * Math.PI * (turns - Math.floor(turns));
    /** @type {Complex} */
    let gain = [amplitude * Math.cos(phase), amplitude * Math.sin(phase)];
    for (let bounce = 0; bounce < order; bounce++) gain = multiply(...gain, ...this.#reflection(chain[bounce], bounce));
    return { aoa, length, re: gain[0], im: gain[1] };
  }

  /**
   * @param {number} wall
   * @param {number} bounce
   */
  #reflection(wall, bounce) {
    const { points } = this;
    const { walls, eta } = this.room;
    const ex = walls[4 * wall + 2] - walls[4 * wall], ey = walls[4 * wall + 3] - walls[4 * wall + 1];
    const dx = points[2 * bounce + 2] - points[2 * bounce], dy = points[2 * bounce + 3] - points[2 * bounce + 1];
    const cosine = Math.abs(ex * dy - ey * dx) / (Math.hypot(ex, ey) * Math.hypot(dx, dy));
    return slabReflection(Math.min(cosine, 1), eta[wall], this.options.wallThickness, this.radio.wavelength);
  }
}
