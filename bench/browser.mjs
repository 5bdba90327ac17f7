// Drives a browser for browser.py: node browser.mjs frames URL SESSION LAST | paint URL HASH | follow URL HASH
//
// The modules are those of the folder INSPECTOR_MODULES (`cargo xtask inspector` makes it), the browser is CHROMIUM.
// Prints one line of JSON; `follow` prints "ready" when the page follows the session, and ends with its standard input.
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.INSPECTOR_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const [what, url, ...rest] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--enable-precise-memory-info"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const origin = new URL(url).origin;
const settled = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The middle and the 95th of the times between frames, in milliseconds, while a list is scrolled or the timeline is dragged. */
async function frames(selector, isDragged = false, count = 240) {
  const times = await page.evaluate(([wanted, drags, n]) => new Promise((done) => {
    const element = document.querySelector(wanted);
    const area = element.getBoundingClientRect();
    const drag = (at) => element.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: area.left + 80 + ((at * 4) % (area.width - 160)), clientY: area.top + 150 }));
    const found = [];
    let before = 0;
    const frame = (now) => {
      if (before) found.push(now - before);
      before = now;
      if (found.length >= n) return done(found);
      if (drags) drag(found.length);
      else element.scrollTop += 90;
      return requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }), [selector, isDragged, count]);
  times.sort((a, b) => a - b);
  return [times[Math.floor(times.length / 2)], times[Math.floor(times.length * 0.95)]];
}

async function open(hash, ready) {
  await page.goto("about:blank");
  await page.goto(`${origin}/${hash}`);
  await page.locator(ready).first().waitFor({ state: "attached" });
  await settled();
}

async function measureFrames(session, last) {
  const found = {};
  await open(`#/s/${session}/calls`, ".calls .list-row");
  found["scrolling the calls"] = await frames(".calls");
  await open(`#/s/${session}/cache`, ".cache .list-row");
  found["scrolling the table of the cache"] = await frames(".cache");
  await open(`#/s/${session}/r/${last}/b/6001`, ".bytes .chosen-row");
  found["scrolling the bytes of the largest request"] = await frames(".wire");
  await open(`#/s/${session}/r/${last}`, ".text-block");
  found["scrolling its texts"] = await frames(".reading-text");
  await open(`#/s/${session}`, ".turns-table tbody tr");
  const area = await page.locator(".stage").boundingBox();
  await page.mouse.move(area.x + 80, area.y + 150);
  await page.mouse.down();
  found["dragging the timeline"] = await frames(".stage", true);
  await page.mouse.up();
  found.memory = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  return found;
}

async function measurePaint(hash) {
  await page.goto("about:blank");
  const began = Date.now();
  await page.goto(`${origin}/${hash}`, { waitUntil: "commit" });
  await page.locator(".stage canvas").waitFor({ state: "attached" });
  // Every request is drawn: the table behind the drawing has as many rows as the session has requests.
  await page.waitForFunction(() => {
    const of = Number([...document.querySelectorAll(".bar-facts dd")].map((it) => it.textContent.replaceAll(",", "")).find((it) => /^\d+$/.test(it)));
    return of > 0 && Number(document.querySelector(".timeline-table")?.getAttribute("aria-rowcount")) === of + 1;
  }, null, { polling: "raf" });
  await settled();
  const complete = Date.now() - began;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  return { paint, complete };
}

try {
  await page.goto(url);
  if (what === "frames") console.log(JSON.stringify(await measureFrames(...rest)));
  if (what === "paint") console.log(JSON.stringify(await measurePaint(rest[0])));
  if (what === "follow") {
    await open(rest[0], "main h1");
    console.log("ready");
    await new Promise((done) => process.stdin.once("end", done).resume());
  }
} finally {
  await browser.close();
}
