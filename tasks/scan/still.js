// Ends what moves in a document and its shadow roots: a fade must not make a contrast finding.
// Here: one document; a frame has its own. Called right before the engine looks, in the same task: nothing that the page
// starts can come between. Prototype methods only: a page can name a form field `getAnimations`.
(() => {
  if (Object.hasOwn(globalThis, "fanfoldStill")) return;
  // 1 ms and not none: pages wait for the end event, and a fade-in keeps its end.
  const still = new CSSStyleSheet();
  still.replaceSync(`*, ::before, ::after { transition-duration: 1ms !important; transition-delay: 0s !important;
    animation-duration: 1ms !important; animation-delay: 0s !important; animation-iteration-count: 1 !important;
    scroll-behavior: auto !important; caret-color: transparent !important }`);
  const shadowReader = () => Object.getOwnPropertyDescriptor(Element.prototype, "shadowRoot").get;  // ours may take its place
  const typeOf = Object.getOwnPropertyDescriptor(Node.prototype, "nodeType").get;
  globalThis.fanfoldFind = (root, selector) => (typeOf.call(root) === Node.DOCUMENT_NODE ? Document : DocumentFragment)
    .prototype.querySelectorAll.call(root, selector);
  const kindOf = (root) => (root === document ? Document : ShadowRoot).prototype;
  const sheetsOf = (root) => Object.getOwnPropertyDescriptor(kindOf(root), "adoptedStyleSheets").get.call(root);
  // The document and its shadow roots; `further` yields more from each, such as documents of frames.
  globalThis.fanfoldRoots = (further = () => []) => {
    const found = [document], read = shadowReader();
    for (const root of found) {
      for (const element of fanfoldFind(root, "*")) {
        const shadow = read.call(element);
        if (shadow) found.push(shadow);
      }
      found.push(...further(root));
    }
    return found;
  };

  globalThis.fanfoldStill = () => {
    for (const root of fanfoldRoots()) {
      if (![...sheetsOf(root)].includes(still)) sheetsOf(root).push(still);  // a page may have put others in its place
      for (const animation of kindOf(root).getAnimations.call(root)) {
        try { animation.finish(); } catch { animation.cancel(); }  // one without end can't be finished
      }
    }
  };
})();
