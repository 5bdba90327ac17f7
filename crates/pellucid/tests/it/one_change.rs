//! Single changes between two runs of the program, on every wire: the report of the next request, the event, the
//! record and the line on standard error give the same cause, the same part and the same number of tokens.

use expect_test::expect;
use std::fs;
use std::path::Path;

use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

/// What is different in the second run, and what that does on the wires Responses, Chat and Messages.
struct Case {
    what: &'static str,
    /// A line of the configuration.
    config: &'static str,
    args: &'static [&'static str],
    change: fn(&World),
    expected: [&'static str; 3],
}

const PLAIN: Case = Case { what: "nothing", config: "", args: &[], change: |_| {}, expected: ["extended"; 3] };

const CASES: &[Case] = &[
    PLAIN,
    Case { what: "sandbox", config: "sandbox_mode = \"workspace-write\"", ..PLAIN },
    Case { what: "environment", args: &["-C", "sub"], ..PLAIN },
    Case { what: "personality", config: "personality = \"friendly\"", ..PLAIN },
    Case { what: "developer's message", config: "developer_instructions = \"Be brief.\"", ..PLAIN },
    Case { what: "effort", config: "model_reasoning_effort = \"high\"", ..PLAIN },
    Case { what: "summary", config: "model_reasoning_summary = \"detailed\"", ..PLAIN },
    Case { what: "verbosity", config: "model_verbosity = \"high\"", ..PLAIN },
    Case {
        what: "instruction file",
        change: |world| drop(world.files.write("work/AGENTS.md", "Use spaces.\n")),
        ..PLAIN
    },
    Case { what: "model", config: "model = \"gpt-5.1\"", expected: ["broken: model, model"; 3], ..PLAIN },
    Case {
        what: "base instructions",
        config: "model_instructions_file = \"base.md\"",
        expected: ["broken: instructions, base"; 3],
        ..PLAIN
    },
    Case {
        what: "one tool more",
        config: "features.js_repl = true",
        expected: [
            "broken: tools, tools/js_repl",
            "broken: tools, tools/js_repl_reset",
            "broken: tools, tools/js_repl_reset",
        ],
        ..PLAIN
    },
    Case {
        what: "tools less",
        config: "features.shell_tool = false",
        expected: ["broken: tools, tools/exec_command"; 3],
        ..PLAIN
    },
    Case {
        what: "output schema",
        args: &["--output-schema", "schema.json"],
        expected: ["broken: schema, schema", "extended", "extended"],
        ..PLAIN
    },
    Case {
        what: "an older item",
        change: |world| {
            let path = session_file(&world.files.path("home/sessions"));
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replace("First answer.", "Other answer.")).unwrap();
        },
        expected: ["broken: items"; 3],
        ..PLAIN
    },
    Case {
        what: "compaction",
        change: |world| {
            let ran = world.run(&["compact", "--last", "--summary", "summary.md"]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
        },
        expected: ["broken: compaction"; 3],
        ..PLAIN
    },
];

/// Changes for a session that was begun with the pack in `mine` and with a schema.
const OWN_CASES: &[Case] = &[
    PLAIN,
    Case {
        what: "one tool's description",
        change: |world| {
            let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pellucid-engine/packs/codex");
            let tool = fs::read_to_string(pack.join("tools/update_plan.toml")).unwrap();
            let changed = tool.replacen("Replaces the plan", "Rewrites the plan", 1);
            assert_ne!(changed, tool);
            world.files.write("mine/tools/update_plan.toml", changed);
        },
        expected: ["broken: tools, tools/update_plan"; 3],
        ..PLAIN
    },
    Case {
        what: "tools in another order",
        change: |world| drop(world.files.write("mine/pack.toml", own_layout(&["view_image", "update_plan"]))),
        expected: ["broken: tools, tools/view_image"; 3],
        ..PLAIN
    },
    Case { what: "pack", args: &["--pack", "openclaw"], expected: ["broken: tools"; 3], ..PLAIN },
    Case {
        what: "another output schema",
        change: |world| drop(world.files.write("work/schema.json", "{\"type\": \"array\"}")),
        expected: ["broken: schema, schema", "extended", "extended"],
        ..PLAIN
    },
    Case {
        what: "roll-back",
        change: |world| {
            let path = session_file(&world.files.path("home/sessions"));
            let line = r#"{"timestamp":"2026-01-02T03:04:05.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#;
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, format!("{text}{line}\n")).unwrap();
        },
        expected: ["shortened"; 3],
        ..PLAIN
    },
];

