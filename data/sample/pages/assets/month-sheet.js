// A month with buttons to turn the page. The buttons have pictures and no names: a fault on purpose.
class MonthSheet extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    root.innerHTML = `
      <style>
        button { width: 3rem; height: 3rem; font-size: 1.5rem; }
        svg { width: 1.5rem; height: 1.5rem; }
      </style>
      <h2>${this.dataset.month}</h2>
      <button type="button" class="earlier"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M15 4l-8 8 8 8z"/></svg></button>
      <button type="button" class="later"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M9 4l8 8-8 8z"/></svg></button>
      <ul>
        <li>The 7th: story time</li>
        <li>The 31st: quiz night</li>
      </ul>`;
  }
}
customElements.define("month-sheet", MonthSheet);
