// What several views draw: links, lists of facts, badges, buttons that copy, texts with hidden characters.
import { format, here } from "./address.js";
import { announce, h, lay } from "./dom.js";
import { fileName, isStored, served } from "./stored.js";
import { t } from "./words.js";

export const link = (place, ...children) => h("a", { href: format(place) }, children);

export const requestLink = (id, request, byte) => link({ view: "request", session: id, request, byte }, `#${request}`);

/** Entries are a name in the table of words and a value; those without a value are left out. */
export function facts(kind, ...entries) {
  const known = entries.filter((entry) => entry && entry[1] !== null && entry[1] !== undefined);
  return h("dl", { class: kind }, known.map(([name, value]) => h("div", h("dt", t(name)), h("dd", value))));
}

export function view(title, ...children) {
  return h("div.view", h("div.view-head", h("h1", title), children.shift()), children);
}

const SIGNS = { good: "✓", bad: "✕", warn: "!", dim: "·" };

/** The tone is good, bad, warn or dim; a sign besides, so that colour says nothing alone. */
export const badge = (text, tone) => h("span.badge", { class: tone, title: text }, h("span", { "aria-hidden": "true" }, SIGNS[tone]), " ", text);

const TONES = { cold: "dim", extended: "good", shortened: "good", broken: "bad", expired: "warn", missed: "warn", unknown: "dim" };

export const verdictBadge = (verdict, detail) => badge(t(`verdict.${verdict}`) + (detail ? `: ${detail}` : ""), TONES[verdict] ?? "dim");

export const proofBadge = (proof) => badge(t(`proof.${proof ?? "none"}`), { proved: "good", refuted: "bad", not_provable: "warn" }[proof] ?? "dim");

export const swatch = (name) => lay(h("span.swatch"), { mark: `var(--mark-${name})` });

export function copyText(text) {
  announce(t("copied"));
  const byHand = () => window.prompt(t("copy.byhand"), text);
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(byHand);
  else byHand();
}

/** A button that copies a text and says so. The name is for screen readers; without a label the button is a small drawing. */
export function copyButton(text, name, label = "") {
  const button = h("button.copy", { class: label ? "" : "small", "aria-label": label ? null : name }, label);
  button.addEventListener("click", () => {
    copyText(text());
    button.classList.add("done");
    if (label) button.textContent = t("copied");
    setTimeout(() => {
      button.classList.remove("done");
      button.textContent = label;
    }, 1500);
  });
  for (const moment of ["mouseenter", "focus"]) button.addEventListener(moment, () => { button.title = label ? text() : name; });
  return button;
}

export const digest = (hash) => [h("code", hash.slice(0, 12)), copyButton(() => hash, t("copy.digest"))];

/** A command of the program, with quotes where the shell needs them; the session of a file is named by the file. */
export function command(...words) {
  const [session, file] = isStored() ? [here().session, fileName()] : [served.session, served.capsule];
  if (file && words[0] === "sessions" && (isStored() || words[1] === "list")) words = ["inspect", file];
  return ["pellucid", ...words.map((word) => (file && session ? word.replace(session, () => file) : word)).map((word) => (/^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`))].join(" ");
}

/** A sentence whose commands, between backticks, are drawn as code. */
export const prose = (text) => text.split("`").map((it, at) => (at % 2 ? h("code", it) : it));

export const notice = (text, tone = "") => h("p.notice", { class: tone }, text);

export const unproved = (id, why) => notice([t("unproved"), ` (${why}) `, link({ view: "proof", session: id }, t("view.proof"))], "warn");

export const refusal = (error) => notice(String(error.message ?? error), "warn");

export const empty = (text) => h("p.empty", text);

/** Characters that a screen does not show, or that change the order in which text is shown. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/** The text, with a box for each character that cannot be seen. */
export function visible(text) {
  const pieces = [];
  let from = 0;
  for (const found of (text ?? "").matchAll(HIDDEN)) {
    const point = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    pieces.push(text.slice(from, found.index), h("span.box", { title: t("hidden", { point }) }, point));
    from = found.index + found[0].length;
  }
  return [...pieces, (text ?? "").slice(from)];
}

const LETTERS = 200000;

export function textBlock(title, text, note) {
  if (text === null || text === undefined) return null;
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // What is no JSON is shown as it is.
  }
  return [h("h3", t(title)), note ? h("p.dim", note) : null, h("div.output", copyButton(() => text, t("copy.text")), h("pre.text-block", { region: t(title) }, visible(shown.slice(0, LETTERS)), shown.length > LETTERS ? t("more.nodes", { n: String(shown.length - LETTERS) }) : null))];
}

export const scrolled = (label, ...children) => h("div.scrolled", { region: label }, children);

export function table(columns, rows, caption) {
  const head = ({ name, class: kind = "" }) => h(name ? "th" : "td", { scope: name ? "col" : null, class: kind }, name);
  const all = columns.map((it) => (typeof it === "string" ? { name: it } : it));
  return scrolled(caption, h("table", h("thead", h("tr", all.map(head))), h("tbody", rows.map((row) => h("tr", row.map((cell, at) => h("td", { class: all[at].class ?? "" }, cell)))))));
}

export const figure = (name) => ({ name, class: "number" });

export function check(isOn, change, ...label) {
  const box = h("input", { type: "checkbox", onchange: () => change(box.checked) });
  box.checked = isOn;
  return h("label.check", box, label);
}

let groups = 0;

export function choices(label, entries, value, choose) {
  const name = `choice${groups++}`;
  return h("fieldset.choices", h("legend", label), entries.map(([key, word]) => {
    const input = h("input", { type: "radio", name, value: key, onchange: () => choose(key) });
    input.checked = key === value;
    return h("label", input, h("span", word));
  }));
}

export const legend = (names, word) => h("ul.families", { "aria-label": t("families") }, names.map((it) => h("li", swatch(it), word(it))));

/** Whose words bytes are, in the colours of the terminal. */
export const FAMILIES = ["yours", "pack", "model", "tool", "session", "notation"];

const FAMILY_OF = {
  file: "yours", user: "yours", provided: "yours", skill: "yours", image: "yours", pack: "pack", catalogue: "pack",
  model: "model", tool: "tool", layout: "notation", wire: "notation",
};

/** What an MCP server says of its tools is a tool's words. */
export function family(source, origin = "") {
  return source === "provided" && origin.startsWith("mcp_servers") ? "tool" : FAMILY_OF[source] ?? "session";
}

/** Its group: all tools are one. */
export const group = (part) => part.replace(/(.)\/.*$/s, "$1");