fn own_layout(tools: &[&str]) -> String {
    let tools: String = tools.iter().map(|tool| format!("[[tool]]\nfile = \"{tool}\"\n")).collect();
    format!("name = \"mine\"\nfrom = \"codex\"\n{tools}")
}

const FIXTURE: &str = "
//- work/AGENTS.md
Use tabs.
//- work/sub/file
x
//- work/schema.json
{\"type\": \"object\"}
//- work/summary.md
All is sorted.
//- home/base.md
Sort by weight.
";

fn reply(wire: &str, text: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": text }]);
    let items = [json!({ "type": "message", "id": "msg", "role": "assistant", "content": content })];
    match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => {
            let usage = json!({
                "input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
                "input_tokens_details": { "cached_tokens": 60 },
            });
            MockReply::events([
                json!({ "type": "response.created", "response": { "id": "resp" } }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": items[0] }),
                json!({ "type": "response.completed", "response": { "id": "resp", "usage": usage } }),
            ])
        }
    }
}

fn configure(world: &World, server: &MockServer, wire: &str, line: &str) {
    let url = server.base_url();
    let provider = format!("name = \"Mock\"\nbase_url = \"{url}\"\nwire_api = \"{wire}\"\ncache_seconds = 3600\n");
    let config = format!("model_provider = \"mock\"\n{line}\n[model_providers.mock]\n{provider}");
    world.files.write("home/config.toml", config);
}

/// The only session file of a folder.
pub fn session_file(folder: &Path) -> std::path::PathBuf {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let path = entries.remove(0);
    if path.is_dir() { session_file(&path) } else { path }
}

/// The id of the only session.
fn session_id(world: &World) -> String {
    let file = session_file(&world.files.path("home/sessions"));
    let name = file.file_stem().unwrap().to_str().unwrap();
    name[name.len() - 36..].to_owned()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// Makes a folder what another one is.
fn restore(world: &World, from: &str, to: &str) {
    let (from, to) = (world.files.path(from), world.files.path(to));
    if to.exists() {
        fs::remove_dir_all(&to).unwrap();
    }
    copy_folder(&from, &to);
}

/// What a break is said to be.
#[derive(Debug, PartialEq)]
struct Told {
    cause: String,
    part: String,
    tokens: u64,
}

impl Told {
    fn of(broken: &Value) -> Option<Self> {
        let text = |key: &str| broken[key].as_str().unwrap().to_owned();
        let tokens = || broken["tokens_rebilled"].as_u64().unwrap();
        (!broken.is_null()).then(|| Self { cause: text("cause"), part: text("part"), tokens: tokens() })
    }
}

/// The JSON that a run prints.
#[track_caller]
fn json_of(world: &World, args: &[&str]) -> Value {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The first event of a type in the output of a run.
fn event(lines: &str, kind: &str) -> Option<Value> {
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.into_iter().find(|event| event["type"] == kind)
}

/// Asks for the report, the event, the record and the line on standard error, each from the same state, and holds them
/// against each other. Gives what all of them say, and everything that changed.
#[track_caller]
fn told_everywhere(world: &World, wire: &str, server: &MockServer, args: &[&str]) -> (String, Value) {
    let id = session_id(world);
    let report = json_of(world, &[&["context", "--session", &id, "--json"], args, &["next"]].concat());
    let continuity = &report["continuity"];
    let reported = Told::of(&continuity["broken"]);
    restore(world, "home", "changed");

    server.add([reply(wire, "Second answer.")]);
    let ran = world.run(&[&["exec", "--json", "--context-events"], args, &["resume", &id, "next"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let broken = event(ran.out(), "context.cache_break").unwrap_or_default();
    assert_eq!(Told::of(&broken), reported, "the event says what the report does");
    let kept = event(ran.out(), "context.report").unwrap()["kept_bytes"].clone();
    assert_eq!(kept, continuity["kept_bytes"]);
    let usage = event(ran.out(), "context.usage").unwrap();

    restore(world, "changed", "home");
    server.add([reply(wire, "Second answer.")]);
    let ran = world.run(&[&["exec"], args, &["resume", &id, "next"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let line = ran.stderr.lines().find(|line| line.contains("paid for"));
    if let (Some(line), Some(told)) = (line, &reported) {
        assert!(line.contains(&format!(" {}", told.part)), "{line} names {}", told.part);
    }
    let expected = reported.as_ref().map(|told| {
        let tokens = told.tokens.to_string();
        let (thousands, rest) = tokens.split_at(tokens.len().saturating_sub(3));
        let tokens = if thousands.is_empty() { tokens.clone() } else { format!("{thousands},{rest}") };
        format!("({}); about {tokens} tokens are paid for again", told.cause)
    });
    assert_eq!(line.is_some(), expected.is_some(), "{}", ran.stderr);
    if let (Some(line), Some(expected)) = (line, expected) {
        assert!(line.ends_with(&expected), "{line}\n{expected}");
    }

    let shown = json_of(world, &["sessions", "show", "--json", &id]);
    let last = |list: &Value| list.as_array().unwrap().last().cloned().unwrap_or_default();
    assert_eq!(Told::of(&last(&shown["cache_breaks"])), reported, "the record says what the report does");
    let verdict = last(&shown["cache"]);
    assert_eq!(verdict["verdict"], usage["cache"]["verdict"], "the event has the record's verdict");
    let cache = json_of(world, &["cache", &id, "--json"]);
    let row = last(&cache["requests"]);
    assert_eq!(Told::of(&row["break"]), reported, "`cache` says what the report does");
    assert_eq!(row["verdict"]["verdict"], verdict["verdict"], "`cache` has the record's verdict");
    // Nothing was changed before, so the gate closes because of this change or not at all.
    let gate = world.run(&["cache", &id, "--max-breaks", "0"]);
    assert_eq!(gate.status, i32::from(reported.is_some()), "{}{}", gate.out(), gate.stderr);
    let word = verdict["verdict"].as_str().unwrap();
    let told = reported.map_or_else(|| word.to_owned(), |told| format!("{word}: {}, {}", told.cause, told.part));
    (told, continuity["changes"].clone())
}

fn check_cases(wire: &str, expected: fn(&Case) -> &'static str) {
    check_table(wire, CASES, &[], expected);
    check_table(wire, OWN_CASES, &["--pack", "../mine", "--output-schema", "schema.json"], expected);
}

/// Makes a session with two turns with these arguments, and continues it with one change at a time.
fn check_table(wire: &str, cases: &[Case], begun_with: &[&str], expected: fn(&Case) -> &'static str) {
    let server = MockServer::start([reply(wire, "First answer.")]);
    let world = World::new(FIXTURE);
    world.files.write("mine/pack.toml", own_layout(&["update_plan", "view_image"]));
    configure(&world, &server, wire, "");
    let ran = world.run(&[&["exec"], begun_with, &["Sort the depot."]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    server.add([reply(wire, "Another answer.")]);
    let ran = world.run(&[&["exec"], begun_with, &["resume", "--last", "Now the yard."]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for folder in ["home", "work", "mine"] {
        restore(&world, folder, &format!("{folder}.before"));
    }
    for case in cases {
        for folder in ["home", "work", "mine"] {
            restore(&world, &format!("{folder}.before"), folder);
        }
        configure(&world, &server, wire, case.config);
        (case.change)(&world);
        // An option that a case gives replaces the one that the session was begun with.
        let args: Vec<&str> = match case.args {
            ["--pack", ..] => [&begun_with[2..], case.args].concat(),
            args => [begun_with, args].concat(),
        };
        let (told, _) = told_everywhere(&world, wire, &server, &args);
        let expected = expected(case);
        let is_expected = told == expected || told.starts_with(&format!("{expected}, "));
        assert!(is_expected, "{} on {wire}: {told}, expected {expected}", case.what);
    }
}

#[test]
fn responses_says_what_a_change_costs_across_a_restart() {
    check_cases("responses", |case| case.expected[0]);
}

#[test]
fn chat_says_what_a_change_costs_across_a_restart() {
    check_cases("chat", |case| case.expected[1]);
}

#[test]
fn messages_says_what_a_change_costs_across_a_restart() {
    check_cases("messages", |case| case.expected[2]);
}

/// A memory that is chosen again in another process changes what the model reads, and every answer says so alike.
#[test]
fn a_memory_that_is_chosen_again_is_the_cause() {
    for wire in ["responses", "chat", "messages"] {
        let server = MockServer::start([]);
        let world = World::new(FIXTURE);
        configure(&world, &server, wire, "");
        let layout = "name = \"small\"\nfrom = \"risuai\"\n\
             [[slot]]\nid = \"environment\"\ntarget = \"user\"\nsource = \"environment\"\n\
             [[tool]]\nfile = \"update_plan\"\n\
             [memory]\nmax_context = 1246\nmax_response = 0\nsummaries = \"model\"\n\
             [memory.preset]\nmaxChatsPerSummary = 2\nmemoryTokensRatio = 0.15\n";
        world.files.write("small/pack.toml", layout);
        let long = "word ".repeat(150);
        let broken = (1..=8).find_map(|n| {
            let message = format!("Message {n}. {long}");
            server.add((0..4).map(|_| reply(wire, "Summed up.")));
            let resumed: &[&str] = if n == 1 { &[] } else { &["resume", "--last"] };
            let args = ["exec", "--json", "--context-events", "--pack", "../small"];
            let ran = world.run(&[&args[..], resumed, &[&message]].concat());
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            let events: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let broken = events.iter().find(|it| it["type"] == "context.cache_break")?.clone();
            let usage = events.iter().rfind(|it| it["type"] == "context.usage").unwrap();
            Some((broken, usage["cache"].clone()))
        });
        let (broken, cache) = broken.expect("the memory was never chosen again");
        let verdict = (cache["verdict"].as_str(), cache["cause"].as_str());
        assert_eq!(verdict, (Some("broken"), Some("memory")), "{wire}");
        let shown = json_of(&world, &["sessions", "show", "--json", &session_id(&world)]);
        let last = |key: &str| shown[key].as_array().unwrap().last().unwrap().clone();
        assert_eq!(Told::of(&last("cache_breaks")), Told::of(&broken), "{wire}");
        assert_eq!(last("cache")["cause"], "memory", "{wire}");
    }
}

#[test]
fn a_server_that_is_gone_is_named_by_its_tools() {
    for wire in ["responses", "chat", "messages"] {
        let server = MockServer::start([reply(wire, "First answer.")]);
        let world = World::new(FIXTURE);
        let script = McpScript::new(&["load", "store"]);
        configure(&world, &server, wire, "");
        let plain = world.files.read("home/config.toml");
        world.files.write("home/config.toml", format!("{plain}[mcp_servers.depot]\n{}", script.config()));
        let ran = world.run(&["exec", "Sort the depot."]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        world.files.write("home/config.toml", plain);
        let (told, changes) = told_everywhere(&world, wire, &server, &[]);
        assert_eq!(told, "broken: tools, tools/mcp__depot__load", "{wire}");
        let shown = json_of(&world, &["sessions", "show", "--json", &session_id(&world)]);
        let broken = shown["cache_breaks"].as_array().unwrap().last().unwrap();
        assert_eq!(broken["source"], "provided mcp_servers.depot", "{wire}");
        let removed: Vec<&str> = changes
            .as_array()
            .unwrap()
            .iter()
            .filter(|change| change["how"] == "removed")
            .map(|change| change["part"].as_str().unwrap())
            .collect();
        for tool in ["tools/mcp__depot__load", "tools/mcp__depot__store"] {
            assert!(removed.contains(&tool), "{removed:?} on {wire}");
        }
    }
}

#[test]
fn a_server_that_comes_is_named_by_its_tools() {
    for wire in ["responses", "chat", "messages"] {
        let server = MockServer::start([reply(wire, "First answer.")]);
        let world = World::new(FIXTURE);
        let script = McpScript::new(&["load", "store"]);
        configure(&world, &server, wire, "");
        let ran = world.run(&["exec", "Sort the depot."]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let plain = world.files.read("home/config.toml");
        world.files.write("home/config.toml", format!("{plain}[mcp_servers.depot]\n{}", script.config()));
        server.add([reply(wire, "Second answer.")]);
        let ran = world.run(&["exec", "resume", "--last", "next"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let line = ran.stderr.lines().find(|line| line.contains("paid for")).unwrap();
        assert!(line.contains("added tools/mcp__depot__load, from provided mcp_servers.depot"), "{wire}: {line}");
    }
}

#[test]
fn an_order_that_a_provider_states_is_followed_and_unknown_words_are_refused() {
    let server = MockServer::start([reply("chat", "First answer.")]);
    let world = World::new(FIXTURE);
    configure(&world, &server, "chat", "");
    let ran = world.run(&["exec", "Sort the depot."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let plain = world.files.read("home/config.toml");
    let next = |order: &str| {
        world.files.write("home/config.toml", format!("{plain}cache_order = {order}\n"));
        world.run(&["context", "--last", "--json", "--output-schema", "schema.json", "next"])
    };
    let broken = |order: &str| -> Value {
        let report: Value = serde_json::from_slice(&next(order).stdout).unwrap();
        report["continuity"]["broken"]["cause"].clone()
    };
    assert_eq!(broken("[\"tools\", \"instructions\", \"items\"]"), Value::Null);
    assert_eq!(broken("[\"schema\", \"tools\", \"instructions\", \"items\"]"), "schema");
    let ran = next("[\"system\"]");
    assert_ne!(ran.status, 0);
    expect![[r#"
        error: config.toml cannot be loaded:
        ROOT/home/config.toml:8:16: unknown variant `system`, expected one of `schema`, `tools`, `instructions`, `items`, `settings`
          |
        8 | cache_order = ["system"]
          |                ^^^^^^^^
    "#]].assert_eq(&ran.stderr);
}

#[test]
fn requests_and_replies_are_timed_with_the_status_of_every_attempt() {
    for wire in ["responses", "chat", "messages"] {
        let server = MockServer::start([MockReply::status(503, "busy"), reply(wire, "First answer.")]);
        let world = World::new(FIXTURE);
        configure(&world, &server, wire, "");
        let ran = world.run(&["exec", "Sort the depot."]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let requests = world.files.path("home/requests");
        fs::remove_dir_all(requests.join("parts")).unwrap();
        let record = fs::read_to_string(session_file(&requests)).unwrap();
        let lines: Vec<Value> = record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| lines.iter().find(|line| line["kind"] == kind).unwrap();
        let (request, reply) = (of("request"), of("reply"));
        assert_eq!(reply["attempts"], json!([503, 200]), "{wire}");
        let times = [&request["sent_at"], &reply["first_event_at"], &reply["done_at"]].map(|it| it.as_str().unwrap());
        assert!(times.is_sorted(), "{times:?} on {wire}");
        assert_eq!(reply["cache"]["verdict"], "cold", "{wire}");
    }
}
