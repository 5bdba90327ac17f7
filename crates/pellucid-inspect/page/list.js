// A list that has as many rows as there are, and draws those that can be seen.
//
// The list is a grid for screen readers, with the numbers of its rows. One row is active: the arrow keys move it, Enter chooses it.
// A list that is taller than a browser can lay out is scrolled in proportion.
import { announce, fill, h, lay } from "./dom.js";

/** The largest height that browsers lay out without loss, in pixels. */
const TALLEST = 8000000;
/** Rows that are drawn beyond the visible ones. */
const BESIDE = 8;
let lists = 0;

/**
 * What a list shows.
 * @typedef {object} ListModel
 * @property {number} count how many rows there are
 * @property {number} height the height of a row in pixels
 * @property {string} label what the list is, for screen readers
 * @property {any[]} [columns] `name`, `class`, and for those that sort `sort` and `sorted`
 * @property {(index: number) => any} row its `cells`, `class` and what to `say` of it; null while it is being fetched
 * @property {(index: number) => void} [choose]
 * @property {(index: number) => void} [move] a key moved the active row
 * @property {(first: number, last: number) => void} [need] rows that will be drawn, to fetch them
 */

class VirtualList extends HTMLElement {
  constructor() {
    super();
    this.named = `list${lists++}`;
    this.model = { count: 0, height: 1, label: "", row: () => null };
    this.active = this.first = this.last = -1;
    this.head = h("div.list-head", { role: "row", "aria-rowindex": 1 });
    this.headGroup = h("div.list-headgroup", { role: "rowgroup" }, this.head);
    this.rows = h("div.list-rows", { role: "rowgroup" });
    this.sizer = h("div.list-sizer", { role: "presentation" }, this.rows);
    this.addEventListener("scroll", () => this.later(), { passive: true });
    this.addEventListener("keydown", (event) => this.press(event));
    this.watcher = new ResizeObserver(() => this.later(true));
  }

  connectedCallback() {
    this.replaceChildren(this.headGroup, this.sizer);
    this.tabIndex = 0;
    this.setAttribute("role", "grid");
    this.watcher.observe(this);
    // A row that was made active before cannot have been scrolled to.
    requestAnimationFrame(() => { if (this.active > 0) this.moveTo(this.active, { isMiddle: true }); });
  }

  disconnectedCallback() {
    this.watcher.disconnect();
  }

  /** Shows another model; the place of scrolling stays. */
  show(model) {
    this.model = model;
    const { columns = [], count, height, label } = model;
    this.setAttribute("aria-label", label);
    this.setAttribute("aria-rowcount", String(count + (columns.length ? 1 : 0)));
    this.headGroup.hidden = !columns.length;
    fill(this.head, columns.map((it) => h("div", { role: "columnheader", class: it.class ?? "", "aria-sort": it.sorted },
      it.sort ? h("button.plain", { onclick: it.sort }, it.name, { ascending: " ↑", descending: " ↓" }[it.sorted]) : it.name)));
    this.isLong = count * height > TALLEST;
    this.full = Math.min(count * height, TALLEST);
    lay(this.sizer, { tall: `${this.full}px` });
    lay(this, { row: `${height}px` });
    this.active = Math.min(this.active, count - 1);
    this.draw(true);
  }

  /** Draws in the next frame: all rows again, or those that came into sight. */
  later(isAll = false) {
    this.isAll ||= isAll;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw(this.isAll);
      this.isAll = false;
    });
  }

  get fits() {
    return Math.max(1, Math.ceil((this.clientHeight - this.headGroup.offsetHeight) / this.model.height));
  }

  /** How many rows one scrolled pixel stands for. */
  get scale() {
    return this.isLong ? (this.model.count - this.fits + 1) / Math.max(1, this.full - this.clientHeight) : 1 / this.model.height;
  }

  get top() {
    return Math.floor(this.scrollTop * this.scale);
  }

  draw(isAll) {
    const { count, height, need } = this.model;
    if (!this.isConnected) return;
    const top = this.top;
    const first = Math.max(0, top - BESIDE);
    const last = Math.min(count, top + this.fits + BESIDE);
    if (!isAll && first === this.first && last === this.last) return;
    Object.assign(this, { first, last });
    need?.(first, last);
    lay(this.rows, { at: `${this.isLong ? Math.max(0, this.scrollTop - (top - first) * height) : first * height}px` });
    this.rows.replaceChildren(...Array.from({ length: last - first }, (_, at) => this.row(first + at)));
    this.mark();
  }

  row(index) {
    const { columns, choose, row } = this.model;
    const { cells = ["…"], class: kind = "" } = row(index) ?? {};
    return h("div.list-row", {
      role: "row", id: `${this.named}-${index}`, "aria-rowindex": index + (columns ? 2 : 1), class: kind,
      onclick: () => {
        this.moveTo(index, { isStill: true });
        choose?.(index);
      },
    }, cells.map((cell, at) => h("div", { role: "gridcell", class: columns?.[at]?.class ?? "" }, cell)));
  }

  mark() {
    this.removeAttribute("aria-activedescendant");
    for (const row of this.rows.children) {
      const isActive = row.id === `${this.named}-${this.active}`;
      row.classList.toggle("active", isActive);
      row.toggleAttribute("aria-selected", false);
      if (!isActive) continue;
      row.setAttribute("aria-selected", "true");
      this.setAttribute("aria-activedescendant", row.id);
    }
  }

  /** Makes a row the active one, and scrolls to it if it cannot be seen. Still: scroll nothing; middle: not to the border. */
  moveTo(index, { isStill = false, isMiddle = false } = {}) {
    const { count, row } = this.model;
    if (!count) return;
    const to = this.active = Math.max(0, Math.min(count - 1, index));
    const visible = Math.max(1, this.fits - 1);
    const { top } = this;
    if (!isStill && (to < top || to >= top + visible)) this.scrollToRow(isMiddle ? to - Math.floor(visible / 3) : to < top ? to : to - visible + 1);
    this.draw(false);
    this.mark();
    if (document.activeElement === this) announce(row(to)?.say ?? "");
  }

  scrollToRow(index) {
    this.scrollTop = Math.max(0, index) / this.scale;
  }

  press(event) {
    const { choose, count, move } = this.model;
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: this.fits - 1, PageUp: 1 - this.fits };
    const ends = { Home: 0, End: count - 1 };
    if (event.key === "Enter" && this.active >= 0) choose?.(this.active);
    else if (event.key in steps || event.key in ends) {
      this.moveTo(ends[event.key] ?? (this.active < 0 ? this.top : this.active + steps[event.key]));
      move?.(this.active);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define("virtual-list", VirtualList);

/** @param {string} name a class @returns {VirtualList} a list without rows */
export function makeList(name) {
  return Object.assign(new VirtualList(), { className: name });
}
