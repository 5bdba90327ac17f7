// What is known of one row of a request; and of the chosen one since when it is sent, how often, and what it costs.
import { fill, h } from "./dom.js";
import { money, number, path } from "./format.js";
import { api } from "./interface.js";
import { command, copyButton, digest, facts, family, link, requestLink, swatch, visible } from "./parts.js";
import { t } from "./words.js";

function rowFacts(row, folder) {
  const whose = family(row.source, row.origin);
  return [h("p.whose", swatch(whose), t(`family.${whose}`)), facts("detail", ["part", row.part], ["role", row.role], ["item", row.item], ["source", t(`source.${row.source}`)], row.origin && ["origin", visible(path(row.origin, folder, 120))],
    row.file_range && ["file.range", t("file.bytes", { from: number(row.file_range[0]), to: number(row.file_range[1]), of: number(row.file_bytes) })], row.file_sha256 && ["digest", digest(row.file_sha256)],
    ["offset", `${number(row.start)} – ${number(row.start + row.bytes - 1)}`], ["bytes", number(row.bytes)], row.raw_bytes !== row.bytes && ["bytes.raw", number(row.raw_bytes)], ["tokens", number(row.tokens)],
    row.status !== "full" && ["status", t(`status.${row.status}`)])];
}

function whyFacts(id, n, { history, cost, places, copies }) {
  const byte = places[0]?.start;
  const lines = places[0]?.lines;
  const isCached = history?.requests?.find((it) => it.number === n)?.cached;
  return facts("detail", lines && ["lines", lines[0] === lines[1] ? lines[0] : `${lines[0]}–${lines[1]}`], history?.first && ["sentin", [requestLink(id, history.first, byte), " – ", requestLink(id, history.last, byte)]],
    isCached !== undefined && ["legend.cached", t(isCached ? "yes" : "no")], history?.cached_since && ["cachedsince", requestLink(id, history.cached_since, byte)],
    history?.summarised_by && ["summarised", requestLink(id, history.summarised_by)], ["copies", number(copies)], cost && ["costs", t("costs.each", { uncached: money(cost.uncached), cached: money(cost.cached) })]);
}

/** The panel beside a reading. */
export function rowDetail(id, n, rows, folder) {
  const element = h("section.panel", { "aria-label": t("row") });
  const head = (text) => h("h2", text);
  const ref = `${id}#${n}`;
  let turn = 0;
  let starts = [];
  const asked = new Map();

  /** @param {boolean} isChosen only of the chosen row the history is asked for */
  const show = (index, isChosen) => {
    const row = rows.all[index];
    const mine = ++turn;
    if (!row) return fill(element, head(t("row")), h("p.dim", t("row.hint")));
    const more = h("div.more-facts", isChosen ? "…" : null);
    fill(element, head(t("row")), rowFacts(row, folder), more, h("div.links", n > 1 ? link({ view: "diff", session: id, request: n }, t("row.before")) : null,
      copyButton(() => command("context", "why", "--byte", String(row.start), ref), "", "why")));
    if (!isChosen) return;
    if (!asked.has(row.start)) asked.set(row.start, api.why({ ref, byte: row.start }));
    asked.get(row.start).then((it) => { if (mine === turn) fill(more, whyFacts(id, n, it)); }).catch((error) => { if (mine === turn) fill(more, error.message); });
  };
  /** Finds the copies of a text, and when it was sent. Gives where the first copy begins. */
  const find = async (text) => {
    const mine = ++turn;
    const answer = await api.why({ ref, text }).catch((error) => ({ places: [], copies: 0, reason: { why: error.message } }));
    if (mine !== turn) return undefined;
    starts = answer.places.map((it) => it.start);
    fill(element, head(t("text.found")), h("blockquote", visible(text.slice(0, 300))), answer.there ? null : h("p", t("text.absent"), " ", answer.reason?.why), whyFacts(id, n, answer),
      h("ol.places", answer.places.slice(0, 200).map((it) => h("li", link({ view: "request", session: id, request: n, byte: it.start }, number(it.start)), ` ${it.part}`))),
      h("div.links", copyButton(() => command("context", "why", "--text", text, ref), "", "why")));
    return starts[0];
  };
  const copy = (byte, isForward) => (isForward ? starts.find((it) => it > byte) : starts.findLast((it) => it < byte));
  show(-1, false);
  return { element, show, find, copy };
}
