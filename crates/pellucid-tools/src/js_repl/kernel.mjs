// The kernel of `js_repl`: runs pieces of JavaScript, one after the other, that see each other's bindings.
//
// It speaks JSON, a message a line: orders come on standard input, answers go to standard output.
//
//   exec             -> runs a piece; answered by exec_result
//   run_tool_result  -> what became of a tool that a piece called with run_tool
//
// A piece is a module of its own, so `await` works at its top level. Which names it declares is found
// out by asking the engine's own parser, and their values are what the next piece begins with. A piece
// that fails leaves no bindings.
//
// This confines nobody: the process runs in the sandbox of the turn. That a few modules are refused
// only keeps pieces from breaking their own kernel.

import { isBuiltin } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import vm from "node:vm";

const REFUSED = new Set(["process", "child_process", "worker_threads"]);
const PREVIOUS = "pellucid:previous";
const OUTPUT_MAX = 1024 * 1024;

const tmpDir = process.env.CODEX_JS_TMP_DIR ?? "";
const home = process.env.CODEX_JS_REPL_HOME;

// ---- messages

const writeOut = process.stdout.write.bind(process.stdout);
const send = (message) => writeOut(`${JSON.stringify(message)}\n`);

// Packages that print do so into the result; standard output is for messages.
process.stdout.write = (chunk, encoding, done) => {
  const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  print(text.endsWith("\n") ? text.slice(0, -1) : text);
  const callback = typeof encoding === "function" ? encoding : done;
  if (callback) queueMicrotask(callback);
  return true;
};

// ---- output

let printed = [];
let nPrinted = 0;
let nLeftOut = 0;

function print(line) {
  const room = Math.max(0, OUTPUT_MAX - nPrinted);
  nPrinted += line.length + 1;
  nLeftOut += Math.max(0, line.length - room);
  if (room > 0) printed.push(line.slice(0, room));
}

function takeOutput() {
  if (nLeftOut > 0) printed.push(`[${nLeftOut} characters left out]`);
  const output = printed.join("\n");
  [printed, nPrinted, nLeftOut] = [[], 0, 0];
  return output;
}

const shown = (value) => (typeof value === "string" ? value : inspect(value, { depth: 4, colors: false }));
const log = (...values) => print(values.map(shown).join(" "));
// Whatever else a console can do is written to the standard output that is caught above.
const ourConsole = Object.assign(Object.create(console), { log, info: log, warn: log, error: log, debug: log });

// ---- tools

let current = null;
let nToolCalls = 0;
const waiting = new Map();

function tool(name, args) {
  if (typeof name !== "string" || name === "") {
    return Promise.reject(new Error("codex.tool expects a tool name string"));
  }
  const exec = current;
  if (exec === null) return Promise.reject(new Error("js_repl exec context not found"));
  return new Promise((resolve, reject) => {
    const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
    const id = `${exec}-tool-${nToolCalls++}`;
    waiting.set(id, { resolve, reject });
    send({ type: "run_tool", id, exec_id: exec, tool_name: name, arguments: text ?? "{}" });
  });
}

function toolEnded({ id, ok, response, error }) {
  const call = waiting.get(id);
  waiting.delete(id);
  if (ok) call?.resolve(response ?? null);
  else call?.reject(new Error(error ?? "tool failed"));
}

// ---- the world that pieces see

function newWorld() {
  const world = vm.createContext({});
  const own = vm.runInContext("globalThis", world);
  const define = (name, value) =>
    Object.defineProperty(own, name, { value, writable: true, configurable: true, enumerable: true });
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (name in own || name === "global" || REFUSED.has(name)) continue;
    // Some of these cost time when they are first looked at.
    Object.defineProperty(own, name, {
      get: () => globalThis[name],
      set: (value) => define(name, value),
      configurable: true,
      enumerable: true,
    });
  }
  const state = {};
  define("global", own);
  define("console", ourConsole);
  define("codex", { state, tmpDir, tool });
  define("state", state);
  define("tmpDir", tmpDir);
  return world;
}

const world = newWorld();

async function load(specifier, _referrer, attributes) {
  if (REFUSED.has(specifier.replace(/^node:/, ""))) {
    throw new Error(`Importing module "${specifier}" is not allowed in js_repl`);
  }
  return import(locate(specifier), { with: attributes });
}

