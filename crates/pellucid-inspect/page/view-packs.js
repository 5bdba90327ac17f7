// The same facts under every pack: rows are facts, columns are packs, and a cell says how much a pack sends of a fact, or why nothing.
import { setOptions } from "./address.js";
import { fill, h } from "./dom.js";
import { number, size } from "./format.js";
import { api } from "./interface.js";
import { check, command, figure, table, textBlock, view, visible } from "./parts.js";
import { t } from "./words.js";

const placesOf = (cell) => cell.places.map((it) => (it.item === null ? it.part : `${it.role ?? it.part} ${it.item}`)).join(", ");

export async function packsView(place) {
  const { message = "", only = "" } = place.options;
  const { packs, rows } = await api.packs({ message });
  const isAlike = ({ cells }) => cells.every((it) => it.bytes === cells[0].bytes && placesOf(it) === placesOf(cells[0]));
  const panel = h("section.panel", { "aria-live": "polite" }, h("p.dim", t("packs.hint")));
  const isOf = (row) => (it) => it.kind === row.kind && it.name === row.name;
  const show = (row, at) => {
    const cell = row.cells[at];
    const text = h("div");
    fill(panel, h("h2", visible(`${row.kind} ${row.name}`), " · ", packs[at].name), h("p", cell.bytes ? `${size(cell.bytes, cell.tokens)}; ${placesOf(cell)}` : visible(cell.why)), text);
    panel.scrollIntoView({ block: "nearest" });
    if (cell.bytes) api.packTexts({ message, texts: true }).then((all) => fill(text, textBlock("text.found", all.rows.find(isOf(row))?.cells[at].text)), (error) => fill(text, error.message));
  };
  const lines = rows.filter((row) => !only || !isAlike(row)).map((row) => [[h("span.dim", `${row.kind} `), visible(row.name)], ...row.cells.map((cell, at) => h("button.plain", { class: cell.bytes ? "" : "dim", "aria-label": cell.bytes ? null : t("none"), onclick: () => show(row, at) }, cell.bytes ? number(cell.bytes) : "–"))]);
  const field = h("input.wide", { type: "text", value: message, placeholder: t("packs.message"), onchange: () => setOptions({ message: field.value }) });
  return {
    element: view(t("view.packs"), h("div.tools", h("label.field", t("message"), field), check(only === "1", (isOn) => setOptions({ only: isOn ? "1" : "" }), t("packs.only"))), h("p.dim", t("packs.long")),
      table([t("source.fact"), ...packs.map((it) => figure(`${it.name} ${number(it.bytes)}`))], lines, t("view.packs")), panel),
    title: t("view.packs"), command: ({ options }) => command("context", "packs", ...(options.only ? ["--only-differences"] : []), ...(options.message ? [options.message] : [])),
  };
}
