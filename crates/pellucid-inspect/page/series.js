// The figures of all requests of a session, for the timeline: fetched in pages, put together, binned and stacked.
import { api } from "./interface.js";
import { family, group } from "./parts.js";

const PAGE = 500;
/** Columns narrower than this many pixels are binned. */
const NARROWEST = 3;
/** How many names have a colour; the rest shares one. */
const COLOURS = 8;
/** Columns of the answer, with one element for each request. */
const COLUMNS = ["n", "at", "first_event_at", "done_at", "bytes", "tokens", "read", "written", "uncached", "output", "price", "currency", "verdict",
  "detail", "kept", "rebilled", "purpose", "turn", "model", "failure"];

/** @typedef {{x: number, width: number, index: number, first: number, count: number}} Bin `index` is its largest request */

export class Series {
  constructor(id, by) {
    this.id = id;
    this.by = by;
    this.columns = Object.fromEntries(COLUMNS.map((name) => [name, []]));
    /** @type {Array<Map<string, [number, number]>>} bytes and tokens by name, for each request */
    this.cells = [];
    this.marks = [];
    /** @type {any[]} names in the order of reading, with their colours */
    this.layers = [];
  }

  get count() {
    return this.cells.length;
  }

  /** Fetches requests from a number on; `arrived` is called for each page. */
  async load(from, arrived = () => {}) {
    for (let next = from; next;) {
      const page = await api.timeline(this.id, { from: next, count: PAGE, by: this.by });
      this.take(page);
      arrived();
      next = page.next;
    }
  }

  take(page) {
    const at = page.from - 1;
    for (const name of COLUMNS) this.columns[name].splice(at, Infinity, ...page[name]);
    this.cells.splice(at, Infinity, ...page.cells.map((cells) => {
      const sums = new Map();
      for (const [index, bytes, tokens] of cells) {
        const name = this.by === "part" ? group(page.names[index]) : page.names[index];
        const [sum, sumTokens] = sums.get(name) ?? [0, 0];
        sums.set(name, [sum + bytes, sumTokens + tokens]);
      }
      return sums;
    }));
    this.marks = [...this.marks.filter((mark) => mark.n < page.from), ...page.marks];
    const totals = new Map();
    for (const cells of this.cells) for (const [name, [bytes]] of cells) totals.set(name, (totals.get(name) ?? 0) + bytes);
    const bySize = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a));
    // The model reads tools and instructions before all messages.
    const order = [...new Set(["tools", "base", ...totals.keys()])].filter((name) => totals.has(name));
    const colourOf = { source: (name) => family(name), author: (name) => ({ you: "yours" }[name] ?? name) }[this.by] ?? ((name) => (bySize.indexOf(name) < COLOURS ? `c${bySize.indexOf(name) + 1}` : "rest"));
    this.layers = order.map((name) => ({ name, colour: colourOf(name) }));
  }

  /** The height of a column in tokens, bytes or money. */
  height(index, unit) {
    return Number(this.columns[unit === "money" ? "price" : unit][index] ?? 0);
  }

  /** The layers of a column, with the `value` of each. */
  stack(index, unit) {
    const cells = this.cells[index];
    const whole = this.height(index, unit);
    if (!cells?.size) return [{ name: "", colour: "rest", value: whole }];
    return this.layers.filter((it) => cells.has(it.name)).map((layer) => {
      const [bytes, tokens] = cells.get(layer.name);
      return { ...layer, bytes, tokens, value: { bytes, tokens }[unit] ?? (whole * tokens) / (this.columns.tokens[index] || 1) };
    });
  }

  /** @returns {{cached: number, again: number}} the shares that were read from the cache, and paid for again */
  shares(index) {
    const of = (name) => this.columns[name][index] ?? 0;
    const input = of("read") + of("uncached") + of("written");
    const cached = input > 0 ? of("read") / input : 0;
    return { cached, again: Math.max(0, Math.min(1 - cached, of("rebilled") / (of("tokens") || 1))) };
  }

  /** The columns that are drawn in so many pixels: requests, or bins of them. `to` is behind the last index. */
  bins(from, to, width, axis, unit) {
    const times = axis === "time" ? this.columns.at.map((at) => Date.parse(at)) : [];
    const isTimed = times[to - 1] > times[from];
    const step = isTimed ? 2 * NARROWEST : Math.max(NARROWEST, width / (to - from));
    const bins = new Map();
    for (let index = from; index < to; index++) {
      const x = isTimed ? ((times[index] - times[from]) / (times[to - 1] - times[from])) * (width - step) : ((index - from) * width) / (to - from);
      const slot = Math.floor(x / step + 1e-6);
      const bin = bins.get(slot);
      if (!bin) bins.set(slot, { x: slot * step, width: step, index, first: index, count: 1 });
      else {
        bin.count++;
        if (this.height(index, unit) > this.height(bin.index, unit)) bin.index = index;
      }
    }
    return [...bins.values()];
  }
}
