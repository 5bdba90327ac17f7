use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::query::Query;
use crate::sessions::LocalSessions;
use crate::sessions::Sessions;
use crate::token_counts::token_counts;

const ID: &str = "5f0c2f6e-1111-4222-8333-000000000001";
const CODEX_ID: &str = "019a0000-0000-7000-8000-000000000001";

/// A line in the form of Claude Code.
fn line(kind: &str, second: usize, more: &Value) -> Value {
    let mut line = json!({
        "type": kind, "sessionId": ID, "cwd": "/p/app", "version": "2.1.0", "gitBranch": "main", "isSidechain": false,
        "timestamp": format!("2026-03-04T05:06:{second:02}.000Z"), "uuid": format!("u{second}"),
    });
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn user(second: usize, content: impl Into<Value>) -> Value {
    line(
        "user",
        second,
        &json!({ "message": { "role": "user", "content": content.into() }, "promptId": format!("p{second}") }),
    )
}

/// A block of an answer. `tokens` are uncached, read, written, and those of the answer.
fn block(second: usize, message: &str, tokens: [i64; 4], content: &Value) -> Value {
    let [input, read, written, output] = tokens;
    let usage = json!({
        "input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": output,
        "cache_creation": { "ephemeral_5m_input_tokens": written - 3, "ephemeral_1h_input_tokens": 3 },
    });
    let message = json!({
        "id": message, "role": "assistant", "model": "claude-test-1", "content": [content], "usage": usage,
    });
    line("assistant", second, &json!({ "message": message, "requestId": "r1" }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn conversation() -> Vec<Value> {
    let sub = |mut line: Value| {
        line["isSidechain"] = true.into();
        line["agentId"] = "a7".into();
        line
    };
    vec![
        json!({ "type": "summary", "summary": "A look at\nthe rules", "leafUuid": "u9" }),
        json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": ID }),
        user(1, "read the rules"),
        line("attachment", 1, &json!({ "attachment": { "type": "skill_listing", "content": "- a skill" } })),
        block(2, "m1", [10, 0, 900, 1], &json!({ "type": "thinking", "thinking": "where?", "signature": "s" })),
        block(3, "m1", [10, 0, 900, 40], &text("I look.")),
        block(
            4,
            "m1",
            [10, 0, 900, 40],
            &json!({ "type": "tool_use", "id": "t1", "name": "Read", "input": { "file": "R" } }),
        ),
        sub(user(5, "look there")),
        sub(block(6, "m2", [7, 0, 0, 2], &text("nothing"))),
        user(7, json!([{ "type": "tool_result", "tool_use_id": "t1", "content": [text("Be brief.")] }])),
        block(8, "m3", [4, 900, 60, 5], &text("Be brief, they say.")),
        line("system", 9, &json!({ "subtype": "compact_boundary" })),
        line(
            "user",
            9,
            &json!({ "message": { "role": "user", "content": "They read rules." }, "isCompactSummary": true }),
        ),
        user(9, "<command-name>/compact</command-name>"),
        line(
            "assistant",
            9,
            &json!({ "message": { "model": "<synthetic>", "content": [text("-")], "usage": { "input_tokens": 0, "output_tokens": 0 } } }),
        ),
        line(
            "assistant",
            9,
            &json!({ "isApiErrorMessage": true, "message": { "model": "claude-test-1", "content": [text("error")], "usage": { "input_tokens": 5, "output_tokens": 5 } } }),
        ),
    ]
}

fn read(lines: &[Value]) -> Vec<OtherSession> {
    let mut reader = ClaudeReader::new(ID.to_owned());
    lines.iter().for_each(|line| reader.line(line.to_string().as_bytes()));
    assert_eq!((reader.is_known(), reader.n_unread()), (true, 0));
    reader.finish()
}

fn drawn(session: &OtherSession) -> String {
    let OtherSession { id, parent, version, cwd, branch, title, entries, .. } = session;
    let mut text = format!("{id} {parent:?} {version} {cwd} {branch:?} {title:?}\n");
    for (at, entry) in entries {
        let entry = match entry {
            OtherEntry::Item(item) => serde_json::to_string(item).unwrap(),
            OtherEntry::Answered(it) => {
                let usage = it.usage;
                let tokens = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens);
                format!("answered {tokens:?} {:?} {:?}", it.cache_write, it.cache_write_1h)
            }
            other => format!("{other:?}"),
        };
        writeln!(text, "{} {entry}", &at[17..19]).unwrap();
    }
    text
}

#[track_caller]
fn check_read(lines: &[Value], expected: &Expect) {
    expected.assert_eq(&read(lines).iter().map(drawn).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_file_of_claude_code_is_read_with_usage_once_for_each_answer() {
    check_read(
        &conversation(),
        &expect![[r#"
            5f0c2f6e-1111-4222-8333-000000000001 None 2.1.0 /p/app Some("main") Some("A look at\nthe rules")
            01 {"type":"message","role":"user","content":[{"type":"input_text","text":"read the rules"}]}
            01 Said("read the rules")
            01 {"type":"message","role":"user","content":[{"type":"input_text","text":"- a skill"}]}
            02 Settings { model: "claude-test-1", turn: "p1", asks: true }
            02 {"type":"reasoning","summary":[{"type":"summary_text","text":"where?"}],"content":null,"encrypted_content":"s"}
            03 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}
            04 {"type":"function_call","name":"Read","arguments":"{\"file\":\"R\"}","call_id":"t1"}
            04 answered (910, 0, 40) Some(900) Some(3)
            07 {"type":"function_call_output","call_id":"t1","output":"Be brief."}
            08 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Be brief, they say."}]}
            08 answered (964, 900, 5) Some(60) Some(3)
            09 Summary("They read rules.")
            09 {"type":"message","role":"user","content":[{"type":"input_text","text":"They read rules."}]}
            09 {"type":"message","role":"user","content":[{"type":"input_text","text":"<command-name>/compact</command-name>"}]}
            09 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"-"}]}

            2ea830c6-6abb-8248-998c-5b7878c4e02c Some("5f0c2f6e-1111-4222-8333-000000000001") 2.1.0 /p/app Some("main") None
            05 {"type":"message","role":"user","content":[{"type":"input_text","text":"look there"}]}
            05 Said("look there")
            06 Settings { model: "claude-test-1", turn: "p5", asks: true }
            06 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"nothing"}]}
            06 answered (7, 0, 2) Some(0) Some(0)
        "#]],
    );
}

