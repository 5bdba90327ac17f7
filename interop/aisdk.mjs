#!/usr/bin/env node
// Holds `pellucid exec` and `pellucid app-server` against the provider by which the AI SDK uses the Codex CLI. See
// README.md.

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

import { PIXEL, findPackage, inputText, readOptions, runChecks } from "./bench.mjs";

// Its notes on itself are not ours.
globalThis.AI_SDK_LOG_WARNINGS = false;

const PACKAGE = "ai-sdk-provider-codex-cli";

/** The AI SDK, the provider, and a model that plays `script`. */
async function open(bench, found, script) {
  const folder = dirname(dirname(dirname(dirname(found.main))));
  const [sdk, provider, { z }] = await Promise.all(
    ["ai", PACKAGE, "zod"].map((name) => {
      const at = findPackage(folder, name);
      assert.ok(at, `the package \`${name}\` is not installed in ${folder}`);
      return import(pathToFileURL(at.main).href);
    }),
  );
  const model = await bench.model(script);
  bench.writeConfig(model.url);
  const settings = { codexPath: bench.options.bin, cwd: bench.work, env: bench.env() };
  return { sdk, provider, z, model, settings };
}

const LOOK = { call: "exec_command", args: { cmd: "echo looking" } };

/** A text by way of `exec`, after a command. */
async function text(bench, found) {
  const { sdk, provider, model, settings } = await open(bench, found, [[LOOK], "Done."]);
  const codex = provider.createCodexExec({
    defaultSettings: {
      ...settings, skipGitRepoCheck: true, approvalMode: "never", sandboxMode: "workspace-write", color: "never",
      reasoningEffort: "high",
    },
  });
  const image = { type: "file", mediaType: "image/png", data: PIXEL };
  const messages = [{ role: "user", content: [{ type: "text", text: "Look." }, image] }];
  const result = await sdk.generateText({ model: codex("gpt-5.2-codex"), messages });
  assert.deepEqual([result.text, result.finishReason], ["Done.", "stop"]);
  assert.deepEqual([result.usage.inputTokens, result.usage.outputTokens], [200, 20]);
  const { body } = model.requests()[0];
  assert.equal(body.reasoning.effort, "high");
  assert.ok(inputText(body).includes("data:image/png;base64,"), "the picture is not sent");
}

/** An object by way of `exec`. */
async function object(bench, found) {
  const { sdk, provider, z, model, settings } = await open(bench, found, ['{"a":"b"}']);
  const codex = provider.createCodexExec({ defaultSettings: { ...settings, skipGitRepoCheck: true } });
  const schema = z.object({ a: z.string() });
  const result = await sdk.generateObject({ model: codex("gpt-5.2-codex"), prompt: "Fill.", schema });
  assert.deepEqual(result.object, { a: "b" });
  assert.equal(model.requests()[0].body.text.format.type, "json_schema");
}

/** A text by way of the app-server, piece by piece, whatever the version of the server. */
async function streamed(bench, found) {
  return stream(bench, found, { minCodexVersion: "0.104.0" });
}

/** The same with a server that is as new as the provider wants by itself. */
async function asItIs(bench, found) {
  return stream(bench, found, {});
}

async function stream(bench, found, more) {
  const { sdk, provider, settings } = await open(bench, found, [[LOOK], "Done."]);
  const codex = provider.createCodexAppServer({ defaultSettings: { ...settings, ...more, logger: false } });
  bench.closers.push(() => codex.close());
  const result = sdk.streamText({ model: codex("gpt-5.2-codex"), prompt: "Look.", onError: () => {} });
  const kinds = [];
  for await (const part of result.fullStream) {
    assert.notEqual(part.type, "error", part.error?.message);
    kinds.push(part.type);
  }
  for (const kind of ["tool-call", "tool-result", "text-delta", "finish"]) {
    assert.ok(kinds.includes(kind), `${kind} is not among ${kinds}`);
  }
  assert.equal(await result.text, "Done.");
}

process.exitCode = await runChecks(readOptions(), PACKAGE, { text, object, streamed, asItIs }, () => null);
