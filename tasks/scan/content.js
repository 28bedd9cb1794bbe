// Whether anything of a document can be perceived: texts, pictures, frames and fields, also in its shadow roots.
// Here: one document. Not here: what it means that there is nothing (tasks/scan/settle.py, tasks/scan/engine.js).
// Prototype methods only: a form answers with its own field for a plain name.
globalThis.fanfoldHasContent = (start, isPassedOver, visibility = { visibilityProperty: true }) => {
  const read = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
  const typeOf = read(Node.prototype, "nodeType"), childrenOf = read(Node.prototype, "childNodes");
  const textOf = read(Node.prototype, "nodeValue"), nameOf = read(Element.prototype, "localName");
  const shadowOf = read(Element.prototype, "shadowRoot");
  const isSeen = (element) => Element.prototype.checkVisibility.call(element, visibility)
    || getComputedStyle(element).display === "contents";
  const isMore = (element) => {  // than a frame that only counts visits
    const { width, height } = Element.prototype.getBoundingClientRect.call(element);
    return width > 1 && height > 1;
  };
  const waiting = start ? [start] : [];
  while (waiting.length) {
    const node = waiting.pop();
    if (typeOf.call(node) === Node.TEXT_NODE && textOf.call(node).trim()) return true;
    if (typeOf.call(node) === Node.ELEMENT_NODE) {
      if (isPassedOver(node) || !isSeen(node)) continue;
      const name = nameOf.call(node);
      if (/^(?:img|svg|video|audio|canvas|object|embed|input|button|select|textarea)$/.test(name)) return true;
      if (/^i?frame$/.test(name)) {
        if (isMore(node)) return true;
        continue;
      }
      const shadow = shadowOf.call(node);
      if (shadow) waiting.push(shadow);
    }
    waiting.push(...childrenOf.call(node));
  }
  return false;
};
