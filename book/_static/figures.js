// A figure opens by itself, in full size: on a phone the labels of a wide one are too small to read in the page.
document.addEventListener("DOMContentLoaded", () => {
  /** @type {NodeListOf<HTMLImageElement>} */
  const images = document.querySelectorAll("article img");
  for (const image of images) {
    if (image.closest("a")) continue;
    const link = document.createElement("a");
    link.href = image.src;
    image.replaceWith(link);
    link.append(image);
  }
});
