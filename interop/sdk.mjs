#!/usr/bin/env node
// Holds `pellucid exec` against the Codex SDK for TypeScript. See README.md.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { NOWHERE, PIXEL, inputText, isGone, readOptions, runChecks, until } from "./bench.mjs";

const PACKAGE = "@openai/codex-sdk";

async function load(found) {
  return import(pathToFileURL(found.main).href);
}

/** The SDK's entry, with the program and a model that plays `script`. */
async function open(bench, found, script, { env = {}, config = {} } = {}) {
  const { Codex } = await load(found);
  const model = await bench.model(script);
  const codex = new Codex({
    codexPathOverride: bench.noted(),
    env: bench.env(env),
    config: { ...bench.provider(model.url), ...config },
  });
  return { codex, model, threadOptions: { workingDirectory: bench.work, skipGitRepoCheck: true } };
}

async function collect(streamed) {
  const events = [];
  for await (const event of streamed.events) {
    events.push(event);
  }
  return events;
}

/** An event as one line: what it is, which item, how it stands. */
function brief({ type, item }) {
  return item ? [type, item.id, item.type, item.status].filter(Boolean).join(" ") : type;
}

const USAGE = { input: 100, cached: 60, output: 10 };

const WORKING_TURN = [
  { items: [{ think: "Think first.", encrypted: "E1" }, "I look.", { call: "exec_command", args: { cmd: "echo looking" } }], usage: USAGE },
  { items: [{ call: "update_plan", args: { plan: [{ step: "Patch", status: "in_progress" }] } }], usage: USAGE },
  { items: [{ custom: "apply_patch", input: ["*** Begin Patch", "*** Add File: made.txt", "+made", "*** End Patch"] }], usage: USAGE },
  { items: [{ call: "shell", args: { command: ["bash", "-c", "exit 3"] } }], usage: USAGE },
  { items: [{ call: "update_plan", args: { plan: [{ step: "Patch", status: "completed" }] } }], usage: USAGE },
  { items: ["Grüße 🙂"], usage: USAGE },
];

/** Two turns of one thread, each a process: every kind of event, in order, with figures. */
async function turns(bench, found) {
  const { codex, model, threadOptions } = await open(bench, found, [...WORKING_TURN, { items: ["Second."], usage: USAGE }]);
  const thread = codex.startThread({ ...threadOptions, sandboxMode: "danger-full-access" });
  assert.equal(thread.id, null);
  const events = await collect(await thread.runStreamed("First prompt."));
  assert.deepEqual(events.map(brief), [
    "thread.started",
    "turn.started",
    "item.completed item_0 reasoning",
    "item.completed item_1 agent_message",
    "item.started item_2 command_execution in_progress",
    "item.completed item_2 command_execution completed",
    "item.started item_3 todo_list",
    "item.completed item_4 file_change completed",
    "item.started item_5 command_execution in_progress",
    "item.completed item_5 command_execution failed",
    "item.updated item_3 todo_list",
    "item.completed item_6 agent_message",
    "item.completed item_3 todo_list",
    "turn.completed",
  ]);
  assert.equal(events[0].thread_id, thread.id);
  const last = (id) => events.filter((it) => it.item?.id === id).at(-1).item;
  assert.equal(last("item_0").text, "Think first.");
  assert.equal(last("item_2").aggregated_output, "looking\n");
  assert.equal(last("item_2").exit_code, 0);
  assert.equal(last("item_5").exit_code, 3);
  assert.deepEqual(last("item_3").items, [{ text: "Patch", completed: true }]);
  assert.deepEqual(last("item_4").changes, [{ path: join(bench.work, "made.txt"), kind: "add" }]);
  assert.equal(last("item_6").text, "Grüße 🙂");
  const { input_tokens, cached_input_tokens, output_tokens } = events.at(-1).usage;
  assert.deepEqual([input_tokens, cached_input_tokens, output_tokens], [600, 360, 60]);

  const id = thread.id;
  const second = await thread.run("Second prompt.");
  assert.equal(thread.id, id);
  assert.equal(second.finalResponse, "Second.");
  assert.deepEqual(second.items.map((it) => it.type), ["agent_message"]);
  // The figures are of the thread, not of the turn.
  assert.deepEqual([second.usage.input_tokens, second.usage.output_tokens], [700, 70]);

  const requests = model.requests();
  assert.equal(requests.length, 7);
  for (const text of ["First prompt.", "looking", "Grüße 🙂", "Second prompt."]) {
    assert.ok(inputText(requests[6].body).includes(text), `the second turn does not send ${text}`);
  }
  assert.equal(requests[0].headers.originator, "codex_sdk_ts");
  return `${events.length} events, 7 requests`;
}

