//! Watching another program: what it sends reaches its server unchanged, and the record has it byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::process::Stdio;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;

const KEY: &str = "sk-test-0123456789abcdef0123456789abcdef";
const ID: &str = "019b0000-0000-7000-8000-00000000000d";
const RULES: &str = "# Rules\n\nEvery change comes with a test that failed before.\nNever touch \"Cargo.toml\".\n";

/// The watched program is Pellucid itself, whose own record knows where every byte came from.
fn exec_args(message: &str, resumed: bool) -> Vec<&str> {
    let program = crate::program();
    let mut args = vec![program, "exec", "--skip-git-repo-check", "-s", "danger-full-access"];
    if resumed {
        args.extend(["resume", ID, message]);
    } else {
        args.extend(["--session-id", ID, message]);
    }
    args
}

/// Two turns with a call in the first.
fn replies(tool: &str, arguments: &Value) -> Vec<MockReply> {
    let call = json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": arguments.to_string(),
    });
    vec![MockReply::items([call]), MockReply::say("It is done."), MockReply::say("Again \"done\".")]
}

const TURNS: [&str; 2] = ["fix the bug in src/parser.rs", "and now \"again\", please"];
const PARSER: &str =
    "//! Reads one number after the other, and stops at the first word that is none.\npub fn parse() {}\n";

