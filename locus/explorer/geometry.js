/** Points, segments and polygons in the plane [m]. A polygon is a list of corners [x, y]; its edges close the ring. */

/** Ends of all edges, [x0, y0, x1, y1] each. */
export function edgesOf(polygon) {
  return polygon.map(([x, y], i) => [x, y, ...polygon[(i + 1) % polygon.length]]);
}

/** Twice the area, positive if the corners go round counterclockwise. */
function signedArea(polygon) {
  return edgesOf(polygon).reduce((sum, [x0, y0, x1, y1]) => sum + x0 * y1 - x1 * y0, 0);
}

export function orient(polygon, clockwise) {
  return signedArea(polygon) > 0 === clockwise ? polygon.toReversed() : polygon;
}

export function contains(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const x0 = polygon[j][0], y0 = polygon[j][1], x1 = polygon[i][0], y1 = polygon[i][1];
    if (y0 > y !== y1 > y && x < x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)) inside = !inside;
  }
  return inside;
}

/** Least distance of a point to any edge. */
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

function crosses([ax, ay, bx, by], [cx, cy, dx, dy]) {
  const side = (x0, y0, x1, y1, x, y) => (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
  return (
    side(ax, ay, bx, by, cx, cy) * side(ax, ay, bx, by, dx, dy) < 0 &&
    side(cx, cy, dx, dy, ax, ay) * side(cx, cy, dx, dy, bx, by) < 0
  );
}

/** Least distance between the edges of two polygons, 0 if they cross. */
export function edgeGap(a, b) {
  const [edgesA, edgesB] = [edgesOf(a), edgesOf(b)];
  if (edgesA.some((one) => edgesB.some((other) => crosses(one, other)))) return 0;
  return Math.min(...a.map(([x, y]) => distanceToEdges(b, x, y)), ...b.map(([x, y]) => distanceToEdges(a, x, y)));
}

/** Smallest and largest coordinates: x0, y0, x1, y1. */
export function boundsOf(polygon) {
  const [x, y] = [polygon.map((corner) => corner[0]), polygon.map((corner) => corner[1])];
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

export const shift = (polygon, dx, dy) => polygon.map(([x, y]) => [x + dx, y + dy]);
export const quarterTurn = (polygon) => polygon.map(([x, y]) => [-y, x]);