#[test]
fn older_files_tell_subagents_by_the_line_before() {
    let chained = |mut line: Value, parent: Value| {
        line["isSidechain"] = true.into();
        line["parentUuid"] = parent;
        line
    };
    let lines = [
        user(1, "hi"),
        chained(user(2, "one"), Value::Null),
        chained(user(3, "two"), Value::Null),
        chained(block(4, "m", [1, 0, 0, 1], &text("to one")), "u2".into()),
        chained(block(5, "m", [1, 0, 0, 1], &text("to two")), "u3".into()),
    ];
    let found = read(&lines);
    let sizes: Vec<(usize, bool)> = found.iter().map(|it| (it.entries.len(), it.parent.is_some())).collect();
    assert_eq!(sizes, [(2, false), (5, true), (5, true)]);
    assert_ne!(found[1].id, found[2].id);
}

/// A folder with a session of each kind, and much that is none.
fn folder() -> Workspace {
    let folder = Workspace::empty();
    let text: String = conversation().iter().map(|line| format!("{line}\n")).collect();
    folder.write(format!("projects/-p-app/{ID}.jsonl"), text);
    let rollout = format!(
        r#"{{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{{"id":"{CODEX_ID}","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/q","originator":"codex_exec","cli_version":"0.104.0","source":"exec","model_provider":"openai"}}}}
{{"timestamp":"2026-01-02T03:04:06.000Z","type":"event_msg","payload":{{"type":"user_message","message":"count","images":[]}}}}
{{"timestamp":"2026-01-02T03:04:07.000Z","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"one"}}]}}}}
{{"timestamp":"2026-01-02T03:04:08.000Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":50,"cached_input_tokens":20,"output_tokens":3,"reasoning_output_tokens":0,"total_tokens":53}},"last_token_usage":{{"input_tokens":50,"cached_input_tokens":20,"output_tokens":3,"reasoning_output_tokens":0,"total_tokens":53}},"model_context_window":9}},"rate_limits":null}}}}
"#
    );
    folder.write(format!("codex/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX_ID}.jsonl"), rollout);
    folder
}

fn made(from: &Path, wanted: WantedSessions<'_>) -> (tempfile::TempDir, Reconstruction) {
    let home = tempfile::tempdir().unwrap();
    let made = reconstruct(from, wanted, home.path()).unwrap();
    assert!(is_marked(home.path()));
    (home, made)
}

fn listed(home: &Path) -> Vec<String> {
    let page = LocalSessions::new(home).list(&Query { limit: 100, ..Query::default() });
    let mut listed: Vec<String> = page
        .sessions
        .iter()
        .map(|it| {
            let model = it.last.model.as_deref().unwrap_or("-");
            format!("{} {} {} {} {model} {}", &it.id[..8], it.cwd, it.source, it.first_message, it.usage.total_tokens)
        })
        .collect();
    listed.sort();
    listed
}

