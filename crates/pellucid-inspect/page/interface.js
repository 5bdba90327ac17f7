// The program's interface: one function for each question. Answers about sent requests never change, so the last ones are kept.
import { isStored, stored } from "./stored.js";
import { t } from "./words.js";

const BASE = "/api/v1/";
/** How many answers are kept. */
const MOST = 64;
/** How many bytes of a body are asked for at once. */
export const CHUNK = 65536;
const kept = new Map();
let isRevealed = false;
let hearMasked = (_count) => {};

/** `hear` gets how many secrets an answer has filled with stars. */
export function whenMasked(hear) {
  hearMasked = hear;
}

/** From now on, answers have secrets as they are. */
export function reveal() {
  isRevealed = true;
  kept.clear();
}

/** Lists are given one by one. */
function question(options) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.flatMap(([key, value]) => [value].flat().map((one) => [key, String(one)]))).toString();
  return text ? `?${text}` : "";
}

/** An answer, of bytes those of a range; an error has the program's words. */
async function ask(path, init = {}, range) {
  if (isRevealed && !init.method) path += path.includes("?") ? "&reveal=true" : "?reveal=true";
  if (range) init.headers = { Range: `bytes=${range[0]}-${range[1] - 1}` };
  const response = isStored() ? await stored(path, range) : await fetch(BASE + path, init).catch(() => null);
  if (!response) throw new Error(t("gone"));
  if (!response.ok) {
    const answer = await response.json().catch(() => null);
    throw new Error(answer?.error?.message ?? `${response.status} ${response.statusText}`);
  }
  if (/\/(text|body)\b/.test(path)) hearMasked(Number(response.headers.get("Pellucid-Masked") ?? 0));
  return response;
}

/** Asks once, and keeps the answer unless it is an error. */
function once(key, make) {
  const known = kept.get(key);
  if (known) return known;
  const answer = make();
  kept.set(key, answer);
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  answer.catch(() => kept.delete(key));
  return answer;
}

const json = async (path, options = {}) => (await ask(path + question(options))).json();
const fixed = (path, options = {}) => once(path + question(options), () => json(path, options));
const session = (id) => `sessions/${encodeURIComponent(id)}`;
const request = (id, n) => `${session(id)}/requests/${n}`;

/** The questions, each named as its path. */
export const api = {
  hello: () => fixed("hello"),
  sessions: (options) => json("sessions", options),
  session: (id) => json(session(id)),
  timeline: (id, options) => json(`${session(id)}/timeline`, options),
  request: (id, n) => json(request(id, n)),
  rows: (id, n, from, count) => fixed(`${request(id, n)}/rows`, { from, count }),
  text: (id, n, options) => fixed(`${request(id, n)}/text`, options),
  absent: (id, n) => fixed(`${request(id, n)}/absent`),
  breaks: (id) => json(`${session(id)}/breaks`),
  compactions: (id) => json(`${session(id)}/compactions`),
  compaction: (id, k) => json(`${session(id)}/compactions/${k}`),
  call: (id, call) => json(`${session(id)}/calls/${encodeURIComponent(call)}`),
  output: (id, call, from) => json(`${session(id)}/calls/${encodeURIComponent(call)}/output`, { from }),
  proof: (id) => json(`${session(id)}/proof`),
  diff: (a, b) => json("diff", { a, b }),
  why: (options) => json("why", options),
  packs: (options) => json("packs", options),
  packTexts: (options) => fixed("packs", options),
  cost: (options) => json("cost", options),
  search: (options) => json("search", options),
  /** All calls of a session, as many as a page can show. */
  async calls(id) {
    let calls = [];
    for (let from = 0; from !== null && calls.length < 20000;) {
      const page = await json(`${session(id)}/calls`, { from });
      calls = calls.concat(page.calls);
      from = page.next;
    }
    return calls;
  },
};

/** @param {number} [chunk] a piece of the body; absent: all of it */
export function body(id, n, chunk) {
  const path = `${request(id, n)}/body`;
  const range = chunk === undefined ? undefined : [chunk * CHUNK, (chunk + 1) * CHUNK];
  return once(`${path}#${chunk}`, async () => new Uint8Array(await (await ask(path, {}, range)).arrayBuffer()));
}

/** @returns {Promise<Response>} one of the two questions that write */
export const post = (path, data) => ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });

/** Follows a session while it grows. What is returned stops that. */
export function follow(id, hear) {
  if (isStored()) return () => {};
  const source = new EventSource(`${BASE}events${question({ session: id })}`);
  for (const kind of ["opened", "request", "reply", "call", "compaction", "sealed", "gone"]) {
    source.addEventListener(kind, (event) => hear(kind, JSON.parse(event.data || "null")));
  }
  return () => source.close();
}
