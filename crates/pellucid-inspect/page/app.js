// The page: finds the view that the address names, draws the bar above it, and passes on keys and live events.
import { go, here, replace } from "./address.js";
import { Bar } from "./bar.js";
import { announce, fill, h, isTyping } from "./dom.js";
import { api, follow } from "./interface.js";
import { areKeysOn, showKeys } from "./keys.js";
import { isStored, served } from "./stored.js";
import { t, useLanguage } from "./words.js";
import { cacheView } from "./view-cache.js";
import { callsView } from "./view-calls.js";
import { compactionsView } from "./view-compactions.js";
import { costView } from "./view-cost.js";
import { compareView, diffView } from "./view-diff.js";
import { packsView } from "./view-packs.js";
import { proofView } from "./view-proof.js";
import { requestView } from "./view-request.js";
import { searchView } from "./view-search.js";
import { sessionsView } from "./view-sessions.js";
import { timelineView } from "./view-timeline.js";
import { treemapView } from "./view-treemap.js";

/**
 * What a view is to the page.
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {string} title
 * @property {(place: any) => string} command the command that prints the same
 * @property {(place: any) => boolean} [update] follows a change of the address; false: make the view again
 * @property {(kind: string, data: any) => void} [hear] a live event
 * @property {(event: KeyboardEvent) => boolean} [press] a key; true: it was used
 */

// A view is made of its place and its session, which is null where the address names none.
const VIEWS = {
  sessions: sessionsView, timeline: timelineView, map: treemapView, request: requestView, diff: diffView, compare: compareView,
  cache: cacheView, calls: callsView, compactions: compactionsView, cost: costView, proof: proofView, packs: packsView, search: searchView,
};
/** How often the newest session is looked for while the page follows it, in milliseconds. */
const NEWEST_EVERY = 3000;
/** Sessions of at most so many requests are proved as soon as they are opened. */
const PROVE_AT_ONCE = 300;

const main = document.getElementById("main");
const bar = new Bar(document.getElementById("bar"));
let view = null;
let drawn = null;
let session = null;
let unfollow = () => {};
let turn = 0;

/** @param {string|undefined} id fetches the session of the address, and follows it */
async function open(id) {
  if (session && session.session.id === id) return;
  unfollow();
  session = id ? await api.session(id) : null;
  if (!session) return;
  unfollow = follow(session.session.id, hear);
  const { counts, record } = session;
  if (record && !session.session.proof && counts.requests <= PROVE_AT_ONCE) api.proof(session.session.id).then(() => hear("sealed", null)).catch(() => {});
}

async function hear(kind, data) {
  const id = session?.session.id;
  const fresh = kind === "gone" || !id ? null : await api.session(id).catch(() => null);
  if (!fresh || session?.session.id !== id) return;
  Object.assign(session, fresh);
  if (data) view?.hear?.(kind, data);
  if (drawn) bar.show(drawn, session, view);
  if (kind === "request") announce(t("live.request", { n: data?.number }), true);
}

async function draw() {
  if (location.hash.startsWith("#/live")) return newest();
  const mine = ++turn;
  const place = here();
  if (isStored() && !place.session) return replace({ view: "timeline", session: (await api.hello()).session });
  const isSame = place.view === drawn?.view && place.session === drawn?.session;
  if (!isSame || !view?.update?.(place)) {
    main.setAttribute("aria-busy", "true");
    let made = null;
    let inner;
    try {
      await open(place.session);
      made = mine === turn ? await VIEWS[place.view](place, session) : null;
      inner = made?.element;
    } catch (error) {
      inner = h("section.notice.refused", { role: "alert" }, h("h1", t("refused")), h("p", String(error.message ?? error)));
    }
    if (mine !== turn) return;
    view = made;
    main.removeAttribute("aria-busy");
    fill(main, inner);
    document.title = `${made?.title ?? t("refused")} · Pellucid`;
    announce(made?.title ?? t("refused"));
  }
  drawn = place;
  bar.show(place, session, view);
}

async function newest() {
  const { sessions: [one] } = await api.sessions({ limit: 1 });
  if (one?.id !== here().session) replace(one ? { view: "timeline", session: one.id, options: { live: "1" } } : { view: "sessions" });
}

window.setInterval(() => { if (document.visibilityState === "visible" && here().options.live) newest().catch(() => {}); }, NEWEST_EVERY);

document.addEventListener("keydown", (event) => {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isTyping()) {
    if (key === "Escape") document.activeElement.blur();
    return;
  }
  const place = here();
  if (key === "?") showKeys();
  else if (!areKeysOn() && key.length === 1) return;
  else if (key === "/") bar.search();
  else if (view?.press?.(event)) return event.preventDefault();
  else if (/^[1-9]$/.test(key) && session) bar.openTab(Number(key));
  else if ((key === "[" || key === "]") && place.request) {
    const request = Math.min(Math.max(1, place.request + (key === "]" ? 1 : -1)), session?.counts.requests ?? 1);
    if (request !== place.request) go({ ...place, request, byte: undefined });
  } else if (key === "c") bar.copy();
  else if (key === "u") go({ view: "sessions" });
  else return;
  event.preventDefault();
});

window.addEventListener("hashchange", draw);
window.addEventListener("moved", draw);
window.addEventListener("quiet-move", () => bar.show((drawn = here()), session, view));
window.addEventListener("words", () => {
  view = null;
  draw();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

useLanguage();
api.hello().then(({ session: id, capsule }) => { if (capsule) Object.assign(served, { session: id, capsule }); }).catch(() => {}).finally(draw);
