// The list of sessions: forks and agents are below their parents, and every column sorts.
import { go, here, setOptions } from "./address.js";
import { h, lay } from "./dom.js";
import { counted, drawn, moment, money, number, path, shortened } from "./format.js";
import { api } from "./interface.js";
import { makeList } from "./list.js";
import { check, command, empty, link, proofBadge, view } from "./parts.js";
import { t } from "./words.js";

/** How many sessions are asked for at once, and how many at most. */
const PAGE = 200;
const MOST = 20000;
const nameOf = (one) => one.name || one.first_message || one.id;

/** @type {Record<string, (it: any) => any>} the columns, and what each sorts by */
const SORTS = {
  session: (it) => nameOf(it).toLowerCase(), folder: (it) => it.cwd ?? "", used: (it) => it.updated_at, requests: (it) => it.totals?.requests ?? -1, cached: (it) => it.totals?.usage?.cached_read ?? -1,
  uncached: (it) => it.totals?.usage?.uncached ?? -1, answered: (it) => it.totals?.usage?.output ?? -1, price: (it) => (it.cost ? drawn(it.cost) : -1), breaks: (it) => it.totals?.breaks ?? -1, verdict: (it) => it.proof ?? "",
};
const WORDS = ["session", "folder", "used", "verdict"];

/** Forks and agents below their parents, with the `depth` of each. */
function arranged(sessions, key, isUp) {
  const value = SORTS[key] ?? SORTS.used;
  const known = new Set(sessions.map((it) => it.id));
  const below = new Map();
  for (const one of sessions.slice().sort((a, b) => (value(a) < value(b) ? -1 : 1) * (isUp ? 1 : -1))) {
    const parent = known.has(one.parent?.id) ? one.parent.id : "";
    below.set(parent, [...(below.get(parent) ?? []), one]);
  }
  const rows = [];
  const add = (one, depth) => {
    known.delete(one.id);
    rows.push({ one, depth });
    for (const child of below.get(one.id) ?? []) if (known.has(child.id)) add(child, depth + 1);
  };
  for (const one of below.get("") ?? []) add(one, 0);
  // Sessions that are each other's parents have no place in a tree, and are listed all the same.
  for (const one of sessions) if (known.has(one.id)) add(one, 0);
  return rows;
}

function cells({ one, depth }) {
  const { totals, parent } = one;
  return [lay(h("span.indent", parent ? h("span.dim", "↳ ", h("span.unseen", t(`how.${parent.how}`), " ")) : null, h(one.name ? "span" : "span.unnamed", link({ view: "timeline", session: one.id }, shortened(nameOf(one), 160))),
    one.is_archived ? h("span.tag", t("archived")) : null), { depth }), h("span", { title: one.cwd }, path(one.cwd ?? "", "", 30)), moment(one.updated_at),
  ...[totals?.requests, totals?.usage?.cached_read, totals?.usage?.uncached, totals?.usage?.output].map(number), one.cost || !totals ? money(one.cost) : t("unknown"), number(totals?.breaks), totals ? proofBadge(one.proof) : h("span.dim", t(one.record ? "later" : "norecord"))];
}

export async function sessionsView(place) {
  const list = makeList("sessions");
  const count = h("span.dim", { role: "status" });
  const nothing = empty(t("sessions.none"));
  let q = place.options.q ?? "";
  let sessions = [];
  let next = null;
  let turn = 0;
  let isLoading = false;

  const load = async (isFirst) => {
    if (isLoading && !isFirst) return;
    const mine = isFirst ? ++turn : turn;
    isLoading = true;
    const { cwd, since, archived, sort = "used" } = here().options;
    const page = await api.sessions({ limit: PAGE, q, cwd, since, archived: archived ? "true" : undefined, cursor: isFirst ? undefined : next }).finally(() => { if (mine === turn) isLoading = false; });
    if (mine !== turn) return;
    sessions = isFirst ? page.sessions : [...sessions, ...page.sessions];
    next = sessions.length < MOST ? page.next : null;
    draw();
    // The program sorts by time; all other orders need every session.
    if (sort !== "used" && next) load(false);
  };
  const draw = () => {
    const { sort: key = "used", up } = here().options;
    const rows = arranged(sessions, key, up === "1");
    count.textContent = next ? t("sessions.some", { n: number(rows.length) }) : counted(rows.length, "session");
    list.show({
      count: rows.length, height: 36, label: t("sessions"),
      columns: Object.keys(SORTS).map((name) => ({
        name: t(name), class: WORDS.includes(name) ? "" : "number", sorted: key === name ? (up === "1" ? "ascending" : "descending") : undefined,
        sort: () => setOptions({ sort: name, up: key === name && up !== "1" ? "1" : "" }),
      })),
      row: (index) => ({ cells: cells(rows[index]), say: `${nameOf(rows[index].one)}, ${moment(rows[index].one.updated_at)}` }),
      choose: (index) => go({ view: "timeline", session: rows[index].one.id }),
      need: (_first, last) => { if (last > rows.length - 20 && next) load(false); },
    });
    nothing.hidden = rows.length > 0;
    list.hidden = rows.length === 0;
  };
  const set = (name, value) => {
    setOptions({ [name]: value }, true);
    load(true).catch(() => {});
  };
  const field = (name, hint) => h("label.field", t(name), h("input", { type: "text", placeholder: hint, value: place.options[name === "folder" ? "cwd" : name] ?? "", spellcheck: "false", autocomplete: "off", onchange: (event) => set(name === "folder" ? "cwd" : name, event.target.value.trim()) }));
  const element = view(t("sessions"), [count, h("div.tools", field("folder", "/home/ada/project"), field("since", "2026-11-01"), check(place.options.archived === "1", (isOn) => set("archived", isOn ? "1" : ""), t("archived")))], list, nothing);
  element.classList.add("tall");
  const filter = (event) => {
    if (!element.isConnected) return window.removeEventListener("filter", filter);
    q = event.detail;
    set("q", q);
  };
  window.addEventListener("filter", filter);
  await load(true);
  return {
    element, title: t("sessions"),
    command: ({ options: { cwd, q: text, archived } }) => command("sessions", "list", ...(cwd ? ["--cwd", cwd] : ["--all"]), ...(text ? ["--search", text] : []), ...(archived ? ["--archived"] : [])),
    update: (to) => {
      const isOther = q !== (to.options.q ?? "");
      q = to.options.q ?? "";
      if (isOther || next) load(isOther).catch(() => {});
      draw();
      return true;
    },
  };
}
