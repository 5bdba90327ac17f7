// Makes a home folder with sessions for the checks, with the program itself and its embedded scripted model.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

export const MAIN = "019a9000-1111-7000-8000-000000000001";
export const HOSTILE = "019a9000-2222-7000-8000-000000000002";
export const SUMMARISED = "019a9000-4444-7000-8000-000000000004";
export const DAMAGED = "019a9000-3333-7000-8000-000000000003";
/** Turns of many calls and summaries. */
export const LONG = "019a9000-5555-7000-8000-000000000005";
/** A session of which no file is as it was. */
export const BROKEN = "019a9000-6666-7000-8000-000000000006";

/** Texts that a page must show and never run. */
export const HOSTILE_TEXT = [
  "<script>window.hit=1</script><img src=x onerror=window.hit=1>", "</script><svg onload=window.hit=1>", "[x](javascript:window.hit=1)",
  "hidden \u200b\u202e\u2066 and \u2028", "{{7*7}} ${7*7} &lt;b&gt; &amp;",
].join("\n");

const RULES = "# Rules of the project\n\nBe kind to readers.\nNever touch Cargo.lock by hand.\nRun the tests before you answer.\n";

const FIRST = `
[[reply]]
think = "Look at the folder first."
say = "I look at the folder."
call = [{ name = "exec_command", args = { cmd = "ls; cat src/main.rs" } }]
usage = { input = 3390, cached = 0, output = 42, reasoning = 10 }
[[reply]]
call = [{ name = "exec_command", args = { cmd = "cat AGENTS.md; for i in $(seq 1 60); do echo line $i of a long output; done" } }]
usage = { input = 3520, cached = 3328, output = 40 }
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\\n*** Update File: src/main.rs\\n@@\\n fn main() {\\n-    println!(\\"hello\\");\\n+    println!(\\"hello, reader\\");\\n }\\n*** End Patch" }]
usage = { input = 4210, cached = 3456, output = 90 }
[[reply]]
call = [{ name = "update_plan", args = { plan = [{ step = "Look", status = "completed" }, { step = "Change the greeting", status = "completed" }] } }]
usage = { input = 4400, cached = 4096, output = 35 }
[[reply]]
say = "The greeting now says hello to the reader. I changed one line of \`src/main.rs\`."
usage = { input = 4500, cached = 4352, output = 60, reasoning = 20 }
`;
const SECOND = `
[[reply]]
call = [{ name = "exec_command", args = { cmd = "git status --short" } }]
usage = { input = 5200, cached = 4608, output = 32 }
[[reply]]
say = "One file changed; the tests are not touched."
usage = { input = 5400, cached = 5120, output = 22 }
`;
const said = (text, input, cached) => `\n[[reply]]\nsay = ${JSON.stringify(text)}\nusage = { input = ${input}, cached = ${cached}, output = 22 }\n`;

/** The home folder of a run, and the project that its sessions are about. */
export class Home {
  /** @param {string} program @param {string} folder an empty folder */
  constructor(program, folder) {
    this.program = program;
    this.folder = path.join(folder, "home");
    this.project = path.join(folder, "greeting");
    this.env = { ...process.env, PELLUCID_HOME: this.folder, NO_COLOR: "1", HOME: folder };
    fs.mkdirSync(this.folder);
    fs.mkdirSync(path.join(this.project, "src"), { recursive: true });
    this.scripts = 0;
  }

