// The package gives the bytes that the Rust crate gives.
//
// `cargo xtask wasm` builds the engine, writes what the crate gives for each case, and runs this file.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";

import { EngineError, load } from "../index.js";

const wasm = process.env.PELLUCID_WASM;
const bodies = process.env.PELLUCID_BODIES;
const cases = fileURLToPath(new URL("cases/", import.meta.url));
const engine = await load(pathToFileURL(wasm));

const input = async (name) => JSON.parse(await readFile(join(cases, name), "utf8"));

for (const name of (await readdir(cases)).filter((name) => name.endsWith(".json"))) {
  test(`the bytes of ${name} are those of the crate`, async () => {
    const { body } = engine.assemble(await input(name));
    const expected = await readFile(join(bodies, name.replace(/json$/, "body")));
    assert.ok(Buffer.from(body).equals(expected), `${body.length} bytes, and the crate gives ${expected.length}`);
  });

  test(`the rows of ${name} cover its bytes`, async () => {
    const report = engine.report(await input(name));
    let end = 0;
    for (const row of report.rows) {
      assert.equal(row.start, end);
      end += row.bytes;
    }
    assert.equal(end, Buffer.byteLength(report.body));
    assert.equal(report.texts.length, report.rows.length);
  });
}

test("a changed file is one changed row", async () => {
  const before = await input("codex.json");
  const after = structuredClone(before);
  after.facts.project_documents[0].text = "Use blanks.";
  const { rows, continuity } = engine.diff(before, after);
  assert.deepEqual(rows.filter((row) => row.fate !== "same").map((row) => row.fate), ["changed"]);
  assert.equal(continuity.broken.part, "user_instructions");
  assert.ok(engine.diff(before, before).rows.every((row) => row.fate === "same"));
});

test("the files of a built-in pack make the same bytes", async () => {
  assert.ok(engine.packs().includes("codex"));
  const given = await input("codex.json");
  const builtin = engine.assemble(given);
  const copy = engine.assemble({ ...given, pack: { files: engine.packFiles("codex") } });
  assert.equal(copy.sha256, builtin.sha256);
  assert.equal(engine.packFiles("none"), null);
});

test("a mistake is an error that says what is wrong, and the engine answers afterwards", async () => {
  const given = await input("codex.json");
  const wrong = [
    [{ ...given, pack: { builtin: "none" } }, /no built-in pack is named `none`; known: .*codex/],
    [{ ...given, facts: { ...given.facts, modle: "x" } }, /unknown field `modle`/],
    [{ ...given, pack: { files: { "pack.toml": "name = 'x'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'wether'\n" } } }, /pack\.toml:5: unknown source `wether`/],
  ];
  for (const [input, message] of wrong) {
    assert.throws(() => engine.assemble(input), (error) => error instanceof EngineError && message.test(error.message));
  }
  assert.equal(engine.assemble(given).sha256, engine.assemble(given).sha256);
});

test("a text of 2 MB is assembled", async () => {
  const given = await input("codex.json");
  given.messages = ["é".repeat(1_000_000)];
  assert.ok(engine.assemble(given).text.includes(given.messages[0]));
});
