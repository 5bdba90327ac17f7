// Two requests side by side: what was added, removed, changed or moved, with the lines that changed, and the effect on the cache.
import { go } from "./address.js";
import { h } from "./dom.js";
import { counted, number, path, signed, size, tokens } from "./format.js";
import { api } from "./interface.js";
import { badge, command, empty, family, link, refusal, swatch, view, visible } from "./parts.js";
import { requestBar } from "./request-bar.js";
import { isStored } from "./stored.js";
import { t } from "./words.js";

const OPS = { "+": "added", "-": "removed", "~": "changed", ">": "moved" };
const MOST_LINES = 2000;

/** @param {string} text lines behind a space, a plus or a minus */
export const diffLines = (text) => text.replace(/\n$/, "").split("\n").slice(0, MOST_LINES).map((line) =>
  h("div.diff-line", { class: OPS[line[0]] ?? "" }, h("span.sign", line[0] === "-" ? "−" : line[0]), h("span", visible(line.slice(1)))));

const hunkLines = ({ lines: [from, behind], text }) => [h("div.hunk-head", from + 1 >= behind ? t("line.n", { n: from }) : t("lines.n", { from, to: behind - 1 })), diffLines(text)];

/** @param {any[]} names of both requests, to which the part leads */
function changeRow({ op, part, item, source, origin, bytes, lines }, folder, names) {
  const [, session, request] = /^([0-9a-f-]{36})#(\d+)$/.exec(names[op === "-" ? 0 : 1]) ?? [];
  const name = () => request ? link({ view: "request", session, request: Number(request), options: { part, item: String(item ?? "") } }, part) : part;
  const side = (isThere, ...more) => h("span.change-side", isThere ? [swatch(family(source, origin)), h("strong", name()), h("span.dim", ` ${t(`source.${source}`)} `, visible(path(origin ?? "", folder, 50))), more] : null);
  return h("li.change", { class: OPS[op] }, h("div.change-row", h("span.op", h("span", { "aria-hidden": "true" }, op === "-" ? "−" : op), h("span.unseen", t(`how.${OPS[op]}`))), side(op !== "+"),
    h("span.dim", { "aria-hidden": "true" }, { ">": "⟶", "~": "—" }[op]), side(op !== "-", lines ? h("span.dim", ` ${t("lines.sums", { added: number(lines.added), removed: number(lines.removed) })}`) : null), h("span.number", `${signed(bytes)} B`)),
  lines?.hunks?.length ? h("div.hunks", { region: t("lines.of", { part }) }, lines.hunks.map(hunkLines)) : null);
}

/** What a comparison looks like, as `context diff --json` prints it. */
export function diffBody(diff, folder) {
  const broken = diff.cache?.broken;
  const list = (isUsual) => diff.changes.filter((it) => it.usual === isUsual).map((it) => changeRow(it, folder, [diff.a.name, diff.b.name]));
  const [others, usual] = [list(false), list(true)];
  const name = (it, letter) => h("div", h("span.letter", letter), h("code", it.name.replace(/^([0-9a-f]{8}-[0-9a-f]{4})[0-9a-f-]+/, "$1")), h("span.dim", ` ${size(it.bytes, it.tokens)}; ${[it.model, it.pack].filter(Boolean).join(", ")}`));
  return [h("div.diff-head", name(diff.a, "A"), name(diff.b, "B"), h("strong", `${signed(diff.bytes)} bytes, ${t("tokens.n", { n: signed(diff.tokens) })}`), diff.cache ? h("p", broken ? badge(t("verdict.broken"), "bad") : badge(t("verdict.extended"), "good"), " ",
    broken ? t("effect.rebilled", { part: broken.part, cause: broken.cause, tokens: tokens(broken.tokens_rebilled) }) : t("effect.kept", { n: number(diff.cache.kept_bytes), of: number(diff.cache.previous_bytes) })) : null),
  others.length ? h("ul.changes", others) : h("p.notice", t("diff.none")),
  h("p.dim", "= ", counted(diff.unchanged_parts, "part"), diff.notation_bytes ? `, ${t("diff.notation", { n: signed(diff.notation_bytes) })}` : ""),
  usual.length ? h("details", h("summary", t("diff.usual", { n: number(usual.length) })), h("ul.changes", usual)) : null];
}

export const compared = (a, b, folder = "") => api.diff(a, b).then((it) => diffBody(it, folder), refusal);

export async function diffView(place, session) {
  const { id, cwd = "" } = session.session;
  const n = place.request;
  const head = await api.request(id, n);
  const a = Number(place.options.a) || head.before || n - 1;
  const [refA, refB] = [`${id}#${a}`, `${id}#${n}`];
  const field = h("input", { type: "number", min: 1, max: session.counts.requests, value: a, onchange: () => go({ ...place, options: { a: field.value } }) });
  return {
    element: h("div.view", h("h1.unseen", t("view.diff")), requestBar(place, session, head), a < 1 ? empty(t("diff.first"))
      : [h("div.tools", h("label.field", t("diff.with"), " #", field), isStored() ? null : [link({ view: "compare", options: { a: refB, b: "now" } }, t("diff.now")), link({ view: "compare", options: { a: refA, b: refB } }, t("diff.any"))]), await compared(refA, refB, cwd)]),
    title: `${t("view.diff")} #${n}`, command: () => (a < 1 ? command("context", "-vv", refB) : command("context", "diff", refA, refB)),
  };
}

/** Any two names of requests. */
export async function compareView(place) {
  const { a = "", b = "" } = place.options;
  const field = (name, value, hint) => h("label.field", name, h("input.wide", { type: "text", name, value, placeholder: hint, spellcheck: "false", autocomplete: "off", required: true }));
  const form = h("form.tools", { onsubmit: (event) => {
    event.preventDefault();
    const data = new FormData(form);
    go({ view: "compare", options: { a: String(data.get("A")).trim(), b: String(data.get("B")).trim() } });
  } }, field("A", a, "SESSION#1"), field("B", b, "now"), h("button", { type: "submit" }, t("view.compare")));
  return {
    element: view(t("view.compare"), form, a && b ? await compared(a, b) : h("p.dim", t("diff.names"))),
    title: t("view.compare"), command: () => command("context", "diff", a || "now@HEAD", b || "now"),
  };
}
