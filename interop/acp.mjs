#!/usr/bin/env node
// Holds `pellucid app-server` against the adapter by which editors that speak the Agent Client Protocol use the Codex
// CLI; with `--native`, the same checks hold `pellucid acp`, without an adapter. See README.md.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { PIXEL, end, inputText, readOptions, runChecks, until } from "./bench.mjs";

const PACKAGE = "@agentclientprotocol/codex-acp";

/** What the adapter asks a model for by itself, on a thread of its own. */
const TITLE = "generate a very short title";
const TITLE_STEP = { match: { contains: TITLE }, items: ["A title"] };

/** A step for the session, not for the title of it. */
function step(it) {
  const made = typeof it === "string" || Array.isArray(it) ? { items: [].concat(it) } : it;
  return { match: { lacks: TITLE }, ...made };
}

/** A client of the protocol: plain JSON-RPC over the adapter's standard input and output. */
class Editor {
  constructor(bench, found) {
    this.bench = bench;
    this.updates = [];
    this.asked = [];
    this.pending = new Map();
    this.nSent = 0;
    this.choose = () => ({ outcome: "cancelled" });
    const env = bench.env({ CODEX_PATH: bench.options.bin, NO_BROWSER: "1", MODEL_PROVIDER: "interop" });
    const [program, args] = bench.options.native ? [bench.options.bin, ["acp"]] : [process.execPath, [found.main]];
    this.child = spawn(program, args, { env, cwd: bench.work, stdio: ["pipe", "pipe", "ignore"] });
    bench.closers.push(() => end(this.child));
    this.child.once("exit", () => this.pending.forEach(({ fail }) => fail(new Error("the adapter has ended"))));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.take(JSON.parse(line)));
  }

  send(message) {
    this.note(">", message);
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  note(direction, message) {
    if (this.bench.options.verbose) {
      appendFileSync(join(this.bench.folder, "editor.log"), `${direction} ${JSON.stringify(message)}\n`);
    }
  }

  request(method, params) {
    const id = ++this.nSent;
    const answer = new Promise((done, fail) => {
      this.pending.set(id, { done, fail, method });
      this.send({ id, method, params });
    });
    // A check that gave up does not wait for its answers any more.
    answer.catch(() => {});
    return answer;
  }

  take(message) {
    this.note("<", message);
    const { id, method, params, result, error } = message;
    if (method === "session/update") {
      this.updates.push(params.update);
    } else if (method === "session/request_permission") {
      this.asked.push(params);
      this.send({ id, result: { outcome: this.choose(params) } });
    } else if (method) {
      if (id !== undefined) {
        this.send({ id, error: { code: -32601, message: `no ${method}` } });
      }
    } else {
      const { done, fail, method: of } = this.pending.get(id);
      this.pending.delete(id);
      error ? fail(new Error(`${of}: ${(error.data?.details ?? error.message).split(", expected one of")[0]}`)) : done(result);
    }
  }

  /** Takes the option of this kind whenever it is asked. */
  answer(kind) {
    this.choose = ({ options }) => {
      const option = options.find((it) => it.kind === kind);
      assert.ok(option, `no option ${kind} among ${JSON.stringify(options)}`);
      return { outcome: "selected", optionId: option.optionId };
    };
  }

  async start(how = {}) {
    this.about = await this.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    if (!how.id) {
      this.session = await this.request("session/new", { cwd: this.bench.work, mcpServers: how.mcpServers ?? [] });
      this.id = this.session.sessionId;
    } else {
      this.id = how.id;
      await this.request("session/load", { sessionId: how.id, cwd: this.bench.work, mcpServers: [] });
    }
    return this;
  }

  prompt(...parts) {
    const prompt = parts.map((it) => (typeof it === "string" ? { type: "text", text: it } : it));
    return this.request("session/prompt", { sessionId: this.id, prompt });
  }

  /** The text that has come in pieces of this kind. */
  text(kind = "agent_message_chunk") {
    return this.updates.filter((it) => it.sessionUpdate === kind).map((it) => it.content.text).join("");
  }

  /** The calls that have come, each with the last of each of its members. */
  calls() {
    const calls = new Map();
    for (const { sessionUpdate, ...update } of this.updates) {
      if (sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update") {
        calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
      }
    }
    return [...calls.values()];
  }
}

async function open(bench, found, script, how) {
  const model = await bench.model([TITLE_STEP, ...script.map(step)]);
  bench.writeConfig(model.url);
  const requests = () => model.requests().filter(({ body }) => !inputText(body).includes(TITLE));
  return { editor: await new Editor(bench, found).start(how), requests };
}

/** A command that the model wants to run outside of the sandbox. */
function escalated(command) {
  return {
    call: "shell",
    args: { command: ["bash", "-c", command], sandbox_permissions: "require_escalated", justification: "May I?" },
  };
}

