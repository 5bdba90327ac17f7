// Runs the checks of the page in a browser: node run.mjs --bin PROGRAM [--match RE] [--sample] [--images FOLDER] [--screens]
//
// The modules are those of the folder INSPECTOR_MODULES, the browser is CHROMIUM; `cargo xtask inspector` sets both.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import "./capsule.mjs";
import { CHECKS, SAMPLE } from "./checks.mjs";
import "./commands.mjs";
import { Home, MAIN } from "./home.mjs";
import "./screens.mjs";
import "./tampering.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** How long a check may wait for something, in milliseconds. */
const PATIENCE = 30000;
/** The images of the documentation: where each is taken, and how wide. */
const IMAGES = {
  "inspector-timeline": { hash: `#/s/${MAIN}?n=8`, ready: ".turns-table" }, "inspector-request": { hash: `#/s/${MAIN}/r/8?find=Be+kind`, ready: ".chosen-row" },
  "inspector-map": { hash: `#/s/${MAIN}/r/8/map`, ready: ".stage", scheme: "dark" },
};

const { values } = parseArgs({ options: { bin: { type: "string" }, match: { type: "string" }, sample: { type: "boolean" }, images: { type: "string" }, screens: { type: "boolean" } } });
const require = createRequire(path.join(process.env.INSPECTOR_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** What the checks work with. */
class World {
  async start() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "pellucid-inspector-"));
    this.home = new Home(path.resolve(values.bin), this.folder);
    this.home.make();
    // Screens have sessions of their own, which other checks do not expect in lists.
    if (names.some(isScreen)) this.home.makeMore();
    this.keepsScreens = values.screens;
    this.now = path.join(process.env.INSPECTOR_MODULES, "screens");
    fs.mkdirSync(this.now, { recursive: true });
    this.server = spawn(this.home.program, ["inspect", "--allow-fork"], { cwd: this.home.project, env: this.home.env, stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((resolve, reject) => {
      this.server.stdout.once("data", (data) => resolve(String(data).split("\n")[0]));
      this.server.once("exit", () => reject(new Error("the program ended before it printed an address")));
    });
    this.origin = new URL(line).origin;
    this.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
    const first = await this.browser.newContext();
    const page = await first.newPage();
    await page.goto(line);
    this.cookies = await first.cookies();
    await first.close();
  }

  async stop() {
    await this.browser?.close();
    this.server?.kill();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  address(hash) {
    return `${this.origin}/${hash}`;
  }

  /** Opens a page for a check; whatever it writes to the console, throws, violates or asks elsewhere is a failure. */
  async watched({ width = 1280, height = 800, scheme = "light", locale = "en-GB", isAxe = false, isClipboard = false, isRefused = false, allowed = `${this.origin}/` }, use) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: scheme, locale, bypassCSP: isAxe, permissions: isClipboard ? ["clipboard-read", "clipboard-write"] : [], acceptDownloads: true });
    context.setDefaultTimeout(PATIENCE);
    await context.addCookies(this.cookies);
    const complaints = [];
    await context.route("**", (route) => {
      const url = route.request().url();
      if (url.startsWith(allowed)) return route.continue();
      complaints.push(`request to ${url}`);
      return route.abort();
    });
    const page = await context.newPage();
    // The browser itself reports an answer that is an error; a check that provokes one says so.
    page.on("console", (message) => { if (!isRefused || !message.text().startsWith("Failed to load resource")) complaints.push(`console: ${message.text()}`); });
    page.on("pageerror", (error) => complaints.push(`error: ${error.stack}`));
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`)));
    try {
      await use(page);
    } finally {
      await context.close();
    }
    if (complaints.length) throw new Error(complaints.join("\n"));
  }

  async axe(page) {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  }

  /** Draws the images of the documentation. */
  async draw(folder) {
    for (const [name, { hash, ready, scheme = "light" }] of Object.entries(IMAGES)) {
      await this.watched({ width: 1080, height: 640, scheme }, async (page) => {
        await page.goto(this.address(hash));
        await page.locator(ready).first().waitFor();
        await page.locator(".bar-facts .badge.good").waitFor();
        await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
        await page.screenshot({ path: path.join(folder, `${name}.png`) });
      });
    }
  }
}

const wanted = values.match ? new RegExp(values.match) : values.sample ? SAMPLE : /./;
// Screens come first: other checks change sessions.
const isScreen = (name) => name.startsWith("screen ");
const names = Object.keys(CHECKS).filter((name) => wanted.test(name)).sort((one, two) => Number(isScreen(two)) - Number(isScreen(one)));
const world = new World();
const failed = [];
try {
  await world.start();
  for (const name of names) {
    try {
      await CHECKS[name](world);
      console.log(`ok      ${name}`);
    } catch (error) {
      failed.push(name);
      console.log(`FAILED  ${name}\n    ${String(error.message).split("\n").join("\n    ")}`);
    }
  }
  if (values.images) await world.draw(values.images);
} finally {
  await world.stop();
}
console.log(`inspector: ${names.length - failed.length} of ${names.length} checks passed`);
process.exitCode = failed.length || !names.length ? 1 : 0;
