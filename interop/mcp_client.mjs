#!/usr/bin/env node
// Holds the MCP client of `pellucid exec` against the official suite of the protocol, `@modelcontextprotocol/conformance`.
// See README.md.
//
// Without a scenario in the environment this runs the suite, which starts this file again as the client of each scenario:
// one turn, in which a scripted model calls what the scenario wants. The list of scenarios that are expected to fail,
// `mcp_client_failures.txt`, may only become shorter: a scenario in the list that passes is a failure too.

import { execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = "@modelcontextprotocol/conformance";
const FAILURES = join(HERE, "mcp_client_failures.txt");
/** How long a scenario may take. */
const LIMIT_MS = 60_000;
/** The oldest Node that the suite runs on. */
const NODE = 22;
/** Scenarios that check nothing when a client has no skills over MCP. They are run and not counted. */
const UNCHECKED = /^sep-2640-/;

const run = promisify(execFile);

/** A model that is asked over the Responses API: it makes the calls of each step, then says that it is done. */
class Model {
  constructor(steps) {
    this.steps = steps;
    this.requests = [];
  }

  async listen() {
    this.server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      if (request.method !== "POST") {
        response.writeHead(404).end();
        return;
      }
      this.requests.push(JSON.parse(body));
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const event of this.answer()) {
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      response.end();
    });
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  answer() {
    const n = this.requests.length;
    const id = `resp_${n}`;
    const step = this.steps[n - 1];
    const calls = step ? step(this.tools()) : [];
    const items = calls.map((call, at) => ({
      type: "function_call", id: `fc_${n}_${at}`, call_id: `call_${n}_${at}`, name: call.name, arguments: JSON.stringify(call.arguments ?? {}),
    }));
    if (items.length === 0) {
      items.push({ type: "message", id: `msg_${n}`, role: "assistant", content: [{ type: "output_text", text: "Done." }] });
    }
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    return [
      { type: "response.created", response: { id } },
      ...items.map((item) => ({ type: "response.output_item.done", item })),
      { type: "response.completed", response: { id, usage } },
    ];
  }

  /** The tools of the last request, by the name at their server. */
  tools() {
    const prefix = "mcp__suite__";
    const ofServer = this.requests.at(-1).tools.filter((tool) => tool.name?.startsWith(prefix));
    return new Map(ofServer.map((tool) => [tool.name.slice(prefix.length), tool]));
  }
}

/** The calls of a turn, a step for each request. */
function steps(scenario, context) {
  const call = (name, args) => (tools) => (tools.has(name) ? [{ name: tools.get(name).name, arguments: args }] : []);
  const each = (make) => (tools) => [...tools.values()].map((tool) => ({ name: tool.name, arguments: make(tool) }));
  const resource = (name, args) => () => [{ name, arguments: args }];
  switch (scenario) {
    case "tools_call":
      return [call("add_numbers", { a: 5, b: 3 })];
    case "elicitation-sep1034-client-defaults":
      return [call("test_client_elicitation_defaults")];
    case "sse-retry":
      return [call("test_reconnection")];
    case "json-schema-2020-12-preservation":
      return [
        (tools) => {
          const focal = tools.get("json_schema_2020_12_tool");
          return call("json_schema_echo", { schema: focal?.parameters })(tools);
        },
      ];
    case "sep-2322-client-request-state":
      return ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"].map((name) => call(name));
    case "http-standard-headers":
      return [
        call("test_headers"),
        resource("list_mcp_resources", { server: "suite" }),
        resource("read_mcp_resource", { server: "suite", uri: "file:///path/to/file%20name.txt" }),
      ];
    case "http-custom-headers":
      return (context.toolCalls ?? []).map((it) => call(it.name, it.arguments));
    case "http-invalid-tool-headers":
      return [each((tool) => filled(tool.parameters))];
    default:
      return [each((tool) => filled(tool.parameters))];
  }
}

/** Arguments that a schema accepts, as far as its types say. */
function filled(schema) {
  const of = { string: "x", number: 1, integer: 1, boolean: true, array: [], object: {} };
  const properties = Object.entries(schema?.properties ?? {});
  return Object.fromEntries(properties.map(([name, it]) => [name, of[[it.type].flat()[0]] ?? "x"]));
}

