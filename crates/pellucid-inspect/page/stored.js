// Answers that are in the file itself: a capsule is this page with the answers to its questions in compressed blocks, by kind: answers,
// requests, rows, texts. A block is unpacked when one of its values is needed.
import { t } from "./words.js";

/** How many unpacked blocks are kept. */
const MOST = 24;
/** How many rows, and about how many letters of texts, an answer has. */
const ROWS = 1000;
const LETTERS = 200000;
const blocks = new Map();

/** @returns {boolean} whether the page is a file with its answers in it */
export const isStored = () => Boolean(document.getElementById("directory"));

/** The name of the file, as a command takes it. */
export const fileName = () => `file:${decodeURIComponent(location.pathname.split("/").at(-1) ?? "")}`;

/** The session of a served capsule, and its name for commands. */
export const served = { session: "", capsule: "" };

/** The value of a block, which may come after the script. */
async function unpack(name) {
  let element = document.getElementById(name);
  if (!element && document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
    element = document.getElementById(name);
  }
  const packed = Uint8Array.from(atob(element?.textContent ?? ""), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function block(name) {
  if (!blocks.has(name)) blocks.set(name, unpack(name));
  if (blocks.size > MOST) blocks.delete([...blocks.keys()].find((it) => it !== "directory" && it !== name));
  return blocks.get(name);
}

async function value(kind, index) {
  const { starts } = await block("directory");
  const at = starts[kind].findLastIndex((start) => start <= index);
  return at < 0 ? undefined : (await block(`${kind}${at}`))[index - starts[kind][at]];
}

/** Some rows of a request, each with the number of its text; the second place is behind the last. */
async function rowsOf(ranges, from, to) {
  const rows = [];
  let at = 0;
  for (const [first, behind] of ranges) {
    for (let index = Math.max(from - at, 0); index < behind - first && at + index < to; index++) rows.push(await value("r", first + index));
    at += behind - first;
  }
  return rows;
}

const countOf = (ranges) => ranges.reduce((sum, [first, behind]) => sum + behind - first, 0);

async function texts(ranges, from) {
  const rows = [];
  const of = countOf(ranges);
  let left = LETTERS;
  let row = from;
  for (; row < of && left > 0; row++) {
    const [[text, { part, item, role, source, origin, start, bytes }]] = await rowsOf(ranges, row, row + 1);
    const [whole, image] = await value("t", text);
    rows.push({ row, part, item, role, source, origin, start, bytes, text: whole, image_bytes: image });
    left -= whole.length + 200;
  }
  return { of, next: row < of ? { from: row, offset: 0 } : null, rows };
}

/** Bytes of a body: each row has a text, from which its bytes follow. */
async function bytesOf(ranges, from, to) {
  const pieces = [];
  let begins = 0;
  for (const [text, { start, bytes }] of await rowsOf(ranges, 0, countOf(ranges))) {
    if (start + bytes <= from || start >= to) continue;
    if (!pieces.length) begins = start;
    const [whole, , how] = await value("t", text);
    pieces.push(new TextEncoder().encode(how === 0 ? whole : how === 1 ? JSON.stringify(whole).slice(1, -1) : how));
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer()).slice(from - begins, to - begins);
}

async function ofRequest(n, what, given, range) {
  const request = await value("q", n - 1);
  if (!what) return request?.head;
  if (what === "absent" || !request?.rows) return request?.absent;
  const { rows: ranges } = request;
  const from = Number(given.get("from") ?? 0);
  if (what === "text") return texts(ranges, from);
  if (what === "body") return new Response(await bytesOf(ranges, ...(range ?? [0, Infinity])));
  const of = countOf(ranges);
  return { of, next: from + ROWS < of ? from + ROWS : null, rows: (await rowsOf(ranges, from, from + ROWS)).map(([, row]) => row) };
}

/** What the server would answer. */
export async function stored(address, range) {
  const [path, question] = address.split("?");
  const given = new URLSearchParams(question);
  const [, , n, what] = /^sessions\/([^/]+)\/requests\/(\d+)\/?(\w*)$/.exec(path) ?? [];
  const words = [...given].filter(([name]) => name !== "count").map(([name, value]) => `${name}=${value}`).sort();
  const { answers } = await block("directory");
  const key = [decodeURIComponent(path), ...words].join(" ");
  const answer = n ? await ofRequest(Number(n), what, given, range) : await value("a", answers[key] ?? -1);
  if (answer instanceof Response) return answer;
  const none = { error: { message: t("stored.none", { file: fileName() }) } };
  return new Response(JSON.stringify(answer ?? none), { status: answer && !answer.error ? 200 : 404 });
}
