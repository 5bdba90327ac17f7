// Checks of the page in one file: a capsule has the same views, asks no one anything, and shows what it has.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { CHECKS, VIEWS } from "./checks.mjs";
import { DAMAGED, HOSTILE, MAIN, SUMMARISED } from "./home.mjs";

/** The views that a file does not have: they are about other sessions, or about the project of today. */
const ELSEWHERE = ["sessions", "packs", "compare", "search"];
const made = new Map();

/** @returns {string} the path of the capsule of a session, made once */
function capsule(world, id, redact = "none") {
  const file = `${world.folder}/${id}-${redact}.html`;
  if (!made.has(file)) made.set(file, world.home.run(["sessions", "capsule", id, "-o", file, "--redact", redact]));
  return file;
}

/** Opens a view of a capsule, with a browser that complains of every request but the one for the file. */
const inFile = (world, id, redact, options, use) => {
  const address = String(pathToFileURL(capsule(world, id, redact)));
  return world.watched({ ...options, allowed: address }, (page) => use(page, async ({ hash, ready, title }) => {
    await page.goto("about:blank");
    await page.goto(`${address}${hash}`);
    await page.locator(ready).first().waitFor({ state: "attached" });
    if (title) assert.equal(await page.locator("h1").first().textContent(), title);
  }, address));
};

for (const [name, view] of Object.entries(VIEWS).filter(([name]) => !ELSEWHERE.includes(name))) {
  const id = /[0-9a-f-]{36}/.exec(view.hash)[0];
  CHECKS[`file ${name}`] = (world) => inFile(world, id, "none", {}, (_page, open) => open(view));
}
for (const name of ["timeline", "text", "bytes", "map", "cache", "proof"]) {
  CHECKS[`file axe ${name}`] = (world) => inFile(world, MAIN, "none", { isAxe: true }, async (page, open) => {
    await open(VIEWS[name]);
    assert.deepEqual(await world.axe(page), []);
  });
}

CHECKS["file begins with the timeline and has no view of other sessions"] = (world) => inFile(world, MAIN, "none", {}, async (page, open) => {
  await open({ hash: "", ready: ".turns-table tbody tr", title: "Timeline" });
  assert.deepEqual((await page.locator(".tabs a").allInnerTexts()).map((it) => it.replace(/\s*\d*$/, "")), ["Timeline", "Request", "Map", "Diff", "Cache", "Calls", "Summaries", "Cost", "Proof and export"]);
  assert.equal(await page.getByRole("searchbox").isVisible(), false);
  await page.getByText("nothing is blanked").waitFor();
  await page.keyboard.press("2");
  await page.locator(".text-block").first().waitFor();
  await page.keyboard.press("[");
  await page.locator("h1", { hasText: "#9" }).waitFor({ state: "attached" });
  await page.goBack();
  await page.locator("h1", { hasText: "#10" }).waitFor({ state: "attached" });
});

CHECKS["file has the bytes of every request"] = (world) => inFile(world, MAIN, "none", { isClipboard: true }, async (page, open, address) => {
  await open(VIEWS.bytes);
  const name = decodeURIComponent(address.split("/").at(-1));
  await page.locator("#bar").getByRole("button", { name: "Copy command" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `pellucid prompt --format body 'file:${name}#8'`.replaceAll("'", ""));
  const shown = await page.locator(".request-facts code").innerText();
  const body = world.home.run(["prompt", "--format", "body", `file:${world.folder}/${name}#8`]);
  assert.equal(createHash("sha256").update(body).digest("hex").slice(0, 12), shown);
  const lines = await page.locator(".wire .bytes").allInnerTexts();
  const text = body.toString("utf8");
  for (const line of lines) assert.ok(text.includes(line), line);
});

CHECKS["file has the policy of one script and one style"] = (world) => inFile(world, MAIN, "none", {}, async (page, open) => {
  await open(VIEWS.timeline);
  const policy = await page.locator("meta[http-equiv]").getAttribute("content");
  for (const rule of ["default-src 'none'", "connect-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"]) assert.ok(policy.includes(rule), policy);
  assert.deepEqual(policy.match(/'sha256-/g).length, 2);
  assert.ok(!/unsafe|\*|self/.test(policy), policy);
  assert.equal(await page.locator("script:not([type])").count(), 1);
});

CHECKS["file with hostile texts shows them and runs nothing"] = (world) => inFile(world, HOSTILE, "secrets", {}, async (page, open) => {
  for (const [hash, ready] of [["", ".stage"], [`#/s/${HOSTILE}/r/2`, ".text-block"], [`#/s/${HOSTILE}/r/2/b/6100`, ".bytes"], [`#/s/${HOSTILE}/r/2?read=tree`, ".tree"], [`#/s/${HOSTILE}/r/2/map`, ".stage"], [`#/s/${HOSTILE}/r/2/diff`, ".change"], [`#/s/${HOSTILE}/calls`, ".output"], [`#/s/${HOSTILE}/proof`, ".proof"]]) {
    await open({ hash, ready });
    assert.equal(await page.evaluate(() => "hit" in window), false, hash);
    assert.equal(await page.locator("main script, main img, main svg, main iframe").count(), 0, hash);
    assert.equal(await page.locator("a[href^='javascript']").count(), 0, hash);
  }
  await open({ hash: `#/s/${HOSTILE}/r/2?part=user_instructions&item=1`, ready: ".text-block .chosen-row" });
  assert.ok((await page.locator(".reading-text").innerText()).includes("<script>window.hit=1</script><img src=x onerror=window.hit=1>"));
});

CHECKS["file without content has figures and no word"] = (world) => inFile(world, MAIN, "content", {}, async (page, open) => {
  await open(VIEWS.text);
  const text = await page.locator(".reading-text").innerText();
  assert.ok(!text.includes("Be kind to readers"), "a line of AGENTS.md");
  await page.getByText("replaced by filler").first().waitFor();
  await open(VIEWS.timeline);
  assert.equal(await page.locator(".bar-facts dd", { hasText: "46,120 tokens" }).count(), 1);
  assert.ok(!fs.readFileSync(capsule(world, MAIN, "content"), "utf8").includes("Be kind to readers"));
});

CHECKS["file of a changed session says so"] = (world) => inFile(world, DAMAGED, "none", {}, async (page, open) => {
  await open({ hash: `#/s/${DAMAGED}/proof`, ready: ".proof .list-row", title: "Proof and export" });
  await page.locator(".view-head .badge", { hasText: "altered" }).waitFor();
  await open({ hash: `#/s/${DAMAGED}/r/2`, ready: ".notice.warn" });
});

CHECKS["file answers what it has and names the command for the rest"] = (world) => inFile(world, SUMMARISED, "none", {}, async (page, open) => {
  await open({ hash: `#/s/${SUMMARISED}/r/2/b/6001`, ready: ".chosen-row" });
  await page.locator(".more-facts", { hasText: "pellucid inspect file:" }).waitFor();
});
