// Drives the playground in a headless browser: `cargo xtask wasm --release` runs it with the folder that it made.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

const { PLAYGROUND, INSPECTOR_MODULES, CHROMIUM } = process.env;
const { chromium } = createRequire(join(INSPECTOR_MODULES, "package.json"))("playwright-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const FILES = ["index.html", "playground.js", "playground.css", "engine.js", "engine.wasm"];

const server = createServer(async (request, response) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1);
  if (!FILES.includes(name)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(name)] }).end(await readFile(join(PLAYGROUND, name)));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: CHROMIUM, args });
try {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => new URL(request.url()).hostname === "127.0.0.1" || request.url().startsWith("data:") || problems.push(request.url()));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const moved = (text) => page.waitForFunction((text) => document.getElementById("moved").textContent.includes(text), text);
  await moved("Nothing is different from before.");

  // A fact: one text changes, and what looks like markup stays text.
  const facts = await page.inputValue("#facts");
  await page.fill("#facts", facts.replace("in cents.", "in <b>cents</b>."));
  await moved("Texts: 1 changed; the provider's cache ends in user_instructions");
  assert.ok((await page.textContent("details.is-changed pre")).includes("in <b>cents</b>."));
  assert.equal(await page.locator("#parts b").count(), 0);
  await page.click("#keep");
  await moved("Nothing is different from before.");

  // A file of the pack, and a mistake in the layout.
  await page.selectOption("#file", "user_instructions.md");
  await page.fill("#text", (await page.inputValue("#text")).replace("AGENTS.md", "The AGENTS.md"));
  await moved("Texts: 1 changed");
  await page.click("#undo");
  await moved("Nothing is different from before.");
  await page.selectOption("#file", "pack.toml");
  await page.fill("#text", (await page.inputValue("#text")).replace('source = "environment"', 'source = "enviroment"'));
  await page.waitForFunction(() => !document.getElementById("problem").hidden);
  assert.match(await page.textContent("#problem"), /pack\.toml:\d+: unknown source `enviroment`/);
  await page.click("#undo");
  await moved("Nothing is different from before.");
  assert.equal(await page.isHidden("#problem"), true);

  // Every pack on every API makes a request, whose parts add up to its bytes.
  for (const pack of await page.$$eval("#pack option", (options) => options.map((option) => option.value))) {
    await page.selectOption("#pack", pack);
    for (const api of ["responses", "chat", "messages"]) {
      await page.selectOption("#api", api);
      assert.equal(await page.textContent("#problem"), "", `${pack} on ${api}`);
      await page.click("#keep");
      const parts = await page.$$eval("#parts summary small", (all) => all.map((it) => Number(it.textContent.trim().split(" ")[0].replaceAll(",", ""))));
      const bytes = Number((await page.textContent("#sums")).split(" ")[0].replaceAll(",", ""));
      assert.equal(parts.reduce((sum, n) => sum + n, 0), bytes, `${pack} on ${api}`);
    }
  }
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
  server.close();
}
