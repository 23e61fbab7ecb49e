/**
 * Image method: walls and a source in, the beams of its images that can carry a path out.
 *
 * A port of `locus/twin/image.py`. The beams depend only on room and receiver, so they are computed once for all candidates.
 * Walls are a Float64Array (wall, 4) of x0, y0, x1, y1 with free space on the left. Clipping tolerates the slack [m^2]
 * on cross products, so that rounding never removes a beam.
 */

/**
 * @typedef {import("./geometry.js").Point} Point
 *
 * @typedef {object} Beam
 * @property {number[]} chain indices of the walls, in order from the source
 * @property {Point[]} images images of the source [m], the source itself first
 * @property {number[]} aperture lit part of the last wall, x0 y0 x1 y1
 */

/** @type {(ax: number, ay: number, bx: number, by: number) => number} */
const cross = (ax, ay, bx, by) => ax * by - ay * bx;

/**
 * Clip the interval [low, high] to where the linear function with these values at 0 and 1 is at least -slack.
 * @param {Point} part
 * @param {number} atStart
 * @param {number} atEnd
 * @param {number} slack
 * @returns {Point}
 */
function clip([low, high], atStart, atEnd, slack) {
  const start = atStart + slack;
  const end = atEnd + slack;
  if (start < 0 && end < 0) return [1, 0];
  if (start < 0) return [Math.max(low, start / (start - end)), high];
  if (end < 0) return [low, Math.min(high, start / (start - end))];
  return [low, high];
}

/**
 * Part of a wall that a beam illuminates, as an interval in [0, 1]; empty if its start is not below its end.
 * @param {Float64Array} walls
 * @param {number} wall
 * @param {Beam} beam
 * @param {number} slack
 * @returns {Point}
 */
function lit(walls, wall, beam, slack) {
  const [ux, uy, vx, vy] = walls.subarray(4 * wall, 4 * wall + 4);
  const [ix, iy] = beam.images[beam.images.length - 1];
  const last = beam.chain.at(-1);
  if (wall === last || cross(vx - ux, vy - uy, ix - ux, iy - uy) <= 0) return [1, 0];
  if (last === undefined) return [0, 1];
  const [ax, ay, bx, by] = beam.aperture;
  const [px, py, qx, qy] = walls.subarray(4 * last, 4 * last + 4);
  /** @type {(x: number, y: number) => number} */
  const side = (x, y) => cross(qx - px, qy - py, x - px, y - py);
  /** @type {(x: number, y: number) => number} */
  const left = (x, y) => cross(x - ix, y - iy, ax - ix, ay - iy);
  /** @type {(x: number, y: number) => number} */
  const right = (x, y) => cross(bx - ix, by - iy, x - ix, y - iy);
  /** @type {Point} */
  let part = [0, 1];
  for (const line of [side, left, right]) part = clip(part, line(ux, uy), line(vx, vy), slack);
  return part;
}

/**
 * The beam reflected by the illuminated part of a wall.
 * @param {Float64Array} walls
 * @param {number} wall
 * @param {Beam} beam
 * @param {Point} part
 * @returns {Beam}
 */
function reflect(walls, wall, beam, [low, high]) {
  const [ux, uy, vx, vy] = walls.subarray(4 * wall, 4 * wall + 4);
  const [dx, dy] = [vx - ux, vy - uy];
  const [ix, iy] = beam.images[beam.images.length - 1];
  const shift = (2 * cross(dx, dy, ix - ux, iy - uy)) / (dx * dx + dy * dy);
  return {
    chain: [...beam.chain, wall],
    images: [...beam.images, [ix + shift * dy, iy - shift * dx]],
    aperture: [ux + low * dx, uy + low * dy, ux + high * dx, uy + high * dy],
  };
}

/**
 * Beams of chains of at most `maxDepth` walls that can carry a path from (x, y); the empty chain comes first.
 * @param {Float64Array} walls
 * @param {number} x
 * @param {number} y
 * @param {number} maxDepth
 * @param {number} slack
 */
export function makeBeams(walls, x, y, maxDepth, slack) {
  /** @type {Beam[]} */
  const beams = [{ chain: [], images: [[x, y]], aperture: [] }];
  let first = 0;
  for (let depth = 0; depth < maxDepth; depth++) {
    const end = beams.length;
    for (let b = first; b < end; b++) {
      for (let wall = 0; wall < walls.length / 4; wall++) {
        const part = lit(walls, wall, beams[b], slack);
        if (part[0] < part[1]) beams.push(reflect(walls, wall, beams[b], part));
      }
    }
    first = end;
  }
  return beams;
}

/**
 * Geometry to test whether a point lies in a beam, ten numbers per beam: last image, both ends of the aperture, start of
 * the last wall and its direction. One flat array, as thousands of beams are tested per point.
 * @param {Float64Array} walls
 * @param {Beam[]} beams
 */
export function makeGates(walls, beams) {
  const gates = new Float64Array(10 * beams.length);
  beams.forEach(({ chain, images, aperture }, b) => {
    if (chain.length === 0) return;
    const last = chain[chain.length - 1];
    const [ux, uy, vx, vy] = walls.subarray(4 * last, 4 * last + 4);
    gates.set([...images[images.length - 1], ...aperture, ux, uy, vx - ux, vy - uy], 10 * b);
  });
  return gates;
}

/**
 * Whether the point (x, y) is visible from the image through the aperture of beam `b`, ignoring other walls.
 * @param {Float64Array} gates
 * @param {number} b
 * @param {number} x
 * @param {number} y
 * @param {number} slack
 */
export function inBeam(gates, b, x, y, slack) {
  const g = 10 * b;
  const ix = gates[g];
  const iy = gates[g + 1];
  const tx = x - ix;
  const ty = y - iy;
  if (tx * (gates[g + 3] - iy) - ty * (gates[g + 2] - ix) < -slack) return false;
  if ((gates[g + 4] - ix) * ty - (gates[g + 5] - iy) * tx < -slack) return false;
  return gates[g + 8] * (y - gates[g + 7]) - gates[g + 9] * (x - gates[g + 6]) > 0;
}