/** A session with two prompts. */
async function prompts(bench, found) {
  const usage = { input: 100, cached: 60, output: 10 };
  const { editor, requests } = await open(bench, found, [
    { items: [{ think: "Think first.", encrypted: "E1" }, "Grüße 🙂"], usage }, { items: ["Second."], usage },
  ]);
  assert.equal(editor.about.protocolVersion, 1);
  const first = await editor.prompt("First prompt.");
  assert.equal(first.stopReason, "end_turn");
  assert.equal(first.usage.totalTokens, 110);
  assert.equal(editor.text(), "Grüße 🙂");
  assert.equal(editor.text("agent_thought_chunk").trim(), "Think first.");
  assert.ok(editor.updates.some((it) => it.sessionUpdate === "usage_update" && it.size > 0), "no figures");
  editor.updates.length = 0;
  assert.equal((await editor.prompt("Second prompt.")).stopReason, "end_turn");
  assert.equal(editor.text(), "Second.");
  assert.ok(inputText(requests()[1].body).includes("First prompt."), "the first prompt is lost");
  return `${requests().length} requests`;
}

/** A command that needs a permission: once allowed, once refused. */
async function permission(bench, found) {
  const { editor, requests } = await open(bench, found, [
    [escalated("echo one > one.txt")], "Done.", [escalated("echo two > two.txt")], "Well then.",
  ]);
  editor.answer("allow_once");
  assert.equal((await editor.prompt("Run.")).stopReason, "end_turn");
  assert.equal(editor.asked.length, 1);
  assert.equal(editor.asked[0].sessionId, editor.id);
  assert.equal(bench.read("work/one.txt"), "one\n");
  const [call] = editor.calls();
  assert.deepEqual([call.kind, call.status, call.toolCallId], ["execute", "completed", editor.asked[0].toolCall.toolCallId]);
  assert.equal(editor.text(), "Done.");

  editor.choose = ({ options }) => ({ outcome: "selected", optionId: options.find((it) => it.kind.startsWith("reject")).optionId });
  await editor.prompt("Run again.");
  assert.equal(editor.asked.length, 2);
  assert.ok(!existsSync(join(bench.work, "two.txt")), "the refused command ran");
  assert.equal(editor.calls()[1].status, "failed");
  return `${requests().length} requests, options ${editor.asked[0].options.map((it) => it.kind).join(", ")}`;
}

/** A permission for the rest of the session is not asked for again. */
async function always(bench, found) {
  const call = escalated("echo one >> log.txt");
  const { editor } = await open(bench, found, [[call], [call], "Done."]);
  editor.answer("allow_always");
  await editor.prompt("Run twice.");
  assert.equal(bench.read("work/log.txt"), "one\none\n");
  assert.equal(editor.asked.length, 1);
}

/** A plan, a change of files and a command inside of the sandbox, as an editor shows them. */
async function work(bench, found) {
  const { editor } = await open(bench, found, [
    [{ call: "update_plan", args: { plan: [{ step: "Patch", status: "in_progress" }] } }],
    [{ custom: "apply_patch", input: ["*** Begin Patch", "*** Add File: made.txt", "+made", "*** End Patch"] }],
    [{ call: "exec_command", args: { cmd: "cat made.txt" } }],
    "Done.",
  ]);
  // The adapter begins in this mode; the program itself begins in the one of the configuration.
  if (bench.options.native) await editor.request("session/set_mode", { sessionId: editor.id, modeId: "workspace" });
  assert.equal((await editor.prompt("Work.")).stopReason, "end_turn");
  const plan = editor.updates.find((it) => it.sessionUpdate === "plan");
  assert.deepEqual(plan.entries.map((it) => [it.content, it.status]), [["Patch", "in_progress"]]);
  const [patch, command] = editor.calls();
  assert.deepEqual([patch.kind, patch.status], ["edit", "completed"]);
  const diff = editor.updates.flatMap((it) => it.content ?? []).find((it) => it.type === "diff");
  assert.deepEqual([diff.path, diff.newText], [join(bench.work, "made.txt"), "made\n"]);
  assert.equal(command.status, "completed");
  assert.ok(JSON.stringify(editor.updates).includes("made\\n"), "the output of the command is not shown");
  assert.equal(editor.asked.length, 0);
}

/** A prompt is cancelled while the model speaks. */
async function cancel(bench, found) {
  const held = { items: ["Half.", "Never."], stall: { after: 4, ms: 600_000 } };
  const { editor, requests } = await open(bench, found, [held, "Back."]);
  const prompt = editor.prompt("Long prompt.");
  await until("the model speaks", () => editor.text() === "Half.");
  editor.send({ method: "session/cancel", params: { sessionId: editor.id } });
  assert.equal((await prompt).stopReason, "cancelled");
  assert.equal((await editor.prompt("Next.")).stopReason, "end_turn");
  assert.ok(inputText(requests()[1].body).includes("<turn_aborted>"), "the history does not tell of it");
}

