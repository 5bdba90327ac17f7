// The request as a tree of JSON. Nodes are read from the bytes when they are opened, so depth and size do not matter.
import { fill, h } from "./dom.js";
import { number } from "./format.js";
import { body } from "./interface.js";
import { family, refusal, visible } from "./parts.js";
import { t } from "./words.js";

const decoder = new TextDecoder("utf-8");
/** How many children are drawn at once, and how many letters of a text. */
const MOST = 200;
const LETTERS = 4000;
const [QUOTE, BACKSLASH, OBJECT] = [34, 92, 123];
const isOpen = (byte) => byte === OBJECT || byte === 91;
const isClose = (byte) => byte === 125 || byte === 93;
/** Spaces, commas and colons. */
const isBetween = (byte) => byte <= 32 || byte === 44 || byte === 58;

/** @returns {number} the place behind a value that begins here */
function behind(bytes, at) {
  let depth = 0;
  do {
    if (bytes[at] === QUOTE) for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) at += bytes[at] === BACKSLASH ? 1 : 0;
    else if (isOpen(bytes[at])) depth++;
    else if (isClose(bytes[at])) depth--;
    else if (!depth) while (at + 1 < bytes.length && !isBetween(bytes[at + 1]) && !isClose(bytes[at + 1])) at++;
    at++;
  } while (depth > 0 && at < bytes.length);
  return at;
}

/** A value; a string without quotes and escapes. */
function text(bytes, from, to) {
  const wire = decoder.decode(bytes.subarray(from, to));
  try {
    return bytes[from] === QUOTE ? JSON.parse(wire) : wire;
  } catch {
    return wire;
  }
}

/** @param {number} at where a list or an object begins @returns {any[]} its children: `name`, `from`, `to` */
function childrenOf(bytes, at) {
  const isNamed = bytes[at++] === OBJECT;
  const children = [];
  const skip = () => { while (at < bytes.length && isBetween(bytes[at])) at++; };
  for (skip(); at < bytes.length && !isClose(bytes[at]); skip()) {
    const name = isNamed ? text(bytes, at, behind(bytes, at)) : String(children.length);
    if (isNamed) at = behind(bytes, at);
    skip();
    children.push({ name, from: at, to: (at = behind(bytes, at)) });
  }
  return children;
}

export function treeReading(rows, hear) {
  const element = h("div.reading-tree", { region: t("tree.label") }, "…");
  let bytes = new Uint8Array();

  const leaf = (li, label, from, to) => {
    const value = text(bytes, from, to);
    const row = rows.all[rows.at(from + 1)];
    const isLong = value.length > 80 || value.includes("\n");
    const letters = h(isLong ? "pre.tree-text" : "span.tree-value", { class: bytes[from] === QUOTE && row ? `tint ${family(row.source, row.origin)}` : "" });
    const draw = (most) => fill(letters, visible(value.slice(0, most)), value.length > most ? h("button.more", { onclick: () => draw(most * 10) }, t("more", { n: number(value.length - most) })) : null);
    draw(LETTERS);
    li.append(h("button.plain", { onclick: () => hear.choose(from + 1), onfocus: () => hear.hover(rows.at(from + 1)) }, label), " ", letters);
  };
  const node = ({ name, from, to }) => {
    const li = h("li", { "data-from": from, "data-to": to });
    const label = h("span.tree-name", visible(name));
    if (!isOpen(bytes[from])) {
      leaf(li, label, from, to);
      return li;
    }
    const inner = h("ul");
    const more = (children, at) => {
      inner.append(...children.slice(at, at + MOST).map(node));
      const rest = children.length - at - MOST;
      const button = h("li", h("button.more", { onclick: () => { button.remove(); more(children, at + MOST); } }, t("more.nodes", { n: number(rest) })));
      if (rest > 0) inner.append(button);
    };
    const button = h("button.plain.fold", { "aria-expanded": "false", onclick: () => li.unfold(button.getAttribute("aria-expanded") !== "true"), onfocus: () => hear.hover(rows.at(from)) },
      label, h("span.dim", ` ${bytes[from] === OBJECT ? "{ }" : "[ ]"} ${number(to - from)} B`));
    li.unfold = (isNow) => {
      button.setAttribute("aria-expanded", String(isNow));
      if (!isNow) return inner.remove();
      if (!inner.childElementCount) more(childrenOf(bytes, from), 0);
      li.append(inner);
    };
    li.append(button);
    return li;
  };

  const ready = body(rows.id, rows.n).then((it) => {
    bytes = it;
    const from = Math.max(0, bytes.findIndex((byte) => byte > 32));
    const root = node({ name: t("view.request"), from, to: behind(bytes, from) });
    fill(element, h("ul.tree", root));
    root.unfold?.(true);
  });
  ready.catch((error) => fill(element, refusal(error)));
  return {
    element, refresh: () => {},
    /** Opens the nodes above a byte. */
    show: (byte) => ready.then(() => {
      let at = element.querySelector("li");
      for (let next = at; next; next = [...(at.querySelector(":scope > ul")?.children ?? [])].find((it) => it.dataset.from <= byte && byte < it.dataset.to)) {
        at = next;
        at.unfold?.(true);
      }
      for (const old of element.querySelectorAll(".chosen-row")) old.classList.remove("chosen-row");
      at.classList.add("chosen-row");
      at.scrollIntoView({ block: "nearest" });
    }).catch(() => {}),
  };
}
