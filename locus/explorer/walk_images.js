/**
 * Images of the transmitter: traced paths in; how each path's image moves with the errors of plan and positions out.
 *
 * A port of `locus/score/walk_images.py`, which has the formulas.
 */

/**
 * @typedef {import("./path_arrays.js").Traced} Traced
 * @typedef {{walls: Float64Array, polygon: ArrayLike<number>}} Plan walls (wall, 4) with free space on their left, and the shape of each: 0 is the outline, whose walls come first
 * @typedef {ReturnType<typeof findBodies>} Bodies
 * @typedef {ReturnType<typeof findImages>} Images
 */

// First index of each kind of unknown: heading [rad]; x and y of receiver and transmitter [m]; bodies of the plan
export const AT_HEADING = 0;
export const AT_RECEIVER = 1;
export const AT_TRANSMITTER = 3;
export const AT_PLAN = 5;

/**
 * Unknowns of a plan: every obstacle moves in two dimensions, every side of the room along its normal.
 * @param {Plan} plan
 * @param {number} most number of unknowns beyond which walls err independently
 */
export function findBodies({ polygon }, most) {
  const shapes = Array.from(polygon);
  const numSides = shapes.filter((shape) => shape === 0).length;
  const numUnknown = numSides + 2 * Math.max(0, ...shapes);
  const known = numUnknown <= most;
  return {
    /** (wall): index of its body's first unknown; 0 if walls err independently. */
    column: Int32Array.from(shapes, (shape, w) => {
      if (!known) return 0;
      return AT_PLAN + (shape === 0 ? w : numSides + 2 * (shape - 1));
    }),
    /** Number of sides of the room, whose unknowns come first. */
    numSides: known ? numSides : 0,
    /** Number of all unknowns. */
    size: AT_PLAN + (known ? numUnknown : 0),
  };
}

/**
 * Images of the candidates, (candidate, path) as in `traced`, and how they move.
 *
 * Paths whose sequence of walls is not found err independently.
 * @param {Plan} plan
 * @param {Bodies} bodies
 * @param {Traced} traced
 * @param {import("./twin.js").Pose} pose
 * @param {Float64Array} positions (candidate, 2) [m]
 * @param {number} mismatch an image that is off by more than this [m] belongs to another sequence of walls
 */
export function findImages({ walls }, bodies, traced, pose, positions, mismatch) {
  const { width, numPaths, azimuth, order } = traced;
  const { size } = bodies;
  const images = {
    /** (candidate, path, 2, unknown): displacement of the image, relative to the receiver. */
    slope: new Float64Array(azimuth.length * 2 * size),
    /** Unit vector towards the image, as the receiver believes. */
    east: azimuth.map((angle) => Math.cos(angle + pose.heading)),
    north: azimuth.map((angle) => Math.sin(angle + pose.heading)),
    /** Number of reflections whose errors are independent of all others. */
    bounces: new Float64Array(azimuth.length),
    /** 1 if the place of the transmitter in its cell is independent of all other errors, 0 if it is an unknown. */
    apart: new Float64Array(azimuth.length).fill(1),
    /** Number of the sequence of walls, the same from every pose; -1 if it is not known. */
    chain: new Float64Array(azimuth.length).fill(-1),
  };
  for (let c = 0; c < numPaths.length; c++) {
    for (let j = 0, i = c * width; j < numPaths[c]; j++, i++) {
      const slope = images.slope.subarray(2 * size * i, 2 * size * (i + 1));
      const chain = followRay(walls, pose, images.east[i], images.north[i], order[i]);
      const found = chain !== null && reaches(walls, chain, positions[2 * c], positions[2 * c + 1], pose, traced.length[i], mismatch);
      if (found) {
        displace(slope, walls, chain, bodies);
        images.apart[i] = 0;
        images.chain[i] = chain.reduceRight((sum, w) => sum * (walls.length / 4 + 1) + w + 1, 0);
      }
      if (!found || size === AT_PLAN) images.bounces[i] = order[i];
      slope[AT_RECEIVER] = slope[size + AT_RECEIVER + 1] = -1;
    }
  }
  return images;
}

