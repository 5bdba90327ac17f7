// Checks that the page shows changes to the files of a session: a changed, missing, new or moved line, a cut end, and a long text.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { CHECKS } from "./checks.mjs";

const TAMPERED = "019a9000-6666-7000-8000-000000000006";
/** @param {string} folder @returns {string[]} the files below it */
const below = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile()).map((it) => path.join(it.parentPath, it.name)) : []);

function make(world) {
  const { home } = world;
  if (below(path.join(home.folder, "sessions")).some((file) => file.includes(TAMPERED))) return;
  const project = path.join(world.folder, "tampered");
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, "AGENTS.md"), "a rule\n");
  const say = (text) => `\n[[reply]]\nsay = "${text}"\nusage = { input = 3000, cached = 0, output = 5 }\n`;
  home.turn(`\n[[reply]]\ncall = [{ name = "exec_command", args = { cmd = "echo seen" } }]\nusage = { input = 3000, cached = 0, output = 5 }\n${say("The first answer.")}`, ["--session-id", TAMPERED, "The first question"], project);
  home.turn(say("The second answer."), ["resume", TAMPERED, "The second question"], project);
}

/** Changes to the lines of a file. @type {Record<string, (lines: string[]) => string[]>} */
const OF_LINES = {
  "a letter is changed": (lines) => lines.map((line) => line.replace("The first answer.", "The worst answer.").replace(/"body":"(.)/, (_, digit) => `"body":"${digit === "0" ? 1 : 0}`)),
  "a line is missing": (lines) => lines.filter((_, at) => at !== 4),
  "two lines are swapped": (lines) => [...lines.slice(0, 4), lines[5], lines[4], ...lines.slice(6)],
  "a line is new": (lines) => [...lines.slice(0, 4), lines[3], ...lines.slice(4)],
};

/** Opens the proof of the session after a change, and puts the file back. */
async function shows(world, file, change) {
  const whole = fs.readFileSync(file);
  try {
    change(file, whole);
    await world.watched({ isRefused: true }, async (page) => {
      await page.goto(world.address(`#/s/${TAMPERED}/proof`));
      await page.locator(".view-head .badge", { hasText: "altered" }).waitFor();
      await page.locator(".bar-facts .badge", { hasText: "altered" }).waitFor();
      const said = await page.locator("main").innerText();
      assert.match(said, /✕/);
      // The finding names the file, as the command does.
      const named = path.basename(file);
      assert.ok(said.includes(named) || said.includes("record") || said.includes(named.slice(0, 12)), said);
    });
  } finally {
    fs.writeFileSync(file, whole);
  }
}

const byLines = (change) => (file, whole) => fs.writeFileSync(file, `${change(String(whole).trimEnd().split("\n")).join("\n")}\n`);

for (const [name, change] of Object.entries(OF_LINES)) {
  for (const folder of ["sessions", "requests"]) {
    CHECKS[`tampering: ${name} in ${folder}`] = async (world) => {
      make(world);
      const file = below(path.join(world.home.folder, folder)).find((it) => it.includes(TAMPERED));
      await shows(world, file, byLines(change));
    };
  }
}

CHECKS["tampering: the end of the session file is cut"] = async (world) => {
  make(world);
  const file = below(path.join(world.home.folder, "sessions")).find((it) => it.includes(TAMPERED));
  await shows(world, file, byLines((lines) => lines.slice(0, -3)));
};

CHECKS["tampering: a long text is changed"] = async (world) => {
  make(world);
  const file = below(path.join(world.home.folder, "requests")).find((it) => !it.endsWith(".jsonl") && fs.readFileSync(it, "utf8").includes("You are Pellucid"));
  await shows(world, file, (it, whole) => fs.writeFileSync(it, String(whole).replace("You are Pellucid", "You are somebody")));
};

CHECKS["tampering: a file of instructions that changes is no change of the session"] = (world) => world.watched({}, async (page) => {
  make(world);
  fs.appendFileSync(path.join(world.folder, "tampered", "AGENTS.md"), "one more rule\n");
  await page.goto(world.address(`#/s/${TAMPERED}/proof`));
  await page.locator(".view-head .badge", { hasText: "proved" }).waitFor();
});
