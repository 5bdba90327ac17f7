/** What a request is made from. */
export interface RequestInput {
  pack: PackInput;
  facts: FactsInput;
  wire?: WireInput;
  /** Texts for slots with the source `host`, by the id of the slot. */
  texts?: Record<string, string>;
  /** Whether gates `host:NAME` are open, by name. */
  gates?: Record<string, boolean>;
  /** What was said: a text is a message of the person, anything else an item of the Responses API. */
  messages?: (string | Item)[];
}

/** A built-in pack, or the files of a pack by their names in it. `folder` names the pack in reports and errors. */
export type PackInput = { builtin: string } | { files: Record<string, string>; folder?: string };

export interface WireInput {
  api?: "responses" | "chat" | "messages";
  /** The session; also the key of the provider's prompt cache. */
  session_id?: string;
  /** The role of developer messages where the API or its server lacks the role `developer`. */
  developer?: "developer" | "system" | "user";
  output_tokens_max?: number;
  /** A JSON schema for the final answer. */
  output_schema?: unknown;
}

/** What is true for the session. A key that is left out is as if nothing was configured. */
export interface FactsInput {
  /** The name of a model, or its whole entry of a models cache. */
  model: string | Record<string, unknown>;
  /** The working directory. */
  cwd: string;
  shell?: string;
  /** The user's own instruction file. */
  home_document?: FileInput;
  /** The project's instruction files, from its root to the working directory. */
  project_documents?: FileInput[];
  /** How many bytes of them are used: 32768 if left out. */
  project_document_bytes_max?: number;
  base_instructions?: string;
  developer_instructions?: string;
  /** When a person is asked, and what commands may touch: never, and nothing, if left out. */
  permissions?: {
    approval_policy?: "untrusted" | "on-failure" | "on-request" | "never";
    sandbox_policy?: { type: "read-only" | "workspace-write" | "danger-full-access" | "external-sandbox"; [key: string]: unknown };
    writable_roots?: string[];
  };
  effort?: string;
  summary?: string;
  verbosity?: string;
  personality?: string;
  web_search?: string;
  prompt_mode?: "full" | "minimal" | "none";
  /** Features by key, such as `{ "shell_tool": false }`. */
  features?: Record<string, boolean>;
  /** Tools that your program runs. */
  tools?: { name: string; description: string; inputSchema: unknown }[];
  /** Values for templates and conditions of the pack. */
  given?: Record<string, unknown>;
  /** What templates see as `machine`, `repository` and `model.provider`. */
  surroundings?: {
    machine?: { name?: string; os?: string; arch?: string; time_zone?: string };
    repository?: string;
    provider?: string;
  };
  /** Items that are injected, for packs with slots for them. */
  injection?: {
    sources?: Record<string, unknown>[];
    attributes?: Record<string, unknown>;
    store?: Record<string, string>;
    memory?: string[];
    variables?: Record<string, unknown>;
    /** The settings of an agent, as one document of version 1. */
    settings?: Record<string, unknown>;
  };
}

export interface FileInput {
  path: string;
  text: string;
}

/** An item of the Responses API: a message, a call, an output. */
export interface Item {
  type: string;
  [key: string]: unknown;
}

export interface Assembled {
  /** What is sent. */
  body: Uint8Array;
  /** The same as text. */
  text: string;
  /** The SHA-256 of the body, in hexadecimal digits. */
  sha256: string;
}

/** A run of bytes of one origin. */
export interface Row {
  /** The slot or part. */
  part: string;
  /** The index of the item; `null` for other rows. */
  item: number | null;
  role: string | null;
  /** The kind of the origin: `pack`, `file`, `fact`, `provided`, `layout`, `user`, `model`, `tool`, `wire`, … */
  source: string;
  /** The path or name of the origin; empty where the kind says all. */
  origin: string;
  /** The offset of the first byte. */
  start: number;
  bytes: number;
  /** How many bytes the text has before it is escaped. */
  raw_bytes: number;
  tokens: number;
  status: string;
  /** The bytes of the file, for rows of files. */
  file_range?: [number, number];
  file_bytes?: number;
  file_sha256?: string;
}

export interface Report {
  bytes: number;
  tokens: number;
  /** `estimate`: four bytes are one token. */
  counted_by: string;
  /** The rows cover the body from its first byte to its last. */
  rows: Row[];
  /** The text of each row with its escapes undone. */
  texts: string[];
  body: string;
  /** What was left out or cut, and why. */
  omissions: Record<string, unknown>[];
  [key: string]: unknown;
}

export interface RowChange {
  fate: "same" | "changed" | "added" | "removed" | "moved";
  /** The number of the row in the earlier report; `null` for an added row. */
  before: number | null;
  /** The number of the row in the later report; `null` for a removed row. */
  after: number | null;
}

export interface Diff {
  /** How many bytes from the start are the same. */
  same_bytes: number;
  /** What became of every row, in the order of the later request. */
  rows: RowChange[];
  /** How the later request continues the earlier one in the order in which the model reads. */
  continuity: {
    kept_bytes: number;
    previous_bytes: number;
    broken: { first_byte: number; part: string; source: string; tokens_rebilled: number; cause: string } | null;
    [key: string]: unknown;
  } | null;
}

/** A mistake in what was given: an unknown key, pack or feature, or a pack that is wrong. */
export class EngineError extends Error {}

/** The engine. Its functions answer at once and keep nothing between two calls; they throw `EngineError`. */
export class Engine {
  private constructor();
  assemble(input: RequestInput): Assembled;
  report(input: RequestInput): Report;
  diff(before: RequestInput, after: RequestInput): Diff;
  packs(): string[];
  packFiles(name: string): Record<string, string> | null;
}

/** Loads the engine. Without a source it is the file `engine.wasm` beside `index.js`. */
export function load(source?: string | URL | ArrayBuffer | ArrayBufferView | Response | WebAssembly.Module): Promise<Engine>;
