// The context engine for JavaScript: questions as JSON into WebAssembly, answers as JSON out of it.
//
// The module reads nothing and sends nothing. A failure inside it ends its memory, so the next question gets a new one.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A mistake in what was given: an unknown key, pack or feature, or a pack that is wrong. */
export class EngineError extends Error {
  constructor(message) {
    super(message);
    this.name = "EngineError";
  }
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (typeof Response !== "undefined" && source instanceof Response) return WebAssembly.compile(await source.arrayBuffer());
  const address = source === undefined ? new URL("./engine.wasm", import.meta.url) : new URL(source, import.meta.url);
  if (address.protocol === "file:" && typeof process !== "undefined") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(address));
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`could not read ${address}: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Loads the engine. Without a source it is the file `engine.wasm` beside this one. */
export async function load(source) {
  return new Engine(await compile(source));
}

/** The engine. Its functions answer at once and keep nothing between two calls. */
export class Engine {
  #module;
  #instance;

  constructor(module) {
    this.#module = module;
  }

  #ask(question) {
    this.#instance ??= new WebAssembly.Instance(this.#module, {});
    const { memory, pellucid_room, pellucid_answer, pellucid_answer_at } = this.#instance.exports;
    const asked = encoder.encode(JSON.stringify(question));
    let answer;
    try {
      const room = pellucid_room(asked.length) >>> 0;
      new Uint8Array(memory.buffer, room, asked.length).set(asked);
      const length = pellucid_answer() >>> 0;
      answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, pellucid_answer_at() >>> 0, length)));
    } catch (error) {
      this.#instance = undefined;
      throw error;
    }
    if ("error" in answer) throw new EngineError(answer.error);
    return answer.ok;
  }

  /** The body of a request as bytes and as text, and its SHA-256. */
  assemble(input) {
    const { body, sha256 } = this.#ask({ ask: "assemble", input });
    return { body: encoder.encode(body), text: body, sha256 };
  }

  /** What a request is made of, row by row, and what was left out. */
  report(input) {
    return this.#ask({ ask: "report", input });
  }

  /** What is different in the request of `after` from the one of `before`. */
  diff(before, after) {
    return this.#ask({ ask: "diff", before, after });
  }

  /** The names of the built-in packs. */
  packs() {
    return this.#ask({ ask: "packs" });
  }

  /** The files of a built-in pack by name, or `null` if there is no such pack. */
  packFiles(name) {
    return this.#ask({ ask: "pack_files", name });
  }
}
