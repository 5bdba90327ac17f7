// Calls of tools: how long each took, how it ended, the sandbox that held it, and on which grounds it ran.
import { go } from "./address.js";
import { fill, h } from "./dom.js";
import { clock, duration, moment, number } from "./format.js";
import { api } from "./interface.js";
import { makeList } from "./list.js";
import { badge, command, empty, facts, figure, link, refusal, requestLink, textBlock, view, visible } from "./parts.js";
import { diffLines } from "./view-diff.js";
import { t } from "./words.js";

function ended(call) {
  const code = call.runs?.at(-1)?.exit_code;
  return [call.outcome, code === undefined || code === null ? null : t("exit", { n: code })].filter(Boolean).join(", ");
}

function inShort(grounds) {
  const parts = (grounds?.parts ?? []).map((it) => it.rule?.file ?? it.heuristic ?? it.decision);
  return [grounds?.outcome, grounds?.because, ...new Set(parts)].filter(Boolean).join(", ").replaceAll("_", " ");
}

const fileRow = ({ path, how, moved_to: to, hunks }) => h("li.change", { class: how }, h("div.change-row", h("span.op", { "aria-hidden": "true" }, { added: "+", removed: "−", changed: "~" }[how]), h("span", visible(to ? `${path} → ${to}` : path), h("span.tag", t(`how.${how}`)))),
  hunks.length ? h("div.hunks", { region: t("lines.of", { part: path }) }, hunks.map(({ below, text }) => [below ? h("div.hunk-head", visible(below)) : null, diffLines(text)])) : null);

/** The whole output, piece by piece; what the model saw of it is marked. */
function wholeOutput(id, call, { bytes, is_whole: isWhole, seen }) {
  const text = h("pre.text-block.unseen-text", { region: t("output.whole") });
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const more = h("button", { onclick: () => load(next) });
  let next = 0;
  const load = async (from) => {
    const piece = await api.output(id, call, from);
    const raw = encoder.encode(piece.text);
    const cuts = [...new Set([0, raw.length, ...seen.flat().map((at) => Math.min(Math.max(at - from, 0), raw.length))])].sort((a, b) => a - b);
    cuts.slice(1).forEach((to, at) => {
      const isSeen = seen.some(([first, last]) => first - from <= cuts[at] && to <= last - from);
      text.append(h(isSeen ? "mark" : "span", visible(decoder.decode(raw.subarray(cuts[at], to)))));
    });
    next = piece.next;
    more.hidden = next === null;
    fill(more, t("more.bytes", { n: number(bytes - (next ?? bytes)) }));
  };
  load(0).catch((error) => fill(text, error.message));
  return h("details", h("summary", t(isWhole ? "output.kept" : "output.part", { n: number(bytes) })), h("p.dim", t("output.marked")), text, more);
}

function show(id, whole, panel) {
  const [call, ...inner] = whole.calls;
  const { kept, files, output_bytes: sent } = whole;
  fill(panel, h("div.chosen-head", h("h2", visible(call.tool)), h("code", visible(call.call)), h("span.dim", ended(call))),
    facts("facts", ["began", moment(call.began_at)], ["lasted", duration(call.duration_ms)], whole.request && ["call.request", requestLink(id, whole.request)], call.answers?.length && ["answers", call.answers.map((it) => (typeof it === "string" ? it : JSON.stringify(it))).join("; ")]),
    h("div.halves", h("div", files.length ? [h("h3", t("files")), h("ul.changes", files.map(fileRow))] : null, textBlock("arguments", whole.arguments), textBlock("output", whole.output, t("output.seen", { n: number(sent) })), kept ? wholeOutput(id, call.call, kept) : null),
      h("div", h("h3", t("grounds")), h("pre", visible((whole.grounds ?? []).join("\n"))), (call.runs ?? []).map(({ sandbox, denied, exit_code: code }, at) => [h("h3", t("run.n", { n: at + 1 }), " ", denied ? badge(t("denied"), "bad") : null),
        facts("detail", ["sandbox", sandbox ? `${sandbox.mode} (${sandbox.backend ?? ""})` : t("none")], sandbox?.writable_roots && ["writable", sandbox.writable_roots.map((it) => h("div", visible(it)))], sandbox && ["network", t(sandbox.network ? "yes" : "no")], ["exitcode", code])]),
      inner.length ? [h("h3", t("call.inner")), h("ul", inner.map((it) => h("li", visible(`${it.tool} ${it.call}, ${duration(it.duration_ms)}, ${ended(it)}`))))] : null)));
}

export async function callsView(place, session) {
  const id = session.session.id;
  const list = makeList("calls");
  const panel = h("section.panel.explain", { "aria-label": t("view.calls") });
  let calls = [];
  const load = async () => {
    calls = await api.calls(id);
    list.show({
      count: calls.length, height: 32, label: t("view.calls"),
      columns: [{ name: t("began") }, { name: t("tool") }, figure(t("lasted")), { name: t("outcome") }, { name: t("sandbox") }, { name: t("grounds") }],
      row: (index) => {
        const it = calls[index];
        return { cells: [clock(it.began_at), link({ view: "calls", session: id, chosen: it.call }, visible(it.tool)), duration(it.duration_ms), ended(it), it.runs?.at(-1)?.sandbox?.mode ?? "–", inShort(it.grounds)], say: `${it.tool}, ${ended(it)}` };
      },
      choose: (index) => go({ view: "calls", session: id, chosen: calls[index].call }),
    });
  };
  const open = async (chosen) => {
    const call = chosen ?? calls[0]?.call;
    list.moveTo(calls.findIndex((it) => it.call === call));
    if (call) await api.call(id, call).then((whole) => show(id, whole, panel), (error) => fill(panel, refusal(error)));
  };
  await load();
  await open(place.chosen);
  return {
    element: view(t("view.calls"), h("span.dim", number(calls.length)), ...(calls.length ? [list, panel] : [empty(t("calls.none"))])), title: t("view.calls"),
    command: ({ chosen }) => command("sessions", "calls", id, ...(chosen ? [chosen] : [])),
    update: (to) => {
      open(to.chosen);
      return true;
    },
    hear: (kind) => { if (kind === "call") load(); },
  };
}
