// Checks that the command which a view copies prints what the view shows, for each view.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { CHECKS, open, VIEWS } from "./checks.mjs";
import { MAIN } from "./home.mjs";

/** Opens a view and runs the command that it copies. */
async function copied(world, page, view) {
  await open(page, world, view);
  await page.locator("#bar").getByRole("button", { name: "Copy command" }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(command.startsWith("pellucid "), command);
  const options = { cwd: world.home.project, env: { ...world.home.env, PROGRAM: world.home.program }, maxBuffer: 1 << 28 };
  return execFileSync("sh", ["-c", `"$PROGRAM" ${command.slice("pellucid ".length)} || true`], options);
}

const cellsOf = (page, rows) => page.locator(rows).evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
/** The line that has a text, and the other texts. */
function lineWith(printed, first, ...others) {
  const line = printed.split("\n").find((it) => it.includes(first) && others.every((other) => it.includes(other)));
  assert.ok(line, `${[first, ...others].join(" and ")} in\n${printed}`);
}

/** What must be in the printed text, by view. @type {Record<string, (page: any, printed: string, raw: Buffer) => Promise<void>>} */
const SHOWN = {
  sessions: async (page, printed) => {
    for (const [name] of await cellsOf(page, ".sessions .list-row")) lineWith(printed, name.replace(/^↳\s*(forked)?\s*/, "").replace(/…$/, "").slice(0, 20));
  },
  timeline: async (page, printed) => {
    await page.getByRole("button", { name: "Show table" }).click();
    const rows = await cellsOf(page, ".timeline-table .list-row");
    assert.equal(rows.length, 10);
    for (const [number, , , tokens, , again, verdict] of rows) lineWith(printed, `${number} `, tokens, again, verdict);
  },
  map: async (page, printed) => {
    await page.getByRole("button", { name: "Show table" }).click();
    const rows = await cellsOf(page, ".behind tbody tr");
    // The command adds up what a tool has from several sources.
    const isAlone = ([part]) => part.startsWith("tools/") && rows.filter((it) => it[0] === part && it[1] !== "notation").length === 1;
    for (const [part, , , , tokens] of rows.filter((row) => isAlone(row) && row[1] !== "notation")) lineWith(printed, part.slice(6), tokens);
    lineWith(printed, "base/codex.md", rows.find((row) => row[2] === "base/codex.md")[4]);
  },
  text: async (page, printed) => {
    for (const heading of (await page.locator(".text-section h2").allInnerTexts()).slice(0, 6)) {
      const [, bytes, tokens] = /([\d,]+) bytes, ([\d,]+) tokens/.exec(heading);
      lineWith(printed, bytes, tokens);
    }
  },
  bytes: async (page, _printed, raw) => {
    assert.equal(await page.locator(".request-facts code").innerText(), createHash("sha256").update(raw).digest("hex").slice(0, 12));
  },
  tree: async (page, printed) => lineWith(printed, "bytes", await page.locator(".request-facts dd").first().innerText()),
  diff: async (page, printed) => {
    for (const part of await page.locator(".change strong").allInnerTexts()) assert.ok(printed.includes(part), part);
    lineWith(printed, "B ", (await page.locator(".diff-head strong").innerText()).split(",")[0].replace("+", "+"));
  },
  cache: async (page, printed) => {
    for (const [number, , tokens, kept, , again] of await cellsOf(page, ".cache .list-row")) lineWith(printed, `${number} `, tokens, kept, again);
  },
  calls: async (page, printed) => {
    const rows = await cellsOf(page, ".calls .list-row");
    assert.equal(rows.length, 5);
    for (const [, tool, lasted, outcome, sandbox] of rows) {
      lineWith(printed, tool, lasted, outcome.split(",")[0]);
      assert.ok(sandbox === "–" || printed.includes(`${sandbox} (`), sandbox);
    }
  },
  files: async (page, printed) => {
    assert.ok(printed.includes("call_3_1") && printed.includes(await page.locator(".explain h2").innerText()));
    for (const line of (await page.locator(".explain pre").last().innerText()).split("\n").slice(0, 2)) assert.ok(printed.includes(line), line);
  },
  compactions: async (page, printed) => {
    const [, before, after] = /([\d,]+) → ([\d,]+)/.exec(await page.locator(".facts dd", { hasText: "→" }).first().innerText());
    lineWith(printed, "A ", before);
    lineWith(printed, "B ", after);
  },
  cost: async (page, printed) => {
    for (const [name, recorded] of await cellsOf(page, ".scrolled >> nth=0 >> tbody tr")) if (name === "price") assert.ok(printed.includes(recorded), recorded);
    assert.ok(printed.includes("ttl=1h"));
  },
  proof: async (page, printed) => {
    const rows = await cellsOf(page, ".proof .list-row");
    for (const [number, purpose, bytes, items, verdict] of rows) lineWith(printed, `${number.replace("#", "").padStart(4)}  ${purpose}`, `${items} items`, `${bytes.replaceAll(",", "")} bytes`, verdict.replace("✓ ", ""));
  },
  packs: async (page, printed) => {
    for (const [fact, ...cells] of (await cellsOf(page, "tbody tr")).slice(0, 5)) lineWith(printed, fact.replace(/ \/.*\//, " "), ...cells.filter((cell) => cell !== "–").map((cell) => `${cell} / `));
  },
  compare: async (page, printed) => lineWith(printed, "B ", (await page.locator(".diff-head strong").innerText()).split(",")[0]),
  search: async (page, printed) => {
    const rows = await cellsOf(page, ".hits .list-row");
    assert.equal(printed.trim().split("\n").length, rows.length);
    for (const [, requests, part] of rows) lineWith(printed, requests.replace("–", "-"), part);
  },
};

for (const [name, isShown] of Object.entries(SHOWN)) {
  CHECKS[`the copied command prints what ${name} shows`] = (world) => world.watched({ isClipboard: true }, async (page) => {
    const raw = await copied(world, page, VIEWS[name]);
    await isShown(page, String(raw), raw);
  });
}

CHECKS["the copied command prints the sum of cost"] = (world) => world.watched({ isClipboard: true }, async (page) => {
  const cost = String(await copied(world, page, { ...VIEWS.cost, hash: `#/s/${MAIN}/cost`, ready: "table tbody tr" }));
  const [total] = (await cellsOf(page, "table tbody tr")).slice(-1);
  lineWith(cost, "total", total[1], total[3], total[4], total[5]);
});
