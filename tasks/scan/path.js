// The ingredients of fingerprint v1, and a node's markup cut and masked: read in an isolated world.
// Here: what is the same fault on every page of a template. Not here: hashing (schemas/occurrence.py).
// A node's own path: from the node up to the nearest landmark, each step tag, role, masked id and classes; no positions.
globalThis.fanfoldPath = (() => {
  const STEPS = 40, CLASSES = 24, CHARACTERS = 80;
  const LANDMARK_TAGS = new Set(["header", "nav", "main", "aside", "footer", "search"]);
  const NAMED_LANDMARK_TAGS = new Set(["section", "form"]);
  const LANDMARK_ROLES = new Set(["banner", "navigation", "main", "complementary", "contentinfo", "search", "region",
    "form"]);
  const STATE = /^(?:is-|has-|js-|ng-|state-)?(?:active|current|selected|open|opened|expanded|collapsed|focus|focused|focus-visible|hover|loaded|loading|lazyload|lazyloaded|lazyloading|visited|valid|invalid|dirty|pristine|touched|untouched)$/i;
  const STATE_NAMES = new Set(["style", "class", "id", "aria-current", "aria-expanded", "aria-selected", "aria-pressed",
    "aria-busy", "aria-checked", "open", "checked", "selected"]);
  // What follows these is made by a build or at run time: css-1x2y3z, svelte-1abc, jsx-123, radix-:r1:, react-k3j9.
  const GENERATES_NEXT = new Set(["css", "jsx", "svelte", "astro", "cid", "emotion", "radix", "react", "nghost",
    "ngcontent", "headlessui", "linaria", "uid", "uuid", "guid"]);
  const USE_ID = /[:«][rR][0-9a-zA-Z]*[:»]|_[rR]_[0-9a-z]+(?:H[0-9a-z]+)?_/g;
  const UUID = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/gi;
  const SHOWN = new Set(["class", "id", "role", "type", "name", "for", "tabindex", "lang", "dir", "rel", "target", "scope",
    "headers", "colspan", "rowspan", "autocomplete", "disabled", "required", "readonly", "multiple", "hidden", "width",
    "height", "aria-hidden", "aria-expanded", "aria-selected", "aria-checked", "aria-pressed", "aria-current",
    "aria-haspopup", "aria-controls", "aria-labelledby", "aria-describedby", "aria-owns", "aria-live", "aria-modal",
    "aria-level", "aria-disabled", "aria-required", "aria-invalid"]);
  const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr"]);

  // Through prototypes: a form answers with its own field for `form.id` or `form.attributes`.
  const getter = (prototype, name) => {
    const read = Object.getOwnPropertyDescriptor(prototype, name).get;
    return (node) => read.call(node);
  };
  const attribute = (element, name) => Element.prototype.getAttribute.call(element, name);
  const attributesOf = getter(Element.prototype, "attributes");
  const localName = getter(Element.prototype, "localName");
  const childNodes = getter(Node.prototype, "childNodes");
  const parentNode = getter(Node.prototype, "parentNode");
  const isElement = (node) => node?.nodeType === 1;

  const clean = (text) => text.toWellFormed().replaceAll("\0", "\uFFFD");
  const cut = (text, length) => {
    if (text.length <= length) return clean(text);
    return clean(text.slice(0, length - 1)) + "…";
  };

  const isRandom = (word) => {
    if (word.length < 5) return false;
    const hasDigit = /\d/.test(word), hasLetter = /[a-z]/i.test(word);
    if (hasDigit && hasLetter) {
      if (/^[0-9a-f]{6,}$/i.test(word)) return true;
      const parts = word.match(/\d+|\D+/g);
      return parts.length > 2 || (word.length > 6 && parts[0].match(/\d/) !== null);
    }
    if (hasDigit) return false;
    if (/[bcdfghjklmnpqrstvwxz]{6,}/i.test(word)) return true;
    const humps = word.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [word];
    return humps.length > 1 && (word.match(/[A-Z]/g) ?? []).length > 1 && word.length / humps.length <= 2;
  };
  const mask = (text) => {
    let follows = false, isStyled = false;
    return text.slice(0, 200).replace(UUID, "*").replace(USE_ID, "*").split(/([^0-9a-zA-Z*]+)/).map((word, index) => {
      if (index % 2 === 1 || word === "" || word === "*") return word;
      const isGenerated = follows || isRandom(word) || (isStyled && /[A-Z0-9]/.test(word));
      follows = GENERATES_NEXT.has(word.toLowerCase());
      isStyled = word === "sc" && index === 0;
      return isGenerated ? "*" : word.replace(/\d+/g, "#");
    }).join("").slice(0, CHARACTERS);
  };
  const maskClasses = (text) => {
    const words = text.slice(0, 4000).split(/\s+/).filter((word) => word && !STATE.test(word));
    const isStyled = words.some((word) => /^sc-(?=.*[A-Z0-9])/.test(word));
    const masked = words.map((word) => (isStyled && /^(?=.*[a-z])(?=.*[A-Z])[a-zA-Z]{5,7}$/.test(word) ? "*" : mask(word)));
    return [...new Set(masked)].sort().slice(0, CLASSES);
  };
  const maskName = (name) => name.replace(/^(_ng(?:content|host)|data-v|data-astro-cid|data-styled|data-emotion)-.*$/, "$1-*")
    .replace(/\d+/g, "#").slice(0, CHARACTERS);

  const role = (element) => (attribute(element, "role") ?? "").trim().toLowerCase().slice(0, CHARACTERS);
  const isLandmark = (element) => {
    const tag = localName(element);
    if (LANDMARK_TAGS.has(tag) || LANDMARK_ROLES.has(role(element))) return true;
    return NAMED_LANDMARK_TAGS.has(tag) && ["aria-label", "aria-labelledby", "title"].some((name) => attribute(element, name));
  };
  const step = (element) => {
    const tag = localName(element).slice(0, CHARACTERS);
    if (tag === "html" || tag === "body") return [tag, role(element), "", []];  // their classes name the page, not the part
    return [tag, role(element), mask(attribute(element, "id") ?? ""), maskClasses(attribute(element, "class") ?? "")];
  };
  const steps = (element) => {
    const found = [];
    for (let node = element; isElement(node) && found.length < STEPS; node = parentNode(node)) {
      found.push(step(node));
      if (isLandmark(node) && node !== element) break;
    }
    return found.reverse();
  };
  const sourcePath = (element) => {
    const source = attribute(element, "src");
    if (source === null) return null;
    try {
      const url = new URL(source.slice(0, 2000), document.baseURI);
      return /^https?:$/.test(url.protocol) ? url.pathname.split("/").map(mask).join("/").slice(0, 300) : url.protocol;
    } catch { return ""; }
  };
  const ingredients = (element) => {
    const values = { src: sourcePath(element) };
    for (const name of ["role", "type", "name", "for"]) {
      const value = attribute(element, name);
      values[name] = value === null ? null : mask(value);
    }
    const names = [...attributesOf(element)].slice(0, 200).map((one) => one.name.slice(0, 200));
    return {
      names: [...new Set(names.filter((name) => !STATE_NAMES.has(name)).map(maskName))].sort(),
      steps: steps(element),
      values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
    };
  };
  // Outermost first: hosts of shadow roots, then the node.
  const path = (node) => {
    let element = isElement(node) ? node : parentNode(node);
    if (!isElement(element)) element = document.documentElement;
    const parts = [];
    while (element) {
      parts.unshift(ingredients(element));
      const root = element.getRootNode();
      element = root instanceof ShadowRoot ? root.host : null;
    }
    return parts;
  };

  const escape = (text, isValue) => {
    const plain = text.replaceAll("&", "&amp;");
    return isValue ? plain.replaceAll('"', "&quot;") : plain.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  };
  // Walks only as far as the budget goes: `outerHTML` of a body would copy the whole page for every rule.
  const markup = (node, budget, isMasked) => {
    let text = "";
    const write = (current, depth) => {
      if (text.length > budget) return;
      if (current.nodeType === 3) {
        const value = current.nodeValue.slice(0, budget);
        text += isMasked && value.trim() ? "•" : escape(value, false);
      }
      if (!isElement(current)) return;
      const tag = localName(current);
      text += `<${tag}`;
      for (const one of attributesOf(current)) {
        if (text.length > budget) return;
        const value = isMasked && !SHOWN.has(one.name) && one.value ? "•" : escape(cut(one.value, 200), true);
        text += ` ${one.name.slice(0, 200)}="${value}"`;
      }
      text += ">";
      if (VOID.has(tag)) return;
      if (depth > 20) text += "…";
      else for (let child = current.firstChild; child && text.length <= budget; child = child.nextSibling) write(child, depth + 1);
      text += `</${tag}>`;
    };
    write(node, 0);
    return cut(text, budget);
  };

  return { path, markup, cut, clean, mask, maskClasses, maskName };
})();