  /** @param {string[]} words runs the program in the project, and returns what it prints whatever its status is */
  run(words, folder = this.project) {
    try {
      return execFileSync(this.program, words, { cwd: folder, env: this.env, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
    } catch (error) {
      if (error.stdout === undefined) throw error;
      return error.stdout;
    }
  }

  /** @param {string} replies @param {string[]} words runs a turn with scripted answers */
  turn(replies, words, folder = this.project) {
    const script = path.join(path.dirname(this.folder), `script${this.scripts++}.toml`);
    fs.writeFileSync(script, replies);
    return this.run(["exec", "--script", script, "--full-auto", "--skip-git-repo-check", "-m", "gpt-5.2-codex", ...words], folder);
  }

  /** Makes all sessions. */
  make() {
    const { project } = this;
    fs.writeFileSync(path.join(project, "AGENTS.md"), RULES);
    fs.writeFileSync(path.join(project, "src/main.rs"), 'fn main() {\n    println!("hello");\n}\n');
    execFileSync("git", ["init", "-q", "."], { cwd: project });
    this.turn(FIRST, ["--session-id", MAIN, "Make the greeting kinder, and read the rules first"]);
    this.turn(SECOND, ["resume", MAIN, "And what does git say?"]);
    fs.writeFileSync(path.join(project, "AGENTS.md"), RULES.replace("by hand.", "by hand, and never push."));
    this.turn(said("Nothing is pushed; I only look.", 5900, 0), ["-c", "web_search=live", "resume", MAIN, "Do not push. Is anything pushed?"]);
    const summary = path.join(path.dirname(this.folder), "summary.toml");
    fs.writeFileSync(summary, said("Summary: the greeting was made kinder; AGENTS.md was read. Nothing is pushed.", 5900, 5632));
    this.run(["compact", "--script", summary, "-m", "gpt-5.2-codex", MAIN]);
    this.turn(said("I changed the greeting.", 3700, 2500), ["resume", MAIN, "What did you change?"]);
    this.run(["sessions", "rename", MAIN, "kinder-greeting"]);
    const again = path.join(path.dirname(this.folder), "again.toml");
    fs.writeFileSync(again, said("Another way.", 3700, 2500));
    this.run(["fork", "--once", "--script", again, "-m", "gpt-5.2-codex", MAIN, "--at", "1", "try it otherwise"]);

    const hostile = path.join(path.dirname(project), "hostile");
    fs.mkdirSync(hostile);
    fs.writeFileSync(path.join(hostile, "AGENTS.md"), `${HOSTILE_TEXT}\n`);
    const shout = 'head -c 300000 /dev/zero | tr \\"\\\\0\\" x; echo "<script>window.hit=1</script>"';
    this.turn(`\n[[reply]]\ncall = [{ name = "exec_command", args = { cmd = ${JSON.stringify(shout)} } }]\nusage = { input = 3000, cached = 0, output = 5 }\n${said(`${HOSTILE_TEXT} ${"[".repeat(10000)}`, 4000, 2944)}`,
      ["--session-id", HOSTILE, "<b>bold</b> <script>window.hit=1</script>"], hostile);

    const patch = `*** Begin Patch\n*** Add File: <img src=x onerror=window.hit=1>.md\n${HOSTILE_TEXT.split("\n").map((line) => `+${line}`).join("\n")}\n*** End Patch`;
    this.turn(`\n[[reply]]\ncall = [{ name = "apply_patch", input = ${JSON.stringify(patch)} }]\nusage = { input = 3000, cached = 0, output = 5 }\n${said(`${HOSTILE_TEXT} lost/&lt.md`, 4000, 2944)}`,
      ["--session-id", SUMMARISED, "Never run <script>window.hit=1</script>."], hostile);
    fs.writeFileSync(summary, said(`${HOSTILE_TEXT} and no more`, 5900, 5632));
    this.run(["compact", "--script", summary, "-m", "gpt-5.2-codex", SUMMARISED], hostile);
    this.run(["compact", "--undo", "-m", "gpt-5.2-codex", SUMMARISED], hostile);

    this.turn(said("This will be changed.", 3000, 0), ["--session-id", DAMAGED, "A session whose file is changed"]);
    this.turn(said("It was.", 3200, 3072), ["resume", DAMAGED, "Once more"]);
    const file = this.sessionFile(DAMAGED);
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("This will be changed.", "This was then changed."));
  }

  /** Makes the sessions that only screens need: one with turns of many calls, and one whose files are changed, cut and torn. */
  makeMore() {
    const call = (n) => `\n[[reply]]\ncall = [{ name = "exec_command", args = { cmd = "seq ${n} ${n + 40} | sed s/^/line-of-output-/" } }]\nusage = { input = ${4000 + 90 * n}, cached = ${3900 + 90 * n}, output = 40 }\n`;
    const summary = path.join(path.dirname(this.folder), "summaries.toml");
    for (let turn = 0; turn < 3; turn++) {
      const calls = Array.from({ length: 12 }, (_, n) => call(turn * 12 + n)).join("");
      this.turn(calls + said(`Turn ${turn + 1} is done: the long output is in order.`, 5200, 5000), [...(turn ? ["resume", LONG] : ["--session-id", LONG]), `Look at the lines of part ${turn + 1}, one step after the other`]);
      fs.writeFileSync(summary, said(`Summary ${turn + 1}: all lines of the parts so far were looked at.`, 5900, 5632));
      if (turn < 2) this.run(["compact", "--script", summary, "-m", "gpt-5.2-codex", LONG]);
    }
    this.turn(said("First answer.", 3000, 0), ["--session-id", BROKEN, "A session whose files are broken"]);
    this.turn(said("Second answer.", 3200, 3072), ["resume", BROKEN, "Once more"]);
    this.turn(said("Third answer.", 3300, 3200), ["resume", BROKEN, "And again"]);
    const file = this.sessionFile(BROKEN);
    fs.writeFileSync(file, `${fs.readFileSync(file, "utf8").replaceAll("First answer.", "Other answer.")}{"timestamp":"torn`);
    const record = this.recordFile(BROKEN);
    const lines = fs.readFileSync(record, "utf8").split("\n");
    fs.writeFileSync(record, [...lines.slice(0, 6), "{torn", ...lines.slice(7)].join("\n"));
  }

  /** @param {string} id @returns {string} the path of a session's record */
  recordFile(id) {
    const all = fs.readdirSync(path.join(this.folder, "requests"), { recursive: true }).map(String);
    return path.join(this.folder, "requests", all.find((name) => name.includes(id)));
  }

  /** @param {string} id @returns {string} the path of a session's file */
  sessionFile(id) {
    const all = fs.readdirSync(path.join(this.folder, "sessions"), { recursive: true }).map(String);
    return path.join(this.folder, "sessions", all.find((name) => name.includes(id)));
  }
}