/**
 * Walls that a ray hits, nearest first; null if it leaves the room. As in `locus/twin/rays.py`.
 * @param {Float64Array} walls
 * @param {{x: number, y: number}} start
 * @param {number} dx
 * @param {number} dy
 * @param {number} order
 */
function followRay(walls, { x: px, y: py }, dx, dy, order) {
  /** @type {number[]} */
  const chain = [];
  for (let bounce = 0, last = -1; bounce < order; bounce++) {
    let distance = Infinity, wall = -1;
    for (let w = 0; w < walls.length; w += 4) {
      const ux = walls[w], uy = walls[w + 1];
      const ex = walls[w + 2] - ux, ey = walls[w + 3] - uy;
      const slope = dx * ey - dy * ex;
      if (w === last || slope === 0) continue;
      const t = ((ux - px) * ey - (uy - py) * ex) / slope;
      const s = ((ux - px) * dy - (uy - py) * dx) / slope;
      if (t > 0 && t < distance && s >= 0 && s <= 1) [distance, wall] = [t, w];
    }
    if (wall < 0) return null;
    const ex = walls[wall + 2] - walls[wall], ey = walls[wall + 3] - walls[wall + 1];
    px += distance * dx;
    py += distance * dy;
    const twice = (2 * (dx * ex + dy * ey)) / (ex * ex + ey * ey);
    [dx, dy] = [twice * ex - dx, twice * ey - dy];
    last = wall;
    chain.push(wall / 4);
  }
  return chain;
}

/**
 * Whether the image of (x, y) in the walls, last wall first, is as far from the receiver as the path is long.
 * @param {Float64Array} walls
 * @param {number[]} chain
 * @param {number} x
 * @param {number} y
 * @param {{x: number, y: number}} receiver
 * @param {number} length
 * @param {number} mismatch
 */
function reaches(walls, chain, x, y, receiver, length, mismatch) {
  for (let bounce = chain.length - 1; bounce >= 0; bounce--) {
    const w = chain[bounce];
    const [nx, ny] = normalOf(walls, w);
    const away = 2 * ((x - walls[4 * w]) * nx + (y - walls[4 * w + 1]) * ny);
    x -= away * nx;
    y -= away * ny;
  }
  return Math.abs(Math.hypot(x - receiver.x, y - receiver.y) - length) <= mismatch;
}

/**
 * Fill in how an image moves with transmitter and bodies.
 * @param {Float64Array} slope (2, unknown)
 * @param {Float64Array} walls
 * @param {number[]} chain
 * @param {Bodies} bodies
 */
function displace(slope, walls, chain, { column: columns, numSides, size }) {
  let a = 1, b = 0, d = 0, e = 1; // product of the reflections so far
  for (const w of chain) {
    const [nx, ny] = normalOf(walls, w);
    const mx = a * nx + b * ny, my = d * nx + e * ny;
    const column = columns[w];
    if (column >= AT_PLAN + numSides) {
      slope[column] += 2 * nx * mx;
      slope[column + 1] += 2 * ny * mx;
      slope[size + column] += 2 * nx * my;
      slope[size + column + 1] += 2 * ny * my;
    } else if (column > 0) {
      slope[column] += 2 * mx;
      slope[size + column] += 2 * my;
    }
    [a, b, d, e] = [a - 2 * mx * nx, b - 2 * mx * ny, d - 2 * my * nx, e - 2 * my * ny];
  }
  slope[AT_TRANSMITTER] = a;
  slope[AT_TRANSMITTER + 1] = b;
  slope[size + AT_TRANSMITTER] = d;
  slope[size + AT_TRANSMITTER + 1] = e;
}

/**
 * Unit normal of a wall, to its left: towards free space.
 * @param {Float64Array} walls
 * @param {number} w
 */
function normalOf(walls, w) {
  const ex = walls[4 * w + 2] - walls[4 * w], ey = walls[4 * w + 3] - walls[4 * w + 1];
  const length = Math.hypot(ex, ey);
  return [-ey / length, ex / length];
}
