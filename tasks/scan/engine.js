// Runs the engine in an isolated world and keeps what is wanted: kept nodes in full, of everything else the counts.
// Here: one document. Not here: which documents a page has (tasks/scan/frames.py), fingerprints (tasks/scan/path.js).
// Nodes are kept by slot, so that neither selectors nor markup are made for the thousands that passed.
globalThis.fanfold = (() => {
  const { axe, fanfoldFind, fanfoldHasContent, fanfoldPath, fanfoldRoots, fanfoldStill } = globalThis;
  const SUMMARY = 2000, TARGET = 4000;
  const CLASSES = { violations: "violation", incomplete: "incomplete", passes: "pass", inapplicable: "inapplicable" };
  const KEPT = ["violations", "incomplete"];
  const IMPACTS = ["minor", "moderate", "serious", "critical"];
  const slots = [];
  const owners = [];
  const leftOut = new Set();
  const matched = new Set();
  let partial = null, modal = null;
  let answer = "";

  axe.configure({ noHtml: true });  // the markup of every node that passed would be copied; we cut our own

  const slotOf = (element) => slots.push(element) - 1;
  const worst = (impacts) => IMPACTS[Math.max(...impacts.map((impact) => IMPACTS.indexOf(impact)))] ?? null;
  const cutTarget = (target) => target.map((part) => (Array.isArray(part) ? cutTarget(part) : fanfoldPath.cut(String(part), TARGET)));

  // A reporter of the engine: gets every raw result, makes texts only for nodes that are kept.
  const reporter = (limits, frame) => (results, options, resolve, reject) => {
    const groups = axe.utils.aggregateResult(results);
    const rules = [];
    for (const [group, name] of Object.entries(CLASSES)) {
      for (const { id, impact, nodes } of groups[group]) {
        const known = nodes.map((node) => node.impact ?? impact).filter((one) => IMPACTS.includes(one));
        rules.push([id, name, KEPT.includes(group) ? worst(known) : null, nodes.length]);
      }
    }
    let room = limits.nodes, isCut = false;
    const kept = [];
    const trimmed = [];
    for (const result of results) {
      const copy = { ...result, passes: [] };
      for (const group of KEPT) {
        const nodes = result[group] ?? [];
        const allowed = Math.min(nodes.length, limits.nodesPerRule, room);
        room -= allowed;
        isCut ||= allowed < nodes.length;
        copy[group] = nodes.slice(0, allowed);
        if (allowed) kept.push([result.id + group, copy[group].map(({ node }) => node)]);
      }
      if (KEPT.some((group) => copy[group].length) || result.error) trimmed.push(copy);
    }
    const nodesOf = Object.fromEntries(kept);
    const finish = (report) => {
      const found = {};
      const nodes = [];
      for (const group of KEPT) {
        for (const rule of report[group]) {
          if (rule.nodes.length) found[rule.id] = { tags: rule.tags, help: rule.help, help_url: rule.helpUrl };
          rule.nodes.forEach((node, index) => {
            const raw = nodesOf[rule.id + group]?.[index];
            nodes.push({
              rule: rule.id,
              is_violation: group === "violations",
              impact: node.impact ?? rule.impact ?? null,
              target: cutTarget(node.target),
              summary: fanfoldPath.cut(node.failureSummary ?? "", SUMMARY),
              frame: raw?.frame ?? frame,
              slot: raw?.slot ?? slotOf(raw?.element ?? document.documentElement),
            });
          });
        }
      }
      const failed = results.filter(({ error }) => error).map(({ id, error }) => [id, fanfoldPath.cut(String(error.message ?? error), 200)]);
      resolve({ rules, nodes, found, failed, is_cut: isCut });
    };
    axe.getReporter("v1")(trimmed, { ...options, resultTypes: KEPT }, finish, reject);
  };

  const describe = (wanted, limits) => wanted.map((slot) => ({
    html: limits.html === 0 ? "" : fanfoldPath.markup(slots[slot], limits.html, limits.isMasked),
    path: fanfoldPath.path(slots[slot]),
  }));
  const withDescriptions = (report, limits) => {
    const own = report.nodes.filter(({ frame }) => frame === 0);
    const described = describe(own.map(({ slot }) => slot), limits);
    own.forEach((node, index) => Object.assign(node, described[index]));
    return report;
  };
  const addressOf = (frame) => fanfoldPath.cut(frame.src || frame.data || (frame.hasAttribute("srcdoc") ? "about:srcdoc" : "about:blank"), 2000);


  // What the settings leave out. Through prototypes: a document or form answers with its own field for a plain name.
  const read = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
  const shadowOf = (node) => read(Element.prototype, "shadowRoot").call(node);
  const parentOf = (node) => read(Node.prototype, "parentNode").call(node) ?? (node instanceof ShadowRoot ? node.host : null);
  const find = fanfoldFind;
  const isLeftOut = (node) => {
    for (let one = leftOut.size ? node : null; one; one = parentOf(one)) if (leftOut.has(one)) return true;
    return false;
  };
  // A form answers with its own field for these, and the engine asks by plain name: it does not look into the form then,
  // or climbs from field to form for ever.
  const HIDING = ["childNodes", "nodeType", "hasAttribute"], ENDLESS = ["parentNode", "parentElement"];
  const hidden = new Set();
  const noteNames = (roots) => {
    hidden.clear();
    for (const root of roots) {
      for (const form of find(root, "form")) {
        if (isLeftOut(form) || !Element.prototype.checkVisibility.call(form)) continue;
        const endless = ENDLESS.find((name) => Object.hasOwn(form, name));
        if (endless) return { fault: "engine_failed", detail: `a form has a field named ${endless}: the engine would never end` };
        for (const name of HIDING) if (Object.hasOwn(form, name)) hidden.add(name);
      }
    }
    return null;
  };
  // What an open modal makes inert the engine passes over, as people cannot reach it: by the engine's own word, or by
  // that of a page that makes its main part inert.
  const modalOf = (roots) => {
    if (!axe.commons.dom.getModalDialog || !roots.some((root) => find(root, "dialog[open]").length)) return null;
    axe.setup(document);
    try { return axe.commons.dom.getModalDialog()?.actualNode ?? null; } finally { axe.teardown(); }
  };
  const MAIN = "main, [role=main], h1", SEEN = { visibilityProperty: true, opacityProperty: true };
  const bannerOf = (roots) => {
    const are = (selector) => roots.flatMap((root) => [...find(root, selector)]).filter((one) => Element.prototype.checkVisibility.call(one, SEEN));
    const holdsMain = (one) => Element.prototype.matches.call(one, MAIN) || Element.prototype.querySelector.call(one, MAIN);
    if (!are("[inert]").some((one) => !isLeftOut(one) && holdsMain(one))) return null;
    return are('[aria-modal="true" i]').find((one) => !Element.prototype.closest.call(one, "[inert]")) ?? null;
  };
  const noteModal = (roots) => {
    modal = null;
    const found = modalOf(roots) ?? bannerOf(roots);
    if (!found || !fanfoldHasContent((node) => node === found || leftOut.has(node))) return;
    const id = Element.prototype.getAttribute.call(found, "id");
    modal = fanfoldPath.cut(read(Element.prototype, "localName").call(found) + (id ? `#${id}` : ""), 200);
  };
  // Finds what is left out of this document and returns why nothing can be tested then, if so.
  const leaveOut = (selectors) => {
    leftOut.clear();
    const roots = fanfoldRoots();
    for (const selector of selectors) {
      try {
        for (const root of roots) for (const element of find(root, selector)) { matched.add(selector); leftOut.add(element); }
      } catch { return { fault: "exclusion_invalid", detail: selector }; }
    }
    for (const element of leftOut) if (parentOf(element) && isLeftOut(parentOf(element))) leftOut.delete(element);
    const whole = [read(Document.prototype, "documentElement").call(document), read(Document.prototype, "body").call(document)];
    const isEmpty = leftOut.size > 0 && (whole.some((one) => leftOut.has(one)) || !fanfoldHasContent((node) => leftOut.has(node)));
    if (isEmpty) return { fault: "nothing_left", detail: [...matched].join(", ") };
    noteModal(roots);
    return noteNames(roots);
  };
  const scopeOf = (scope) => (leftOut.size ? { ...scope, include: scope.include ?? [document], exclude: [...(scope.exclude ?? []), ...leftOut] } : null);
  const whatIsLeftOut = () => ({ excluded_count: leftOut.size, excluded_by: [...matched], hidden: [...hidden], modal });

  return {
    version: axe.version,
    isLeftOut,

    // A page without frames: everything stays here, one text comes out.
    async run(options, limits) {
      const fault = leaveOut(limits.excluded);
      if (fault) return JSON.stringify(fault);
      fanfoldStill();
      const report = await axe.run(scopeOf({}) ?? document, { ...options, reporter: reporter(limits, 0) });
      return JSON.stringify({ version: axe.version, ...whatIsLeftOut(), ...withDescriptions(report, limits) });
    },

    // One document of a page with frames. The page's own part stays here, a frame's travels as text.
    async start(frame, context, options, limits) {
      const blank = () => location.href === "about:blank" && context?.expectsDocument;
      if (blank()) return JSON.stringify({ untested: "blank" });
      if (location.href.startsWith("chrome-error:")) return JSON.stringify({ untested: "error_page" });
      const fault = leaveOut(limits.excluded);
      if (fault) return JSON.stringify({ ...fault, untested: fault.fault });
      fanfoldStill();
      const merge = (child, parent) => ({
        ...child, selector: [...parent.selector, ...child.selector], ancestry: [...parent.ancestry, ...child.ancestry],
        nodeIndexes: [...parent.nodeIndexes, ...child.nodeIndexes], fromFrame: true,
      });
      axe.utils.nodeSerializer.update({
        toSpec: (node) => ({
          selector: node.selector, ancestry: node.ancestry, xpath: [], source: null, nodeIndexes: node.nodeIndexes,
          fromFrame: node.fromFrame, frame, slot: slotOf(node.element),
        }),
        mergeSpecs: merge,
      });
      const scope = scopeOf(context?.scope ?? {}) ?? context?.scope ?? document;
      const frames = axe.utils.getFrameContexts(scope, options).map(({ frameSelector, frameContext }) => {
        const owner = axe.utils.shadowSelect(frameSelector);
        owners.push(owner);
        const address = addressOf(owner);
        return {
          scope: frameContext, address, path: fanfoldPath.path(owner),
          expectsDocument: /^(?:https?|data|blob):/.test(address) || owner.hasAttribute("srcdoc"),
        };
      });
      partial = await axe.runPartial(scope, options);
      if (frame !== 0) {
        answer = JSON.stringify(partial);
        if (answer.length > limits.partial) return JSON.stringify({ untested: "too_large" });
      }
      return JSON.stringify({ version: axe.version, url: fanfoldPath.cut(location.href, 2000), frames, length: answer.length, ...whatIsLeftOut() });
    },

    answer: () => answer,
    owner: (index) => owners[index],

    // In the page's own document, with the parts of its frames in the engine's order; null for a frame without one.
    async finish(texts, options, limits) {
      const parts = [partial, ...texts.map((text) => text && JSON.parse(text))];
      const report = await axe.finishRun(parts, { ...options, reporter: reporter(limits, 0) });
      return JSON.stringify(withDescriptions(report, limits));
    },

    describe: (wanted, limits) => JSON.stringify(describe(wanted, limits)),

    // Documents that the engine does not look for: HTML in object and embed.
    embedded() {
      const hosts = [...Document.prototype.querySelectorAll.call(document, "object, embed")];
      return JSON.stringify(hosts.filter((host) => {
        if (isLeftOut(host) || !host.checkVisibility({ visibilityProperty: true })) return false;
        try {
          const inner = host.contentDocument ?? host.getSVGDocument?.();
          return inner ? /html/.test(inner.contentType) : false;
        } catch { return true; }
      }).map(addressOf));
    },
  };
})();