/** A thread is gone on with by its id from another process of Node. */
async function resume(bench, found) {
  const { codex, model, threadOptions } = await open(bench, found, ["One.", "Two."]);
  const thread = codex.startThread(threadOptions);
  await thread.run("First prompt.");
  const task = {
    main: found.main,
    codex: { codexPathOverride: bench.options.bin, env: bench.env(), config: bench.provider(model.url) },
    id: thread.id,
    threadOptions,
  };
  const told = execFileSync(process.execPath, [fileURLToPath(import.meta.url)], {
    env: { ...process.env, INTEROP_RESUME: JSON.stringify(task) },
    encoding: "utf8",
  });
  assert.deepEqual(JSON.parse(told), { id: thread.id, answer: "Two." });
  const sent = inputText(model.requests()[1].body);
  for (const text of ["First prompt.", "One.", "Later prompt."]) {
    assert.ok(sent.includes(text), `the resumed thread does not send ${text}`);
  }
}

/** The other process of `resume`. */
async function resumeInOtherProcess({ main, codex, id, threadOptions }) {
  const { Codex } = await import(pathToFileURL(main).href);
  const thread = new Codex(codex).resumeThread(id, threadOptions);
  const turn = await thread.run("Later prompt.");
  console.log(JSON.stringify({ id: thread.id, answer: turn.finalResponse }));
}

/** A schema for the answer, on the first turn and on a later one. */
async function schema(bench, found) {
  const outputSchema = {
    type: "object", properties: { summary: { type: "string" } }, required: ["summary"], additionalProperties: false,
  };
  const { codex, model, threadOptions } = await open(bench, found, ['{"summary":"a"}', '{"summary":"b"}', "plain"]);
  const thread = codex.startThread(threadOptions);
  const first = await thread.run("One.", { outputSchema });
  assert.deepEqual(JSON.parse(first.finalResponse), { summary: "a" });
  const second = await thread.run("Two.", { outputSchema });
  assert.deepEqual(JSON.parse(second.finalResponse), { summary: "b" });
  await thread.run("Three.");
  const formats = model.requests().map(({ body }) => body.text?.format);
  for (const format of formats.slice(0, 2)) {
    assert.deepEqual([format?.type, format?.strict, format?.schema], ["json_schema", true, outputSchema]);
  }
  assert.equal(formats[2], undefined);
  return "3 requests";
}

/** Pictures beside several texts, on the first turn and on a later one. */
async function images(bench, found) {
  const path = bench.write("pixel.png", PIXEL);
  const { codex, model, threadOptions } = await open(bench, found, ["One.", "Two."]);
  const thread = codex.startThread(threadOptions);
  await thread.run([{ type: "text", text: "Part one." }, { type: "text", text: "Part two." }, { type: "local_image", path }]);
  await thread.run([{ type: "text", text: "Again." }, { type: "local_image", path }, { type: "local_image", path }]);
  const counts = model.requests().map(({ body }) => inputText(body).split('"input_image"').length - 1);
  assert.deepEqual(counts, [1, 3]);
  const first = inputText(model.requests()[0].body);
  assert.ok(first.includes("Part one.\\n\\nPart two."), "the texts are not joined");
  assert.ok(first.includes("data:image/png;base64,"), "the picture is not sent");
  return "3 pictures";
}

/** A turn that is aborted while the model speaks: the process ends, and the thread can be gone on with. */
async function abort(bench, found) {
  // The reply holds after its first item: an answer is there, the turn is not over.
  const held = { items: ["Half.", "Never."], stall: { after: 4, ms: 600_000 } };
  const { codex, model, threadOptions } = await open(bench, found, [held, "Back."]);
  const thread = codex.startThread(threadOptions);
  const controller = new AbortController();
  const streamed = await thread.runStreamed("Aborted prompt.", { signal: controller.signal });
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const event of streamed.events) {
        seen.push(brief(event));
        if (event.type === "item.completed") {
          controller.abort();
        }
      }
    },
    { name: "AbortError" },
  );
  assert.deepEqual(seen, ["thread.started", "turn.started", "item.completed item_0 agent_message"]);
  const [pid] = bench.pids();
  await until("the aborted process is gone", () => isGone(pid));
  const next = await codex.resumeThread(thread.id, threadOptions).run("Next prompt.");
  assert.equal(next.finalResponse, "Back.");
  const sent = inputText(model.requests()[1].body);
  assert.ok(sent.includes("Aborted prompt.") && sent.includes("Next prompt."), "the thread has lost a prompt");
}

/** A turn that is aborted while a command runs. The command does not outlive it. */
async function abortCommand(bench, found) {
  const cmd = `echo $$ > ${bench.folder}/command; exec sleep 600`;
  const { codex, threadOptions } = await open(bench, found, [
    [{ call: "shell", args: { command: ["bash", "-c", cmd], timeout_ms: 600_000 } }],
  ]);
  const thread = codex.startThread({ ...threadOptions, sandboxMode: "danger-full-access" });
  const controller = new AbortController();
  const streamed = await thread.runStreamed("Wait.", { signal: controller.signal });
  await assert.rejects(
    async () => {
      for await (const event of streamed.events) {
        if (event.type === "item.started") {
          until("the command runs", () => existsSync(join(bench.folder, "command")) && bench.read("command"))
            .then(() => controller.abort());
        }
      }
    },
    { name: "AbortError" },
  );
  await until("the aborted process is gone", () => isGone(bench.pids()[0]));
  await until("its command is gone", () => isGone(bench.pids("command")[0]));
}