/// Runs both turns, watched or alone, with a home folder of the program's own.
fn run_turns(world: &World, server: &MockServer, inner: &str, watched: bool, turns: [&str; 2]) -> Vec<Ran> {
    world.files.folder(inner);
    let run = |(n, message): (usize, &&str)| {
        let args = exec_args(message, n > 0);
        let home = world.files.path(inner);
        let mut command = if watched {
            let watch = ["watch", "--name", if n == 0 { "turns" } else { "more" }, "--", "/usr/bin/env"];
            let variable = format!("CODEX_HOME={}", home.display());
            let own = format!("PELLUCID_HOME={}", home.display());
            world.command(&[&watch[..], &[&own, &variable], &args[..]].concat())
        } else {
            let mut command = world.command(&args[1..]);
            command.env("PELLUCID_HOME", &home).env("CODEX_HOME", &home);
            command
        };
        command.env("OPENAI_BASE_URL", server.base_url()).env("OPENAI_API_KEY", KEY);
        world.finish(command, None)
    };
    let ran: Vec<Ran> = turns.iter().enumerate().map(run).collect();
    for ran in &ran {
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    ran
}

pub fn world() -> World {
    let world = World::new("");
    world.files.write("work/AGENTS.md", RULES);
    world.files.write("work/src/parser.rs", PARSER);
    world
}

fn bodies(server: &MockServer) -> Vec<String> {
    let bodies = server.requests().into_iter().map(|it| String::from_utf8(it.body).unwrap());
    bodies.filter(|body| !body.is_empty()).collect()
}

pub fn body(world: &World, name: &str) -> String {
    let ran = world.run(&["prompt", "--format", "body", name]);
    assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_watched_program_sends_what_it_sends_alone_and_the_record_has_it() {
    // The output of this tool is the same in every run.
    let replies = || replies("update_plan", &json!({ "plan": [{ "step": "look", "status": "completed" }] }));
    let (alone, watched) = (MockServer::start(replies()), MockServer::start(replies()));
    let first = world();
    let outputs: Vec<Vec<u8>> =
        run_turns(&first, &alone, "inner", false, TURNS).into_iter().map(|ran| ran.stdout).collect();
    fs::remove_dir_all(first.files.path("inner")).unwrap();
    let ran = run_turns(&first, &watched, "inner", true, TURNS);
    assert_eq!(ran.iter().map(|ran| ran.stdout.clone()).collect::<Vec<_>>(), outputs);
    let sent = bodies(&watched);
    assert_eq!(sent.len(), 3);
    assert_eq!(sent, bodies(&alone));
    let keys = |server: &MockServer| -> Vec<Option<String>> {
        server.requests().iter().map(|it| it.header("authorization").map(str::to_owned)).collect()
    };
    assert_eq!(keys(&watched), keys(&alone), "the server gets the key");
    for (name, expected) in [("turns#1", &sent[0]), ("turns#2", &sent[1]), ("more#1", &sent[2])] {
        assert_eq!(body(&first, name), *expected, "{name}");
    }
    assert_no_key(&first.files.path("home"));
    let replayed = first.run(&["replay", "turns"]);
    assert_eq!(replayed.status, 0, "{}", replayed.out());
    let said = "unaltered since it was sent; another program made it, so it cannot be rebuilt";
    assert_eq!(replayed.out().matches(said).count(), 2, "{}", replayed.out());
}

/// No file of a folder has the key.
fn assert_no_key(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_key(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", path.display());
        }
    }
}

fn rows(world: &World, args: &[&str], home: &str) -> Vec<Value> {
    let home = world.files.path(home).display().to_string();
    let ran = world.run_in(args, &[("PELLUCID_HOME", &home), ("CODEX_HOME", &home)]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    report["rows"].as_array().unwrap().clone()
}

/// One entry for each byte: who made it, as far as both records can say it.
fn makers(rows: &[Value]) -> Vec<String> {
    let maker = |row: &Value| match row["source"].as_str().unwrap() {
        "pack" | "catalogue" | "layout" | "fact" | "repair" | "wire" | "program" => "program".to_owned(),
        "file" => format!("file {} {}", row["origin"], row["file_sha256"]),
        "tool" => format!("tool {}", row["origin"]),
        other => other.to_owned(),
    };
    let bytes = |row: &Value| usize::try_from(row["bytes"].as_u64().unwrap()).unwrap();
    rows.iter().flat_map(|row| std::iter::repeat_n(maker(row), bytes(row))).collect()
}

/// Turns of the Codex CLI's layout, whose true origins our own record knows: files around the folder, the turns, and a call.
struct CorpusTurns {
    files: &'static [(&'static str, &'static str)],
    turns: [&'static str; 2],
    tool: &'static str,
    arguments: Value,
}

fn corpus() -> Vec<CorpusTurns> {
    let command = |cmd: &str| json!({ "cmd": cmd });
    vec![
        CorpusTurns {
            files: &[],
            turns: TURNS,
            tool: "exec_command",
            arguments: command("cat AGENTS.md src/parser.rs; seq 30"),
        },
        CorpusTurns {
            files: &[
                ("inner/AGENTS.md", "Answer in one sentence, in the language of the question.\n"),
                ("inner/config.toml", "developer_instructions = \"\"\"\nName the files that you changed.\n\"\"\"\n"),
                (
                    "inner/skills/tidy/SKILL.md",
                    "---\nname: tidy\ndescription: Puts imports in order.\n---\nSort the imports of every file that you touch.\n",
                ),
            ],
            turns: ["use $tidy on src/parser.rs", "what did you change?"],
            tool: "update_plan",
            arguments: json!({ "plan": [{ "step": "sort", "status": "completed" }] }),
        },
        CorpusTurns {
            files: &[("work/notes.txt", "No one may read the numbers twice, and no one may leave out a number.\n")],
            turns: [
                "explain notes.txt: No one may read the numbers twice, and no one may leave out a number.",
                "No one may read the numbers twice, and no one may leave out a number.",
            ],
            tool: "exec_command",
            arguments: command("cat notes.txt; cat notes.txt | sort; echo '<user>done</user>'"),
        },
        CorpusTurns {
            files: &[(
                "work/AGENTS.override.md",
                "These rules take the place of the others in this folder, all of them.\n",
            )],
            turns: ["<task>\nlook at AGENTS.md\n</task>", "and at \u{e9}\u{1f980} \"quoted\" \\ text"],
            tool: "exec_command",
            arguments: command("printf 'a\\tb\\n\\033[1mbold\\n'; cat AGENTS.md"),
        },
    ]
}

#[test]
fn origins_of_another_program_are_found_and_none_is_wrong() {
    let (mut n_bytes, mut n_found) = (0, 0);
    for turns in corpus() {
        let counted = check_origins(&turns);
        n_bytes += counted.0;
        n_found += counted.1;
    }
    assert!(n_found * 100 >= n_bytes * 95, "{n_found} of {n_bytes}");
}

/// Plays turns, and compares every byte. Gives how many bytes there are, and how many are attributed.
#[track_caller]
fn check_origins(played: &CorpusTurns) -> (usize, usize) {
    let server = MockServer::start(replies(played.tool, &played.arguments));
    let world = world();
    for (path, text) in played.files {
        world.files.write(path, text);
    }
    run_turns(&world, &server, "inner", true, played.turns);
    let (mut n_bytes, mut n_found, mut n_exact) = (0, 0, 0);
    for (found, truth) in [("turns#1", 1), ("turns#2", 2), ("more#1", 3)] {
        let found_rows = rows(&world, &["context", "--json", found], "home");
        let found = makers(&found_rows);
        let truth = makers(&rows(&world, &["context", "--json", &format!("{ID}#{truth}")], "inner"));
        assert_eq!(found.len(), truth.len());
        for (byte, (found, truth)) in found.iter().zip(&truth).enumerate() {
            n_bytes += 1;
            if found != "unknown" {
                n_found += 1;
                assert_eq!(found, truth, "{:?} byte {byte}", played.turns);
            }
        }
        let exact = found_rows.iter().filter(|row| row["certainty"] == "exact" && row["source"] != "wire");
        n_exact += exact.map(|row| row["bytes"].as_u64().unwrap()).sum::<u64>();
        let of_file = found_rows.iter().find(|row| row["source"] == "file").unwrap();
        let path = of_file["origin"].as_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(of_file["file_range"], json!([0, text.trim_end().len()]), "{path}");
    }
    assert!(n_exact > 0);
    (n_bytes, n_found)
}

#[test]
fn what_two_programs_tell_their_models_is_compared() {
    let world = world();
    world.files.write("work/CLAUDE.md", RULES);
    world.files.folder("bin");
    let server = MockServer::start([chat_reply("ok"), chat_reply("ok")]);
    let lines = |word: &str| (0..30).map(|n| format!("{word} has line {n}\n")).collect::<String>();
    let instructions = |word: &str| format!("{}Both have this line.\n", lines(word));
    let alpha = json!({
        "model": "m", "tools": [{ "type": "function", "function": { "name": "look" } }],
        "messages": [
            { "role": "system", "content": format!("{}\n{RULES}", instructions("alpha")) },
            { "role": "user", "content": "Which rules?" },
        ],
    });
    let beta = json!({
        "model": "m", "max_tokens": 9, "system": instructions("beta"),
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": format!("<context>\n{RULES}</context>") }, { "type": "text", "text": "Which rules?" },
            ] },
        ],
        "tools": [{ "name": "look" }, { "name": "run" }],
    });
    for (name, variable, path, body) in [
        ("alpha", "OPENAI_BASE_URL", "/chat/completions", &alpha),
        ("beta", "ANTHROPIC_BASE_URL", "/v1/messages", &beta),
    ] {
        let program = world.files.path(format!("bin/{name}"));
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let watching = Watching::start_program(&world, &server.base_url(), &program.display().to_string(), name);
        watching.post(variable, path, &body.to_string());
        watching.end();
    }
    let diff = world.run(&["context", "diff", "alpha#1", "beta#1"]);
    assert_eq!(diff.status, 1, "{}", diff.stderr);
    let out = diff.out().to_owned();
    let row = |name: &str| -> Vec<String> {
        let line = out.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {out}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("tools "), ["1:", "46", "2:", "29"]);
    assert_eq!(row("your words"), ["12", "12"]);
    assert_eq!(row("instruction files")[..2], ["1:".to_owned(), (RULES.trim_end().len() + 5).to_string()]);
    assert!(out.contains("    another text: 1 line in both (--all shows them)\n"), "{out}");
    assert!(!out.contains("alpha has line 3") && !out.contains("Which rules?\n    "), "{out}");
    let all = world.run(&["context", "diff", "--all", "alpha#1", "beta#1"]);
    let base = all.out().split("\n~ ").find(|part| part.starts_with("base")).unwrap().to_owned();
    assert!(base.contains("    - alpha has line 3\n") && base.contains("    + beta has line 3\n"), "{base}");
    assert!(!base.contains("<context>"), "the text of one part is not in another: {base}");
}

