// A canvas that is drawn again when its size or the scheme changes. A table behind each drawing has the same cells: it is what a
// screen reader reads, and a button shows it to everyone.
import { fill, h, lay } from "./dom.js";
import { t } from "./words.js";

const schemes = ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"].map((it) => matchMedia(it));
const colours = new Map();

/** A custom property of the style sheet in the scheme of now; forced colours win. */
export function colour(name) {
  if (schemes[2].matches) return name === "alarm" || name === "accent" ? "Highlight" : name === "line" ? "GrayText" : "CanvasText";
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name) ?? "";
}

class DrawnCanvas extends HTMLElement {
  constructor() {
    super();
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.paint = () => {};
    this.watcher = new ResizeObserver(() => this.later());
    this.change = () => {
      colours.clear();
      this.later();
    };
  }

  connectedCallback() {
    this.append(this.canvas);
    this.watcher.observe(this);
    for (const scheme of schemes) scheme.addEventListener("change", this.change);
  }

  disconnectedCallback() {
    this.watcher.disconnect();
    for (const scheme of schemes) scheme.removeEventListener("change", this.change);
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const { width, height } = this.getBoundingClientRect();
      const context = this.canvas.getContext("2d");
      if (width < 1 || height < 1) return;
      const scale = window.devicePixelRatio || 1;
      Object.assign(this.canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
      context.scale(scale, scale);
      this.paint(context, width, height);
    });
  }
}

customElements.define("drawn-canvas", DrawnCanvas);

export const makeCanvas = (name) => Object.assign(new DrawnCanvas(), { className: name });

export function block(context, { x, y, width, height }, name, isHatched = false) {
  if (width <= 0 || height <= 0) return;
  context.fillStyle = context.strokeStyle = colour(`mark-${name}`);
  context.globalAlpha = isHatched ? 0.35 : 1;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
  if (!isHatched || height < 2) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.lineWidth = 1;
  context.beginPath();
  // Lines begin at multiples of 5, so that those of neighbours meet.
  for (let at = Math.floor((x - y - height) / 5) * 5; at < x + width - y; at += 5) {
    context.moveTo(at + y, y);
    context.lineTo(at + y + height, y + height);
  }
  context.stroke();
  context.restore();
}

export function outline(context, { x, y, width, height }, name, wide) {
  context.strokeStyle = colour(name);
  context.lineWidth = wide;
  context.strokeRect(x, y, Math.max(1, width), Math.max(1, height));
}

export function pen(context, name, align, size = 11) {
  context.fillStyle = colour(name);
  context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = align;
  context.textBaseline = "middle";
}

/** The table behind a drawing, and the button that shows it. */
export function behind(table) {
  const box = h("div.behind", table);
  const button = h("button", {
    "aria-expanded": "false", onclick: () => {
      const isOpen = box.classList.toggle("shown");
      button.setAttribute("aria-expanded", String(isOpen));
      button.textContent = t(isOpen ? "table.hide" : "table.show");
    },
  }, t("table.show"));
  return { box, button };
}

/** A tip beside the pointer: `show` takes its lines and its place, no lines hide it. */
export function makeTip() {
  const element = h("div.tip", { hidden: true, "aria-hidden": "true" });
  const show = (lines, x, y) => {
    element.hidden = !lines;
    if (!lines) return;
    fill(element, lines.map((line) => h("div", line)));
    const room = element.parentElement.clientWidth;
    lay(element, { x: `${x + 14 + element.offsetWidth > room ? Math.max(0, x - 14 - element.offsetWidth) : x + 14}px`, y: `${y + 10}px` });
  };
  return { element, show };
}
