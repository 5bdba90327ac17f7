// The bytes of a request as they were sent, in lines of one length, with a gutter of offsets and parts.
import { h } from "./dom.js";
import { number } from "./format.js";
import { body, CHUNK } from "./interface.js";
import { makeList } from "./list.js";
import { family, visible } from "./parts.js";
import { t } from "./words.js";

const decoder = new TextDecoder("utf-8");

/** A reading: `show` marks a byte and its row, `refresh` draws rows that arrived; `hear` has what to `choose` and `hover`. */
export function wireReading(rows, bytes, hear) {
  const list = makeList("wire");
  const chunks = new Map();
  const asked = new Set();
  let wide = 0;
  let chosen = -1;

  const need = (first, last) => {
    for (let at = Math.floor((first * wide) / CHUNK); at * CHUNK < Math.min(bytes, last * wide + 4); at++) {
      if (asked.has(at)) continue;
      asked.add(at);
      body(rows.id, rows.n, at).then((chunk) => {
        chunks.set(at, chunk);
        list.later(true);
      }).catch(() => asked.delete(at));
    }
  };
  const byteAt = (at) => chunks.get(Math.floor(at / CHUNK))?.[at % CHUNK];
  /** The place from which a line is drawn: bytes that continue a character belong to the line before. */
  const border = (at) => {
    let to = Math.min(at, bytes);
    while (to < Math.min(bytes, at + 3) && (byteAt(to) & 0xc0) === 0x80) to++;
    return to;
  };
  const line = (index) => {
    const [from, to] = [border(index * wide), border((index + 1) * wide)];
    const spans = [];
    let part = "";
    for (let at = from; at < to;) {
      const found = rows.at(at);
      const row = rows.all[found];
      const end = row ? Math.min(to, row.start + row.bytes) : to;
      const piece = Uint8Array.from({ length: end - at }, (_, behind) => byteAt(at + behind) ?? 0);
      if (byteAt(end - 1) === undefined) return null;
      if (row && row.start >= from && row.part !== "input" && rows.all[found - 1]?.part !== row.part) part ||= row.part;
      spans.push(h("span.tint", { class: `${row ? family(row.source, row.origin) : ""} ${found === chosen ? "chosen-row" : ""}`, "data-row": found, "data-byte": at }, visible(decoder.decode(piece))));
      at = end;
    }
    return { cells: [h("span.offset", number(index * wide)), h("span.gutter-part", part), h("span.bytes", spans)] };
  };
  const fit = () => {
    const probe = h("span.bytes.probe", "0".repeat(100));
    list.append(probe);
    const room = list.clientWidth - (list.clientWidth < 560 ? 90 : 222);
    const next = Math.max(16, Math.min(160, Math.floor((room / (probe.getBoundingClientRect().width || 800)) * 25) * 4));
    probe.remove();
    if (next === wide) return;
    const top = list.top * wide;
    wide = next;
    list.show({ count: Math.ceil(bytes / wide), height: 21, label: t("wire.label"), need, row: line, move: (index) => hear.choose(Math.min(bytes - 1, border(index * wide))) });
    list.scrollToRow(Math.floor(top / wide));
  };
  new ResizeObserver(fit).observe(list);
  list.addEventListener("mousemove", (event) => hear.hover(Number(event.target.closest("[data-row]")?.dataset.row ?? -1)));
  list.addEventListener("mouseleave", () => hear.hover(-1));
  list.addEventListener("click", (event) => {
    const span = event.target.closest("[data-byte]");
    if (span && document.getSelection().isCollapsed) hear.choose(Number(span.dataset.byte));
  });
  return {
    element: list, refresh: () => list.later(true),
    show: (byte, row) => {
      chosen = row;
      fit();
      list.moveTo(Math.floor(byte / wide), { isMiddle: true });
      list.later(true);
    },
  };
}
