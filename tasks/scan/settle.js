// Watches a page from an isolated world: what changes, whether fonts and late frames are there, where the page is.
// Here: reading. Not here: the clock (tasks/scan/settle.py; timers are dead where scripting is off).
// Prototype methods only: a page can name a form field `title` or `querySelector`, and `document` then answers with it.
(() => {
  if (Object.hasOwn(globalThis, "fanfoldWatch")) return;  // an element of that id answers for a name that is not ours
  const select = (selector) => Document.prototype.querySelector.call(document, selector);
  const selectIn = globalThis.fanfoldFind;
  const selectAll = (selector) => [...selectIn(document, selector)];
  const read = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get.call(document);
  const cut = (text, length) => {
    const short = text.slice(0, length).toWellFormed().replaceAll("\0", "\uFFFD");
    return text.length > length ? short.slice(0, length - 1).toWellFormed() + "…" : short;
  };

  // What changes in a shadow root or in a frame does not show in the document: every root that can be read is watched.
  let changes = 0;
  const observer = new MutationObserver((records) => { changes += records.length; });
  const watched = new WeakSet();
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    changes += 1;
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  };
  const documentIn = (frame) => { try { return frame.contentDocument; } catch { return null; } };
  const documentsIn = (root) => [...selectIn(root, "iframe, frame")].map(documentIn).filter(Boolean);

  // A frame that waits until it is scrolled to would stay untested.
  const hurried = [];
  const hurry = (root) => {
    for (const frame of selectIn(root, 'iframe[loading="lazy"]')) {
      hurried.push(frame);
      frame.loading = "eager";
    }
  };
  const spread = () => {
    for (const root of fanfoldRoots(documentsIn)) {
      watch(root);
      hurry(root);
    }
  };
  const isWaiting = (frame) => {
    try { return frame.contentDocument.URL === "about:blank" && /^https?:/.test(frame.src); } catch { return false; }
  };

  // A document of HTML elements is a page under either type of XML; what a browser shows of other XML is its own.
  const contentType = () => {
    const type = read(Document.prototype, "contentType"), root = read(Document.prototype, "documentElement");
    const isPage = /^(?:application|text)\/xml$/.test(type) && root instanceof HTMLHtmlElement
      && !select("#webkit-xml-viewer-source-xml");
    return isPage ? "application/xhtml+xml" : type;
  };

  const attempt = (find) => { try { return find(); } catch (error) { return String(error.message); } };
  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const hasContent = (options) => fanfoldHasContent(undefined, options);

  globalThis.fanfoldWatch = {
    look(ready) {
      spread();
      changes += observer.takeRecords().length;
      return JSON.stringify({
        changes,
        has_fonts: read(Document.prototype, "fonts").status === "loaded",
        has_late_frames: hurried.some((frame) => frame.isConnected && isWaiting(frame)),
        has_content: hasContent({ opacityProperty: true }),  // pages that hide themselves until they are drawn are waited for
        ready: ready === null ? null : attempt(() => select(ready) !== null),
      });
    },
    facts(selector) {
      const entry = performance.getEntriesByType("navigation")[0];
      const field = selectAll('input[type="password" i]').find(isSeen);
      return JSON.stringify({
        url: cut(location.href, 4000),
        loaded_url: entry ? cut(entry.name, 4000) : null,
        title: cut(read(Document.prototype, "title"), 300),
        content_type: cut(contentType(), 100),
        status: entry?.responseStatus || null,
        has_password_field: field !== undefined,
        text_length: field ? (read(Document.prototype, "body")?.innerText ?? "").length : null,
        has_selector: selector === null ? null : attempt(() => select(selector) !== null),
        has_content: hasContent(),
        is_parsed: read(Document.prototype, "readyState") !== "loading",
        was_stopped: read(Document.prototype, "readyState") === "complete" && entry?.domContentLoadedEventEnd === 0,
        is_malformed: read(Document.prototype, "contentType") !== "text/html" && select("parsererror") !== null,
        awaited: read(Document.prototype, "readyState") === "complete" ? [] : [
          ...selectAll("link[rel~=stylesheet]").filter((link) => !link.sheet && !link.disabled).map((link) => link.href),
          ...selectAll("img:not([loading=lazy])").filter((image) => image.src && !image.complete).map((i) => i.src),
        ].slice(0, 5).map((address) => cut(address, 200)),
        awaited_frames: selectAll("iframe, frame").filter(isWaiting).length,
      });
    },
    rest() {
      observer.disconnect();
      for (const frame of hurried) frame.loading = "lazy";
    },
  };
  spread();
  globalThis.fanfoldStill();
})();
