// What the checks of clients written for Node share: a home of its own, a scripted model, and the list of results.
// It knows no client.

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = dirname(HERE);

/** How long anything may take before a check fails. */
export const LIMIT_MS = 60_000;

/** Where nothing listens. */
export const NOWHERE = "127.0.0.1:9";

/** The least picture there is. */
export const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export function readOptions() {
  const { values } = parseArgs({
    options: {
      bin: { type: "string", default: join(ROOT, "target/debug/pellucid") },
      packages: { type: "string", multiple: true, default: [process.cwd()] },
      model: { type: "string", default: "gpt-5.2-codex" },
      match: { type: "string", default: "" },
      require: { type: "boolean", default: false },
      native: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
    },
  });
  return { ...values, bin: resolve(values.bin), packages: values.packages.map((it) => resolve(it)) };
}

/** A package that was installed in `folder`: its version and its main module's path, or nothing. */
export function findPackage(folder, name) {
  const root = join(folder, "node_modules", name);
  if (!existsSync(join(root, "package.json"))) {
    return null;
  }
  const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entry = about.exports?.["."]?.import ?? about.exports?.["."]?.default ?? about.module ?? about.main;
  return { name, version: about.version, main: join(root, entry?.default ?? entry ?? "") };
}

/** Something a check opened, closed again when it ends however it ends. */
export class Bench {
  constructor(options) {
    this.options = options;
    this.folder = mkdtempSync(join(tmpdir(), "pellucid-interop-"));
    this.home = this.makeFolder("home");
    this.work = this.makeFolder("work");
    this.closers = [];
    this.nMocks = 0;
  }

  makeFolder(name) {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  write(name, content) {
    writeFileSync(join(this.folder, name), content);
    return join(this.folder, name);
  }

  read(name) {
    return readFileSync(join(this.folder, name), "utf8");
  }

  /** The environment of the program: nothing of the machine's but the search path. */
  env(more = {}) {
    // A client that ignores the address it is given must not reach anything.
    return { PATH: process.env.PATH, HOME: this.home, CODEX_HOME: this.home, OPENAI_BASE_URL: `http://${NOWHERE}/v1`, ...more };
  }

  /** The program under a name that notes which process it is. */
  noted() {
    const path = this.write("noted", `#!/bin/sh\necho $$ >> '${this.folder}/pids'\nexec '${this.options.bin}' "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A server of tools, a script for Node. It has one: `greet`. */
  toolServer() {
    return this.write("server.mjs", `
      import { createInterface } from "node:readline";
      const results = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
        "tools/list": { tools: [{ name: "greet", inputSchema: { type: "object", properties: { name: { type: "string" } } } }] },
        "tools/call": { content: [{ type: "text", text: "Hello, Ada." }], structuredContent: { n: 1 } },
      };
      for await (const line of createInterface({ input: process.stdin })) {
        const { id, method } = JSON.parse(line);
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
      }
    `);
  }

  pids(name = "pids") {
    return this.read(name).trim().split("\n").map(Number);
  }

  /** A model server that plays `script`, see conformance/README.md. */
  async model(script) {
    const number = this.nMocks++;
    const log = this.makeFolder(`requests-${number}`);
    const file = this.write(`script-${number}.json`, JSON.stringify(script));
    const server = join(ROOT, "conformance/mock_model.py");
    const child = spawn("python3", [server, "--script", file, "--log", log], { stdio: ["ignore", "pipe", "inherit"] });
    this.closers.push(() => end(child));
    const lines = createInterface({ input: child.stdout });
    const url = await new Promise((done, fail) => {
      lines.once("line", done);
      child.once("error", fail);
      child.once("exit", () => fail(new Error("the model server did not start")));
    });
    const exchanges = () =>
      readdirSync(log).sort().map((name) => JSON.parse(readFileSync(join(log, name), "utf8")))
        .filter((it) => it.method === "POST");
    return {
      url,
      /** The requests for replies so far: `{headers, body}`. */
      requests: () =>
        exchanges().map((it) => ({
          headers: Object.fromEntries(it.headers.map(([key, value]) => [key.toLowerCase(), value])),
          body: JSON.parse(it.body),
        })),
    };
  }

  /** The configuration by which the program asks this model server. */
  provider(url) {
    return {
      model: this.options.model,
      model_provider: "interop",
      model_providers: { interop: { name: "Interop", base_url: url, wire_api: "responses", stream_max_retries: 0 } },
      analytics: { enabled: false },
    };
  }

  /** The same in the configuration file of the home. */
  writeConfig(url) {
    this.write("home/config.toml", [
      `model = "${this.options.model}"`, 'model_provider = "interop"', "[analytics]", "enabled = false",
      "[model_providers.interop]", 'name = "Interop"', `base_url = "${url}"`, 'wire_api = "responses"', "",
    ].join("\n"));
  }

  async close() {
    for (const closer of this.closers.reverse()) {
      await closer();
    }
    // A process that a client has started ends a little after the client, and may still write.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(() => {});
  }
}

/** Ends a process and waits until it has ended. */
export async function end(child) {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((done) => child.once("exit", done));
    child.kill();
    await ended;
  }
}

/** Waits until `holds` gives something; fails after the limit. */
export async function until(what, holds) {
  const end = Date.now() + LIMIT_MS;
  while (Date.now() < end) {
    const value = await holds();
    if (value) {
      return value;
    }
    await pause(20);
  }
  throw new Error(`waited in vain until ${what}`);
}

export function within(what, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`waited in vain until ${what}`)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function isGone(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  // A process that has ended and whose parent has not asked for it yet.
  try {
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return existsSync("/proc/self/stat");
  }
}

export function inputText(body) {
  return JSON.stringify(body.input);
}

/**
 * Runs the checks against each installed version; gives the status of the process.
 *
 * `newer` tells from an error what the client wants that 0.104.0 does not have, if it is that.
 */
export async function runChecks(options, packageName, checks, newer) {
  let nFailed = 0;
  let nSkipped = 0;
  const chosen = Object.entries(checks).filter(([name]) => name.includes(options.match));
  for (const folder of options.native ? [ROOT] : options.packages) {
    const found = options.native ? { name: packageName, version: "is not used: the program itself answers" } : findPackage(folder, packageName);
    const reason = !existsSync(options.bin)
      ? `${options.bin} is not built, see interop/README.md`
      : !found && `the package \`${packageName}\` is not installed in ${folder}`;
    if (reason) {
      nSkipped += chosen.length;
      console.log(`SKIPPED ${packageName}: ${reason}`);
      continue;
    }
    console.log(`${packageName} ${found.version}`);
    for (const [name, check] of chosen) {
      const bench = new Bench(options);
      try {
        const told = await within("the check ends", check(bench, found));
        console.log(`  ok      ${name}${told ? `: ${told}` : ""}`);
      } catch (error) {
        const wanted = newer(error);
        if (wanted) {
          nSkipped++;
          console.log(`  SKIPPED ${name}: this version wants ${wanted}, which 0.104.0 does not have`);
        } else {
          nFailed++;
          console.log(`  FAILED  ${name}: ${options.verbose ? error.stack : error.message}`);
        }
      } finally {
        await bench.close();
      }
    }
  }
  console.log(`${nFailed} failed, ${nSkipped} skipped`);
  return nFailed || (options.require && nSkipped) ? 1 : 0;
}