/** A session is loaded in another process: its history is replayed, and it goes on. */
async function load(bench, found) {
  const { editor, requests } = await open(bench, found, ["One.", "Two."]);
  await editor.prompt("First prompt.");
  await end(editor.child);
  const again = await new Editor(bench, found).start({ id: editor.id });
  await until("the history is there", () => again.text() === "One." && again.text("user_message_chunk") === "First prompt.");
  again.updates.length = 0;
  await again.prompt("Second prompt.");
  assert.equal(again.text(), "Two.");
  assert.ok(inputText(requests()[1].body).includes("First prompt."), "the first prompt is lost");
  const { sessions } = await again.request("session/list", {});
  assert.ok(sessions.some((it) => it.sessionId === editor.id), "the session is not listed");
}

/** A session is closed while another goes on, and removed. */
async function close(bench, found) {
  const { editor } = await open(bench, found, ["One.", "Two."]);
  await editor.prompt("First prompt.");
  const { sessionId } = await editor.request("session/new", { cwd: bench.work, mcpServers: [] });
  await editor.request("session/close", { sessionId: editor.id });
  const origin = editor.id;
  editor.id = sessionId;
  editor.updates.length = 0;
  await editor.prompt("Second prompt.");
  assert.equal(editor.text(), "Two.");
  await editor.request("session/delete", { sessionId: origin });
  const { sessions: left } = await editor.request("session/list", {});
  assert.ok(!left.some((it) => it.sessionId === origin), "the removed session is listed");
}

/** Sessions are resumed without their history, listed and copied. */
async function sessions(bench, found) {
  const { editor: before, requests } = await open(bench, found, ["One.", "Two.", "Three."]);
  const place = { cwd: bench.work, mcpServers: [] };
  await before.prompt("First prompt.");
  await end(before.child);
  const editor = await new Editor(bench, found).start();
  const offered = editor.about.agentCapabilities.sessionCapabilities;
  editor.id = before.id;
  await editor.request("session/resume", { sessionId: editor.id, ...place });
  await editor.prompt("Second prompt.");
  assert.ok(inputText(requests()[1].body).includes("First prompt."), "the first prompt is lost");
  const origin = editor.id;
  if (offered.fork) {
    editor.id = (await editor.request("session/fork", { sessionId: origin, ...place })).sessionId;
    assert.notEqual(editor.id, origin);
    await editor.prompt("Third prompt.");
    assert.ok(inputText(requests()[2].body).includes("Second prompt."), "the copy has no history");
  }
  const { sessions: listed } = await editor.request("session/list", {});
  assert.ok(listed.some((it) => it.sessionId === origin), "the session is not listed");
  return offered.fork ? "with a copy" : "copies are not offered";
}

/** A picture and a file of the editor in a prompt. */
async function input(bench, found) {
  const { editor, requests } = await open(bench, found, ["Seen."]);
  const resource = { uri: `file://${bench.work}/notes.md`, text: "The notes.", mimeType: "text/markdown" };
  await editor.prompt(
    "Look.",
    { type: "image", mimeType: "image/png", data: PIXEL.toString("base64") },
    { type: "resource", resource },
    { type: "resource_link", uri: `file://${bench.work}/other.md`, name: "other.md" },
  );
  const sent = inputText(requests()[0].body);
  for (const text of ["Look.", "data:image/png;base64,", "The notes.", "other.md"]) {
    assert.ok(sent.includes(text), `the request lacks ${text}`);
  }
}

/** What an editor lets its user choose: what may be touched, the model, the effort. */
async function choices(bench, found) {
  const { editor, requests } = await open(bench, found, ["One.", "Two."]);
  const offered = Object.fromEntries(editor.session.configOptions.map((it) => [it.id, it.options.map(({ value }) => value)]));
  const choose = (configId, value) =>
    editor.request("session/set_config_option", { sessionId: editor.id, configId, value });
  await editor.prompt("One.");
  const [everything, effort] = bench.options.native ? ["full-access", "effort"] : ["agent-full-access", "reasoning_effort"];
  await editor.request("session/set_mode", { sessionId: editor.id, modeId: everything });
  await choose("model", "gpt-5.1-codex-max");
  await choose(effort, "high");
  await editor.prompt("Two.");
  const [first, second] = requests().map(({ body }) => body);
  assert.deepEqual([first.model, second.model], ["gpt-5.2-codex", "gpt-5.1-codex-max"]);
  assert.equal(second.reasoning.effort, "high");
  assert.ok(!inputText(first).includes("danger-full-access"), "the first prompt has full access");
  assert.ok(inputText(second).includes("danger-full-access"), "the mode has no effect");
  return Object.entries(offered).map(([id, values]) => `${id} ${values.length}`).join(", ");
}

