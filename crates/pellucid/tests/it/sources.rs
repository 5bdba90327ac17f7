//! Sources of injected items, settings of a window and the events about both, in every front end.

use std::path::Path;

use expect_test::expect;
use pellucid_context::Engine;
use pellucid_context::EngineSession;
use pellucid_context::Facts;
use pellucid_context::FactsInput;
use pellucid_context::Item;
use pellucid_context::SessionId;
use pellucid_context::WireApi;
use pellucid_context::WireSettings;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::context_events::Client;

const FIXTURE: &str = "
//- work/AGENTS.md
Use tabs.
//- work/NOTES.md
Ask Grace about the release before the tables are renamed.
//- work/script.toml
[[reply]]
say = \"Fine.\"
";

/// What is injected, with the settings of an agent.
fn document(window: i64) -> Value {
    json!({
        "version": 1,
        "identity": { "system_prompt": "You mend roofs for {{team}}." },
        "token_budget": { "context_window": window, "reserved_output_tokens": 200 },
        "context_management": { "summary_max_output_tokens": 300 },
        "prompt_injections": { "sources": [
            { "type": "repo_docs", "max_total_bytes": 1000 },
            { "type": "provided" },
            { "type": "file_set", "files": [{ "path": "NOTES.md", "max_bytes": 30 }, { "path": "GONE.md" }], "order": 400 },
            { "type": "text_store", "entries": [{ "key": "style", "target": "system_section", "wrapper": "Style: {{content}}" }] },
        ] },
    })
}

fn items() -> Value {
    json!([
        { "target": "system_section", "content": "Answer in French.", "order": 100 },
        { "target": "preamble_message", "role": "assistant", "content": "Bien.", "order": 3 },
        { "target": "preamble_message", "role": "user", "content": "The build is red.", "order": 2 },
        { "target": "system_section", "content": "Only for few words.", "prompt_modes": ["minimal"] },
    ])
}

fn memory() -> Value {
    json!(["likes tea ".repeat(40), "has a cat ".repeat(40)])
}

/// The file of all that, for the program.
fn file(window: i64) -> Value {
    let mut file = document(window);
    let more = json!({
        "items": items(), "memory": memory(), "variables": { "team": "Ada" }, "store": { "style": "short" },
    });
    file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    file
}

/// The answer of a model in an API format.
fn answer(wire: &str, text: &str) -> MockReply {
    let item = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    match wire {
        "chat" => MockReply::chat([item]),
        "messages" => MockReply::messages([item]),
        _ => MockReply::say(text),
    }
}

