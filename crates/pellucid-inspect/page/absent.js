// What the model does not see: what was cut or left out, files that were looked for and not used, and files that changed.
import { fill, h } from "./dom.js";
import { number, path } from "./format.js";
import { api } from "./interface.js";
import { visible } from "./parts.js";
import { t } from "./words.js";

/** A line of a list with signs. */
export const signed = (sign, name, word, why) => h("li", h("span.sign", { "aria-hidden": "true" }, sign), h("span.absent-name", visible(String(name ?? ""))), word ? h("span.tag", word) : null, why ? h("p.dim", visible(String(why))) : null);

export function absentPanel(id, n, folder) {
  const element = h("section.panel", { "aria-label": t("absent") });
  const show = (inner) => fill(element, h("h2", t("absent")), inner);
  const entry = (sign, name, word, why) => signed(sign, path(name ?? "", folder, 80), word, why);
  const whyOf = (it) => [it.why, it.bytes && `${number(it.bytes)} bytes`].filter(Boolean).join(", ");
  show("…");
  api.absent(id, n).then((it) => {
    const lines = [
      it.omissions.map((one) => entry("✂", one.what ?? one.part, one.status ?? one.kind, whyOf(one))),
      it.sources.map((one) => entry("–", one.source, one.status, whyOf(one))),
      it.candidates.map((one) => entry("–", one.path ?? one.name, one.status ?? one.kind, whyOf(one))),
      it.instruction_files.map((file) => (file.hidden ?? []).map((one) => entry("▯", `${file.path}:${one.line}:${one.column}`, t("hidden.tag"), `${one.kind} ${(one.code_points ?? []).join(" ")}`))),
      it.changed_files.map((one) => entry("~", one.path, t("how.changed"), `${(one.old_sha256 ?? "–").slice(0, 12)} → ${(one.new_sha256 ?? "–").slice(0, 12)}`)),
    ].flat(2);
    show(lines.length ? h("ul.absent", lines) : h("p.dim", t("absent.none")));
  }).catch((error) => show(error.message));
  return element;
}
