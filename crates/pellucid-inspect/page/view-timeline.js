// The timeline: a column for each request, stacked by part; cached bytes are hatched, those paid for again have an outline.
import { go, here, setOptions } from "./address.js";
import { behind, makeCanvas, makeTip } from "./canvas.js";
import { announce, fill, h, lay } from "./dom.js";
import { clock, counted, moment, money, number, share, size } from "./format.js";
import { makeList } from "./list.js";
import { choices, command, empty, facts, figure, notice, requestLink, swatch, verdictBadge, view } from "./parts.js";
import { Series } from "./series.js";
import { columnAt, paintTimeline } from "./timeline-paint.js";
import { turnsBand } from "./turns.js";
import { t } from "./words.js";

const BY = ["part", "source", "role", "tool", "author"];

export async function timelineView(place, session) {
  const id = session.session.id;
  const canvas = makeCanvas("timeline");
  const tip = makeTip();
  const detail = h("div.chosen");
  const made = h("div.legend");
  const list = makeList("timeline-table");
  const turns = h("div.turns");
  const controls = h("div.tools");
  const stage = h("div.stage", { tabindex: 0, role: "group", "aria-label": t("timeline.label") }, canvas, tip.element);
  const { box, button } = behind(list);
  let series = new Series(id, place.options.by ?? "part");
  let hover = -1;
  let drag = null;

  const options = () => ({ by: "part", unit: "tokens", axis: "number", ...here().options });
  const chosen = () => Math.min(Number(here().options.n) || series.count, series.count) - 1;
  const model = () => {
    const { from, to, unit, axis } = options();
    const first = Math.min(Math.max(1, Number(from) || 1), Math.max(1, series.count)) - 1;
    return { series, from: first, to: Math.max(first + 1, Math.min(series.count, Number(to) || series.count)), unit, axis, chosen: chosen(), hover, drag };
  };
  canvas.paint = (context, width, height) => paintTimeline(model(), context, width, height);
  const spoken = (index) => {
    const { tokens, bytes, verdict, detail: why } = series.columns;
    return `#${index + 1}: ${size(bytes[index], tokens[index])}, ${t(`verdict.${verdict[index]}`)} ${why[index]}`;
  };
  const choose = (index) => {
    const to = Math.max(0, Math.min(series.count - 1, index));
    setOptions({ n: String(to + 1) }, true);
    draw();
    announce(spoken(to));
  };
  const open = (index) => go({ view: "request", session: id, request: index + 1 });
  const whole = () => setOptions({ from: "", to: "" });

  const draw = () => {
    canvas.later();
    if (series.count) drawChosen();
    drawTable();
  };
  const drawChosen = () => {
    const index = chosen();
    const { unit } = options();
    const it = Object.fromEntries(Object.entries(series.columns).map(([name, values]) => [name, values[index]]));
    const amount = (value) => money({ amount: value, currency: it.currency ?? "USD" });
    fill(detail, h("div.chosen-head", h("span.big", requestLink(id, index + 1)), verdictBadge(it.verdict, it.detail), it.purpose === "answer" ? null : h("span.tag", t(`purpose.${it.purpose}`)),
      h("span.dim", moment(it.at)), it.failure ? h("span.bad", it.failure) : null),
    facts("facts", ["bytes", number(it.bytes)], ["tokens", number(it.tokens)], ["cached", number(it.read)], ["uncached", number(it.uncached)], it.rebilled && ["again", number(it.rebilled)],
      ["answered", number(it.output)], ["price", it.price ? amount(it.price) : t("unknown")], ["model", it.model]));
    const parts = series.stack(index, unit).filter((part) => part.name).sort((a, b) => b.value - a.value);
    const sum = parts.reduce((so_far, part) => so_far + part.value, 0);
    fill(made, h("h2", t("made.of", { n: index + 1 })), parts.length ? h("ul", parts.map((part) => h("li", swatch(part.colour), h("span.legend-name", part.name),
      h("span.number", unit === "money" ? amount(part.value.toFixed(12)) : number(part.value)), h("span.number.dim", share(part.value, sum)), lay(h("span.bar"), { part: part.value / (sum || 1) })))) : notice(t("unproved")),
    h("p.key", h("span.swatch.hatched"), t("legend.cached"), h("span.swatch.solid"), t("legend.new"), h("span.swatch.outlined"), t("again")));
  };
  const drawTable = () => {
    const { unit } = options();
    const { columns, layers } = series;
    lay(list, { columns: layers.length });
    list.show({
      count: series.count, height: 30, label: t("timeline.table"),
      columns: [figure("#"), { name: t("at") }, ...["bytes", "tokens", "cached", "again"].map((it) => figure(t(it))), { name: t("verdict") }, ...layers.map((it) => figure(it.name))],
      row: (index) => {
        const parts = new Map(series.stack(index, unit === "bytes" ? unit : "tokens").map((part) => [part.name, part.value]));
        const of = (name) => number(columns[name][index]);
        return {
          cells: [requestLink(id, index + 1), clock(columns.at[index]), of("bytes"), of("tokens"), of("read"), of("rebilled"), t(`verdict.${columns.verdict[index]}`), ...layers.map(({ name }) => number(parts.get(name) ?? 0))],
          say: spoken(index),
        };
      },
      choose: open, move: choose,
    });
  };
  const load = async (from) => {
    const mine = series;
    await mine.load(from, () => { if (mine === series) draw(); });
    turnsBand(id, mine).then((band) => { if (mine === series) fill(turns, band); });
  };
  const drawControls = () => {
    const { by, unit, axis, to } = options();
    fill(controls, choices(t("by"), BY.map((it) => [it, t(`by.${it}`)]), by, (value) => setOptions({ by: value })),
      choices(t("unit"), [["tokens", t("tokens")], ["bytes", t("bytes")], ["money", t("price")]], unit, (value) => setOptions({ unit: value })),
      choices(t("axis"), [["number", t("axis.number")], ["time", t("axis.time")]], axis, (value) => setOptions({ axis: value })),
      to ? h("button", { onclick: whole }, t("whole")) : null, button);
  };

  const at = (event) => {
    const area = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    return { x, y, found: columnAt(model(), area, x, y), binAt: (place) => columnAt(model(), area, Math.min(Math.max(place, 60), area.width - 10), y)?.bin };
  };
  stage.addEventListener("pointermove", (event) => {
    const { x, y, found } = at(event);
    if (drag) drag[1] = x;
    hover = found?.bin.index ?? -1;
    tip.show(found?.lines, x, y);
    canvas.later();
  });
  stage.addEventListener("pointerleave", () => {
    hover = -1;
    tip.show(null);
    canvas.later();
  });
  stage.addEventListener("pointerdown", (event) => {
    drag = [at(event).x, at(event).x];
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointerup", (event) => {
    const { found, binAt } = at(event);
    const ends = (drag ?? [0, 0]).slice().sort((a, b) => a - b);
    drag = null;
    const [first, last] = ends.map(binAt);
    if (ends[1] - ends[0] > 8 && first && last && last.first > first.first) setOptions({ from: String(first.first + 1), to: String(last.first + last.count) });
    else if (found?.bin.index === chosen()) open(chosen());
    else if (found) choose(found.bin.index);
  });

  const { counts, record, broken, torn } = session;
  const element = view(t("view.timeline"), [h("span.dim", counted(counts.requests, "request")), controls], record ? null : notice(t("norecord.long"), "warn"), broken ? notice(broken, "bad") : null,
    torn?.length ? notice(t("torn", { n: torn.length }), "warn") : null, counts.requests ? [stage, h("div.timeline-below", detail, made), box, turns] : empty(t("norequests")));
  drawControls();
  if (counts.requests) await load(1);
  return {
    element, title: t("view.timeline"), command: () => command("cache", id),
    press: (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, "[": -1, "]": 1 };
      const isHere = event.target === stage;
      if (event.key in steps) choose(chosen() + steps[event.key]);
      else if (isHere && (event.key === "Home" || event.key === "End")) choose(event.key === "Home" ? 0 : series.count);
      else if (isHere && event.key === "Enter") open(chosen());
      else if (event.key === "Escape" && here().options.to) whole();
      else return false;
      return true;
    },
    update: (to) => {
      drawControls();
      if ((to.options.by ?? "part") === series.by) draw();
      else {
        series = new Series(id, to.options.by ?? "part");
        load(1);
      }
      return true;
    },
    hear: (kind, data) => {
      if (!stage.isConnected) window.dispatchEvent(new CustomEvent("words"));
      else if (["request", "reply", "call"].includes(kind)) load(Math.max(1, Math.min(series.count, data?.number ?? series.count)));
    },
  };
}