/** The client of one scenario: a login if the scenario is about one, then a turn. */
async function turn(url) {
  const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  const bin = process.env.PELLUCID_BIN;
  const folder = mkdtempSync(join(tmpdir(), "pellucid-mcp-"));
  const model = new Model(steps(scenario, context));
  try {
    const home = join(folder, "home");
    const [work, pack] = [join(folder, "work"), join(home, "packs", "whole")];
    mkdirSync(work, { recursive: true });
    mkdirSync(pack, { recursive: true });
    writeFileSync(join(pack, "pack.toml"), 'name = "whole"\nfrom = "codex"\n[given_tools]\nschemas = "whole"\n');
    const base = await model.listen();
    const text = JSON.stringify;
    const lines = [
      'model = "m"', 'model_provider = "mock"', 'pack = "whole"', 'mcp_oauth_credentials_store = "file"',
      "[model_providers.mock]", 'name = "Mock"', `base_url = ${text(base)}`,
      "[mcp_servers.suite]", `url = ${text(url)}`, `protocol = ${text(process.env.MCP_CLIENT_PROTOCOL ?? "auto")}`,
      "[mcp_servers.suite.oauth]", ...login(scenario, context),
    ];
    writeFileSync(join(home, "config.toml"), `${lines.join("\n")}\n`);
    const env = { PATH: process.env.PATH, HOME: home, PELLUCID_HOME: home, RUST_LOG: process.env.RUST_LOG ?? "" };
    // The person at the browser follows where they are led, and agrees to everything.
    const browser = join(folder, "browser");
    writeFileSync(browser, `#!/bin/sh\nexec '${process.execPath}' -e 'fetch(process.argv[1]).then((it) => it.text())' "$1"\n`);
    chmodSync(browser, 0o755);
    const secret = context.client_secret === undefined ? {} : { SUITE_SECRET: context.client_secret };
    const options = { cwd: work, env: { ...env, ...secret, BROWSER: browser }, timeout: LIMIT_MS - 5000 };
    if (scenario.startsWith("auth/") && !isAlone(scenario)) {
      await program(bin, ["mcp", "login", "suite"], options);
    }
    const exec = ["exec", "--skip-git-repo-check", "--elicitation", "accept-defaults", "Do it."];
    let done = await program(bin, exec, options);
    // A person does what the message says, and gives up after two logins.
    for (let n = 0; n < 2; n += 1) {
      const advice = /run `pellucid (mcp login suite[^`]*)`/.exec(done.said);
      if (!advice) break;
      await program(bin, advice[1].split(" "), options);
      done = await program(bin, exec, options);
    }
    return done.status;
  } finally {
    model.server?.close();
    model.server?.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a scenario is about a program that logs in without a person. */
function isAlone(scenario) {
  return scenario.includes("client-credentials");
}

/** What a scenario gives a client for its login, as keys of the configuration. Without an id there is a document about the client. */
function login(scenario, context) {
  const id = context.client_id ?? "https://conformance-test.local/client-metadata.json";
  const keys = { client_id: id };
  if (context.client_secret !== undefined) keys.client_secret_env_var = "SUITE_SECRET";
  if (isAlone(scenario)) keys.grant = "client_credentials";
  return Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
}

/** Runs the program: its status, and what it said, which the suite repeats. */
async function program(bin, args, options) {
  return new Promise((done) => {
    const child = spawn(bin, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        said += data;
        process.stderr.write(data);
      });
    }
    child.once("error", () => done({ status: -1, said }));
    child.once("close", (status) => done({ status: status ?? 1, said }));
  });
}

/** Runs a scenario of the suite: whether it passed, and its checks. */
async function scenarioPasses(suite, name, bin, folder) {
  const command = `${process.execPath} ${fileURLToPath(import.meta.url)}`;
  const results = join(folder, name.replaceAll("/", "_"));
  const args = [suite, "client", "--command", command, "--scenario", name, "--timeout", String(LIMIT_MS), "-o", results];
  const env = { ...process.env, PELLUCID_BIN: bin, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const { stdout, stderr } = await run(process.execPath, args, { env, maxBuffer: 1 << 28 }).catch((error) => error);
  const found = readdirSync(results, { recursive: true }).find((it) => it.endsWith("checks.json"));
  const checks = found ? JSON.parse(readFileSync(join(results, found), "utf8")) : [];
  const count = (status) => checks.filter((it) => it.status === status).length;
  const failed = checks.filter((it) => it.status === "FAILURE").map((it) => `${it.id}: ${it.errorMessage ?? it.description}`);
  const isPass = count("FAILURE") === 0 && count("SUCCESS") > 0 && count("WARNING") === 0;
  return { name, isPass, n: [count("SUCCESS"), count("FAILURE"), count("WARNING")], failed, said: `${stdout}\n${stderr}` };
}

async function main() {
  const { values: options } = parseArgs({
    options: {
      bin: { type: "string", default: join(dirname(HERE), "target/debug/pellucid") },
      packages: { type: "string", default: process.cwd() },
      match: { type: "string", default: "" },
      jobs: { type: "string", default: "2" },
      require: { type: "boolean", default: false },
      shorten: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
    },
  });
  const suite = join(resolve(options.packages), "node_modules", PACKAGE, "dist/index.js");
  const skip = (why) => {
    console.log(`SKIPPED mcp client: ${why}`);
    return options.require ? 1 : 0;
  };
  if (!existsSync(suite)) return skip(`${PACKAGE} is not installed in ${options.packages}`);
  if (Number(process.versions.node.split(".")[0]) < NODE) return skip(`the suite needs Node ${NODE}, this is ${process.version}`);
  if (!existsSync(options.bin)) return skip(`there is no ${options.bin}`);
  const listed = await run(process.execPath, [suite, "list", "--client"]);
  const all = [...listed.stdout.matchAll(/^\s*- (\S+) \[(.*)\]$/gm)].map((it) => ({ name: it[1], revisions: it[2] }));
  const lines = readFileSync(FAILURES, "utf8").split("\n").map((line) => line.trim());
  const expected = new Set(lines.filter((line) => line !== "" && !line.startsWith("#")));
  const wanted = all.filter((it) => it.name.includes(options.match));
  const folder = mkdtempSync(join(tmpdir(), "pellucid-mcp-suite-"));
  const results = [];
  const waiting = [...wanted];
  const work = async () => {
    for (let it = waiting.shift(); it; it = waiting.shift()) {
      const result = { ...it, ...(await scenarioPasses(suite, it.name, resolve(options.bin), folder)) };
      results.push(result);
      const word = result.isPass ? "passed" : "failed";
      console.log(`${word}  ${it.name} (${result.n[0]} checks passed, ${result.n[1]} failed, ${result.n[2]} warnings)`);
      if (options.verbose && !result.isPass) console.log(`${result.failed.map((line) => `    ${line}`).join("\n")}\n${result.said}`);
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  rmSync(folder, { recursive: true, force: true });
  if (options.shorten) {
    const passing = new Set(results.filter((it) => it.isPass).map((it) => it.name));
    writeFileSync(FAILURES, readFileSync(FAILURES, "utf8").split("\n").filter((line) => !passing.has(line.trim())).join("\n"));
    passing.forEach((name) => expected.delete(name));
  }
  const counted = results.filter((it) => !UNCHECKED.test(it.name));
  const dated = counted.filter((it) => it.revisions !== "extension");
  const passed = (of) => of.filter((it) => it.isPass).length;
  const wrong = results.filter((it) => it.isPass === expected.has(it.name) && !UNCHECKED.test(it.name));
  for (const it of wrong) {
    const what = it.isPass ? "passes and is in the list of expected failures: remove it" : "fails and is not in the list of expected failures";
    console.log(`FAILED  ${it.name} ${what}`);
  }
  console.log(
    `mcp client: ${passed(counted)} of ${counted.length} scenarios passed, ${passed(dated)} of the ${dated.length} of dated revisions; ` +
      `${wrong.length} not as expected`,
  );
  return wrong.length === 0 ? 0 : 1;
}

process.exitCode = process.env.MCP_CONFORMANCE_SCENARIO ? await turn(process.argv[2]) : await main();
