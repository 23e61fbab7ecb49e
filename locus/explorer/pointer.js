/** Input on the map: pointer and key events in, moves of objects out. */

import { isFree } from "./layout.js";
import { indexOf } from "./world.js";

/** @type {Record<string, number>} */
const REACH = { mouse: 16, pen: 20, touch: 26 }; // [px], radius around an object that counts as a hit
const STEP = 0.01; // per key press, relative to the room's longer side
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
/** @type {Record<string, string>} */
const LETTERS = { t: "transmitter", r: "receiver", h: "heading" };

/**
 * @param {import("./map.js").MapView} view
 * @param {import("./world.js").World} world
 * @param {{moved: (dragging: boolean) => void, selected: () => void, remove: () => void, redraw: () => void,
 *   listen: () => void, goBack: () => void, pointedAt: (place: import("./layout.js").Place | null) => void}} tell callbacks
 */
export function handle(view, world, tell) {
  const { canvas } = view;
  /** @type {{pointer: number, thing: string, dx: number, dy: number} | null} */
  let drag = null; // dx and dy [m] from the pointer to the object

  /** @typedef {{clientX: number, clientY: number}} Spot */
  const locate = (/** @type {Spot} */ event) => {
    const box = canvas.getBoundingClientRect();
    return view.toMetre(event.clientX - box.left, event.clientY - box.top);
  };
  const hit = (/** @type {Spot} */ event, /** @type {string} */ kind) =>
    world.pick(...locate(event), (REACH[kind] ?? REACH.mouse) / view.scale);

  // Whoever points at the magnified window wants to see what it covers.
  const lookBelow = (/** @type {Spot | null} */ event) => {
    const { inset } = view;
    const [x, y] = event ? locate(event) : [NaN, NaN];
    const over = inset !== null && x >= inset.x && x <= inset.x + inset.width && y >= inset.y && y <= inset.y + inset.width;
    if (over === view.hidesInset) return;
    view.hidesInset = over;
    tell.redraw();
  };
  const pointAt = (/** @type {Spot} */ event, /** @type {string | null} */ thing) => {
    const [x, y] = locate(event);
    tell.pointedAt(thing === null && isFree(world.room, x, y) ? { x, y } : null);
  };
  canvas.addEventListener("pointerleave", (event) => {
    lookBelow(null);
    if (drag === null && event.pointerType !== "touch") tell.pointedAt(null);
  });

  canvas.addEventListener("pointerdown", (event) => {
    const thing = event.button === 0 ? hit(event, event.pointerType) : null;
    if (thing === null || drag !== null) return;
    const [x, y] = locate(event);
    const at = world.positionOf(thing);
    drag = { pointer: event.pointerId, thing, dx: at.x - x, dy: at.y - y };
    canvas.setPointerCapture(event.pointerId);
    view.hidesInset = true;
    view.invites = false;
    tell.pointedAt(null);
    world.selected = thing;
    tell.selected();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag?.pointer !== event.pointerId) {
      const thing = hit(event, event.pointerType);
      canvas.style.cursor = thing === null ? "default" : "grab";
      lookBelow(event);
      if (event.pointerType !== "touch") pointAt(event, thing);
      return;
    }
    const [x, y] = locate(event);
    if (world.move(drag.thing, x + drag.dx, y + drag.dy)) tell.moved(true);
  });
  const drop = (/** @type {PointerEvent} */ event) => {
    if (drag?.pointer !== event.pointerId) return;
    const walked = drag.thing === "receiver" || drag.thing === "heading";
    drag = null;
    view.hidesInset = false;
    if (walked && world.strays) tell.listen();
    else tell.moved(false);
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  // A finger cannot hover: what it taps stays pointed at.
  canvas.addEventListener("click", (event) => {
    if (event.pointerType === "touch") pointAt(event, hit(event, "touch"));
  });
  // A finger on an object drags it; elsewhere on the map it scrolls the page.
  const keep = (/** @type {TouchEvent} */ event) => {
    if (hit(event.touches[0], "touch") !== null) event.preventDefault();
  };
  canvas.addEventListener("touchstart", keep, { passive: false });

  canvas.addEventListener("keydown", (event) => {
    const walking = world.walk.length > 0;
    const takesBack = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "z";
    if (walking && takesBack) {
      tell.goBack();
      event.preventDefault();
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in ARROWS) {
      const [x0, y0, x1, y1] = world.bounds;
      const metres = STEP * Math.max(x1 - x0, y1 - y0) * (event.shiftKey ? 0.2 : 1);
      const length = world.selected === "heading" ? (event.shiftKey ? 0.2 : 1) : metres;
      view.invites = false;
      if (world.nudge(world.selected, ...ARROWS[event.key], length)) tell.moved(false);
    } else if (event.key.toLowerCase() in LETTERS) {
      world.selected = LETTERS[event.key.toLowerCase()];
      tell.selected();
    } else if (event.key.toLowerCase() === "o" && world.room.obstacles.length > 0) {
      const next = (indexOf(world.selected) + 1) % world.room.obstacles.length;
      world.selected = `obstacle ${next + 1}`;
      tell.selected();
    } else if (walking && event.key === "Enter") tell.listen();
    else if (walking && event.key === "Backspace" && indexOf(world.selected) < 0) tell.goBack();
    else if (event.key === "Delete" || event.key === "Backspace") tell.remove();
    else return;
    event.preventDefault();
  });
}