#[test]
fn the_text_of_a_file_that_the_conversation_names_is_found() {
    let world = world();
    world
        .files
        .write("work/notes/plan.md", "# Plan\n\nFirst read the numbers, then add them, and say the sum at the end.\n");
    world
        .files
        .write("work/unnamed.md", "A text that is long enough to be found, in a file that no one has named so far.\n");
    world
        .files
        .write("secret.md", "A text that is long enough to be found, in a file that is outside of the folder.\n");
    std::os::unix::fs::symlink(world.files.path("secret.md"), world.files.path("work/link.md")).unwrap();
    let read = |path: &str| fs::read_to_string(world.files.path(path)).unwrap();
    let content = format!(
        "Explain @notes/plan.md, link.md and ../secret.md.\n\n--- plan ---\n{}--- others ---\n{}{}",
        read("work/notes/plan.md"),
        read("work/unnamed.md"),
        read("secret.md"),
    );
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"src/parser.rs\"}" } });
    let output = json!({ "role": "tool", "tool_call_id": "c1", "content": PARSER });
    let pasted = json!({ "role": "user", "content": format!("This is the file:\n{PARSER}") });
    let mut messages = vec![json!({ "role": "user", "content": content })];
    let server = MockServer::start([chat_reply("ok"), chat_reply("ok")]);
    let watching = Watching::start(&world, &server.base_url());
    let ask = |messages: &[Value]| json!({ "model": "m", "messages": messages }).to_string();
    watching.post("OPENAI_BASE_URL", "/chat/completions", &ask(&messages));
    messages.extend([json!({ "role": "assistant", "content": "ok", "tool_calls": [call] }), output, pasted]);
    watching.post("OPENAI_BASE_URL", "/chat/completions", &ask(&messages));
    watching.end();
    let found = rows(&world, &["context", "--json", "w#2"], "home");
    let found: Vec<(&str, Option<&str>, &str)> = found
        .iter()
        .filter(|row| row["source"] != "wire" && row["source"] != "unknown")
        .map(|row| {
            let name = row["origin"].as_str().and_then(|origin| origin.rsplit('/').next());
            (row["source"].as_str().unwrap(), name, row["certainty"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("user", Some(""), "likely"),
            ("file", Some("plan.md"), "exact"),
            ("user", Some(""), "likely"),
            ("model", Some(""), "likely"),
            ("tool", Some("read"), "exact"),
            ("user", Some(""), "likely"),
            ("file", Some("parser.rs"), "exact"),
            ("user", Some(""), "likely"),
        ]
    );
}

/// `watch` with a command that prints its variables and waits, so that a test can send what it likes.
pub struct Watching {
    pub child: Child,
    pub urls: BTreeMap<String, String>,
}

const WAITING: &str = "echo OPENAI_BASE_URL=$OPENAI_BASE_URL ANTHROPIC_BASE_URL=$ANTHROPIC_BASE_URL GOOGLE_GEMINI_BASE_URL=$GOOGLE_GEMINI_BASE_URL; read line; exit 5";

impl Watching {
    pub fn start(world: &World, upstream: &str) -> Self {
        Self::start_program(world, upstream, "/bin/sh", "w")
    }

    /// The same with another name of the program and of its sessions.
    fn start_program(world: &World, upstream: &str, program: &str, name: &str) -> Self {
        let mut command =
            world.command(&["watch", "--name", name, "--upstream", upstream, "--", program, "-c", WAITING]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pair = |pair: &str| pair.split_once('=').map(|(name, url)| (name.to_owned(), url.to_owned()));
        let urls = line.split_whitespace().filter_map(pair).collect();
        Self { child, urls }
    }

    fn post(&self, variable: &str, path: &str, body: &str) -> (u16, String) {
        exchange(&self.urls[variable], "POST", path, body)
    }

    pub fn end(mut self) -> String {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{said}");
        said
    }
}

/// One request over a connection of its own. Gives the status and the body, in which chunks are joined.
fn exchange(base: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let (host, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let head = format!(
        "{method} /{prefix}{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    (status, if is_chunked { joined(body) } else { body.to_owned() })
}

fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body += &rest[..length];
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    body
}

fn chat_reply(text: &str) -> MockReply {
    let answer = json!({
        "id": "c", "choices": [{ "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42 },
    });
    MockReply::status(200, &answer.to_string()).content_type("application/json")
}

#[test]
fn bodies_of_every_format_are_recorded_as_they_are() {
    let world = world();
    let server = MockServer::start(std::iter::repeat_with(|| chat_reply("ok")).take(9));
    let watching = Watching::start(&world, &server.base_url());
    let chat = "{\"model\":\"gpt-4o\", \"messages\":[\n  {\"role\":\"system\",\"content\":\"be brief\"},\n  {\"role\":\"user\",\"content\":\"a \\u00e9\"}\n], \"tools\":[]}";
    let messages = r#"{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nx\n</system-reminder>"},{"type":"text","text":"hello"}]}],"system":[{"type":"text","text":"You are C."}],"tools":[{"name":"Read","input_schema":{}}]}"#;
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"systemInstruction":{"parts":[{"text":"You are G."}]},"tools":[{"functionDeclarations":[{"name":"ls"}]}]}"#;
    let raw = r#"{"events":[1,2]}"#;
    let text = "no json at all: é";
    let posts = [
        ("OPENAI_BASE_URL", "/chat/completions", chat),
        ("ANTHROPIC_BASE_URL", "/v1/messages?beta=true", messages),
        ("GOOGLE_GEMINI_BASE_URL", "/v1beta/models/gemini-2.5-pro:generateContent?key=SECRET", gemini),
        ("OPENAI_BASE_URL", "/traces", raw),
        ("OPENAI_BASE_URL", "/traces", text),
    ];
    for (variable, path, body) in posts {
        let (status, answer) = watching.post(variable, path, body);
        assert_eq!((status, answer), (200, String::from_utf8(chat_reply("ok").body()).unwrap()), "{path}");
    }
    let said = watching.end();
    assert!(said.contains("recorded 5 requests in 4 sessions: "), "{said}");
    let got: Vec<(String, Vec<u8>)> = server.requests().into_iter().map(|it| (it.path, it.body)).collect();
    let expected: Vec<(String, Vec<u8>)> =
        posts.iter().map(|(_, path, body)| (format!("/v1{path}"), body.as_bytes().to_vec())).collect();
    assert_eq!(got, expected);
    for (name, expected) in [("w#1", chat), ("w-2#1", messages), ("w-3#1", gemini), ("w-4#1", raw), ("w-4#2", text)] {
        assert_eq!(body(&world, name), expected, "{name}");
        assert_eq!(world.run(&["context", name]).status, 0, "{name}");
    }
    let parts = |name: &str| -> Vec<String> {
        let mut parts: Vec<String> = rows(&world, &["context", "--json", name], "home")
            .iter()
            .map(|row| {
                format!(
                    "{} {} {}",
                    row["part"].as_str().unwrap(),
                    row["source"].as_str().unwrap(),
                    row["certainty"].as_str().unwrap()
                )
            })
            .filter(|row| !row.contains(" wire "))
            .collect();
        parts.dedup();
        parts
    };
    assert_eq!(parts("w#1"), ["base program likely", "user user likely"]);
    assert_eq!(
        parts("w-2#1"),
        ["user program likely", "user user likely", "base program likely", "tools/Read program likely"]
    );
    assert_eq!(parts("w-3#1"), ["user user likely", "base program likely", "tools/ls program likely"]);
    assert_eq!(parts("w-4#2"), ["body program likely"]);
    let cost = world.run(&["cost", "w", "--json"]);
    assert_eq!(cost.status % 3, 0, "{}", cost.stderr);
    let list = world.run(&["sessions", "list", "--all"]);
    assert!(["w ", "w-2 ", "w-3 ", "w-4 "].iter().all(|name| list.out().contains(name)), "{}", list.out());
    assert_no_key(&world.files.path("home"));
    let secret = world.run(&["sessions", "export", "w-3"]);
    assert!(!secret.out().contains("SECRET"), "values of a query are left out");
}

#[test]
fn conversations_are_told_apart_and_a_record_grows_by_what_is_new() {
    let world = world();
    const N: usize = 40;
    let server = MockServer::start(std::iter::repeat_with(|| chat_reply("an answer of the model")).take(2 * N));
    let watching = Watching::start(&world, &server.base_url());
    let long = "word ".repeat(60);
    let mut histories = [Vec::new(), Vec::new()];
    let mut last = [String::new(), String::new()];
    for n in 0..N {
        for (which, history) in histories.iter_mut().enumerate() {
            history.push(json!({ "role": "user", "content": format!("question {n} of {which}: {long}") }));
            let system = json!({ "role": "system", "content": "be brief" });
            let messages: Vec<&Value> = std::iter::once(&system).chain(history.iter()).collect();
            last[which] = json!({ "model": "gpt-4o", "messages": messages }).to_string();
            assert_eq!(watching.post("OPENAI_BASE_URL", "/chat/completions", &last[which]).0, 200);
            history.push(json!({ "role": "assistant", "content": "an answer of the model" }));
        }
    }
    let said = watching.end();
    assert!(said.contains(&format!("recorded {} requests in 2 sessions", 2 * N)), "{said}");
    for (name, last) in [("w", &last[0]), ("w-2", &last[1])] {
        assert_eq!(body(&world, name), *last);
        let cache: Value = serde_json::from_slice(&world.run(&["cache", name, "--json"]).stdout).unwrap();
        let rows = cache["rows"].as_array().or_else(|| cache["requests"].as_array()).unwrap();
        assert_eq!((rows.len(), cache["breaks"].as_u64()), (N, Some(0)), "{cache}");
        let rows = self::rows(&world, &["context", "--json", name], "home");
        let of_model = rows.iter().filter(|row| row["source"] == "model");
        assert!(of_model.clone().count() == N - 1 && of_model.clone().all(|row| row["certainty"] == "exact"));
    }
    let n_bytes = size_of(&world.files.path("home"));
    let bound = 12 * (last[0].len() + last[1].len());
    assert!(n_bytes < bound, "{n_bytes} bytes for conversations of {bound} / 12");
}

fn size_of(path: &Path) -> usize {
    if !path.is_dir() {
        return usize::try_from(path.metadata().unwrap().len()).unwrap();
    }
    fs::read_dir(path).unwrap().map(|entry| size_of(&entry.unwrap().path())).sum()
}

#[test]
fn nothing_is_forwarded_without_the_path_and_failures_are_the_commands_to_see() {
    let world = world();
    let server = MockServer::start([MockReply::status(429, "{\"error\":\"slow down\"}")]);
    let watching = Watching::start(&world, &server.base_url());
    let base = &watching.urls["OPENAI_BASE_URL"];
    let (host, _) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let secret = base.rsplit('/').nth(1).unwrap();
    assert!(host.starts_with("127.0.0.1:") && secret.len() >= 64, "{base}");
    let wrong = "0".repeat(secret.len());
    for path in
        ["", "x", "openai_base_url", &wrong, &format!("{wrong}/openai_base_url"), secret, &format!("{secret}/other")]
    {
        let (status, _) = exchange(&format!("http://{host}/{path}"), "POST", "/responses", "{}");
        assert_eq!(status, 404, "{path}");
    }
    assert_eq!(server.requests(), []);
    let refused = watching.post("OPENAI_BASE_URL", "/responses", r#"{"model":"m","input":[]}"#);
    assert_eq!(refused, (429, "{\"error\":\"slow down\"}".to_owned()));
    watching.end();
    let shown = world.run(&["sessions", "show", "w", "--json"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);

    // Nothing listens there.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let watching = Watching::start(&world, &format!("http://{gone}/v1"));
    let (status, said) = watching.post("OPENAI_BASE_URL", "/responses", r#"{"model":"m","input":[]}"#);
    assert_eq!(status, 502);
    assert!(said.starts_with("pellucid watch: the upstream server cannot be reached"), "{said}");
    watching.end();
}

#[test]
fn an_answer_is_streamed_as_it_comes() {
    let world = world();
    let event = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n";
    let server = MockServer::start([MockReply::frames([event, event]).hang_after(event.len())]);
    let watching = Watching::start(&world, &server.base_url());
    let base = watching.urls["OPENAI_BASE_URL"].clone();
    let (host, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let body = r#"{"model":"m","input":[{"role":"user","content":"hi"}]}"#;
    let head = format!("POST /{prefix}/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // The upstream server is silent behind the first event, which arrives all the same.
    let mut got = Vec::new();
    while !got.windows(event.len()).any(|part| part == event.as_bytes()) {
        let mut piece = [0; 512];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&piece[..n]);
    }
    watching.end();
    let record = world.run(&["cache", "w", "--json"]);
    assert!(record.out().contains("unknown"), "{}", record.out());
}

#[test]
fn a_capsule_without_content_has_no_word_of_another_programs_requests() {
    let world = world();
    let server = MockServer::start(std::iter::repeat_with(|| chat_reply("privateword")).take(3));
    let watching = Watching::start(&world, &server.base_url());
    let messages = json!({
        "model": "m", "max_tokens": 9, "system": [{ "type": "text", "text": "privateword" }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "<x>\nprivateword\n</x>" }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Read", "input": { "a": "privateword" } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "privateword" }] },
        ],
        "tools": [{ "name": "Read", "description": "privateword", "input_schema": {} }],
    });
    watching.post("ANTHROPIC_BASE_URL", "/privateword/messages", &messages.to_string());
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "privateword" }] }] });
    watching.post("GOOGLE_GEMINI_BASE_URL", "/models/m:generateContent", &gemini.to_string());
    watching.post("OPENAI_BASE_URL", "/traces", "privateword, not JSON");
    watching.end();
    for name in ["w", "w-2", "w-3"] {
        let capsule = world.run(&["sessions", "capsule", name, "--redact", "content", "-o", "c.html"]);
        assert_eq!(capsule.status, 0, "{name}: {}", capsule.stderr);
        let to = format!("opened-{name}");
        let opened = world.run(&["capsule", "open", "c.html", "--to", &to]);
        assert_eq!(opened.status, 0, "{name}: {}", opened.stderr);
        let mut files = Vec::new();
        collect(&world.files.path(format!("work/{to}")), &mut files);
        for path in &files {
            let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            assert!(!text.contains("privateword"), "{name}: {}", path.display());
        }
        fs::remove_file(world.files.path("work/c.html")).unwrap();
    }
}

#[test]
fn a_record_that_was_changed_is_found() {
    let world = world();
    let server = MockServer::start([chat_reply("ok")]);
    let watching = Watching::start(&world, &server.base_url());
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "word ".repeat(400) }] }).to_string();
    watching.post("OPENAI_BASE_URL", "/chat/completions", &body);
    watching.end();
    assert_eq!(world.run(&["replay", "w"]).status, 0);
    assert_eq!(world.run(&["sessions", "fsck"]).status, 0);
    let mut files = Vec::new();
    collect(&world.files.path("home/requests"), &mut files);
    collect(&world.files.path("home/sessions"), &mut files);
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        let at = changed.windows(4).position(|part| part == b"word").unwrap_or(changed.len() / 2);
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        let ran = world.run(&["replay", "w"]);
        assert_eq!(ran.status, 1, "{}: {}{}", path.display(), ran.out(), ran.stderr);
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(world.run(&["replay", "w"]).status, 0);
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