fn world(server: &MockServer, wire: &str, window: i64) -> World {
    let world = World::new(FIXTURE);
    world.files.write("work/agent.json", file(window).to_string());
    let inject = world.files.path("work/agent.json");
    let config = format!(
        "pack = \"agentcore\"\nmodel = \"gpt-5.2-codex\"\ninject = [{inject:?}]\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\nstream_max_retries = 0\nrequest_max_retries = 0\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
    world
}

/// The messages of the person, of a thousand tokens each.
fn messages() -> Vec<String> {
    ["one", "two", "three", "four", "five"].map(|word| format!("{word}\n{}", "x".repeat(4_000))).to_vec()
}

/// A body with the place of the test and the session's id made equal.
fn plain(body: &[u8], world: &World, id: &str) -> String {
    world.shown(&String::from_utf8_lossy(body).replace(id, "ID"))
}

/// The bodies that a server got.
fn bodies(server: &MockServer, world: &World, id: &str) -> Vec<String> {
    server.requests().iter().map(|request| plain(&request.body, world, id)).collect()
}

fn server(wire: &str) -> MockServer {
    MockServer::start((0..20).map(|n| answer(wire, &format!("Answer {n}."))))
}

fn client(world: &World) -> Client {
    let mut client = Client::of(world, &[]);
    client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
    client
}

fn permissions() -> Value {
    json!({ "approvalPolicy": "never", "sandbox": "read-only" })
}

/// All turns in one process of the app-server.
fn of_server(wire: &str, window: i64) -> Vec<String> {
    let (server, turns) = (server(wire), messages());
    let world = world(&server, wire, window);
    let mut client = client(&world);
    let (thread, _) = client.turn("thread/start", &permissions(), &turns[0]);
    for text in &turns[1..] {
        client.notified.clear();
        let input = json!([{ "type": "text", "text": text }]);
        client.ask("turn/start", &json!({ "threadId": thread, "input": input }));
        client.until(|it| it["method"] == "turn/completed");
    }
    bodies(&server, &world, &thread)
}

/// Every turn in a process of its own, by `exec`.
fn of_exec_resumed(wire: &str, window: i64) -> Vec<String> {
    let server = server(wire);
    let world = world(&server, wire, window);
    let mut id = String::new();
    for text in messages() {
        let args: &[&str] = if id.is_empty() { &["exec", "--json"] } else { &["exec", "--json", "resume", &id] };
        let ran = world.run(&[args, &[&text]].concat());
        assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
        let lines = ran.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        id = lines.filter_map(|line| line["thread_id"].as_str().map(str::to_owned)).next().unwrap();
    }
    bodies(&server, &world, &id)
}

/// Every turn in a process of its own, by the app-server.
fn of_server_resumed(wire: &str, window: i64) -> Vec<String> {
    let server = server(wire);
    let world = world(&server, wire, window);
    let mut thread = String::new();
    for text in messages() {
        let mut params = permissions();
        let method = if thread.is_empty() { "thread/start" } else { "thread/resume" };
        if !thread.is_empty() {
            params["threadId"] = thread.as_str().into();
        }
        thread = client(&world).turn(method, &params, &text).0;
    }
    bodies(&server, &world, &thread)
}

/// All turns in the library.
fn of_library(wire: &str, window: i64) -> Vec<String> {
    let world = World::new(FIXTURE);
    let input: FactsInput = serde_json::from_value(json!({
        "model": "gpt-5.2-codex",
        "cwd": world.files.path("work"),
        "shell": "bash",
        "web_search": "cached",
        "personality": "pragmatic",
        "injection": {
            "attributes": { "prompt_injections": items() },
            "store": { "style": "short" },
            "memory": memory(),
            "variables": { "team": "Ada" },
            "settings": document(window),
        },
    }))
    .unwrap();
    let engine = Engine::builtin("agentcore").unwrap();
    let mut facts: Facts = input.try_into().unwrap();
    engine.read_sources(&mut facts, Path::new("/home/ada"));
    let api: WireApi = serde_json::from_value(json!(wire)).unwrap();
    let settings = WireSettings { wire: api, ..WireSettings::new(SessionId::new("ID")) };
    let mut session = engine.begin(facts.clone(), settings.clone()).unwrap();
    let mut sent = Vec::new();
    let mut n_answers = 0;
    let mut reply = |session: &mut EngineSession, body: Vec<u8>| {
        sent.push(plain(&body, &world, "ID"));
        let text = format!("Answer {n_answers}.");
        n_answers += 1;
        let _unused = session;
        text
    };
    for text in messages() {
        while let Some(question) = session.make_room(&text).unwrap() {
            let body = question.request().body();
            let answer = reply(&mut session, body);
            session.summarised(question, Some(&answer));
        }
        session.say(&text);
        let body = session.request().body();
        let answer = reply(&mut session, body);
        session.record(&Item::text("assistant", answer));
    }
    let again = engine.replay(session.recording(), &[facts], &settings).unwrap();
    assert!(again.iter().all(pellucid_context::Replayed::is_same), "{wire}: the recording makes other bytes");
    sent
}

#[track_caller]
fn check_same(what: &str, one: &[String], other: &[String]) {
    assert_eq!(one.len(), other.len(), "{what}: {one:#?}\n---\n{other:#?}");
    for (n, (one, other)) in one.iter().zip(other).enumerate() {
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let from = |text: &str| text.chars().skip(same.saturating_sub(80)).take(240).collect::<String>();
        assert!(one == other, "{what}, request {n}: {:?} and {:?}", from(one), from(other));
    }
}

#[test]
fn every_front_end_makes_the_same_requests_of_sources_and_window() {
    for wire in ["responses", "chat", "messages"] {
        let served = of_server(wire, 6_400);
        check_same(&format!("app-server and library, {wire}"), &served, &of_library(wire, 6_400));
        assert!(served.iter().any(|body| body.contains("new_transcript")), "{wire}: nothing was summarised");
        let first = &served[0];
        for part in [
            "You mend roofs for Ada.",
            "Answer in French.",
            "likes tea",
            "[MISSING] GONE.md",
            "Style: short",
            "Use tabs.",
        ] {
            assert!(first.contains(part), "{wire}: {part} in {first}");
        }
        assert!(!first.contains("Only for few words."), "{wire}");
        assert!(!served.last().unwrap().contains("likes tea"), "{wire}: what was recalled goes before turns");
        check_same(
            &format!("exec and app-server, {wire}"),
            &of_exec_resumed(wire, 6_400),
            &of_server_resumed(wire, 6_400),
        );
    }
}

/// The events of a run about injections and what left the request.
fn events(world: &World, args: &[&str]) -> Vec<Value> {
    let ran = world.run(&[&["exec", "--json", "--context-events", "--script", "script.toml"], args].concat());
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_report_of_the_context_follows_from_the_events_alone() {
    let server = server("responses");
    let world = world(&server, "responses", 30_000);
    let ran = world.run(&["exec", "--json", "--context-events", "hello"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    let lines: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["type"] == kind).cloned().collect::<Vec<_>>();
    let (accounts, summaries) = (of_kind("prompt_injection.item"), of_kind("prompt_injection.summary"));
    let [summary] = summaries.as_slice() else { panic!("{summaries:?}") };
    let id = lines.iter().find_map(|line| line["thread_id"].as_str()).unwrap();
    for account in accounts.iter().chain(&summaries) {
        assert_eq!((&account["run_id"], &account["profile"]), (&json!(id), &json!("agentcore")));
        assert!(account["turn_id"].is_string(), "{account}");
    }
    let mut report = format!(
        "System prompt: {} bytes, window {} with {} reserved\n",
        summary["system_prompt_bytes"], summary["context_window"], summary["reserved"]
    );
    for it in &accounts {
        let word = match (it["outcome"].as_str().unwrap(), it["truncated"] == true) {
            ("injected", true) => "TRUNCATED",
            ("injected", false) => "OK",
            (other, _) => other,
        };
        let name = it["item_id"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let kept = it["truncation"].as_object().map(|cut| format!(", kept {}+{}", cut["kept_head"], cut["kept_tail"]));
        report += &format!(
            "{} {name}: {word} | raw {} | injected {}{}{}\n",
            it["source_type"].as_str().unwrap(),
            it["bytes_before"],
            it["bytes_after"],
            kept.unwrap_or_default(),
            it["reason"].as_str().map(|why| format!(" ({why})")).unwrap_or_default(),
        );
    }
    expect![[r#"
        System prompt: 992 bytes, window 30000 with 200 reserved
        repo_docs : OK | raw 85 | injected 85
        provided agent.json[0]: OK | raw 17 | injected 17
        provided agent.json[1]: OK | raw 5 | injected 5
        provided agent.json[2]: OK | raw 17 | injected 17
        provided agent.json[3]: skipped_mode | raw 19 | injected 19
        file_set GONE.md: missing | raw 0 | injected 0 (it is not there)
        file_set Project Context: TRUNCATED | raw 125 | injected 91, kept 12+13
        text_store style: OK | raw 12 | injected 12
    "#]]
    .assert_eq(&report);

    // The sums and the request agree with it.
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(summary["system_prompt_bytes"], body["instructions"].as_str().unwrap().len());
    for target in ["system_section", "preamble_message"] {
        let of_target = accounts.iter().filter(|it| it["target"] == target && it["outcome"] == "injected");
        let bytes: u64 = of_target.clone().map(|it| it["bytes_after"].as_u64().unwrap()).sum();
        assert_eq!(summary["targets"][target]["bytes"], bytes);
        assert_eq!(summary["targets"][target]["injected"], of_target.count());
    }
    let notes = accounts.iter().find(|it| it["source_type"] == "file_set" && it["outcome"] == "injected").unwrap();
    let origin = &notes["origin"][0];
    assert_eq!(origin["sha256"].as_str().map(str::len), Some(64), "{notes}");
    assert!(origin["mtime"].as_u64() > Some(1_600_000_000_000) && notes["duration_ms"].as_f64() > Some(0.0), "{notes}");
    assert_eq!(origin["bytes_read"], 59);
}

#[test]
fn what_leaves_a_request_is_an_event() {
    let server = server("responses");
    let world = world(&server, "responses", 6_400);
    let mut client = client(&world);
    let (thread, _) = client.turn("thread/start", &permissions(), &messages()[0]);
    for text in &messages()[1..] {
        let done = |client: &Client| client.notified.iter().filter(|it| it["method"] == "turn/completed").count();
        let n_done = done(&client);
        let input = json!([{ "type": "text", "text": text }]);
        client.ask("turn/start", &json!({ "threadId": thread, "input": input }));
        while done(&client) == n_done {
            client.hear_one();
        }
    }
    let events: Vec<&Value> =
        client.notified.iter().filter(|it| it["method"] == "context/event").map(|it| &it["params"]["event"]).collect();
    let of_kind = |kind: &str| events.iter().filter(|it| it["type"] == kind).collect::<Vec<_>>();
    let dropped: u64 = of_kind("context.memory_dropped").iter().map(|it| it["count"].as_u64().unwrap()).sum();
    assert_eq!(dropped, 2, "both recalled texts had to go");
    let left = of_kind("context.compaction");
    assert!(!left.is_empty());
    let mut cursor = 0;
    for (n, it) in left.iter().enumerate() {
        assert_eq!((&it["run_id"], &it["cause"], &it["ok"]), (&json!(thread), &json!("limit"), &json!(true)), "{it}");
        assert_eq!((&it["cursor_before"], &it["compaction_count"]), (&json!(cursor), &json!(n + 1)), "{it}");
        cursor += it["dropped_messages"].as_u64().unwrap();
        assert_eq!((&it["cursor_after"], it["turn_id"].is_string()), (&json!(cursor), true), "{it}");
        assert_eq!(it["dropped_turns"].as_u64().map(|turns| turns * 2), it["dropped_messages"].as_u64(), "{it}");
        assert!(it["summary_bytes"].as_u64() > Some(0), "{it}");
    }
    // The same events come to the client that asks for them once, and none about injections in later turns.
    assert_eq!(of_kind("prompt_injection.summary").len(), 1);
}

/// The kinds of events about injections and what left a request, with the members that every one of them has. An item that
/// was cut also has `truncation`, one that was left out `reason`.
const MEMBERS: [(&str, &[&str]); 4] = [
    (
        "prompt_injection.item",
        &[
            "run_id",
            "turn_id",
            "profile",
            "source_type",
            "source_index",
            "order",
            "prompt_mode",
            "origin",
            "bytes_before",
            "bytes_after",
            "chars_after",
            "tokens_estimate",
            "truncated",
            "outcome",
            "duration_ms",
        ],
    ),
    (
        "prompt_injection.summary",
        &[
            "run_id",
            "turn_id",
            "targets",
            "sources",
            "system_prompt_bytes",
            "messages_count",
            "tokens_estimate",
            "context_window",
            "reserved",
        ],
    ),
    (
        "context.compaction",
        &[
            "run_id",
            "cause",
            "dropped_messages",
            "dropped_turns",
            "summary_bytes",
            "cursor_before",
            "cursor_after",
            "compaction_count",
            "ok",
        ],
    ),
    ("context.memory_dropped", &["run_id", "count"]),
];

#[test]
fn every_event_about_injections_has_all_its_members() {
    let server = server("responses");
    let world = world(&server, "responses", 6_400);
    let mut seen = Vec::new();
    let mut id = String::new();
    for text in messages() {
        let more: &[&str] = if id.is_empty() { &[] } else { &["resume", &id] };
        let args = [&["exec", "--json", "--context-events"], more, &[&text]].concat();
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
        let lines: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        id = lines.iter().find_map(|line| line["thread_id"].as_str()).unwrap().to_owned();
        seen.extend(lines);
    }
    for (kind, members) in MEMBERS {
        let of_kind: Vec<&Value> = seen.iter().filter(|line| line["type"] == kind).collect();
        assert!(!of_kind.is_empty(), "no event is a {kind}");
        for event in of_kind {
            let missing: Vec<_> = members.iter().filter(|member| event.get(**member).is_none()).collect();
            assert!(missing.is_empty(), "{kind} without {missing:?}: {event}");
        }
    }
    let items = seen.iter().filter(|line| line["type"] == "prompt_injection.item");
    for item in items {
        assert_eq!(item["truncation"].is_object(), item["truncated"] == true, "{item}");
        assert!(item["reason"].is_string() || item["outcome"] != "missing", "{item}");
        // What is not there goes nowhere.
        assert_eq!(item["target"].is_string(), item["outcome"] != "missing", "{item}");
    }
}

#[test]
fn a_mode_that_does_not_exist_means_everything_and_is_said() {
    let world = World::new(FIXTURE);
    let run = |mode: &str, more: &[&str]| {
        let inject = json!({ "attributes": { "prompt_mode": mode }, "items": items() });
        world.files.write("work/mode.json", inject.to_string());
        events(&world, &[&["--pack", "agentcore", "--inject", "mode.json"], more, &["hi"]].concat())
    };
    let has = |lines: &[Value], text: &str| lines.iter().any(|line| line.to_string().contains(text));
    let skipped = |lines: &[Value]| lines.iter().filter(|line| line["outcome"] == "skipped_mode").count();
    let odd = run("brief", &[]);
    assert!(has(&odd, "there is no mode `brief`, so `full` is used; known: full, minimal, none"), "{odd:?}");
    assert_eq!(skipped(&odd), 1);
    let minimal = run("minimal", &[]);
    assert!(!has(&minimal, "there is no mode"));
    assert_eq!(skipped(&minimal), 0, "every item is for this mode");
    let both = run("brief", &["-c", "prompt_mode=minimal"]);
    assert!(!has(&both, "there is no mode"), "the configuration says which mode counts");
}

#[test]
fn settings_that_cannot_be_used_are_refused_with_the_place() {
    let world = World::new(FIXTURE);
    let said = |document: Value, more: &[&str]| {
        world.files.write("work/agent.json", document.to_string());
        let ran = world.run(&[&["prompt", "--pack", "agentcore", "--inject", "agent.json"], more, &["hi"]].concat());
        assert_eq!(ran.status, 1, "{}", ran.out());
        world.shown(&ran.stderr)
    };
    let budget = |window: Value, reserved: Value| json!({ "version": 1, "token_budget": { "context_window": window, "reserved_output_tokens": reserved } });
    let all = [
        said(json!({ "version": 2 }), &[]),
        said(budget(json!("9"), json!(0)), &[]),
        said(budget(json!(9), json!(-1)), &[]),
        said(budget(json!(9), json!(9)), &[]),
        said(
            budget(json!(9), json!(1)),
            &["-c", "compaction.reserved_output_tokens=0", "-c", "compaction.summarise=3"],
        ),
        said(json!([]), &["-c", "model_context_window=100", "-c", "compaction.reserved_output_tokens=100"]),
    ];
    expect![[r#"
        error: ROOT/work/agent.json: config version must be 1 (got 2)
        error: ROOT/work/agent.json: context_window must be a positive Integer (got "9")
        error: ROOT/work/agent.json: reserved_output_tokens must be a non-negative Integer (got -1)
        error: ROOT/work/agent.json: reserved_output_tokens must be less than context_window (got reserved_output_tokens=9, context_window=9)
        error: config.toml cannot be loaded: invalid type: integer `3`, expected a boolean
        in `compaction.summarise`
        error: [compaction]: reserved_output_tokens must be less than context_window (got reserved_output_tokens=100, context_window=100)
    "#]].assert_eq(&all.concat());
}

#[test]
fn what_a_document_sets_that_the_configuration_has_is_reported() {
    let world = World::new(FIXTURE);
    let document = json!({
        "version": 1, "llm": { "model": "other" }, "execution": { "max_turns": 3 }, "identity": { "name": "Ada" },
        "context_management": { "memory_search_limit": 1 }, "memory": ["one", "two", "three"],
    });
    world.files.write("work/agent.json", document.to_string());
    let ran = world.run(&["context", "-v", "--pack", "agentcore", "--inject", "agent.json", "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let out = world.shown(ran.out());
    for what in ["llm.model", "execution.max_turns", "identity.name", "memory[1]", "memory[2]"] {
        assert!(out.contains(what), "{what}: {out}");
    }
    assert!(!out.contains("memory[0]"), "{out}");
}

#[test]
fn a_pack_of_ones_own_uses_sources_sections_and_window() {
    let world = World::new(FIXTURE);
    let layout = r#"
name = "bakery"
from = "codex"

[instructions]
join = "\n==\n"

[[slot]]
id = "who"
target = "instructions"
file = "who.md"

[[slot]]
id = "shelf"
target = "instructions"
source = "injected_sections"

[[slot]]
id = "before"
target = "messages"
source = "injected_preamble"

[[injection]]
type = "file_set"
files = [{ path = "NOTES.md" }, { path = "BREAD.md" }]
order = 5

[[injection]]
type = "repo_docs"

[[section]]
file = "regulars.jinja"
order = 5
after_items = true
gate = ["if:recalled"]

[[section]]
file = "hours.md"
order = 1

[source_texts]
file_set_header = "On the shelf"
missing = "({{path}} is sold out)"
repo_docs_title = "House rules"
repo_docs_wrapper = "<rules>\n{{content}}</rules>"

[compaction]
strategy = "window"
context_window = 4000
reserved_output_tokens = 100
summarise = false
"#;
    world.files.write("work/bakery/pack.toml", layout);
    world.files.write("work/bakery/who.md", "You bake.\n");
    world.files.write("work/bakery/hours.md", "Open from seven.\n");
    let regulars = "Regulars:\n{% for one in recalled %}\n- {{ one }}\n{% endfor %}\n";
    world.files.write("work/bakery/regulars.jinja", regulars);
    world.files.write("work/recalled.json", json!({ "memory": ["Ada", "Grace"] }).to_string());
    let ran = world.run(&["prompt", "--pack", "./bakery", "--format", "body", "--inject", "recalled.json", "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let body: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let texts: Vec<&str> =
        body["input"].as_array().unwrap().iter().filter_map(|it| it["content"][0]["text"].as_str()).collect();
    expect![[r#"
        You bake.
        ==
        Open from seven.

        # On the shelf

        ## NOTES.md
        Ask Grace about the release before the tables are renamed.

        ## BREAD.md
        (BREAD.md is sold out)


        Regulars:
        - Ada
        - Grace
        ---
        <rules>
        # House rules

        ## AGENTS.md
        Use tabs.
        </rules>
        ---
        hi"#]]
    .assert_eq(&format!("{}\n---\n{}", body["instructions"].as_str().unwrap(), texts.join("\n---\n")));

    let refused = |layout: &str| {
        world.files.write("work/bakery/pack.toml", layout);
        let ran = world.run(&["pack", "check", "./bakery"]);
        assert_eq!(ran.status, 1, "{}", ran.out());
        world.shown(&format!("{}{}", ran.out(), ran.stderr)).lines().next().unwrap_or_default().to_owned() + "\n"
    };
    let changed = |from: &str, to: &str| refused(&layout.replace(from, to));
    let all = [
        changed("context_window = 4000", "context_window = \"4000\""),
        changed("context_window = 4000", "context_window = 50"),
        changed("reserved_output_tokens = 100", "memory_search_limit = 0"),
        changed("missing = \"({{path}} is sold out)\"", "missing = \"sold out\""),
        changed("file = \"hours.md\"", "file = \"gone.md\""),
        changed("after_items = true", "join = \", \""),
        changed("strategy = \"window\"", "keep_turns = 1"),
    ];
    expect![[r#"
        error: ROOT/work/bakery/pack.toml:49:18: context_window must be a positive Integer (got "4000")
        error: ROOT/work/bakery/pack.toml:50:26: reserved_output_tokens must be less than context_window (got reserved_output_tokens=100, context_window=50)
        error: ROOT/work/bakery/pack.toml:50:23: memory_search_limit must be a positive Integer
        error: ROOT/work/bakery/pack.toml:41:1: `missing` of [source_texts] needs `{{path}}`, otherwise that would be lost
        error: gone.md: the pack has no such file
        error: ROOT/work/bakery/pack.toml:34:8: a template writes between recalled texts by itself, so `join` has no effect
        error: ROOT/work/bakery/pack.toml:49:18: `context_window` has no effect unless `strategy = "window"`
    "#]].assert_eq(&all.concat());
}

#[test]
fn a_list_of_files_is_changed_by_the_configuration_in_every_pack_that_has_one() {
    let fixture = "
//- work/AGENTS.md
Use tabs.
//- work/SOUL.md
Calm.
//- work/moods/winter.md
Cold and dry.
//- work/notes/TODAY.md
Rain.
//- work/a/AGENTS.md
Rules of a.
//- work/assistant/pack.toml
name = \"assistant\"
from = \"codex\"
[bootstrap]
names = [\"SOUL.md\", \"AGENTS.md\"]
unit = \"bytes\"
max_chars = 100
head_ratio = 0.5
tail_ratio = 0.5
marker = \"…\"
missing = \"{{path}} is not there\"
extra = [\"*/AGENTS.md\"]
[[slot]]
id = \"files\"
target = \"developer\"
file = \"files.jinja\"
//- work/assistant/files.jinja
{% for file in files %}{{ file.path }}: {{ file.text }}
{% endfor %}
";
    let world = World::new(fixture);
    let settings = [
        "bootstrap.swap={\"SOUL.md\"=\"moods/winter.md\",\"GONE.md\"=\"moods/winter.md\"}",
        "bootstrap.leave_out=[\"BOOTSTRAP.md\"]",
        "bootstrap.add=[\"notes/TODAY.md\",\"notes/NEVER.md\",\"../outside.md\"]",
    ];
    let args: Vec<&str> = settings.iter().flat_map(|setting| ["-c", *setting]).collect();
    for pack in ["openclaw", "./assistant"] {
        let run = |command: &[&str]| {
            let ran = world.run(&[command, &["--pack", pack], args.as_slice(), &["hi"]].concat());
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            world.shown(ran.out())
        };
        let (text, report) = (run(&["prompt"]), run(&["context", "-vv"]));
        for part in ["Cold and dry.", "Rain."] {
            assert!(text.contains(part), "{pack}, {part}: {text}");
        }
        for part in ["ROOT/work/moods/winter.md", "notes/NEVER.md", "GONE.md", "../outside.md"] {
            assert!(report.contains(part), "{pack}, {part}: {report}");
        }
        assert!(!text.contains("Calm."), "{pack}: {text}");
        assert!(!text.contains("Expected at: ROOT/work/BOOTSTRAP.md"), "{pack}: {text}");
        assert_eq!(text.contains("Rules of a."), pack == "./assistant", "{pack}: {text}");
    }
    // A sub-agent sees an added file, and of the others those that are for it.
    let minimal =
        [&["prompt", "--pack", "openclaw", "-c", "facts.session_key=subagent:1"], args.as_slice(), &["hi"]].concat();
    let ran = world.run(&minimal);
    assert!(ran.out().contains("Rain.") && !ran.out().contains("Cold and dry."), "{}", ran.out());
}
