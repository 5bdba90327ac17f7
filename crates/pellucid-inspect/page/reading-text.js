// The texts of a request with escapes undone, by item; notation is left out, and each text has the name and colour of its source.
import { fill, h, lay } from "./dom.js";
import { number, size } from "./format.js";
import { api } from "./interface.js";
import { copyButton, family, visible } from "./parts.js";
import { t } from "./words.js";

/** How many letters of one row are drawn before a button asks whether to draw more. */
const MOST = 20000;
/** Rows of fewer bytes are drawn within the row before. */
const SHORT = 80;
/** How many rows of one section are drawn. */
const MOST_ROWS = 400;
/** Names of values in items that are texts, however short. */
const TEXTS = new Set(["text", "arguments", "input", "output"]);

/** Rows that belong together: those of an item, or of a part outside of items. */
function sections(rows) {
  const found = [];
  rows.forEach((row, index) => {
    // The comma behind an item is notation of the list, and counts with the item.
    const isComma = row.item === null && row.source === "wire" && row.bytes <= 2 && typeof found.at(-1)?.item === "number";
    const key = row.item === null ? `part ${row.part}` : `item ${row.item}`;
    if (!isComma && found.at(-1)?.key !== key) found.push({ ...row, key, first: index, bytes: 0, tokens: 0 });
    const section = found.at(-1);
    Object.assign(section, { last: index, bytes: section.bytes + row.bytes, tokens: section.tokens + row.tokens });
  });
  return found;
}

/** Rows that are read as one: a long row with the short ones in it and its continuation. */
function paragraphs(rows) {
  const groups = [];
  for (const row of rows.filter((it) => it.source !== "wire")) {
    const head = groups.at(-1)?.[0];
    if (head && head.source !== "tool" && (row.bytes < SHORT || (row.source === head.source && row.origin === head.origin))) groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups;
}

/** Of a row that is JSON, such as an answer: its short values with their names, and its texts. */
function legible(text) {
  let value;
  try {
    if (/^\s*\{"/.test(text)) value = JSON.parse(text);
  } catch {
    // What only looks like JSON is a text.
  }
  if (!value) return ["", text];
  const [names, texts] = [[], []];
  const walk = (it, name) => {
    if (it && typeof it === "object") for (const [key, inner] of Object.entries(it)) walk(inner, key);
    else if (typeof it === "string" && (it.length > 40 || TEXTS.has(name))) texts.push(it);
    else if (it !== null) names.push(`${name}: ${it}`);
  };
  walk(value, "");
  return [names.join(", "), texts.join("\n")];
}

/** A row with its first letters, and a button for more; the rest of a very long row is fetched by `more`. */
function piece(row, more) {
  const letters = h("span.tint", { class: family(row.source, row.origin), "data-row": row.row, "data-byte": row.start });
  const draw = (most) => {
    const [names, text] = legible(row.text);
    const left = (row.rest ? row.text_bytes : text.length) - Math.min(most, text.length);
    const next = async () => {
      if (row.rest && text.length <= most * 10) await more(row);
      draw(most * 10);
    };
    fill(letters, names ? h("span.facet", visible(names), "\n") : null, visible(text.slice(0, most)), left > 0 ? h("button.more", { onclick: next }, t("more", { n: number(left) })) : null,
      row.image_bytes ? h("span.facet", t("image", { n: number(row.image_bytes) })) : null);
  };
  draw(MOST);
  return letters;
}

export function textReading(rows, hear) {
  const element = h("div.reading-text", { region: t("text.label") });
  let chosen = -1;
  let isAimed = false;
  const waiting = new Map();
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !waiting.has(target)) continue;
      load(target, waiting.get(target)).catch((error) => fill(target, String(error.message)));
      waiting.delete(target);
    }
  }, { root: element, rootMargin: "800px" });

  const load = async (box, section) => {
    const found = [];
    for (let next = { from: section.first }; next && next.from <= section.last && found.length < MOST_ROWS;) {
      const page = await api.text(rows.id, rows.n, { from: next.from });
      found.push(...page.rows.filter((it) => it.row <= section.last).map((row) => ({ ...row })));
      // The rest of a row that does not fit is fetched when it is asked for.
      next = page.next;
      if (!next?.offset || next.from !== found.at(-1)?.row) continue;
      found.at(-1).rest = next;
      next = { from: next.from + 1 };
    }
    fill(box, paragraphs(found).map((group) => h("div.text-row",
      h("button.row-name.plain", { "data-row": group[0].row, onclick: () => hear.choose(group[0].start), onfocus: () => hear.hover(group[0].row) }, t(`source.${group[0].source}`), " ", visible(group[0].origin)),
      h("pre.text-block", { class: `edge-${family(group[0].source, group[0].origin)}` }, group.map((row) => piece(row, more))))));
    mark();
    if (isAimed) aim();
  };
  const more = async (row) => {
    const page = await api.text(rows.id, rows.n, row.rest);
    row.text += page.rows[0].text;
    row.rest = page.next?.offset ? page.next : null;
  };
  const mark = () => {
    for (const old of element.querySelectorAll(".chosen-row")) old.classList.remove("chosen-row");
    for (const now of element.querySelectorAll(`[data-byte][data-row="${chosen}"]`)) now.classList.add("chosen-row");
  };
  // Texts that arrive above the chosen row move it, until one scrolls.
  const aim = () => (element.querySelector(".chosen-row") ?? [...element.children].find((it) => Number(it.dataset.last) >= chosen))?.scrollIntoView({ block: "nearest" });
  for (const kind of ["wheel", "pointerdown", "keydown"]) element.addEventListener(kind, () => { isAimed = false; }, { passive: true });
  const rowOf = (event) => event.target.closest("[data-row]");
  element.addEventListener("mouseover", (event) => hear.hover(Number(rowOf(event)?.dataset.row ?? -1)));
  element.addEventListener("mouseleave", () => hear.hover(-1));
  element.addEventListener("click", (event) => {
    const byte = rowOf(event)?.dataset.byte;
    if (byte && document.getSelection().isCollapsed) hear.choose(Number(byte));
  });
  const draw = () => fill(element, sections(rows.all).map((section) => {
    const box = lay(h("div.text-body"), { guess: `${Math.min(2400, 30 + section.bytes / 4)}px` });
    waiting.set(box, section);
    watcher.observe(box);
    return h("section.text-section", { "data-last": section.last }, h("h2", section.item === null ? section.part : t("item.of", { n: section.item, part: section.part }), section.role ? h("span.tag", section.role) : null,
      h("span.dim", size(section.bytes, section.tokens)), copyButton(() => box.innerText, t("copy.text"))), box);
  }));
  draw();
  return {
    element, refresh: draw,
    show: (_byte, row) => {
      const isMoved = row !== chosen;
      chosen = row;
      mark();
      if (!isMoved) return;
      isAimed = true;
      aim();
    },
  };
}
