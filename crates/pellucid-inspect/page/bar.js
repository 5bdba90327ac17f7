// The bar above every view: where the page is, the session with its totals, the tabs, the search field and the command to copy.
import { format, go, here } from "./address.js";
import { fill, h } from "./dom.js";
import { money, number, shortened, tokens } from "./format.js";
import { api } from "./interface.js";
import { showKeys } from "./keys.js";
import { copyButton, copyText, facts, link, proofBadge } from "./parts.js";
import { isStored } from "./stored.js";
import { language, setLanguage, t } from "./words.js";

/** The tabs of a session, in the order of their digits; those that need something show how much of it there is. */
const TABS = ["timeline", "request", "map", "diff", "cache", "calls", "compactions", "cost", "proof"];
const COUNTS = { cache: "breaks", calls: "calls", compactions: "compactions" };
const icon = document.querySelector("link[rel=icon]");
const FORMATS = { responses: "Responses", chat: "Chat Completions", messages: "Messages", gemini: "Gemini" };

export class Bar {
  constructor(element) {
    this.field = h("input.search", { type: "search", autocomplete: "off", spellcheck: "false", oninput: () => this.typed() });
    this.form = h("form", { role: "search", onsubmit: (event) => this.find(event) }, this.field);
    this.path = h("nav.crumbs");
    this.top = h("div.bar-top");
    this.facts = h("div.bar-facts");
    this.tabs = h("nav.bar-tabs");
    element.append(this.top, this.facts, this.tabs);
  }

  show(place, session, view) {
    Object.assign(this, { place, session, view });
    if (this.shown !== language()) this.frame();
    this.field.placeholder = t(place.view === "sessions" ? "search.sessions" : place.session ? "search.session" : "search.all");
    if (document.activeElement !== this.field) this.field.value = place.options.q ?? "";
    fill(this.path, h("ol", this.crumbs(place).map((step) => h("li", step))));
    fill(this.facts, session ? this.summary() : null);
    this.facts.hidden = !session;
    this.form.hidden = isStored();
    if (isStored()) api.hello().then(({ file: { redact, blanks } }) => this.facts.append(h("span.tag", t(`stored.${redact === "none" ? "all" : redact}`, { n: number(blanks) }))));
    const names = session ? this.names() : ["sessions", "packs", "compare"];
    const count = (name) => session?.counts[COUNTS[name]];
    fill(this.tabs, h("div.tabs", names.map((name) => h("a", { href: this.addressOf(name), "aria-current": place.view === name ? "page" : null }, t(`view.${name}`), count(name) ? h("span.count", number(count(name))) : null))),
      view ? copyButton(() => view.command(here()), "", t("copy.command")) : null);
    this.tabs.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Draws what is the same for all places. */
  frame() {
    this.shown = language();
    const other = this.shown === "en" ? "zh" : "en";
    this.field.setAttribute("aria-label", t("view.search"));
    this.path.setAttribute("aria-label", t("place"));
    this.tabs.setAttribute("aria-label", t("views"));
    fill(this.top, h("a.logo", { href: "#/", "aria-label": t("home") }, h("img", { src: icon.href, alt: "", width: 20, height: 20 }), "pellucid"), this.path, this.form,
      h("button.quiet", { lang: other, onclick: () => setLanguage(other) }, other === "zh" ? "中文" : "English"), h("button.quiet", { "aria-label": t("keys"), onclick: showKeys }, "?"));
  }

  crumbs({ view, request, byte, chosen }) {
    const one = this.session?.session;
    const last = byte !== undefined ? t("byte.at", { n: number(byte) }) : (/^\d/.test(chosen ?? "") ? `#${chosen}` : chosen) ?? (one || view === "sessions" ? null : t(`view.${view}`));
    return [isStored() ? null : h("a", { href: "#/" }, t("sessions")), one && link({ view: "timeline", session: one.id }, shortened(one.name || one.id.slice(0, 13), 40)),
      request && h("span", { title: `${one?.id}#${request}` }, link({ view: "request", session: one?.id, request }, `#${request}`)), last && h("span", { "aria-current": "page" }, last)].filter(Boolean);
  }

  summary() {
    const { session: one, counts, usage, wire, models, model, pack, cost } = this.session;
    return [h("strong.name", { title: one.first_message ?? "" }, shortened(one.name || one.first_message || one.id, 60)), h("span.id", h("code", one.id.slice(0, 13)), copyButton(() => one.id, t("copy.id"))), proofBadge(one.proof),
      facts("facts", ["model", (models?.length ? models : [model]).filter(Boolean).join(", ") || null], ["pack", pack], wire && ["format", FORMATS[wire] ?? wire], ["requests", number(counts.requests)],
        usage && ["sent", tokens(usage.cached_read + usage.uncached + (usage.cache_write ?? 0))], usage && ["cached", number(usage.cached_read)], usage && ["answered", number(usage.output)],
        ["price", cost ? money(cost) : t("unknown")], counts.breaks && ["breaks", number(counts.breaks)])];
  }

  /** The tabs for which the session has something. */
  names() {
    const { counts } = this.session;
    return TABS.filter((name) => ({ calls: counts.calls, compactions: counts.compactions, request: counts.requests, map: counts.requests, diff: counts.requests }[name] !== 0));
  }

  addressOf(name) {
    if (!this.session) return format({ view: name });
    return format({ view: name, session: this.session.session.id, request: this.place.request ?? (Number(this.place.options.n) || this.session.counts.requests) });
  }

  openTab(digit) {
    const name = this.names()[digit - 1];
    if (name) location.hash = this.addressOf(name);
  }

  search() {
    this.field.focus();
    this.field.select();
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { if (here().view === "sessions") window.dispatchEvent(new CustomEvent("filter", { detail: this.field.value })); }, 150);
  }

  /** Searches in the texts of requests and answers. */
  find(event) {
    event.preventDefault();
    const q = this.field.value.trim();
    const { session, options } = here();
    if (q) go({ view: "search", options: { q, session: session ?? options.session ?? "" } });
  }

  copy() {
    if (this.view) copyText(this.view.command(here()));
  }
}
