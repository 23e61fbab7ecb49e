// A figure opens in place, as large as the screen allows: on a phone the labels of a wide one are small in the page.
document.addEventListener("DOMContentLoaded", () => {
  /** @type {NodeListOf<HTMLImageElement>} */
  const images = document.querySelectorAll("article img:not(.toggler)");
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  const frame = document.createElement("div");
  frame.tabIndex = 0; // to scroll with the keyboard
  dialog.append(close, frame);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  for (const image of images) {
    const given = image.closest("a");
    if (given && !given.classList.contains("image-reference")) continue; // it leads elsewhere
    const link = given ?? document.createElement("a");
    link.href = image.src;
    link.classList.add("enlarges");
    if (!given) {
      const whole = image.closest("picture") ?? image;
      whole.replaceWith(link);
      link.append(whole);
    }
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // in a tab of its own
      event.preventDefault();
      const large = document.createElement("img");
      large.src = image.src;
      large.alt = image.alt;
      // At least as large as it was drawn, so that a phone scrolls over it
      large.style.minWidth = `${Math.min(Math.max(image.naturalWidth, 700), 1100)}px`;
      frame.replaceChildren(large);
      dialog.showModal();
    });
  }
});

// Names of rows that may break on a phone: the others, such as Gauss-Cart, are short enough to stay whole.
document.addEventListener("DOMContentLoaded", () => {
  for (const name of document.querySelectorAll("article table tbody th")) {
    name.classList.toggle("long", (name.textContent ?? "").trim().length > 18);
  }
});

// Prose in tables needs room, and a single printed line may break, where columns may not.
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll("article table tbody td")) {
    cell.classList.toggle("sentence", (cell.textContent ?? "").trim().length > 60);
  }
  for (const printed of document.querySelectorAll("article .cell_output pre")) {
    printed.classList.toggle("line", !(printed.textContent ?? "").trim().includes("\n"));
  }
});

// Equations that are too wide for a phone are set smaller, once they are set at all.
window.addEventListener("load", async () => {
  // @ts-ignore: MathJax is only there on pages with mathematics
  await window.MathJax?.startup?.promise;
  for (const equation of document.querySelectorAll("article div.math")) {
    equation.classList.toggle("wide", equation.scrollWidth > equation.clientWidth + 1);
  }
});
