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

// Rows in groups: a phone has room for one column of names, so the group's name is also above that of its first row.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table:has(tbody th + th)")) {
    table.classList.add("grouped");
    for (const row of table.querySelectorAll("tr")) {
      const [group, name] = row.querySelectorAll(":scope > th");
      const starts = row.parentElement?.tagName === "THEAD" || row.querySelector("th + th");
      name?.classList.add("row-name");
      if (!starts) {
        group?.classList.add("row-name");
        continue;
      }
      group.classList.add("group");
      const title = document.createElement("span");
      title.className = "group-name";
      title.textContent = group.textContent;
      if (group.textContent) name.prepend(title);
    }
  }
});

// Prose in tables needs room, and printed sentences may break, where columns may not.
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll("article table tbody td")) {
    const { length } = (cell.textContent ?? "").trim();
    cell.classList.toggle("phrase", length > 16);
    cell.classList.toggle("sentence", length > 60);
  }
  for (const printed of document.querySelectorAll("article .cell_output pre")) {
    const text = (printed.textContent ?? "").trim();
    printed.classList.toggle("line", !text.includes("\n") || !/\S {2}/.test(text));
  }
});

// Results of a search: names break between their parts, as on all other pages.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  if (!results) return;
  // Excerpts are of a page's text, not of its list of contents, nor of folded code.
  // @ts-ignore: Sphinx defines Search, on this page alone
  const finder = /** @type {{ htmlToText: (html: string, anchor?: string) => string }} */ (Search);
  const inWhole = finder.htmlToText;
  finder.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const folded of page.querySelectorAll("article details.hide")) folded.remove();
    page.querySelector("main")?.replaceChildren(page.querySelector("article") ?? "");
    return inWhole(page.documentElement.outerHTML, anchor);
  };
  new MutationObserver(() => {
    const texts = document.createTreeWalker(results, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = /** @type {Text} */ (texts.currentNode);
      const end = text.data.search(/(?<=[a-z]{2}[._])(?=[a-z])/i);
      if (end > 0) text.splitText(end).before(document.createElement("wbr"));
    }
  }).observe(results, { childList: true, subtree: true });
});

// Equations that are too wide for a phone are set smaller, once they are set at all.
window.addEventListener("load", async () => {
  // @ts-ignore: MathJax is only there on pages with mathematics
  await window.MathJax?.startup?.promise;
  for (const equation of document.querySelectorAll("article div.math")) {
    equation.classList.toggle("wide", equation.scrollWidth > equation.clientWidth + 1);
  }
});

// The theme scrolls the menu to the current page, also where that is in view without.
window.addEventListener("load", () => {
  const menu = document.querySelector(".bd-sidebar-primary");
  const current = [...document.querySelectorAll(".bd-docs-nav .active")].pop();
  if (!menu || !current || sessionStorage.getItem("sidebar-scroll-top") !== null) return;
  const below = current.getBoundingClientRect().bottom - menu.getBoundingClientRect().top + menu.scrollTop;
  if (below < menu.clientHeight) menu.scrollTop = 0;
});
