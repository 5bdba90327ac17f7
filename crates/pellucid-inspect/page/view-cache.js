// Why was this paid for again? One row for each request; of a chosen one what changed, what it cost, and how to avoid it.
import { signed } from "./absent.js";
import { go } from "./address.js";
import { fill, h } from "./dom.js";
import { clock, counted, duration, money, number, tokens } from "./format.js";
import { api } from "./interface.js";
import { makeList } from "./list.js";
import { command, facts, figure, link, notice, requestLink, verdictBadge, view, visible } from "./parts.js";
import { compared } from "./view-diff.js";
import { t } from "./words.js";

const SIGNS = { added: "+", removed: "−", changed: "~", moved: ">" };
/** How many parts that changed are listed. */
const MOST = 60;

export const pricesOf = ({ prices }) => (prices?.length ? h("p.dim", t("prices", { list: prices.map((it) => `${it.model} ${it.from} (${it.source})`).join("; ") })) : null);

function summary(answer) {
  const { next, cost } = answer;
  return [answer.estimated ? notice(t("cache.estimated"), "warn") : null, h("p.lead", h("strong", counted(answer.breaks, "break")), t("cache.over", { times: answer.times_over }), h("strong", tokens(answer.tokens_rebilled)),
    ` ${t("again")}, `, cost ? t("cache.money", { part: money(answer.cost_rebilled), whole: money(cost) }) : t("cost.noprice")),
  next ? h("p.dim", t("cache.next"), " ", next.verdict === "diverges" ? t("effect.rebilled", { part: next.part, cause: next.cause, tokens: tokens(next.tokens_rebilled) }) : [t(`verdict.${next.verdict}`), next.why].filter(Boolean).join(": ")) : null, pricesOf(answer)];
}

async function explain(id, row, folder, panel) {
  const { number: n, verdict, break: broken } = row;
  const body = h("div.explain");
  fill(panel, h("div.chosen-head", h("h2", requestLink(id, n)), verdictBadge(verdict.verdict, verdict.cause)),
    facts("facts", verdict.expected !== undefined && ["cache.expected", number(verdict.expected)], ["cache.read", number(row.provider_read)], ["again", number(row.rebilled)], ["price", row.cost ? money(row.cost) : t("unknown")],
      verdict.idle_ms !== undefined && ["cache.idle", duration(verdict.idle_ms)], row.cache_seconds && ["cache.keeps", duration(row.cache_seconds * 1000)]), h("p", t(`verdict.long.${verdict.verdict}`)), body);
  if (!broken) return;
  const head = await api.request(id, n).catch(() => ({}));
  const changes = broken.changes ?? [];
  fill(body, head.advice ? h("p.advice", h("strong", t("cache.avoid")), " ", head.advice) : null,
    h("h3", t("cache.where")), h("p", t("cache.at", { part: broken.part, n: number(broken.first_byte) }), " ", h("span.dim", visible(broken.source)), " ", broken.first_byte ? link({ view: "request", session: id, request: n, byte: broken.first_byte }, t("row.open")) : null),
    h("h3", t("changed")), h("ul.absent", changes.slice(0, MOST).map((it) => signed(SIGNS[it.how], it.part, t(`how.${it.how}`), [it.source, it.is_read ? "" : t("cache.unread")].join(" ").trim()))),
    changes.length > MOST ? h("p.dim", t("more.nodes", { n: number(changes.length - MOST) })) : null, h("h3", t("cache.texts")), await compared(`${id}#${head.before ?? n - 1}`, `${id}#${n}`, folder));
}

export async function cacheView(place, session) {
  const { id, cwd = "" } = session.session;
  const list = makeList("cache");
  const lead = h("div");
  const panel = h("section.panel.explain", { "aria-label": t("cache.why") });
  let requests = [];
  let shown = 0;
  const load = async () => {
    const answer = await api.breaks(id);
    ({ requests } = answer);
    fill(lead, summary(answer));
    list.show({
      count: requests.length, height: 32, label: t("view.cache"),
      columns: [figure("#"), { name: t("at") }, ...["tokens", "cache.kept", "uncached", "again", "cached", "price"].map((it) => figure(t(it))), { name: t("verdict") }],
      row: (index) => {
        const it = requests[index];
        return {
          cells: [`#${it.number}`, clock(it.sent_at), number(it.tokens), number(it.kept), number(it.new), it.rebilled ? h("strong.bad", number(it.rebilled)) : "0", number(it.provider_read), money(it.cost), verdictBadge(it.verdict.verdict, it.detail)],
          say: `#${it.number}: ${t(`verdict.${it.verdict.verdict}`)} ${it.detail}`,
        };
      },
      choose: (index) => go({ view: "cache", session: id, chosen: String(requests[index].number) }),
    });
  };
  const show = (chosen) => {
    const index = requests.findIndex((it) => (chosen ? String(it.number) === chosen : it.verdict.verdict === "broken"));
    if (index < 0) return fill(panel, h("h2", t("cache.why")), h("p.dim", t("cache.hint")));
    list.moveTo(index);
    if (shown === requests[index].number) return undefined;
    shown = requests[index].number;
    return explain(id, requests[index], cwd, panel);
  };
  await load();
  show(place.chosen);
  return {
    element: view(t("cache.why"), null, lead, list, panel), title: t("view.cache"),
    command: ({ chosen }) => command("cache", id, ...(chosen ? ["--explain", chosen] : [])),
    update: (to) => {
      show(to.chosen);
      return true;
    },
    hear: (kind) => { if (kind === "request" || kind === "reply") load(); },
  };
}
