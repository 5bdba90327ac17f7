// Screens of every view, in two widths and two schemes, with a small, a long, a hostile and a broken session. They are kept in
// `screens/`, so that a change of how the page looks is seen in review, and compared with a tolerance.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { CHECKS } from "./checks.mjs";
import { BROKEN, HOSTILE, LONG, MAIN, SUMMARISED } from "./home.mjs";
import { decode, differing, encode } from "./png.mjs";

const FOLDER = path.join(import.meta.dirname, "screens");
/** Screens of another browser or other fonts are not compared: this file says which drew those that are kept. */
const DRAWN_BY = path.join(FOLDER, "drawn-by.json");
const SIZES = { wide: [980, 620], narrow: [360, 640] };
const SCHEMES = ["light", "dark"];
/** The share of pixels that may be other colours: what is left of times and names of folders. */
const TOLERANCE = 0.012;

/** Views of one session: the request that is shown, and what must be there when the view is complete. */
const OF_SESSION = {
  timeline: ["", ".timeline-table"], text: ["/r/N", ".text-block"], bytes: ["/r/N/b/6001", ".bytes .chosen-row"], tree: ["/r/N/b/6001?read=tree", ".tree .chosen-row"], map: ["/r/N/map", ".behind tbody tr"], diff: ["/r/N/diff", ".diff-head"],
  cache: ["/cache", ".cache .list-row"], calls: ["/calls", ".calls, .empty"], compactions: ["/compactions", ".panel, .empty"], cost: ["/cost?by=source&as=ttl%3D1h", "td.number"], proof: ["/proof", ".proof .list-row"],
};
const SESSIONS = { small: [MAIN, 8], long: [LONG, 38], hostile: [HOSTILE, 2], broken: [BROKEN, 2] };
const ALONE = {
  sessions: ["#/", ".sessions .list-row"], packs: ["#/packs?message=hi", "td button"], compare: [`#/diff?a=${MAIN}%231&b=${MAIN}%238`, ".changes .change"], search: ["#/search?q=line", ".hits .list-row"],
  "summary-hostile": [`#/s/${SUMMARISED}/compactions/1`, ".notice"], refused: ["#/s/ffffffff-0000-7000-8000-000000000000", "[role=alert]"],
};

/** The screens by name: where each is taken. */
export const SCREENS = {};
for (const [name, [hash, ready]] of Object.entries(ALONE)) SCREENS[name] = { hash, ready };
for (const [kind, [id, n]] of Object.entries(SESSIONS)) {
  for (const [view, [end, ready]] of Object.entries(OF_SESSION)) SCREENS[`${view}-${kind}`] = { hash: `#/s/${id}${end.replace("N", n)}`, ready: kind === "broken" && end.startsWith("/r/") ? "main h1" : ready };
}

/** What a screen has of the moment and the machine is replaced by something that is always the same. */
function makeSame() {
  const same = [[/\d{4}-\d\d-\d\d/g, "2026-01-02"], [/\d\d:\d\d:\d\d(\.\d+Z?)?/g, "03:04:05"], [/pellucid-inspector-\w{6}/g, "pellucid-inspector-folder"], [/\b[0-9a-f]{12,}\b/g, (it) => "0123456789abcdef".repeat(8).slice(0, it.length)],
    [/\b[0-9a-f]{8}-[0-9a-f]{4}\b/g, "01234567-89ab"], [/\b\d+(\.\d+)? (ms|s|min)\b/g, "10 ms"]];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const now = same.reduce((text, [from, to]) => text.replace(from, to), texts.currentNode.data);
    if (now !== texts.currentNode.data) texts.currentNode.data = now;
  }
  for (const lane of document.querySelectorAll(".lane")) lane.replaceChildren();
  document.activeElement?.blur();
}

async function drawnBy(world, page) {
  const fonts = await page.evaluate(() => ["system-ui, sans-serif", "ui-monospace, monospace"].map((family) => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `40px ${family}`;
    return Math.round(context.measureText("The quick brown fox 0123 词元").width * 10);
  }));
  return { browser: world.browser.version(), fonts };
}

/** Takes a screen, and compares it with the one that is kept, or keeps it. */
async function take(world, name, width, scheme) {
  const { hash, ready } = SCREENS[name];
  const [wide, tall] = SIZES[width];
  await world.watched({ width: wide, height: tall, scheme, isRefused: true }, async (page) => {
    await page.goto(world.address(hash));
    await page.locator(ready).first().waitFor({ state: "attached" });
    await page.waitForFunction(() => !document.querySelector("main[aria-busy]"));
    await page.waitForLoadState("networkidle");
    await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
    await page.evaluate(makeSame);
    const image = decode(await page.screenshot({ animations: "disabled", caret: "hide" }));
    const file = path.join(FOLDER, `${name}-${width}-${scheme}.png`);
    const by = JSON.stringify(await drawnBy(world, page));
    if (world.keepsScreens) {
      fs.mkdirSync(FOLDER, { recursive: true });
      fs.writeFileSync(DRAWN_BY, `${by}\n`);
      fs.writeFileSync(file, encode(image));
      return;
    }
    if (fs.readFileSync(DRAWN_BY, "utf8").trim() !== by) return;
    const share = differing(image, decode(fs.readFileSync(file)));
    if (share > TOLERANCE) fs.writeFileSync(path.join(world.now, path.basename(file)), encode(image));
    assert.ok(share <= TOLERANCE, `${(100 * share).toFixed(1)} % of the pixels are other colours; ${world.now} has the screen as it is now`);
  });
}

for (const name of Object.keys(SCREENS)) {
  for (const width of Object.keys(SIZES)) for (const scheme of SCHEMES) CHECKS[`screen ${name} ${width} ${scheme}`] = (world) => take(world, name, width, scheme);
}
