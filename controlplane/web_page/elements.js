// Elements of the page. Data from the fabric is text, and never markup.

export function element(tag, content = [], attributes = {}) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) one.setAttribute(name, value === true ? "" : value);
  }
  one.append(...[content].flat());
  return one;
}

export function svg(tag, attributes = {}, ...content) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...content);
  return one;
}

/**
 * Replaces the children of an element. An equal child is kept, so that nothing vanishes under a pointer or the focus;
 * the action of its buttons must not depend on when it was made.
 */
export function replace(parent, children) {
  const next = parent.cloneNode();
  next.append(...children);
  if (next.innerHTML === parent.innerHTML) return;
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  parent.replaceChildren(...next.childNodes);
  if (focused) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

/** Items of a list; `none` is the text of an empty one. */
export function fill(list, items, none) {
  replace(list, items.length ? items : [element("li", none, { class: "faint" })]);
}
