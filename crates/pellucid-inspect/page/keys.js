// The list of keys, and the switch that turns keys of one letter off.
import { h } from "./dom.js";
import { check } from "./parts.js";
import { remember, t } from "./words.js";

const STORED = "pellucid.keys";
const KEYS = { "/": "search", "?": "keys", "1 … 9": "tabs", "[ ]": "step", "← →": "arrows", "↑ ↓": "rows", Enter: "enter", "w t j": "readings", "n p": "copies", c: "copy", u: "up", Esc: "escape" };

/** @returns {boolean} whether keys of one letter do something */
export const areKeysOn = () => remember(STORED) !== "off";

export function showKeys() {
  const dialog = h("dialog", { "aria-label": t("keys"), onclose: () => dialog.remove() }, h("h2", t("keys")),
    h("dl.keys-list", Object.entries(KEYS).map(([keys, word]) => h("div", h("dt", keys.split(" ").map((key) => h("kbd", key))), h("dd", t(`key.${word}`))))),
    check(areKeysOn(), (isOn) => remember(STORED, isOn ? "on" : "off"), t("keys.on")), h("button", { onclick: () => dialog.close() }, t("close")));
  document.body.append(dialog);
  dialog.showModal();
}
