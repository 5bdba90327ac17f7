// The parts of a request by size: part, then source, then file or tool. A table behind the drawing has the same cells.
import { go } from "./address.js";
import { behind, block, makeCanvas, makeTip, outline, pen } from "./canvas.js";
import { announce, h } from "./dom.js";
import { number, path, share, size } from "./format.js";
import { api } from "./interface.js";
import { check, command, FAMILIES, family, figure, group, legend, swatch, table, unproved, visible } from "./parts.js";
import { requestBar } from "./request-bar.js";
import { squarify } from "./squarify.js";
import { t } from "./words.js";

/** Groups of parts, the largest first, each with its leaves: files, tools, texts. */
function groupsOf(tree) {
  const groups = new Map();
  for (const { part, sources } of tree) {
    const name = group(part);
    if (!groups.has(name)) groups.set(name, { part: name, bytes: 0, leaves: [] });
    for (const { source, origins } of sources) {
      for (const leaf of origins) {
        groups.get(name).bytes += leaf.bytes;
        groups.get(name).leaves.push({ ...leaf, part, source, family: family(source, leaf.origin) });
      }
    }
  }
  const sorted = (things) => things.sort((a, b) => b.bytes - a.bytes);
  return sorted([...groups.values()].map((it) => ({ ...it, leaves: sorted(it.leaves) })));
}

export async function treemapView(place, session) {
  const { id, cwd = "" } = session.session;
  const n = place.request;
  const head = await api.request(id, n);
  const groups = groupsOf(head.tree ?? []);
  const canvas = makeCanvas("treemap");
  const tip = makeTip();
  /** @type {Set<string>|null} the tools that were called, if those that were not are marked */
  let used = null;
  let leaves = [];
  let chosen = -1;

  const isUnused = (leaf) => used !== null && leaf.part.startsWith("tools/") && !used.has(leaf.part.slice(6));
  const nameOf = (leaf, most) => path(leaf.part.startsWith("tools/") ? leaf.part.slice(6) : leaf.origin || t(`source.${leaf.source}`), cwd, most);
  const linesOf = (leaf) => [leaf.part, `${t(`source.${leaf.source}`)} ${path(leaf.origin, cwd, 80)}`, `${size(leaf.bytes, leaf.tokens)}, ${share(leaf.bytes, head.bytes)}`, ...(isUnused(leaf) ? [t("unused")] : [])];
  const write = (context, { x, y, width }, room, ...lines) => {
    context.save();
    context.beginPath();
    context.rect(x, y, width - 4, room);
    context.clip();
    // A figure that is cut would be another figure.
    lines.filter((line) => context.measureText(line).width < width - 8).forEach((line, at) => context.fillText(line, x + 5, y + 11 + 16 * at));
    context.restore();
  };
  canvas.paint = (context, width, height) => {
    leaves = [];
    for (const { of, box } of squarify(groups, { x: 0, y: 0, width, height })) {
      const top = box.width > 54 && box.height > 34 ? 20 : 2;
      pen(context, "ink", "left", 12);
      if (top > 2) write(context, box, 20, ...[`${of.part}  ${number(of.bytes)}`, of.part].filter((line) => context.measureText(line).width < box.width - 8).slice(0, 1));
      leaves.push(...squarify(of.leaves, { x: box.x + 2, y: box.y + top, width: box.width - 4, height: box.height - top - 2 }));
    }
    for (const { of, box } of leaves) {
      block(context, { x: box.x + 0.5, y: box.y + 0.5, width: box.width - 1, height: box.height - 1 }, of.family, isUnused(of));
      pen(context, isUnused(of) ? "ink" : "on-mark", "left", 12);
      if (box.width > 60 && box.height > 18) write(context, box, box.height, nameOf(of, Math.floor(box.width / 7)), box.height > 36 ? `${number(of.bytes)} · ${share(of.bytes, head.bytes)}` : "");
    }
    const box = leaves[chosen]?.box;
    if (box) outline(context, { x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2 }, "ink", 3);
  };
  const open = async (leaf) => {
    const { rows } = await api.rows(id, n, leaf.row, 1);
    go({ view: "request", session: id, request: n, byte: rows[0]?.start ?? 0, options: { read: "text" } });
  };
  const stage = h("div.stage.map-stage", { tabindex: 0, role: "group", "aria-label": t("map.label") }, canvas, tip.element);
  const at = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { x, y, leaf: leaves.find(({ box }) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height)?.of };
  };
  stage.addEventListener("mousemove", (event) => {
    const { x, y, leaf } = at(event);
    tip.show(leaf ? linesOf(leaf) : null, x, y);
  });
  stage.addEventListener("mouseleave", () => tip.show(null));
  stage.addEventListener("click", (event) => {
    const { leaf } = at(event);
    if (leaf) open(leaf);
  });
  const rows = groups.flatMap((it) => it.leaves).map((leaf) => [leaf.part, [swatch(leaf.family), t(`source.${leaf.source}`)], h("button.link", { onclick: () => open(leaf) }, visible(path(leaf.origin, cwd, 70) || t("row.open"))),
    number(leaf.bytes), number(leaf.tokens), share(leaf.bytes, head.bytes)]);
  const { box, button } = behind(table([t("part"), t("source"), t("origin"), figure(t("bytes")), figure(t("tokens")), figure(t("share"))], rows, t("map.table")));
  const mark = async (isOn) => {
    used = isOn ? new Set((await api.calls(id)).map((call) => call.tool)) : null;
    canvas.later();
  };
  return {
    element: h("div.view", h("h1.unseen", t("view.map")), requestBar(place, session, head), head.proved
      ? [h("div.tools", h("span.dim", t("map.sum", { n: number(head.bytes) })), legend(FAMILIES, (it) => t(`family.${it}`)), session.counts.calls ? check(false, mark, t("map.unused")) : null, button), stage, box] : unproved(id, head.why)),
    title: `${t("view.map")} #${n}`, command: () => command("context", "-v", `${id}#${n}`),
    press: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.target !== stage || !leaves.length || (!step && event.key !== "Enter")) return false;
      if (step) {
        chosen = (chosen + step + leaves.length) % leaves.length;
        canvas.later();
        announce(linesOf(leaves[chosen].of).join(", "));
      } else if (leaves[chosen]) open(leaves[chosen].of);
      return true;
    },
  };
}
