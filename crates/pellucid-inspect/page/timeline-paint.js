// How the timeline is drawn on its canvas, and what is under the pointer.
import { block, colour, outline, pen } from "./canvas.js";
import { number, share, size } from "./format.js";
import { t } from "./words.js";

const LEFT = 58;
const TOP = 10;
/** Room below the columns: marks, then numbers. */
const BELOW = 44;
/** The widest column, in pixels. */
const WIDEST = 90;
/** The sign of each mark on the axis; its words are in the tip. */
const SIGNS = { compaction: "◆", model: "◇", opened: "│", forked: "◁", child: "▷", idle: "…" };


/** @returns {number} the distance of the lines of the scale: 1, 2 or 5 times a power of ten */
function step(most) {
  const power = 10 ** Math.floor(Math.log10(most / 3));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => most / it <= 4) ?? most;
}

function label(value, unit) {
  if (unit === "money") return String(Number(value.toPrecision(2)));
  return value >= 1e6 ? `${+(value / 1e6).toFixed(1)} M` : value >= 1e4 ? `${Math.round(value / 1e3)} k` : number(value);
}

function frame({ series, from, to, unit, axis }, width, height) {
  const inner = { x: LEFT, y: TOP, width: Math.max(10, width - LEFT - 8), height: Math.max(10, height - TOP - BELOW) };
  const bins = series.bins(from, to, inner.width, axis, unit);
  const most = Math.max(1e-9, ...bins.map((bin) => series.height(bin.index, unit)));
  return { inner, bins, most, y: (value) => inner.y + inner.height * (1 - value / most) };
}

export function paintTimeline(model, context, width, height) {
  const { inner, bins, most, y } = frame(model, width, height);
  pen(context, "dim", "right");
  for (let value = 0; value <= most; value += step(most)) {
    outline(context, { x: inner.x, y: Math.round(y(value)) + 0.5, width: inner.width, height: 0.01 }, "line", 0.5);
    context.fillText(label(value, model.unit), inner.x - 8, y(value));
  }
  for (const bin of bins) column(context, model, bin, inner.x, y);
  axisBelow(context, model, bins, inner);
  if (!model.drag) return;
  const [a, b] = model.drag.slice().sort((one, other) => one - other);
  context.globalAlpha = 0.16;
  context.fillStyle = colour("accent");
  context.fillRect(a, inner.y, b - a, inner.height);
  context.globalAlpha = 1;
}

/** A column: at its foot what the model reads first; the share that was cached is hatched, what was paid for again has an outline. */
function column(context, { series, unit, chosen, hover }, bin, left, y) {
  const gap = bin.width > 10 ? Math.max(bin.width * 0.22, bin.width - WIDEST) : bin.width > 5 ? 1 : 0;
  const box = (a, b) => ({ x: left + bin.x + gap / 2, y: y(b), width: Math.max(1, bin.width - gap), height: y(a) - y(b) });
  const whole = series.height(bin.index, unit);
  const { cached, again } = series.shares(bin.index);
  const border = whole * cached;
  let below = 0;
  for (const layer of series.stack(bin.index, unit)) {
    const above = below + layer.value;
    const middle = Math.min(Math.max(border, below), above);
    block(context, box(below, middle), layer.colour, true);
    block(context, box(middle, above), layer.colour);
    below = above;
  }
  if (again > 0) outline(context, box(border, Math.min(whole, border + whole * again)), "alarm", 2);
  const has = (index) => index >= bin.first && index < bin.first + bin.count;
  const around = box(0, whole);
  if (has(chosen) || has(hover)) outline(context, { x: around.x - 2, y: around.y - 2, width: around.width + 4, height: around.height + 4 }, has(chosen) ? "ink" : "dim", has(chosen) ? 2 : 1);
}

const marksOf = (series, bin) => series.marks.filter((it) => it.n - 1 >= bin.first && it.n - 1 < bin.first + bin.count);

function axisBelow(context, { series, chosen }, bins, inner) {
  const bottom = inner.y + inner.height;
  let right = -Infinity;
  for (const bin of bins) {
    const middle = inner.x + bin.x + bin.width / 2;
    const last = bin.first + bin.count - 1;
    const verdicts = series.columns.verdict.slice(bin.first, last + 1);
    const isBroken = verdicts.includes("broken");
    pen(context, isBroken ? "alarm" : "warn", "center", 12);
    if (isBroken || verdicts.includes("expired") || verdicts.includes("missed")) context.fillText(isBroken ? "▲" : "△", middle, bottom + 12);
    pen(context, "ink", "center", 12);
    for (const mark of marksOf(series, bin)) context.fillText(SIGNS[mark.kind] ?? "•", inner.x + bin.x, bottom + 12);
    const text = bin.count > 1 ? `${bin.first + 1}–${last + 1}` : String(bin.first + 1);
    pen(context, chosen >= bin.first && chosen <= last ? "ink" : "dim", "center");
    const half = context.measureText(text).width / 2;
    if (middle - half < right + 8) continue;
    context.fillText(text, middle, bottom + 30);
    right = middle + half;
  }
}

/** The column at a place, with the lines of its tip. */
export function columnAt(model, area, x, y) {
  const { series, unit } = model;
  const { inner, bins, most } = frame(model, area.width, area.height);
  const bin = bins.find((it) => x - inner.x >= it.x && x - inner.x < it.x + it.width);
  if (!bin) return null;
  const { index, first, count } = bin;
  const { bytes, tokens, verdict, detail } = series.columns;
  let below = most * (1 - (y - inner.y) / inner.height);
  const part = below < 0 ? null : series.stack(index, unit).find((it) => (below -= it.value) <= 0);
  return {
    bin,
    lines: [`#${index + 1} ${count > 1 ? t("bin", { n: number(count), first: first + 1, last: first + count }) : ""}`,
      part?.name ? `${part.name}: ${size(part.bytes, part.tokens)}, ${share(part.bytes, bytes[index])}` : size(bytes[index], tokens[index]),
      t(`verdict.${verdict[index]}`) + (detail[index] ? `: ${detail[index]}` : ""), ...marksOf(series, bin).map((mark) => `${SIGNS[mark.kind] ?? "•"} ${mark.text}`)],
  };
}
