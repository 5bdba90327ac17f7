// What a session cost: by part, source, tool, request or turn; and what it would have cost under other settings.
import { setOptions } from "./address.js";
import { colour, makeCanvas, pen } from "./canvas.js";
import { h, lay } from "./dom.js";
import { counted, drawn, moment, money, number, share } from "./format.js";
import { api } from "./interface.js";
import { check, choices, command, figure, notice, requestLink, table, view } from "./parts.js";
import { seriesOf } from "./request-bar.js";
import { pricesOf } from "./view-cache.js";
import { t } from "./words.js";

const BY = ["part", "source", "tool", "request", "turn"];
/** Settings that are computed from the recorded requests alone. */
const SETTINGS = ["ttl=1h", "order=stable-first", "without=tools"];

/** Names of requests and turns lead to them; the program names a turn by its id. */
async function namesOf(id, by) {
  const { turn, at } = by === "turn" ? (await seriesOf(id, 1)).columns : { turn: [], at: [] };
  return (name) => {
    const [first, last] = [turn.indexOf(name.split(" ").at(-1)), turn.lastIndexOf(name.split(" ").at(-1))];
    const number = Number(/#(\d+)$/.exec(name)?.[1] ?? first + 1);
    return !number ? name : [requestLink(id, number), last > first ? [" – ", requestLink(id, last + 1)] : null, first < 0 ? null : h("span.dim", ` ${moment(at[first])}`)];
  };
}

function costTable({ groups, total, by }, nameOf) {
  const most = Math.max(1e-12, ...groups.map((it) => drawn(it.cost)));
  const row = (it, name) => [name, number(it.read), number(it.written), number(it.uncached), number(it.answered), money(it.cost), it.cost && total.cost ? share(drawn(it.cost), drawn(total.cost)) : "", lay(h("span.bar"), { part: it === total ? 0 : drawn(it.cost) / most })];
  return table([t(`by.${by}`), ...["cached", "written", "uncached", "answered", "price", "share"].map((it) => figure(t(it))), { name: "", class: "bar-cell" }],
    [...groups.map((it) => row(it, nameOf(it.name))), row(total, h("strong", t("total")))], t("view.cost"));
}

/** The accumulated price, a line that rises. */
function chart({ groups, total }) {
  const canvas = makeCanvas("accumulated");
  const whole = drawn(total.cost) || 1;
  canvas.paint = (context, width, height) => {
    const y = (value) => height - 16 - (value / whole) * (height - 34);
    let sum = 0;
    context.beginPath();
    context.moveTo(0, y(0));
    groups.forEach((it, index) => {
      sum += drawn(it.cost);
      for (const end of [index, index + 1]) context.lineTo((end / groups.length) * width, y(sum));
    });
    context.lineTo(width, y(0));
    context.fillStyle = colour("accent");
    context.globalAlpha = 0.35;
    context.fill();
    context.globalAlpha = 1;
    pen(context, "dim", "left");
    context.fillText("#1", 0, height - 7);
    pen(context, "dim", "right");
    context.fillText(`#${groups.length}`, width, height - 7);
  };
  return h("figure.panel", canvas, h("figcaption.dim", t("cost.chart", { n: number(groups.length), total: money(total.cost) })));
}

/** What the session would have cost under other settings, one answer for each, beside what it cost. */
function simulated(answers) {
  const [answer] = answers;
  const made = answers.flatMap((it, at) => it.simulated.slice(at ? 1 : 0));
  const columns = [{ ...answer.total, name: t("cost.recorded") }, ...made.map((it) => ({ ...it, name: it.as ?? t("cost.same") }))];
  const line = (name, value) => [t(name), ...columns.map(value)];
  return [h("h2", t("cost.would")), made.filter((it) => it.note).map((it) => notice(it.note)), answer.simulated_requests_that_differ ? notice(t("cost.differ", { n: counted(answer.simulated_requests_that_differ, "request") }), "warn") : null,
    table(["", ...columns.map((it) => figure(it.name))], [line("cached", (it) => number(it.read)), line("written", (it) => number(it.written)), line("uncached", (it) => number(it.uncached)), line("answered", (it) => number(it.answered)), line("price", (it) => h("strong", money(it.cost)))], t("cost.would"))];
}

export async function costView(place, session) {
  const id = session.session.id;
  const { by = "part", as: given = "" } = place.options;
  const as = given.split(" ").filter(Boolean);
  const recorded = await api.cost({ session: id, by });
  const requests = await api.cost({ session: id, by: "request" });
  const others = Promise.all(as.map((setting) => api.cost({ session: id, by: "part", as: setting })));
  const other = as.length ? await others.then(simulated, (error) => notice(error.message, "warn")) : null;
  const toggle = (setting) => check(as.includes(setting), (isOn) => setOptions({ as: [...as.filter((it) => it !== setting), ...(isOn ? [setting] : [])].join(" ") }), h("code", setting));
  return {
    element: view(t("view.cost"), h("div.tools", choices(t("by"), BY.map((it) => [it, t(`by.${it}`)]), by, (value) => setOptions({ by: value })), h("fieldset.toggles", h("legend", t("cost.as")), SETTINGS.map(toggle))), other,
      recorded.requests_without_figures ? notice(t("cost.without", { n: counted(recorded.requests_without_figures, "request") }), "warn") : null, requests.groups.length > 1 && requests.total.cost ? chart(requests) : null, costTable(recorded, await namesOf(id, by)),
      h("p.dim", t("cost.factor", { counted: number(recorded.tokens_counted), estimated: number(recorded.tokens_estimated), factor: recorded.factor ?? "–" })), pricesOf(recorded) ?? notice(t("cost.noprice"), "warn")),
    title: t("view.cost"), command: ({ options }) => command("cost", id, "--by", options.by || "part", ...(options.as ?? "").split(" ").filter(Boolean).flatMap((it) => ["--as", it])),
  };
}
