#!/usr/bin/env node
// Holds `pellucid acp` against the protocol's SDK for TypeScript, which checks every message with its own schema, and
// against acpx, a client for the command line. See README.md.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";

import { end, findPackage, inputText, readOptions, runChecks, until } from "./bench.mjs";

const SDK = "@agentclientprotocol/sdk";
const ACPX = "acpx";

/** A client by the SDK. */
async function connect(bench, found, script) {
  const sdk = await import(found.main);
  const model = await bench.model(script);
  bench.writeConfig(model.url);
  const child = spawn(bench.options.bin, ["acp"], { env: bench.env(), cwd: bench.work, stdio: ["pipe", "pipe", "inherit"] });
  bench.closers.push(() => end(child));
  const client = { updates: [], asked: [], kind: "allow_once" };
  const stream = sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const app = sdk.client({ name: "interop" });
  app.onNotification("session/update", ({ params }) => void client.updates.push(params.update));
  app.onRequest("session/request_permission", ({ params }) => {
    client.asked.push(params);
    const option = params.options.find((it) => it.kind === client.kind);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
  const { agent } = app.connect(stream);
  client.ask = (method, params) => agent.request(method, { sessionId: client.id, ...params });
  client.tell = (method) => agent.notify(method, { sessionId: client.id });
  client.about = await agent.request("initialize", { protocolVersion: sdk.PROTOCOL_VERSION, clientCapabilities: {} });
  client.place = { cwd: bench.work, mcpServers: [] };
  client.session = await agent.request("session/new", client.place);
  client.id = client.session.sessionId;
  client.prompt = (text) => client.ask("session/prompt", { prompt: [{ type: "text", text }] });
  client.text = () =>
    client.updates.filter((it) => it.sessionUpdate === "agent_message_chunk").map((it) => it.content.text).join("");
  client.requests = model.requests;
  return client;
}

const shell = (command, more = {}) => [{ call: "shell", args: { command: ["bash", "-c", command], ...more } }];

/** Two prompts, a command that is asked about, figures. */
async function prompts(bench, found) {
  const escalated = { sandbox_permissions: "require_escalated", justification: "May I?" };
  const client = await connect(bench, found, [shell("echo one > one.txt", escalated), "Done.", "Second."]);
  assert.equal(client.about.protocolVersion, 1);
  assert.equal(client.about.agentInfo.name, "pellucid");
  assert.equal((await client.prompt("First.")).stopReason, "end_turn");
  assert.equal(client.asked.length, 1);
  assert.equal(bench.read("work/one.txt"), "one\n");
  assert.equal(client.text(), "Done.");
  const [call] = client.updates.filter((it) => it.sessionUpdate === "tool_call");
  assert.match(call._meta.pellucid.request.sha256, /^[0-9a-f]{64}$/);
  const second = await client.prompt("Second.");
  assert.equal(second.stopReason, "end_turn");
  assert.ok(inputText(client.requests()[2].body).includes("First."), "the first prompt is lost");
  return `request ${second._meta.pellucid.requests[0].n}`;
}

/** A prompt is cancelled. */
async function cancel(bench, found) {
  const client = await connect(bench, found, [shell("sleep 100"), "Back."]);
  const prompt = client.prompt("Wait.");
  await until("the command runs", () => client.updates.some((it) => it.status === "in_progress"));
  await client.tell("session/cancel");
  assert.equal((await prompt).stopReason, "cancelled");
  assert.equal((await client.prompt("Next.")).stopReason, "end_turn");
}

/** A session is loaded, listed, closed and removed; a mode and an option are set. */
async function sessions(bench, found) {
  const client = await connect(bench, found, ["One.", "Two."]);
  await client.prompt("First.");
  await client.ask("session/set_mode", { modeId: "read-only" });
  const { configOptions } = await client.ask("session/set_config_option", { configId: "effort", value: "high" });
  assert.equal(configOptions.find((it) => it.id === "mode").currentValue, "read-only");
  assert.equal(configOptions.find((it) => it.id === "effort").currentValue, "high");
  client.updates.length = 0;
  await client.ask("session/load", client.place);
  assert.equal(client.text(), "One.");
  const { sessions: listed } = await client.ask("session/list", { sessionId: undefined });
  assert.ok(listed.some((it) => it.sessionId === client.id), "the session is not listed");
  await client.prompt("Second.");
  await client.ask("session/close");
  await assert.rejects(client.prompt("Closed."));
}

/** Runs acpx and gives its standard output. */
async function acpx(bench, found, args) {
  const program = `${bench.options.bin} acp`;
  const command = [join(found.folder, "node_modules/.bin/acpx"), "--agent", program, "--cwd", bench.work, ...args];
  const child = spawn(command[0], command.slice(1), { env: { ...bench.env(), HOME: bench.home }, cwd: bench.work });
  bench.closers.push(() => end(child));
  const told = { out: "", err: "" };
  child.stdout.on("data", (data) => (told.out += data));
  child.stderr.on("data", (data) => (told.err += data));
  const status = await new Promise((done) => child.once("close", done));
  assert.equal(status, 0, `acpx ${args.join(" ")}: ${told.err}${told.out}`);
  return told.out;
}

/** One prompt without a session, a session with a prompt and a mode. */
async function commandLine(bench, found) {
  const model = await bench.model([shell("cat notes.txt"), "Read.", "Again."]);
  bench.writeConfig(model.url);
  bench.write("work/notes.txt", "a note\n");
  const once = await acpx(bench, found, ["--approve-all", "--format", "text", "exec", "Read the notes."]);
  assert.match(once, /Read\./);
  await acpx(bench, found, ["sessions", "new"]);
  assert.match(await acpx(bench, found, ["--format", "text", "--ttl", "1", "prompt", "And again."]), /Again\./);
  await acpx(bench, found, ["--ttl", "1", "set-mode", "read-only"]);
  await acpx(bench, found, ["cancel"]);
  return `${model.requests().length} requests`;
}

const options = readOptions();
const none = () => null;
const sdk = await runChecks(options, SDK, { prompts, cancel, sessions }, none);
const withFolder = (check) => (bench, found) => {
  const folder = options.packages.find((it) => existsSync(join(it, "node_modules", ACPX)) && findPackage(it, ACPX));
  return check(bench, { ...found, folder });
};
process.exitCode = (await runChecks(options, ACPX, { commandLine: withFolder(commandLine) }, none)) || sdk;