/** Plans first, where this version offers it. */
async function plan(bench, found) {
  const { editor, requests } = await open(bench, found, ["<proposed_plan>\n# Plan\n</proposed_plan>"]);
  if (!editor.session.configOptions.some((it) => it.id === "collaboration_mode")) {
    return "not offered";
  }
  await editor.request("session/set_config_option", { sessionId: editor.id, configId: "collaboration_mode", value: "plan" });
  await editor.prompt("Plan.");
  assert.ok(inputText(requests()[0].body).includes("<collaboration_mode>"), "the model is not told to plan");
}

/** A change of files that needs a permission: the question shows it. */
async function patch(bench, found) {
  const change = ["*** Begin Patch", "*** Update File: notes.txt", "@@", "-old", "+new", "*** End Patch"];
  const { editor } = await open(bench, found, [[{ custom: "apply_patch", input: change }], "Done."]);
  bench.write("work/notes.txt", "old\n");
  const asking = editor.session.modes.availableModes.find((it) => it.description.includes("approval to edit files"));
  if (!asking) {
    return "no mode asks about it";
  }
  await editor.request("session/set_mode", { sessionId: editor.id, modeId: asking.id });
  editor.answer("allow_once");
  await editor.prompt("Change.");
  assert.equal(editor.asked.length, 1);
  assert.equal(bench.read("work/notes.txt"), "new\n");
  const diff = [...editor.updates, editor.asked[0].toolCall].flatMap((it) => it.content ?? []).find((it) => it.type === "diff");
  assert.deepEqual([diff.path, diff.oldText, diff.newText], [join(bench.work, "notes.txt"), "old\n", "new\n"]);
}

/** The adapter's own commands. */
async function commands(bench, found) {
  const { editor, requests } = await open(bench, found, ["One.", "A summary.", "Looks good.", "Two."]);
  const told = {};
  for (const command of ["/status", "/skills", "/mcp"]) {
    editor.updates.length = 0;
    assert.equal((await editor.prompt(command)).stopReason, "end_turn");
    told[command] = editor.text();
  }
  assert.match(told["/status"], /gpt-5\.2-codex/);
  assert.equal(requests().length, 0);
  await editor.prompt("One.");
  assert.equal((await editor.prompt("/compact")).stopReason, "end_turn");
  assert.equal(requests().length, 2);
  editor.updates.length = 0;
  assert.equal((await editor.prompt("/review the last commit")).stopReason, "end_turn");
  assert.match(editor.text(), /Looks good\./);
  await editor.prompt("Two.");
  assert.ok(inputText(requests()[3].body).includes("A summary."), "the summary is not sent");
}

/** A server of tools that the editor brings along. */
async function mcp(bench, found) {
  const server = bench.toolServer();
  const call = [{ call: "mcp__tools__greet", args: { name: "Ada" } }];
  const mcpServers = [{ name: "tools", command: process.execPath, args: [server], env: [] }];
  const { editor, requests } = await open(bench, found, [call, "Done."], { mcpServers });
  editor.answer("allow_once");
  await editor.prompt("Greet.");
  assert.equal(editor.calls()[0].status, "completed");
  assert.ok(inputText(requests()[1].body).includes('{\\"n\\":1}'), "the answer of the tool is not sent");
}

/** A turn that fails says why. */
async function failure(bench, found) {
  const refused = { status: 400, json: { error: { message: "no such model" } } };
  const { editor } = await open(bench, found, [refused, "Back."]);
  const told = await editor.prompt("One.").then(() => "", (error) => error.message);
  assert.match(told + editor.text(), /no such model/);
  editor.updates.length = 0;
  await editor.prompt("Two.");
  assert.equal(editor.text(), "Back.");
}

const checks = { prompts, permission, always, patch, work, cancel, load, sessions, close, input, choices, plan, commands, mcp, failure };
const NEWER_METHODS = [
  "permissionProfile/list", "thread/backgroundTerminals/list", "thread/delete", "thread/settings/update",
  "thread/turns/list", "thread/unsubscribe",
];
function newer({ message }) {
  if (message.includes("missing field `path`\nin `skills.config`")) {
    return "entries of `skills.config` that have a name and no path";
  }
  const method = NEWER_METHODS.find((it) => message.includes(`unknown variant \`${it}\``));
  return method && `the method \`${method}\``;
}

process.exitCode = await runChecks(readOptions(), PACKAGE, checks, newer);