/** A turn that fails: an event, an error, and a process that ends with a status that the SDK takes. */
async function failure(bench, found) {
  const refused = { status: 400, json: { error: { message: "no such model", type: "invalid_request_error" } } };
  const { codex, threadOptions } = await open(bench, found, [refused, refused, "Back."]);
  const thread = codex.startThread(threadOptions);
  await assert.rejects(() => thread.run("One."), /no such model/);
  const seen = [];
  await assert.rejects(async () => {
    for await (const event of (await thread.runStreamed("Two.")).events) {
      seen.push(event);
    }
  }, /exited with code 1/);
  assert.deepEqual(seen.map((it) => it.type), ["thread.started", "turn.started", "error", "turn.failed"]);
  assert.match(seen.at(-1).error.message, /no such model/);
  assert.equal((await thread.run("Three.")).finalResponse, "Back.");
}

/** What the options of a thread and the configuration of the SDK come to in a request. */
async function options(bench, found) {
  const { codex, model, threadOptions } = await open(bench, found, ["One."], {
    config: { developer_instructions: 'Say "tab".\n', features: { unified_exec: false }, project_doc_fallback_filenames: ["HELP.md"] },
  });
  const more = bench.makeFolder("more");
  bench.write("work/HELP.md", "Instructions of the folder.\n");
  const thread = codex.startThread({
    ...threadOptions,
    model: "gpt-5.1-codex",
    sandboxMode: "workspace-write",
    modelReasoningEffort: "high",
    networkAccessEnabled: true,
    webSearchMode: "live",
    approvalPolicy: "never",
    additionalDirectories: [more],
  });
  await thread.run("Hello.");
  const { body } = model.requests()[0];
  const sent = inputText(body);
  assert.equal(body.model, "gpt-5.1-codex");
  assert.equal(body.reasoning.effort, "high");
  assert.ok(body.tools.some((it) => it.type === "web_search" && it.external_web_access === true), "no live search");
  assert.ok(!body.tools.some((it) => it.name === "exec_command"), "the feature is not off");
  for (const text of ["workspace-write", more, 'Say \\"tab\\".', "Instructions of the folder."]) {
    assert.ok(sent.includes(text), `the request lacks ${text}`);
  }
  assert.match(sent, /network access[^.]*enabled/i);
}

/** A server of tools, by the configuration: the call is an item. */
async function mcp(bench, found) {
  const server = bench.toolServer();
  const call = [{ call: "mcp__tools__greet", args: { name: "Ada" } }];
  const config = { mcp_servers: { tools: { command: process.execPath, args: [server] } } };
  const { codex, threadOptions } = await open(bench, found, [call, "Done."], { config });
  const events = await collect(await codex.startThread(threadOptions).runStreamed("Greet."));
  assert.deepEqual(events.map(brief), [
    "thread.started", "turn.started",
    "item.started item_0 mcp_tool_call in_progress", "item.completed item_0 mcp_tool_call completed",
    "item.completed item_1 agent_message", "turn.completed",
  ]);
  const { server: name, tool, arguments: args, result, error } = events[3].item;
  assert.deepEqual({ name, tool, args, error }, { name: "tools", tool: "greet", args: { name: "Ada" }, error: null });
  assert.deepEqual(result.content, [{ type: "text", text: "Hello, Ada." }]);
  assert.deepEqual(result.structured_content, { n: 1 });
}

/** The address and the key as the SDK's own options. */
async function address(bench, found) {
  const { Codex } = await load(found);
  const model = await bench.model(["Hello."]);
  const codex = new Codex({
    codexPathOverride: bench.options.bin, env: bench.env(), baseUrl: model.url, apiKey: "key-of-the-sdk",
    config: { analytics: { enabled: false }, model_providers: {} },
  });
  const thread = codex.startThread({ workingDirectory: bench.work, skipGitRepoCheck: true, model: "gpt-5.2-codex" });
  assert.equal((await thread.run("Hello.")).finalResponse, "Hello.");
  assert.equal(model.requests()[0].headers.authorization, "Bearer key-of-the-sdk");
}

if (process.env.INTEROP_RESUME) {
  await resumeInOtherProcess(JSON.parse(process.env.INTEROP_RESUME));
} else {
  const checks = { turns, resume, schema, images, abort, "abort in a command": abortCommand, failure, options, mcp, address };
  // Later versions give the address by a key of the configuration. Where it is not known, nothing is reached.
  const newer = (error) => error.message.includes(NOWHERE) && "the key `openai_base_url`";
  process.exitCode = await runChecks(readOptions(), PACKAGE, checks, newer);
}