#[test]
fn sessions_of_a_folder_become_those_of_a_home_folder() {
    let folder = folder();
    let before = fs::read(folder.path(format!("projects/-p-app/{ID}.jsonl"))).unwrap();
    let (home, all) = made(folder.root(), WantedSessions::All);
    assert_eq!(all, Reconstruction { n_sessions: 3, missing: Vec::new() });
    let expected = listed(home.path());
    assert_eq!(
        expected,
        [
            "019a0000 /q exec count - 53".to_owned(),
            format!(
                r#"2ea830c6 /p/app {{"subagent":{{"thread_spawn":{{"parent_thread_id":"{ID}","depth":1}}}}}} look there claude-test-1 9"#
            ),
            "5f0c2f6e /p/app claude-code read the rules claude-test-1 1919".to_owned(),
        ]
    );
    let (short, _) = made(folder.root(), WantedSessions::Listed);
    assert_eq!(listed(short.path()), expected);
    let source = folder.path(format!("projects/-p-app/{ID}.jsonl"));
    assert_eq!(self::source(home.path(), ID).as_deref(), Some(&*source.to_string_lossy()));
    assert_eq!(fs::read(source).unwrap(), before, "files are only read");
    let path = LocalSessions::new(home.path()).file(ID).unwrap().0;
    let counts: Vec<_> = token_counts(&path).unwrap();
    let counted: Vec<_> = counts.iter().map(|it| (it.usage.input_tokens, it.cache_write, it.cache_write_1h)).collect();
    assert_eq!(counted, [(910, Some(900), Some(3)), (964, Some(60), Some(3))]);
    assert_eq!(names::name_of(home.path(), ID).as_deref(), Some("A look at the rules"));
}

#[test]
fn only_what_is_wanted_is_read() {
    let folder = folder();
    let (home, one) = made(folder.root(), WantedSessions::Named("019a"));
    assert_eq!((one.n_sessions, listed(home.path()).len()), (1, 1));
    let (_, all) = made(folder.root(), WantedSessions::Named("the rules"));
    assert_eq!(all.n_sessions, 3, "a name is in no file name");
    let old = SystemTime::now() - Duration::from_secs(3600);
    let rollout = folder.path(format!("codex/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX_ID}.jsonl"));
    fs::File::options().append(true).open(&rollout).unwrap().set_modified(old).unwrap();
    let (_, last) = made(folder.root(), WantedSessions::LastIn(Path::new("/p/app")));
    assert_eq!(last.n_sessions, 2, "the older file is not read");
    let (home, file) = made(&rollout, WantedSessions::All);
    assert_eq!((file.n_sessions, listed(home.path()).len()), (1, 1));
}

#[test]
fn a_hostile_folder_holds_back_nothing() {
    let folder = folder();
    let name = |n: usize| format!("projects/x/5f0c2f6e-1111-4222-8333-{n:012}.jsonl");
    // Torn, empty and wrong lines between those of a session.
    let good = user(1, "still here");
    let wrong = [
        "{\"type\":\"user\"", "[]", "7", "null", "{}", "{\"type\":5}", "{\"type\":\"user\",\"message\":{},\"sessionId\":4}",
        &line("assistant", 1, &json!({ "message": { "usage": { "input_tokens": -1, "output_tokens": "x" }, "content": 5 } })).to_string(),
        &line("assistant", 1, &json!({ "message": { "model": "m", "usage": { "input_tokens": 4e300, "output_tokens": 1 } } })).to_string(),
        &line("assistant", 2, &json!({ "timestamp": "yesterday", "message": { "model": "m", "usage": { "input_tokens": i64::MAX, "output_tokens": 1 } } })).to_string(),
        &"[".repeat(100_000),
    ];
    folder.write(name(2), format!("{}\n{good}\n\u{0}\n", wrong.join("\n")));
    folder.write(name(3), format!("{}\n{good}\n", "x".repeat(text::LINE_BYTES_MAX + 10)));
    folder.write(name(4), "");
    folder.write(name(5), b"\xff\xfe\x00".as_slice());
    folder.write("projects/x/numbers.jsonl", "{\"n\":1}\n".repeat(10_000));
    folder.write("projects/x/other.txt", good.to_string());
    folder.write(format!("projects/y/{ID}.jsonl"), format!("{good}\n"));
    symlink(folder.path(name(2)), folder.path("projects/x/link.jsonl")).unwrap();
    symlink(folder.root(), folder.path("projects/x/round")).unwrap();
    symlink("/nowhere", folder.path("projects/x/gone.jsonl")).unwrap();
    fs::create_dir_all(folder.path("projects/x/folder.jsonl")).unwrap();
    nix::unistd::mkfifo(&folder.path("projects/x/pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let deep = folder.path("d/".repeat(12));
    fs::create_dir_all(&deep).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let copy = folder.path(format!("projects/y/{ID}.jsonl"));
    fs::File::options().append(true).open(copy).unwrap().set_modified(old).unwrap();
    let (home, made) = made(folder.root(), WantedSessions::All);
    assert_eq!(
        made,
        Reconstruction {
            n_sessions: 5,
            missing: vec![
                "1 folders are more than 8 folders deep and were not looked at".to_owned(),
                "7 lines of 2 files cannot be read and are left out".to_owned(),
                "1 sessions have the id of a newer one and are left out".to_owned(),
            ]
        }
    );
    assert_eq!(listed(home.path()).iter().filter(|it| it.contains("still here")).count(), 2);
}
