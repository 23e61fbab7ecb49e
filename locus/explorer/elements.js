/** Elements of the page: a tag, attributes and children in, an element out. */

/** @typedef {string | number | boolean | (() => void)} Attribute */

/**
 * Create an element with attributes and children; attributes named "on..." are event listeners.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute>} attributes
 * @param {...(Node | string)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : `${value}`);
  }
  element.append(...children);
  return element;
}
