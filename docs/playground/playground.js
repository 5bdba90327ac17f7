// The playground: a pack, facts and messages in text areas, and the request that comes of them.
//
// The engine runs in this page. Texts are shown as texts, never as markup.

import { load } from "./engine.js";

const $ = (id) => document.getElementById(id);
const FACTS = {
  model: "gpt-5.2-codex",
  cwd: "/home/ada/shop",
  home_document: { path: "/home/ada/.codex/AGENTS.md", text: "Be brief.\n" },
  project_documents: [{ path: "/home/ada/shop/AGENTS.md", text: "Prices are integers, in cents.\nTests run with `make check`.\n" }],
  project_document_bytes_max: 32768,
  permissions: { sandbox_policy: { type: "workspace-write" }, approval_policy: "on-request" },
};
const COLOURS = {
  file: "o-file", skill: "o-file", provided: "o-file", user: "o-file", pack: "o-pack", layout: "o-pack", fact: "o-fact",
  catalogue: "o-pack", model: "o-model", tool: "o-tool",
};
const WAIT_MS = 150;

const engine = await load();
let changed = {};   // files of the pack that differ from the built-in ones
let before;         // the input that is compared with
let last;           // the last input that made a request

const files = () => ({ ...engine.packFiles($("pack").value), ...changed });

function input() {
  return {
    // Always as files, so that a text that did not change has the same origin before and after.
    pack: { files: files(), folder: $("pack").value },
    facts: JSON.parse($("facts").value),
    wire: { api: $("api").value, session_id: "playground" },
    messages: $("messages").value.split(/\n{2,}/).filter((text) => text.trim() !== ""),
  };
}

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text ?? value;
  return element;
}

function listFiles() {
  const chosen = $("file").value || "pack.toml";
  const names = Object.keys(files()).sort((a, b) => (b === "pack.toml") - (a === "pack.toml") || a.localeCompare(b));
  $("file").replaceChildren(...names.map((name) => option(name, name in changed ? `${name} (changed)` : name)));
  $("file").value = names.includes(chosen) ? chosen : names[0];
}

function showFile() {
  $("text").value = files()[$("file").value] ?? "";
}

function piece(text, classes, title) {
  const element = document.createElement("span");
  element.textContent = text;
  element.className = classes;
  element.title = title;
  return element;
}

const origin = (row) => (row.origin ? `${row.source} ${row.origin}` : row.source);
const number = (n) => n.toLocaleString("en");

/** The rows of both requests in the order of the difference, each with its text and its fate. */
function steps(old, now, diff) {
  return diff.rows.map(({ fate, before, after }) => {
    const [report, n] = after === null ? [old, before] : [now, after];
    return { fate, row: report.rows[n], text: report.texts[n] || (report.rows[n].source === "wire" ? "" : "(an image)") };
  });
}

/** Neighbouring rows of one part. Notation alone, such as a comma between items, joins the part behind it. */
function parts(all) {
  const groups = [];
  let notation = [];
  for (const step of all) {
    const group = groups.at(-1);
    if (step.row.source === "wire" && step.row.part !== group?.part) notation.push(step);
    else if (group && group.part === step.row.part && notation.length === 0) group.steps.push(step);
    else {
      groups.push({ part: step.row.part, steps: [...notation, step] });
      notation = [];
    }
  }
  if (notation.length > 0) groups.push({ part: "end", steps: notation });
  return groups;
}

function showParts(all) {
  const isOpen = new Set([...$("parts").querySelectorAll("details[open]")].map((element) => element.dataset.part));
  $("parts").replaceChildren(...parts(all).map(({ part, steps }) => {
    const element = document.createElement("details");
    const fates = [...new Set(steps.map(({ fate }) => fate))].filter((fate) => fate !== "same");
    const bytes = steps.filter(({ fate }) => fate !== "removed").reduce((sum, { row }) => sum + row.bytes, 0);
    const summary = document.createElement("summary");
    const small = document.createElement("small");
    const sources = [...new Set(steps.map(({ row }) => row.source))].filter((source) => source !== "wire");
    small.textContent = ` ${number(bytes)} bytes from ${sources.join(", ") || "the notation"}`;
    summary.append(part, small, ...fates.map((fate) => piece(` ${fate} `, `f-${fate}`, "")));
    const text = document.createElement("pre");
    text.append(...steps.map(({ fate, row, text }) => {
      const range = row.file_range ? `, bytes ${row.file_range[0]} to ${row.file_range[1]} of the file` : "";
      const title = `${origin(row)}: ${number(row.bytes)} bytes from byte ${number(row.start)}${range}; ${fate}`;
      return piece(text, `${COLOURS[row.source] ?? "o-wire"} f-${fate}`, title);
    }));
    element.dataset.part = part;
    element.className = fates.length > 0 ? "is-changed" : "";
    element.open = fates.length > 0 || isOpen.has(part);
    element.append(summary, text);
    return element;
  }));
}

function showBar(report) {
  $("bar").replaceChildren(...report.rows.map((row) => {
    const element = piece("", COLOURS[row.source] ?? "o-wire", `${row.part}: ${number(row.bytes)} bytes, ${origin(row)}`);
    element.style.flexGrow = row.bytes;
    return element;
  }));
}

function showMoved(diff, all) {
  const counts = {};
  for (const { fate, row } of all) if (fate !== "same" && row.source !== "wire") counts[fate] = (counts[fate] ?? 0) + 1;
  const words = Object.entries(counts).map(([fate, n]) => `${n} ${fate}`);
  const broken = diff.continuity?.broken;
  const cache = broken
    ? `the provider's cache ends in ${broken.part} (${broken.cause}): about ${number(broken.tokens_rebilled)} tokens are read again`
    : "the provider's cache is kept";
  $("moved").textContent = words.length === 0 && !broken ? "Nothing is different from before." : `Texts: ${words.join(", ") || "none"}; ${cache}.`;
}

function show() {
  try {
    const now = input();
    const report = engine.report(now);
    before ??= now;
    const [old, diff] = [engine.report(before), engine.diff(before, now)];
    const all = steps(old, report, diff);
    last = now;
    $("problem").hidden = true;
    $("problem").textContent = "";
    $("sums").textContent = `${number(report.bytes)} bytes, about ${number(report.tokens)} tokens, SHA-256 ${engine.assemble(now).sha256.slice(0, 16)}…`;
    showMoved(diff, all);
    showBar(report);
    showParts(all);
    $("omissions").textContent = report.omissions.map((omission) => JSON.stringify(omission)).join("\n") || "nothing";
    $("body").textContent = report.body;
  } catch (error) {
    $("problem").hidden = false;
    $("problem").textContent = error.message;
  }
}

let timer;
const later = () => {
  clearTimeout(timer);
  timer = setTimeout(show, WAIT_MS);
};

$("pack").append(...engine.packs().map((name) => option(name)));
$("pack").value = "codex";
$("facts").value = JSON.stringify(FACTS, null, 2);
listFiles();
showFile();
$("file").addEventListener("change", showFile);
$("text").addEventListener("input", () => {
  const name = $("file").value;
  changed[name] = $("text").value;
  if (changed[name] === engine.packFiles($("pack").value)[name]) delete changed[name];
  listFiles();
  later();
});
for (const id of ["pack", "undo"]) {
  $(id).addEventListener(id === "pack" ? "change" : "click", () => {
    changed = {};
    listFiles();
    showFile();
    show();
  });
}
for (const id of ["facts", "messages"]) $(id).addEventListener("input", later);
$("api").addEventListener("change", show);
$("keep").addEventListener("click", () => {
  before = last;
  show();
});
show();
