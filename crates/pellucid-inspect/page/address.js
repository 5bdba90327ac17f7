// Addresses of everything that can be chosen: `#/s/ID/r/7/b/5884`. Back, forward and links work because the address is all the state.

// A place has a `view`, the id of its `session`, the number of its `request`, the chosen `byte`, what else is `chosen` (a call, a
// request), and `options`, which are behind the question mark.

const OF_SESSION = ["cache", "calls", "compactions", "cost", "proof"];
const OF_REQUEST = ["map", "diff"];
const ALONE = { search: "search", packs: "packs", diff: "compare" };

export function parse(hash) {
  const [path, question = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const options = Object.fromEntries(new URLSearchParams(question));
  const [first, session, view, third, fourth, fifth] = path.split("/").filter(Boolean).map((word) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  });
  if (first !== "s" || !session) return { view: ALONE[first] ?? "sessions", options };
  if (OF_SESSION.includes(view)) return { view, session, chosen: third, options };
  if (view !== "r") return { view: "timeline", session, options };
  const place = { view: OF_REQUEST.includes(fourth) ? fourth : "request", session, request: Math.max(1, Number.parseInt(third, 10) || 1), options };
  return fourth === "b" && Number(fifth) >= 0 ? { ...place, byte: Math.floor(Number(fifth)) } : place;
}

/** The address, with its number sign. */
export function format(place) {
  const { view, session, request = 1, byte, chosen, options = {} } = place;
  const alone = Object.keys(ALONE).find((word) => ALONE[word] === view);
  const words = !session ? [alone] : view === "timeline" ? ["s", session] : view === "request" ? ["s", session, "r", request, ...(byte === undefined ? [] : ["b", byte])]
    : OF_REQUEST.includes(view) ? ["s", session, "r", request, view] : ["s", session, view, chosen];
  const question = new URLSearchParams(Object.entries(options).filter(([, value]) => value)).toString();
  return `#/${words.filter((word) => word !== undefined).map(encodeURIComponent).join("/")}${question ? `?${question}` : ""}`;
}

export const here = () => parse(location.hash);

/** Goes there; the way back leads here. */
export function go(place) {
  location.hash = format(place);
}

/** Goes there without a step in the history, for choices that change with every key. Quiet: the view is not drawn again. */
export function replace(place, isQuiet = false) {
  history.replaceState(null, "", format(place));
  window.dispatchEvent(new CustomEvent(isQuiet ? "quiet-move" : "moved"));
}

/** Sets options of the address. */
export function setOptions(changed, isQuiet = false) {
  replace({ ...here(), options: { ...here().options, ...changed } }, isQuiet);
}
