"use strict";
/* Lists: search, filter, sort, turn pages. Page text only ever becomes text, never markup. */
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const isWebLink = (text) => /^https?:\/\/[^\s\x00-\x20\x7f-\x9f"'<>\\]+$/i.test(text);

  const setUp = (root) => {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const { columns, rows } = data;
    if (!rows.length) return;
    const body = root.querySelector("tbody");
    const state = { words: [], facets: new Map(), column: -1, descending: false, page: 0, found: rows };
    const texts = [];

    const plain = (row, index) => {
      const cell = row[index], { kind, values } = columns[index];
      if (cell === null) return "";
      if (values) return values[cell];
      return kind === "anchor" ? cell[0] : String(cell);
    };
    const textOf = (row) => {
      const index = row.index;
      return texts[index] ??= columns.map((_, column) => plain(row, column)).join("\n").toLowerCase();
    };
    rows.forEach((row, index) => { row.index = index; });

    const fill = (cell, row, index) => {
      const { kind } = columns[index], text = plain(row, index);
      cell.className = kind;
      if (index === 0) cell.scope = "row";
      if (kind === "anchor" && row[index][1]) cell.append(make("a", { href: row[index][1], textContent: text }));
      else if (kind === "address" && isWebLink(text)) {
        cell.append(make("a", { href: text, rel: "noopener noreferrer", textContent: text }));
      } else if (kind === "code" && text) cell.append(make("code", { textContent: text }));
      else if (columns[index].label === "Impact" || columns[index].label === "Decision") {
        cell.append(make("span", { className: `tag ${text.split(",")[0]}`, textContent: text }));
      } else cell.textContent = kind === "number" && text ? Number(text).toLocaleString("en") : text;
    };

    const status = root.querySelector(".count");
    const pager = root.querySelector(".pager");
    const [previous, next] = pager.querySelectorAll("button");
    const show = () => {
      const first = state.page * data.page, last = Math.min(first + data.page, state.found.length);
      body.replaceChildren(...state.found.slice(first, last).map((row) => {
        const line = make("tr");
        columns.forEach((_, index) => {
          const cell = make(index === 0 ? "th" : "td");
          fill(cell, row, index);
          line.append(cell);
        });
        return line;
      }));
      const all = state.found.length === rows.length ? "" : ` (of ${rows.length.toLocaleString("en")})`;
      status.textContent = state.found.length
        ? `Rows ${first + 1} to ${last} of ${state.found.length.toLocaleString("en")}${all}`
        : `No row matches${all}`;
      previous.disabled = state.page === 0;
      next.disabled = last >= state.found.length;
      pager.hidden = state.found.length <= data.page;
    };

    const order = (left, right) => {
      const a = left[state.column], b = right[state.column], { kind, values } = columns[state.column];
      if (values || kind === "number") return (a === null) - (b === null) || a - b;
      const x = plain(left, state.column), y = plain(right, state.column);
      return x < y ? -1 : x > y ? 1 : 0;
    };
    const find = () => {
      state.found = rows.filter((row) =>
        [...state.facets].every(([index, value]) => row[index] === value)
        && state.words.every((word) => textOf(row).includes(word)));
      if (state.column >= 0) {
        const sign = state.descending ? -1 : 1;
        state.found = [...state.found].sort((a, b) => sign * order(a, b) || a.index - b.index);
      }
      state.page = 0;
      show();
    };

    root.querySelectorAll("thead th").forEach((head, index) => {
      const button = make("button", { type: "button", className: "sort", textContent: columns[index].label });
      button.addEventListener("click", () => {
        const again = state.column === index;
        state.descending = again ? !state.descending : columns[index].kind === "number";
        state.column = index;
        root.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        find();
      });
      head.replaceChildren(button);
    });

    const controls = root.querySelector(".controls");
    const search = controls.querySelector("input");
    let timer = 0;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        find();
      }, 120);
    });
    columns.forEach(({ label, values }, index) => {
      if (!values || values.length < 2) return;
      const choice = make("select", {}, make("option", { value: "", textContent: "all" }));
      values.forEach((value, place) => choice.append(make("option", { value: place, textContent: value || "(none)" })));
      choice.addEventListener("change", () => {
        if (choice.value === "") state.facets.delete(index);
        else state.facets.set(index, Number(choice.value));
        find();
      });
      status.before(make("label", {}, `${label} `, choice));
    });
    const turn = (step) => () => {
      state.page += step;
      show();
      root.querySelector(".scroll").focus();
    };
    previous.addEventListener("click", turn(-1));
    next.addEventListener("click", turn(1));
    controls.hidden = false;
    show();
  };
  document.querySelectorAll("[data-listing]").forEach(setUp);
})();
