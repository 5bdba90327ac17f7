// Elements, made by hand. Texts become text nodes, so content of a session can never become markup.

/**
 * Makes an element.
 * @param {string} tag its name, with classes after dots: `td.number`
 * @param {...any} children attributes may come first: functions listen (`onclick`), `true` is an empty attribute, null and false are none,
 *   and `region` names a box that scrolls by itself, and so by keyboard too
 * @returns {any}
 */
export function h(tag, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (name === "button") element.setAttribute("type", "button");
  const isFirst = children[0] && Object.getPrototypeOf(children[0]) === Object.prototype;
  for (const [key, value] of Object.entries(isFirst ? children.shift() : {})) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (key === "class") classes.push(...value.split(" ").filter(Boolean));
    else if (key === "region") for (const [is, word] of Object.entries({ tabindex: 0, role: "region", "aria-label": value })) element.setAttribute(is, word);
    else if (isThere(value)) element.setAttribute(key, value === true ? "" : String(value));
  }
  if (classes.length) element.className = classes.join(" ");
  append(element, children);
  return element;
}

const isThere = (it) => it !== null && it !== undefined && it !== false;

/** Lists are flattened, and what is nothing is left out. */
function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (isThere(child)) element.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** @param {...any} children those it has from now on */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Puts computed lengths into custom properties, which the style sheet uses. */
export function lay(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(`--${name}`, String(value));
  return element;
}

/** @returns {boolean} whether the keyboard writes into a field */
export function isTyping() {
  return document.activeElement?.matches("textarea, select, input:not([type=range], [type=checkbox], [type=radio])") ?? false;
}

let waiting = 0;

/** Has a screen reader read a sentence when it is idle; sentences about live events come at most once in two seconds. */
export function announce(sentence, isLive = false) {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => { document.getElementById("polite").textContent = sentence; }, isLive ? 2000 : 120);
}
