// Calls of tools: how long each took, how it ended, the sandbox that held it, and on which grounds it ran.
import { go } from "./address.js";
import { fill, h } from "./dom.js";
import { clock, duration, moment, number } from "./format.js";
import { api } from "./interface.js";
import { makeList } from "./list.js";
import { badge, command, copyButton, facts, figure, link, refusal, requestLink, view, visible } from "./parts.js";
import { t } from "./words.js";

/** How many letters of an output are drawn. */
const LETTERS = 200000;

/** @param {any} call @returns {string} how it ended, with its exit code */
function ended(call) {
  const code = call.runs?.at(-1)?.exit_code;
  return [call.outcome, code === undefined || code === null ? null : t("exit", { n: code })].filter(Boolean).join(", ");
}

/** @param {any} grounds @returns {string} why a call ran, in short */
function inShort(grounds) {
  const parts = (grounds?.parts ?? []).map((it) => it.rule?.file ?? it.heuristic ?? it.decision);
  return [grounds?.outcome, grounds?.because, ...new Set(parts)].filter(Boolean).join(", ");
}

/** @param {string} title @param {string|null|undefined} text @param {any} [note] */
function block(title, text, note) {
  if (text === null || text === undefined) return null;
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // What is no JSON is shown as it is.
  }
  return [h("h3", t(title)), note ? h("p.dim", note) : null, h("div.output", copyButton(() => text, t("copy.text")), h("pre.text-block", { tabindex: 0, role: "region", "aria-label": t(title) }, visible(shown.slice(0, LETTERS)), shown.length > LETTERS ? t("more.nodes", { n: number(shown.length - LETTERS) }) : null))];
}

/** @param {string} id @param {any} whole @param {any} panel */
function show(id, whole, panel) {
  const [call, ...inner] = whole.calls;
  const { kept, output_bytes: sent } = whole;
  const note = [t("output.seen", { n: number(sent) }), kept && kept.bytes !== sent ? t(kept.is_whole ? "output.kept" : "output.part", { n: number(kept.bytes) }) : null].filter(Boolean).join(" ");
  fill(panel, h("div.chosen-head", h("h2", { id: "call-title" }, visible(call.tool)), h("code", visible(call.call)), h("span.dim", ended(call))),
    facts("facts", ["began", moment(call.began_at)], ["lasted", duration(call.duration_ms)], whole.request && ["call.request", requestLink(id, whole.request)], call.answers?.length && ["answers", call.answers.map((it) => (typeof it === "string" ? it : JSON.stringify(it))).join("; ")]),
    h("div.halves", h("div", block("arguments", whole.arguments), block("output", whole.output, note)),
      h("div", h("h3", t("grounds")), h("pre", visible((whole.grounds ?? []).join("\n"))), (call.runs ?? []).map(({ sandbox, denied, exit_code: code }, at) => [h("h3", t("run.n", { n: at + 1 }), " ", denied ? badge(t("denied"), "bad") : null),
        facts("detail", ["sandbox", sandbox ? `${sandbox.mode} (${sandbox.backend ?? ""})` : t("none")], sandbox?.writable_roots && ["writable", sandbox.writable_roots.map((it) => h("div", visible(it)))], sandbox && ["network", t(sandbox.network ? "yes" : "no")], ["exitcode", code])]),
      inner.length ? [h("h3", t("call.inner")), h("ul", inner.map((it) => h("li", visible(`${it.tool} ${it.call}, ${duration(it.duration_ms)}, ${ended(it)}`))))] : null)));
}

/** @param {import("./address.js").Place} place @param {any} session @returns {Promise<import("./app.js").View>} */
export async function callsView(place, session) {
  const id = session.session.id;
  const list = makeList("calls");
  const panel = h("section.panel.explain", { "aria-label": t("view.calls") });
  let calls = [];
  const load = async () => {
    calls = await api.calls(id);
    list.show({
      count: calls.length, height: 32, label: t("view.calls"),
      columns: [{ name: t("at") }, { name: t("tool") }, figure(t("lasted")), { name: t("outcome") }, { name: t("sandbox") }, { name: t("grounds") }],
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
    element: view(t("view.calls"), h("span.dim", number(calls.length)), list, panel), title: t("view.calls"),
    command: ({ chosen }) => command("sessions", "calls", id, ...(chosen ? [chosen] : [])),
    update: (to) => {
      open(to.chosen);
      return true;
    },
    hear: (kind) => { if (kind === "call") load(); },
  };
}
