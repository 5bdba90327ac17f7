// Proof and export: the verdict of replay for each request, the anchor and the seal; and the session as one HTML file.
import { signed } from "./absent.js";
import { go } from "./address.js";
import { fill, h } from "./dom.js";
import { number } from "./format.js";
import { api, post } from "./interface.js";
import { makeList } from "./list.js";
import { badge, command, copyButton, facts, figure, notice, proofBadge, prose, requestLink, view } from "./parts.js";
import { fileName, isStored } from "./stored.js";
import { t } from "./words.js";

const tone = (verdict) => (verdict.startsWith("equal") ? "good" : verdict.startsWith("not") ? "warn" : "bad");

function sentence(finding) {
  if (typeof finding !== "object") return String(finding);
  if (finding.change) return t("damage", { turn: "–", byte: "–", ...finding, change: t(`how.${finding.change}`), file: finding.file?.split("/").at(-1) });
  return Object.entries(finding).filter(([, value]) => value !== null && typeof value !== "object").map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
}

function exportForm(id) {
  const said = h("span.dim", { role: "status" });
  const write = async (event) => {
    event.preventDefault();
    fill(said, "…");
    const redact = new FormData(event.target).get("redact");
    try {
      const blob = await (await post("export", { session: id, redact })).blob();
      const href = URL.createObjectURL(blob);
      h("a", { href, download: `${id}.html` }).click();
      setTimeout(() => URL.revokeObjectURL(href), 10000);
      fill(said, t("export.done", { n: number(blob.size) }));
    } catch (error) {
      fill(said, error.message);
    }
  };
  return h("form.export", { onsubmit: write }, h("fieldset", h("legend", t("export.redact")), ["secrets", "content", "none"].map((kind) => h("label.check", h("input", { type: "radio", name: "redact", value: kind, checked: kind === "secrets" }),
    h("span", h("strong", t(`export.${kind}`)), h("span.dim", ` ${t(`export.${kind}.long`)}`))))), h("button", { type: "submit" }, t("export.write")), " ", said);
}

function fileCommands(id, program) {
  const lines = [["capsule", "open", fileName().slice(5), "--to", "opened"], ["inspect", id], ["replay", id]].map((words) => command(...words));
  return [h("p", t("stored.long", { program })), lines.map((line) => h("p", h("code", line), copyButton(() => line, t("copy.command"))))];
}

export async function proofView(_place, session) {
  const id = session.session.id;
  const proof = await api.proof(id);
  const { requests, damages, broken, torn, foreign, notes, anchor } = proof;
  const list = makeList("proof");
  const isWhole = !damages.length && !broken && requests.every((it) => it.verdict.startsWith("equal"));
  list.show({
    count: requests.length, height: 32, label: t("view.proof"), columns: [figure("#"), { name: t("purpose") }, figure(t("bytes")), figure(t("items")), { name: t("verdict") }],
    row: (index) => {
      const { purpose, bytes, items, verdict, why, what } = requests[index];
      return { cells: [requestLink(id, index + 1), t(`purpose.${purpose}`), number(bytes), number(items), badge([verdict.replaceAll("_", " "), why ?? what].filter(Boolean).join(": "), tone(verdict))], say: `#${index + 1}: ${verdict}` };
    },
    choose: (index) => go({ view: "request", session: id, request: index + 1 }),
  });
  const certify = command("sessions", "certify", id);
  return {
    element: view(t("view.proof"), proofBadge(isWhole ? "proved" : damages.length ? "refuted" : "not_provable"), broken ? notice(sentence(broken), "bad") : null, proof.is_redacted ? notice(t("proof.redacted"), "warn") : null, proof.is_filled ? notice(t("proof.filled"), "warn") : null,
      damages.length + torn.length + foreign.length + notes.length ? h("ul.absent", damages.map((it) => signed("✕", sentence(it))), [...torn, ...foreign, ...notes].map((it) => signed("!", sentence(it)))) : null,
      facts("facts", anchor && ["anchor", [h("code.digest", anchor), copyButton(() => anchor, t("copy.digest"))]], session.sealed_at && ["sealed", t("sealed.bytes", { n: number(session.sealed_at), of: number(session.session.size) })]), list,
      h("section.panel.explain", { "aria-label": t("export") }, h("h2", t(isStored() ? "stored" : "export")),
        isStored() ? fileCommands(id, (await api.hello()).file.program) : [h("p", prose(t("export.long"))), exportForm(id), h("p.dim", t("certify"), " ", h("code", certify), copyButton(() => certify, t("copy.command")))])),
    title: t("view.proof"), command: () => command("replay", id),
  };
}
