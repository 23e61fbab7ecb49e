/**
 * Mounts the explorer in the element `explorer` of a page of the book.
 *
 * Browsers load no modules of a page that was opened from disk, so that it gets all of them as one plain script.
 */

{
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  if (location.protocol === "file:") {
    document.head.append(Object.assign(document.createElement("script"), { src: new URL("./from_disk.js", script.src) }));
  } else {
    import(new URL("./explorer.js", script.src).href).then(({ mount }) => mount(document.getElementById("explorer")));
  }
}
