// What a search found in texts that were sent or answered: each text once, with the requests that have it.
import { go, setOptions } from "./address.js";
import { h } from "./dom.js";
import { number, path } from "./format.js";
import { api } from "./interface.js";
import { makeList } from "./list.js";
import { check, command, empty, family, link, swatch, view, visible } from "./parts.js";
import { t } from "./words.js";

const LETTERS = 240;

/** The line around the first match, which is marked. */
function marked(line, q) {
  const at = line.toLowerCase().indexOf(q.toLowerCase());
  if (at < 0) return visible(line.slice(0, LETTERS));
  const from = Math.max(0, at - 60);
  return [from ? "…" : "", visible(line.slice(from, at)), h("mark", visible(line.slice(at, at + q.length))), visible(line.slice(at + q.length, at + LETTERS))];
}

export async function searchView(place) {
  const { q = "", session, regex } = place.options;
  const { hits, searched } = q ? await api.search({ q, session, fixed: regex ? undefined : "true", ignore_case: "true" }) : { hits: [], searched: 0 };
  const list = makeList("hits");
  const target = ({ session: id, requests, line }) => (requests?.length ? { view: "request", session: id, request: requests.at(-1)[1], options: { find: line.trim().slice(0, 200) } } : { view: "timeline", session: id });
  list.show({
    count: hits.length, height: 34, label: t("view.search"), columns: ["session", "requests", "part", "origin", "line"].map((it) => ({ name: t(it) })),
    row: (index) => {
      const { session: id, requests, part, source, origin, line } = hits[index];
      const ranges = (requests ?? []).map(([first, last]) => (first === last ? `#${first}` : `#${first}–${last}`)).join(", ");
      return { cells: [h("code", id.slice(0, 13)), ranges, [swatch(family(source ?? "", origin ?? "")), part], visible(path(origin ?? "", "", 32)), link(target(hits[index]), marked(line, q))], say: `${part}: ${line.slice(0, 120)}` };
    },
    choose: (index) => go(target(hits[index])),
  });
  const element = view(t("search.for", { q }), [h("span.dim", { role: "status" }, t("search.sum", { n: number(hits.length), of: number(searched) })), h("div.tools", session ? link({ view: "search", options: { q } }, t("search.all")) : null,
    check(regex === "1", (isOn) => setOptions({ regex: isOn ? "1" : "" }), t("search.regex")))], hits.length ? list : empty(t("search.none")));
  element.classList.add("tall");
  return { element, title: t("view.search"), command: ({ options }) => command("sessions", "grep", ...(options.regex ? [] : ["-F"]), "-i", ...(options.session ? ["--session", options.session] : []), options.q ?? "") };
}
