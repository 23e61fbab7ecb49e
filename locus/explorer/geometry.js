/** Points, segments and polygons in the plane [m]. */

/**
 * @typedef {[number, number]} Point x and y
 * @typedef {Point[]} Polygon corners; the last is joined to the first
 * @typedef {[number, number, number, number]} Edge x0, y0, x1, y1
 */

/**
 * @param {Polygon} polygon
 * @returns {Edge[]}
 */
export function edgesOf(polygon) {
  return polygon.map(([x, y], i) => [x, y, ...polygon[(i + 1) % polygon.length]]);
}

/**
 * Twice the signed area, positive if the corners are counterclockwise.
 * @param {Polygon} polygon
 */
function signedArea(polygon) {
  return edgesOf(polygon).reduce((sum, [x0, y0, x1, y1]) => sum + x0 * y1 - x1 * y0, 0);
}

/** @param {Polygon} polygon */
export const areaOf = (polygon) => Math.abs(signedArea(polygon)) / 2;

/**
 * @param {Polygon} polygon
 * @param {boolean} clockwise
 */
export function orient(polygon, clockwise) {
  return signedArea(polygon) > 0 === clockwise ? polygon.toReversed() : polygon;
}

/**
 * @param {Polygon} polygon
 * @param {number} x
 * @param {number} y
 */
export function contains(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const x0 = polygon[j][0], y0 = polygon[j][1], x1 = polygon[i][0], y1 = polygon[i][1];
    if (y0 > y !== y1 > y && x < x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)) inside = !inside;
  }
  return inside;
}

/**
 * Distance from a point to the nearest edge.
 * @param {Polygon} polygon
 * @param {number} x
 * @param {number} y
 */
export function distanceToEdges(polygon, x, y) {
  let least = Infinity;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const dx = polygon[i][0] - polygon[j][0], dy = polygon[i][1] - polygon[j][1];
    const px = x - polygon[j][0], py = y - polygon[j][1];
    const t = Math.min(Math.max((px * dx + py * dy) / (dx * dx + dy * dy), 0), 1);
    least = Math.min(least, Math.hypot(px - t * dx, py - t * dy));
  }
  return least;
}

/**
 * @param {Edge} one
 * @param {Edge} other
 */
function crosses(one, other) {
  /** @type {(edge: Edge, x: number, y: number) => number} */
  const side = ([x0, y0, x1, y1], x, y) => (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
  const [ax, ay, bx, by] = one;
  const [cx, cy, dx, dy] = other;
  return side(one, cx, cy) * side(one, dx, dy) < 0 && side(other, ax, ay) * side(other, bx, by) < 0;
}

/**
 * Smallest distance between the edges of two polygons; 0 if they cross.
 * @param {Polygon} a
 * @param {Polygon} b
 */
export function edgeGap(a, b) {
  const [edgesA, edgesB] = [edgesOf(a), edgesOf(b)];
  if (edgesA.some((one) => edgesB.some((other) => crosses(one, other)))) return 0;
  return Math.min(...a.map(([x, y]) => distanceToEdges(b, x, y)), ...b.map(([x, y]) => distanceToEdges(a, x, y)));
}

/**
 * Smallest and largest coordinates: x0, y0, x1, y1.
 * @param {Polygon} polygon
 * @returns {Edge}
 */
export function boundsOf(polygon) {
  const [x, y] = [polygon.map((corner) => corner[0]), polygon.map((corner) => corner[1])];
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

/** @type {(polygon: Polygon, dx: number, dy: number) => Polygon} */
export const shift = (polygon, dx, dy) => polygon.map(([x, y]) => [x + dx, y + dy]);

/** @type {(polygon: Polygon) => Polygon} */
export const quarterTurn = (polygon) => polygon.map(([x, y]) => [-y, x]);