#[track_caller]
fn check_refusal(world: &World, args: &[&str], variables: &[(&str, &str)], status: i32, said: &str) {
    let ran = world.run_in(&[&["watch"], args].concat(), variables);
    assert!(ran.status == status && ran.stderr.contains(said), "{}: {}", ran.status, ran.stderr);
}

#[test]
fn the_end_of_the_command_is_the_end_of_watch_and_bad_input_is_named() {
    let world = world();
    check_refusal(&world, &["--", "/bin/sh", "-c", "exit 7"], &[], 7, "nothing was recorded");
    check_refusal(&world, &["--", "/bin/sh", "-c", "kill -9 $$"], &[], 137, "nothing was recorded");
    check_refusal(&world, &["--", "no-such-command"], &[], 127, "error: there is no command `no-such-command`\nhint: ");
    check_refusal(&world, &["--", "/"], &[], 126, "error: `/` cannot be started\n  caused by: ");
    check_refusal(&world, &[], &[], 2, "<COMMAND>");
    check_refusal(
        &world,
        &["--upstream", "nowhere", "--", "true"],
        &[],
        2,
        "nowhere (for OPENAI_BASE_URL) is not an address",
    );
    check_refusal(&world, &["--set", "MY_URL", "--", "true"], &[], 2, "`MY_URL` has no address to forward to\nhint: ");
    check_refusal(&world, &["--", "true"], &[("PELLUCID_WATCH", "1")], 2, "inside of `pellucid watch` already\nhint: ");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check_refusal(&world, &["--port", &port, "--", "true"], &[], 1, &format!("cannot listen on port {port}: "));
    let shown = world.run_in(&["watch", "--print-env"], &[("ANTHROPIC_BASE_URL", "http://box:1/")]);
    assert!(shown.out().contains("ANTHROPIC_BASE_URL      forwarded to http://box:1\n"), "{}", shown.out());
    assert!(
        shown.out().contains("OPENAI_BASE_URL         forwarded to https://api.openai.com/v1\n"),
        "{}",
        shown.out()
    );
    let streams = world.run_with(&["watch", "--", "/bin/sh", "-c", "cat; echo err >&2"], Some(b"in"));
    assert_eq!((streams.out(), streams.stderr.starts_with("err\n")), ("in", true));
}