// Paths are seen from the working folder, and so are packages; those of the tool's own folder come second.
function locate(specifier) {
  if (isBuiltin(specifier)) return specifier;
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(specifier)) return pathToFileURL(resolve(specifier)).href;
  if (URL.canParse(specifier) || specifier.startsWith("#")) return specifier;
  let problem;
  for (const folder of [process.cwd(), home]) {
    if (!folder) continue;
    try {
      return import.meta.resolve(specifier, pathToFileURL(resolve(folder, "cell.mjs")).href);
    } catch (error) {
      problem ??= error;
    }
  }
  throw problem;
}

// ---- names

const WORDS = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield`.split(/\s+/),
);

const parses = (source) => {
  try {
    new vm.SourceTextModule(source, { context: world });
    return null;
  } catch (error) {
    return error;
  }
};

// The names that a piece declares at its top level. A further declaration of such a name is an error
// that names it, so a parser that is asked again and again says all of them.
function declaredIn(code) {
  if (!/\b(?:let|const|var|function|class|using)\b/.test(code)) return [];
  const names = new Set(code.match(/(?<![^.]\.|^\.)(?<![\p{ID_Continue}$])[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
  for (const word of WORDS) names.delete(word);
  const declared = [];
  while (names.size > 0) {
    const problem = parses(`${code}\nlet ${[...names].join(",")};`);
    if (problem === null) break;
    const name = /^Identifier '(.+)' has already been declared$/.exec(problem.message)?.[1];
    if (!names.delete(name)) {
      // The parser dislikes a name for another reason; each is asked for on its own.
      for (const other of names) if (parses(`${code}\nexport {${other} as "?"};`) === null) declared.push(other);
      break;
    }
    declared.push(name);
  }
  return declared;
}

// ---- pieces

// What the next piece begins with: name to { kind, value }.
let bindings = new Map();
let nPieces = 0;

async function run(code) {
  const options = { context: world, importModuleDynamically: load, identifier: `cell-${nPieces++}.mjs` };
  options.initializeImportMeta = (meta) => (meta.url = `file://${options.identifier}`);
  const problem = parses(code);
  if (problem !== null) throw problem;

  const declared = declaredIn(code);
  const names = [...new Set([...bindings.keys(), ...declared])];
  const before = [...bindings].map(([name, { kind }]) => `${kind} ${name}=$pellucid.${name};`).join("");
  // Whether a binding can be changed shows when that is tried.
  const after = names.map((name) => `export {${name} as "=${name}"};`).join("");
  const changes = names.map((name) => `${name}(){${name}=${name}}`).join(",");
  const source =
    `import * as $pellucid from "${PREVIOUS}";${before}${code}\n` +
    `;${after}export const $pellucidChanges={${changes}};`;
  const piece = new vm.SourceTextModule(source, options);
  await piece.link((specifier) => {
    if (specifier !== PREVIOUS) {
      throw new Error(`Static imports are not supported in js_repl; use await import("${specifier}") instead`);
    }
    const previous = [...bindings.keys()];
    return new vm.SyntheticModule(
      previous,
      function () {
        for (const name of previous) this.setExport(name, bindings.get(name).value);
      },
      { context: world },
    );
  });
  await piece.evaluate();

  const kept = new Map();
  for (const name of names) {
    kept.set(name, { kind: kindOf(name, code, declared, piece), value: piece.namespace[`=${name}`] });
  }
  bindings = kept;
}

function kindOf(name, code, declared, piece) {
  if (!declared.includes(name)) return bindings.get(name).kind;
  if (parses(`${code}\nvar ${name};`) === null) return "var";
  try {
    piece.namespace.$pellucidChanges[name]();
    return "let";
  } catch {
    return "const";
  }
}

const told = (error) => (error?.message ? String(error.message) : String(error));

let turn = Promise.resolve();

async function exec({ id, code }) {
  current = id;
  try {
    await run(code);
    send({ type: "exec_result", id, ok: true, output: takeOutput(), error: null });
  } catch (error) {
    takeOutput();
    send({ type: "exec_result", id, ok: false, output: "", error: told(error) });
  } finally {
    current = null;
  }
}

const orders = createInterface({ input: process.stdin, crlfDelay: Infinity });
orders.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "exec") turn = turn.then(() => exec(message));
  else if (message.type === "run_tool_result") toolEnded(message);
});
// Whoever gives orders has gone.
orders.on("close", () => process.exit(0));
