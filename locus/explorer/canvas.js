/** Canvases: an element in, a drawing context in CSS pixels, sharp on any screen, out. */

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {CanvasRenderingContext2D}
 */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("Expected a browser that draws on a canvas, got none");
  return context;
}

/**
 * Resize a canvas to the pixels of the screen, which clears it.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width [CSS px]
 * @param {number} height [CSS px]
 */
export function resize(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const context = contextOf(canvas);
  context.setTransform(density, 0, 0, density, 0, 0);
  return context;
}
