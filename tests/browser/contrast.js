// Visible texts of the page whose contrast with their background is below `least`, one line each.
(/** @type {number} */ least) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  if (canvas === null) throw new Error("Expected a browser that draws on a canvas, got none");

  // Any CSS colour as [red, green, blue, opacity]; the first three range to 255, the opacity to 1.
  const parse = (/** @type {string} */ colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, opacity] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, opacity / 255];
  };
  /** @type {(top: number[], bottom: number[]) => number[]} */
  const over = (top, bottom) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * bottom[i]);
  const luminance = (/** @type {number[]} */ colour) => {
    const [red, green, blue] = colour.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (/** @type {number[]} */ one, /** @type {number[]} */ other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  /** @type {(element: Element | null) => Element[]} */
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);

  // In a drawing, a text lies on the rectangle before it.
  const paint = (/** @type {Element} */ element) => {
    const frame = element instanceof SVGTextElement ? element.parentElement?.querySelector(":scope > rect") : null;
    const style = getComputedStyle(frame ?? element);
    return parse(frame ? (style.fill === "none" ? "transparent" : style.fill) : style.backgroundColor);
  };
  const behind = (/** @type {Element} */ element) => {
    const layers = ancestors(element).map(paint);
    const opaque = layers.findIndex((layer) => layer[3] === 1);
    const base = opaque < 0 ? [255, 255, 255] : layers[opaque].slice(0, 3);
    return layers.slice(0, opaque < 0 ? layers.length : opaque).reduceRight((below, layer) => over(layer, below), base);
  };
  const ratio = (/** @type {Element} */ element) => {
    const style = getComputedStyle(element);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    const opacity = ancestors(element).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
    const background = behind(element);
    return contrast(over([...colour.slice(0, 3), colour[3] * opacity], background), background);
  };

  // Boxes of one pixel, or beyond the left or upper edge of the page, are for screen readers.
  /** @type {(element: Element, boxes: DOMRectList) => boolean} */
  const shown = (element, boxes) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    [...boxes].some((box) => box.width > 1 && box.height > 1 && box.right > 0 && box.bottom + scrollY > 0) &&
    !ancestors(element).some((one) => {
      const style = getComputedStyle(one);
      return style.clipPath !== "none" || (style.clip !== "auto" && style.position === "absolute");
    });

  document.querySelectorAll("details").forEach((details) => (details.open = true));
  // Finish colour transitions first: on a busy machine they may still be running.
  for (const animation of document.getAnimations()) {
    if (animation instanceof CSSTransition) animation.finish();
  }
  const found = new Map();
  /** @type {(element: Element, text: string, boxes: DOMRectList) => void} */
  const check = (element, text, boxes) => {
    if (!shown(element, boxes)) return;
    const value = ratio(element);
    if (value < least) {
      const names = ancestors(element).map((one) => `${one.tagName.toLowerCase()}.${[...one.classList].join(".")}`);
      const place = `${names[1]} > ${names[0]}`;
      found.set(place, `${value.toFixed(2)} ${place}: ${text.trim().slice(0, 40)}`);
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let num_texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const [text, parent] = [node.textContent ?? "", node.parentElement];
    if (parent === null || !text.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(parent.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    num_texts += 1;
    check(parent, text, range.getClientRects());
  }
  // MathJax draws its glyphs by style sheets, so they are not text.
  for (const formula of document.querySelectorAll("mjx-container mjx-c")) check(formula, "formula", formula.getClientRects());
  return { texts: num_texts, faint: [...found.values()] };
}
