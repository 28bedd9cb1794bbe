// Whether anything of a document can be perceived: texts, pictures, frames and fields, also in its shadow roots.
// Here: one document. Not here: what it means that there is nothing (tasks/scan/judge.py, tasks/scan/engine.js).
// Prototype methods only: a form answers with its own field for a plain name. In the order of the document and node by
// node: a page with content is done at its first words.
globalThis.fanfoldHasContent = (isPassedOver = () => false, options = {}) => {
  const read = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
  const typeOf = read(Node.prototype, "nodeType"), textOf = read(Node.prototype, "nodeValue");
  const firstOf = read(Node.prototype, "firstChild"), nextOf = read(Node.prototype, "nextSibling");
  const nameOf = read(Element.prototype, "localName"), shadowOf = read(Element.prototype, "shadowRoot");
  const isDrawn = (element) => Element.prototype.checkVisibility.call(element, options)
    || getComputedStyle(element).display === "contents";
  const isVisible = (element) => getComputedStyle(element).visibility === "visible";  // its children may be, if it is not
  const sizes = [read(Element.prototype, "clientWidth"), read(Element.prototype, "clientHeight")];
  const isMore = (frame) => sizes.every((size) => size.call(frame) > 1);  // than a frame that only counts visits
  const start = read(Document.prototype, "body").call(document) ?? read(Document.prototype, "documentElement").call(document);
  const waiting = start ? [[start, start]] : [];
  while (waiting.length) {
    const [node, holder] = waiting.pop();
    const next = node === start ? null : nextOf.call(node);
    if (next) waiting.push([next, holder]);
    const type = typeOf.call(node);
    if (type === Node.TEXT_NODE && textOf.call(node).trim() && isVisible(holder)) return true;
    if (type !== Node.ELEMENT_NODE || isPassedOver(node) || !isDrawn(node)) continue;
    const name = nameOf.call(node);
    const isFrame = /^i?frame$/.test(name);
    const isContent = isFrame || /^(?:img|svg|video|audio|canvas|object|embed|input|button|select|textarea)$/.test(name);
    if (isContent && isVisible(node) && (!isFrame || isMore(node))) return true;
    const first = isFrame ? null : firstOf.call(node), shadow = shadowOf.call(node);
    if (first) waiting.push([first, node]);
    const inner = shadow && firstOf.call(shadow);
    if (inner) waiting.push([inner, node]);
  }
  return false;
};
