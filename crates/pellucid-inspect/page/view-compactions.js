// Compactions: what left the history, what stayed word for word, the summary, and which facts are lost by it.
import { signed } from "./absent.js";
import { go } from "./address.js";
import { h } from "./dom.js";
import { counted, money, number } from "./format.js";
import { api } from "./interface.js";
import { badge, choices, command, empty, facts, link, notice, requestLink, textBlock, unproved, view } from "./parts.js";
import { t } from "./words.js";

const LOST = ["constraints", "open_tasks", "paths", "identifiers"];

const line = (it, isKept) => signed(isKept ? "=" : "−", `${it.item}. ${[it.type, it.role, it.call_id].filter(Boolean).join(" ")}`, t(`compaction.${isKept ? "kept" : "replaced"}`), it.words);

/** What is lost; each fact leads to where it was. */
function lost(id, it) {
  const place = (find) => ({ view: "request", session: id, request: it.before, options: { find } });
  const kinds = LOST.filter((kind) => it.lost[kind]?.length);
  return h("section.panel", { "aria-label": t("lost") }, h("h2", t("lost")), kinds.length ? null : h("p.dim", t("lost.none")),
    kinds.map((kind) => [h("h3", t(`lost.${kind}`), h("span.count", number(it.lost[kind].length))), h("ul.lost", it.lost[kind].map((fact) => h("li", it.before ? link(place(fact), fact) : fact)))]));
}

export async function compactionsView(place, session) {
  const { id } = session.session;
  const { compactions } = await api.compactions(id);
  const title = t("view.compactions");
  const k = Math.min(Math.max(1, Number(place.chosen) || compactions.length), compactions.length);
  if (!k) return { element: view(title, null, empty(t("compactions.none"))), title, command: () => command("replay", id) };
  const it = await api.compaction(id, k);
  const { replaced, kept } = it;
  const before = [...replaced, ...kept].sort((a, b) => a.item - b.item).map((one) => line(one, kept.includes(one)));
  const request = (n) => (n ? requestLink(id, n) : null);
  const column = (name, count, inner, rest) => h("section.panel", { tabindex: 0, "aria-label": t(name) }, h("h2", t(name), h("span.count", counted(count ?? 0, "item"))), h("ul.absent", inner), rest > 0 ? h("p.dim", t("more.nodes", { n: number(rest) })) : null);
  return {
    element: view(title, compactions.length > 1 ? choices(title, compactions.map((one) => [String(one.k), `#${one.k}`]), String(k), (chosen) => go({ ...place, chosen })) : null,
      it.undone ? notice(t("compaction.undone"), "warn") : null, it.why ? unproved(id, it.why) : null,
      facts("facts", ["prev", request(it.before)], ["compaction.asked", request(it.asked_by)], ["next", request(it.after)], ["tokens", `${number(it.tokens_before)} → ${number(it.tokens_after)}`], ["bytes", `${number(it.bytes_before)} → ${number(it.bytes_after)}`],
        ["price", it.cost ? money(it.cost) : t("unknown")], it.before && it.after && ["view.diff", link({ view: "compare", options: { a: `${id}#${it.before}`, b: `${id}#${it.after}` } }, `#${it.before} – #${it.after}`)]),
      it.why ? null : [lost(id, it), h("div.halves", column("before", it.items_before, before, it.n_replaced + it.n_kept - before.length),
        h("div.explain", h("section.panel", textBlock("compaction.summary", it.summary) ?? [h("h2", t("compaction.summary")), badge(t("compaction.sealed"), "dim")]), column("after", it.items_after, kept.map((one) => line(one, true)), it.n_kept - kept.length)))]),
    title, command: () => (it.before && it.after ? command("context", "diff", `${id}#${it.before}`, `${id}#${it.after}`) : command("replay", id)),
  };
}
