// The band of turns below the timeline: for each turn how long requests waited, streamed and tools ran.
import { format } from "./address.js";
import { h, lay } from "./dom.js";
import { clock, duration } from "./format.js";
import { api } from "./interface.js";
import { link, scrolled } from "./parts.js";
import { t } from "./words.js";

/** How many turns are drawn: the last ones. */
const MOST = 40;
const KINDS = ["waiting", "streaming", "tool"];

/** The spans of time of each turn. */
function turnsOf(id, series, calls) {
  const turns = new Map();
  const { turn, at, first_event_at, done_at } = series.columns;
  const add = (name, kind, from, to, text, href) => { if (to >= from) turns.get(name)?.spans.push({ kind, from, to, text, href }); };
  turn.forEach((name, index) => {
    if (!turns.has(name)) turns.set(name, { first: index + 1, spans: [] });
    turns.get(name).last = index + 1;
    const [sent, first, done] = [at, first_event_at, done_at].map((times) => Date.parse(times[index]));
    const href = format({ view: "request", session: id, request: index + 1 });
    add(name, "waiting", sent, first, `#${index + 1}`, href);
    add(name, "streaming", first, done, `#${index + 1}`, href);
  });
  for (const it of calls) add(it.turn, "tool", Date.parse(it.began_at), Date.parse(it.ended_at), it.tool, format({ view: "calls", session: id, chosen: it.call }));
  return [...turns.values()].filter((one) => one.spans.length).slice(-MOST).map((one) => ({ ...one, start: Math.min(...one.spans.map((it) => it.from)), end: Math.max(...one.spans.map((it) => it.to)) }));
}

/** Nothing if the record has no times. */
export async function turnsBand(id, series) {
  const turns = turnsOf(id, series, await api.calls(id).catch(() => []));
  if (!turns.length) return null;
  const longest = Math.max(1, ...turns.map(({ start, end }) => end - start));
  const rows = turns.map(({ first, last, spans, start, end }) => h("tr",
    h("th", { scope: "row" }, link({ view: "request", session: id, request: first }, first === last ? `#${first}` : `#${first}–${last}`)), h("td", clock(new Date(start).toISOString())), h("td.number", duration(end - start)),
    KINDS.map((kind) => h("td.number", duration(spans.filter((it) => it.kind === kind).reduce((ms, it) => ms + it.to - it.from, 0)))),
    h("td.track", h("div.lane", spans.map((it) => lay(h("a.span", { class: it.kind, href: it.href, title: `${it.text}: ${t(`span.${it.kind}`)} ${duration(it.to - it.from)}`, tabindex: -1, "aria-hidden": "true" }),
      { from: (it.from - start) / longest, part: (it.to - it.from) / longest }))))));
  return [h("h2", t("turns")), scrolled(t("turns"), h("table.turns-table", h("thead", h("tr", h("th", { scope: "col" }, t("requests")), h("th", { scope: "col" }, t("at")), h("th.number", { scope: "col" }, t("lasted")),
    KINDS.map((kind) => h("th.number", { scope: "col" }, h("span.swatch", { class: kind }), t(`span.${kind}`))), h("td"))), h("tbody", rows)))];
}
