/** Finds the parts of its document that a page fills, with the type they must have. */

/** The element with this id. It throws if the document has none of that type: the two files do not fit then. */
export function part<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`the document has no ${type.name} #${id}`);
  }
  return found;
}

/** A new element with a class and a text. */
export function textElement(tag: string, className: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
