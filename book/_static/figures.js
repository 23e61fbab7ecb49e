// A figure opens by itself, in full size: on a phone the labels of a wide one are too small to read in the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("article img")) {
    if (image.closest("a")) continue;
    const link = document.createElement("a");
    link.href = image.src;
    image.replaceWith(link);
    link.append(image);
  }
});
