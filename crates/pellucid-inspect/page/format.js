// Figures as the commands print them: thousands with commas, amounts as `$0.0041`, times in UTC, whatever the machine's locale is.
import { t } from "./words.js";

/** @returns {string} 12,978; a dash for a figure that is not known */
export function number(value) {
  if (value === null || value === undefined) return "–";
  return (value < 0 ? "−" : "") + String(Math.abs(Math.round(value))).replace(/\B(?=(\d{3})+$)/g, ",");
}

export const signed = (value) => (value > 0 ? "+" : "") + number(value);

export const share = (part, whole) => `${whole > 0 ? ((100 * part) / whole).toFixed(1) : "0.0"} %`;

export const tokens = (n) => t("tokens.n", { n: number(n) });

/** @returns {string} 13,437 bytes, 3,359 tokens */
export const size = (bytes, n) => `${number(bytes)} bytes, ${tokens(n)}`;

/** An amount for people: `$12.30`, `$0.046`, `$0.0041`; smaller amounts as `<$0.0001`. */
export function money(money) {
  if (!money) return "–";
  const [units, rest = ""] = money.amount.replace("-", "").split(".");
  const unit = 1000000000000n;
  const parts = BigInt(units || "0") * unit + BigInt(rest.slice(0, 12).padEnd(12, "0"));
  const before = { USD: "$", EUR: "€" }[money.currency] ?? "";
  const after = before ? "" : ` ${money.currency}`;
  if (parts > 0n && parts < unit / 10000n) return `<${before}0.0001${after}`;
  const digits = parts >= unit ? 2 : parts >= unit / 100n ? 3 : 4;
  const scale = 10n ** BigInt(digits);
  const rounded = (parts * scale + unit / 2n) / unit;
  return `${money.amount.startsWith("-") ? "-" : ""}${before}${rounded / scale}.${String(rounded % scale).padStart(digits, "0")}${after}`;
}

/** @returns {number} the amount to draw with, not to print */
export const drawn = (money) => Number(money?.amount ?? 0);

/** An ISO time, or seconds since 1970, as 2026-11-18 02:18:49. */
export function moment(at) {
  const date = new Date(typeof at === "number" ? at * 1000 : at ?? NaN);
  return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(0, 19).replace("T", " ");
}

export const clock = (at) => moment(at).slice(11) || "–";

/** @returns {string} 340 ms, 2.5 s, 49 min, 3.1 h */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 60000) return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
  return ms < 3600000 ? `${Math.round(ms / 60000)} min` : `${(ms / 3600000).toFixed(1)} h`;
}

/** @param {string} noun a name in the table of words @returns {string} 1 break, 3 breaks */
export const counted = (count, noun) => t(`${noun}.${count === 1 ? "one" : "many"}`, { n: number(count) });

/** Relative to a folder, and shortened in the middle. */
export function path(path, folder = "", most = 60) {
  const letters = [...(folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path)];
  const half = Math.floor((most - 1) / 2);
  return letters.length <= most ? letters.join("") : `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

export function shortened(text, most) {
  const letters = [...text.slice(0, most * 4)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}
