// One request: its texts, its bytes or its tree; beside it what a row is, and what the model does not see.
import { absentPanel } from "./absent.js";
import { go, here, replace, setOptions } from "./address.js";
import { fill, h } from "./dom.js";
import { number } from "./format.js";
import { api, reveal, whenMasked } from "./interface.js";
import { choices, command, FAMILIES, legend, notice, unproved } from "./parts.js";
import { textReading } from "./reading-text.js";
import { treeReading } from "./reading-tree.js";
import { wireReading } from "./reading-wire.js";
import { requestBar } from "./request-bar.js";
import { rowDetail } from "./row-detail.js";
import { t } from "./words.js";

const READINGS = ["text", "wire", "tree"];
const readingOf = (place) => (READINGS.includes(place.options.read) ? place.options.read : place.byte === undefined ? "text" : "wire");

const PAGE = 1000;

/** The rows of a request: fetched in pages, found by byte. */
class Rows {
  constructor(id, n) {
    this.id = id;
    this.n = n;
    this.all = [];
  }

  /** `arrived` is called for each further page; the promise is for the first. */
  async load(arrived, from = 0) {
    const page = await api.rows(this.id, this.n, from, PAGE);
    this.all.push(...page.rows);
    if (from) arrived();
    if (page.next !== null) this.load(arrived, page.next);
    return this;
  }

  /** @returns {number} the index of the row that has a byte; -1 if it has not been fetched */
  at(byte) {
    let [low, high] = [0, this.all.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const { start, bytes } = this.all[middle];
      if (byte < start) high = middle - 1;
      else if (byte >= start + bytes) low = middle + 1;
      else return middle;
    }
    return -1;
  }
}

export async function requestView(place, session) {
  const { id, cwd } = session.session;
  const n = place.request;
  const head = await api.request(id, n);
  const title = t("request.of", { n, of: head.of });
  const shell = (...inner) => h("div.view.tall", h("h1.unseen", title), requestBar(place, session, head), (head.notes ?? []).map((note) => notice(note)), inner);
  if (!head.proved) return { element: shell(unproved(id, head.why)), title, command: () => command("replay", id) };

  const rows = await new Rows(id, n).load(() => reading.refresh());
  const detail = rowDetail(id, n, rows, cwd ?? "");
  const stage = h("div.reading");
  const tools = h("div.tools");
  const masked = h("span", { hidden: true });
  let reading;
  let kind = "";

  const mark = (byte) => {
    reading.show(byte, rows.at(byte));
    detail.show(rows.at(byte), true);
  };
  const choose = (byte) => {
    replace({ ...here(), byte, options: { ...here().options, read: kind } }, true);
    mark(byte);
  };
  const hover = (row) => {
    const { byte } = here();
    if (row >= 0) detail.show(row, false);
    else if (byte !== undefined) detail.show(rows.at(byte), true);
  };
  const open = (at) => {
    const next = readingOf(at);
    if (next !== kind) {
      kind = next;
      reading = { wire: wireReading, text: textReading, tree: treeReading }[kind](rows, ...(kind === "wire" ? [head.bytes] : []), { choose, hover });
      fill(stage, reading.element);
      fill(tools, choices(t("reading"), READINGS.map((it) => [it, t(`reading.${it}`)]), kind, (read) => setOptions({ read })), legend(FAMILIES, (it) => t(`family.${it}`)), masked, lookup);
    }
    const { part, item = "" } = at.options;
    const byte = at.byte ?? rows.all.find((row) => row.part === part && String(row.item ?? "") === item && row.source !== "wire")?.start;
    if (byte !== undefined) requestAnimationFrame(() => mark(Math.min(byte, head.bytes - 1)));
  };
  const find = async (text) => {
    const byte = await detail.find(text);
    if (byte === undefined) return;
    replace({ ...here(), byte, options: { ...here().options, read: kind } }, true);
    reading.show(byte, rows.at(byte));
  };
  const selected = () => document.getSelection().toString().trim();
  const lookup = h("button", { hidden: true, onmousedown: (event) => event.preventDefault(), onclick: () => find(selected()) }, t("selection.why"));
  const select = () => {
    if (!stage.isConnected) document.removeEventListener("selectionchange", select);
    lookup.hidden = !selected() || !stage.contains(document.getSelection().anchorNode);
  };
  document.addEventListener("selectionchange", select);
  whenMasked((count) => {
    if (!count) return;
    masked.hidden = false;
    fill(masked, t("masked", { n: number(count) }), " ", h("button", { onclick: () => { reveal(); window.dispatchEvent(new CustomEvent("words")); } }, t("masked.show")));
  });
  const element = shell(tools, h("div.split", stage, h("aside.side", { "aria-label": t("beside"), tabindex: 0 }, detail.element, absentPanel(id, n, cwd ?? ""))));
  open(place);
  if (place.options.find && place.byte === undefined) find(place.options.find);
  return {
    element, title, command: (at) => (readingOf(at) === "wire" ? command("prompt", "--format", "body", `${id}#${n}`) : command("context", "-vv", `${id}#${n}`)),
    update: (to) => {
      if (to.request === n) open(to);
      return to.request === n;
    },
    press: ({ key }) => {
      const read = { w: "wire", t: "text", j: "tree" }[key];
      const next = key === "n" || key === "p" ? detail.copy(here().byte, key === "n") : undefined;
      if (read) setOptions({ read });
      else if (next !== undefined) go({ ...here(), byte: next });
      return Boolean(read || next !== undefined);
    },
  };
}
