// The line above all views of one request: a slider over the requests of the session, a small timeline, and the request's figures.
import { format, go, here } from "./address.js";
import { block, colour, makeCanvas } from "./canvas.js";
import { fill, h } from "./dom.js";
import { moment, money, number } from "./format.js";
import { api, post } from "./interface.js";
import { badge, command, copyButton, digest, facts, refusal, verdictBadge } from "./parts.js";
import { Series } from "./series.js";
import { isStored } from "./stored.js";
import { t } from "./words.js";

/** How long the slider rests before its request is opened, in milliseconds. */
const REST = 120;
let kept = null;

export async function seriesOf(id, count) {
  if (kept?.id !== id) kept = new Series(id, "author");
  const series = kept;
  if (series.count < count) await series.load(Math.max(1, series.count));
  return series;
}

const goTo = (request) => go({ ...here(), request, byte: undefined });

function strip(id, chosen, count) {
  const canvas = makeCanvas("strip");
  seriesOf(id, count).then((series) => {
    canvas.paint = (context, width, height) => {
      const bins = series.bins(0, series.count, width, "number", "tokens");
      const most = Math.max(1, ...bins.map((bin) => series.height(bin.index, "tokens")));
      for (const { x, width: step, index, first, count: n } of bins) {
        const tall = (series.height(index, "tokens") / most) * (height - 6);
        const wide = step > 6 ? step - 2 : step;
        const isChosen = chosen > first && chosen <= first + n;
        block(context, { x, y: height - tall, width: wide, height: tall }, isChosen ? "chosen" : "notation", !isChosen);
        context.fillStyle = colour("alarm");
        if (series.columns.verdict.slice(first, first + n).includes("broken")) context.fillRect(x, 0, wide, 3);
      }
    };
    canvas.later();
  }).catch(() => canvas.remove());
  canvas.addEventListener("click", (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    goTo(Math.min(count, Math.max(1, Math.floor(((event.clientX - left) / width) * count) + 1)));
  });
  return canvas;
}

/** A button that copies the session up to this request, or the command that does it. */
function forkButton(id, n) {
  if (isStored()) return null;
  const place = h("span", copyButton(() => command("fork", `${id}#${n}`), "", t("fork")));
  const fork = (event) => {
    event.target.disabled = true;
    post("fork", { session: id, request: n }).then((answer) => answer.json()).then((made) => go({ view: "timeline", session: made.session }), (error) => fill(place, refusal(error)));
  };
  api.hello().then((hello) => { if (hello.allow_fork) fill(place, h("button", { onclick: fork }, t("fork"))); }).catch(() => {});
  return place;
}

export function requestBar(place, session, head) {
  const id = session.session.id;
  const n = head.number;
  const count = Math.max(session.counts.requests, n);
  const shown = h("strong.big", `#${n}`);
  const slider = h("input.slider", { type: "range", min: 1, max: count, value: n, "aria-label": t("view.request"), "aria-valuetext": t("request.of", { n, of: count }) });
  let timer = 0;
  slider.addEventListener("input", () => {
    shown.textContent = `#${slider.value}`;
    clearTimeout(timer);
    timer = window.setTimeout(() => goTo(Number(slider.value)), REST);
  });
  const step = (request, sign, name) => (request < 1 || request > count ? h("span.step", { "aria-hidden": "true" }, sign) : h("a.step", { href: format({ ...place, request, byte: undefined }), "aria-label": t(name) }, sign));
  const isOdd = head.attempts?.length > 1 || (head.attempts?.[0] ?? 200) !== 200;
  return h("div.request-bar", h("div.travel", step(n - 1, "‹", "prev"), shown, h("span.dim", t("of", { n: number(count) })), step(n + 1, "›", "next"), h("div.slide", strip(id, n, count), slider)),
    h("div.request-facts", head.proved ? badge(t("proof.proved"), "good") : badge(t("proof.not_provable"), "warn"), verdictBadge(head.cache?.verdict ?? "unknown", head.detail), head.purpose === "answer" ? null : h("span.tag", t(`purpose.${head.purpose}`)),
      facts("facts", ["bytes", number(head.bytes)], ["tokens", number(head.tokens)], head.usage && ["cached", number(head.usage.cached_read)], head.rebilled && ["again", number(head.rebilled)],
        ["price", head.cost ? money(head.cost) : t("unknown")], ["at", moment(head.sent_at)], head.sha256 && ["digest", digest(head.sha256)], isOdd && ["attempts", head.attempts.join(", ")], ["failure", head.failure]), forkButton(id, n)));
}
