//! The shown request is the next one, or a note says that it may not be: tools of MCP servers, and requests for
//! summaries.

use expect_test::expect;
use pellucid_engine::digest::Digest;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];
const FIRST: &str = "019a0000-0000-7000-8000-000000000001";
const SECOND: &str = "019a0000-0000-7000-8000-000000000002";

/// A world whose provider speaks a wire, with more configuration behind it.
pub fn world(server: &MockServer, wire: &str, more: &str) -> World {
    let world = World::new("//- work/AGENTS.md\nUse \"tabs\".\n");
    let provider = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", format!("{provider}{more}"));
    world
}

fn say(wire: &str, text: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": text }]);
    let items = [json!({ "type": "message", "id": "msg", "role": "assistant", "content": content })];
    match wire {
        "responses" => MockReply::items(items),
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        other => panic!("unknown wire {other}"),
    }
}

/// Runs a command that has to succeed.
#[track_caller]
fn run(world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    ran
}

#[track_caller]
fn report(world: &World, args: &[&str]) -> Value {
    serde_json::from_slice(&run(world, args).stdout).unwrap()
}

/// The kinds of reasons that a report gives for not being certain.
fn kinds(report: &Value) -> Vec<&str> {
    let kinds: Vec<&str> =
        report["reasons"].as_array().unwrap().iter().map(|reason| reason["kind"].as_str().unwrap()).collect();
    assert_eq!(report["certain"], kinds.is_empty(), "{report}");
    kinds
}

/// The omissions of tools.
fn omitted_tools(report: &Value) -> Vec<String> {
    let is_tool = |it: &&Value| it["part"] == "tools";
    let text = |it: &Value| format!("{}: {}", it["what"].as_str().unwrap(), it["why"].as_str().unwrap());
    report["omissions"].as_array().unwrap().iter().filter(is_tool).map(text).collect()
}

fn covers(report: &Value, body: &[u8]) -> bool {
    let mut end = 0;
    for row in report["rows"].as_array().unwrap() {
        if row["start"] != end {
            return false;
        }
        end += row["bytes"].as_u64().unwrap();
    }
    end == body.len() as u64
}

#[test]
fn tools_of_servers_are_shown_as_they_are_sent_by_codex() {
    check_mcp("codex");
}

#[test]
fn tools_of_servers_are_shown_as_they_are_sent_by_openclaw() {
    check_mcp("openclaw");
}

#[test]
fn tools_of_servers_are_shown_as_they_are_sent_by_ads() {
    check_mcp("ads");
}

#[test]
fn tools_of_servers_are_shown_as_they_are_sent_by_agentcore() {
    check_mcp("agentcore");
}

#[test]
fn tools_of_servers_are_shown_as_they_are_sent_by_risuai() {
    check_mcp("risuai");
}

#[track_caller]
fn check_mcp(pack: &str) {
    for wire in WIRES {
        check_mcp_on(pack, wire);
    }
}

fn check_mcp_on(pack: &str, wire: &str) {
    let case = format!("{pack} on {wire}");
    let script = McpScript::new(&["echo", "store"]);
    let server = MockServer::start([say(wire, "One."), say(wire, "Two.")]);
    let world = world(&server, wire, &format!("[mcp_servers.depot]\n{}", script.config()));
    let with = |args: &[&str], id: &str| -> Vec<String> {
        args.iter().chain(&["--pack", pack, "--session-id", id, "hello"]).map(ToString::to_string).collect()
    };
    let shown = |args: &[&str], id: &str| {
        let args = with(args, id);
        run(&world, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // Nothing is known of the server yet.
    let before: Value = serde_json::from_slice(&shown(&["context", "--json"], FIRST).stdout).unwrap();
    assert_eq!(kinds(&before), ["mcp_missing"], "{case}");
    let omitted = "the MCP server depot: no list of its tools was kept yet; a session that starts it keeps one, and --mcp connect asks it";
    assert!(omitted_tools(&before).contains(&omitted.to_owned()), "{case}: {before}");
    assert_eq!(script.asked().len(), 0, "{case}: no server is started");
    let strict = with(&["prompt", "--strict-context"], FIRST);
    let strict = world.run(&strict.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((strict.status, strict.stdout.len()), (1, 0), "{case}");
    assert!(strict.stderr.contains("the MCP server depot"), "{case}: {}", strict.stderr);

    // The server is asked: the same bytes as on the wire.
    let connected = shown(&["prompt", "--format", "body", "--mcp", "connect"], FIRST);
    let certain: Value =
        serde_json::from_slice(&shown(&["context", "--json", "--mcp", "connect"], FIRST).stdout).unwrap();
    assert_eq!(kinds(&certain), [""; 0], "{case}");
    assert!(!connected.stderr.contains("certain"), "{case}: {}", connected.stderr);
    shown(&["exec"], FIRST);
    assert!(server.requests()[0].body == connected.stdout, "{case}: another body was sent");
    assert!(covers(&certain, &connected.stdout), "{case}");
    assert!(String::from_utf8_lossy(&connected.stdout).contains("mcp__depot__store"), "{case}");

    // The list that it gave is kept: the same bytes again, and a note.
    let n_asked = script.asked().len();
    let kept = shown(&["prompt", "--format", "body"], SECOND);
    assert!(
        kept.stderr.contains("the tools of the MCP server depot are those it listed last"),
        "{case}: {}",
        kept.stderr
    );
    let report: Value = serde_json::from_slice(&shown(&["context", "--json"], SECOND).stdout).unwrap();
    assert_eq!(kinds(&report), ["mcp_cached"], "{case}");
    assert_eq!(script.asked().len(), n_asked, "{case}: no server is started");
    shown(&["exec"], SECOND);
    assert!(server.requests()[1].body == kept.stdout, "{case}: another body was sent");

    // Left out on request.
    let off = shown(&["prompt", "--format", "body", "--mcp", "off"], SECOND);
    assert!(!String::from_utf8_lossy(&off.stdout).contains("mcp__depot__"), "{case}");
    let report: Value = serde_json::from_slice(&shown(&["context", "--json", "--mcp", "off"], SECOND).stdout).unwrap();
    assert_eq!(kinds(&report), ["mcp_off"], "{case}");
    assert!(omitted_tools(&report).iter().any(|it| it.starts_with("the MCP server depot: left out")), "{case}");
}

#[test]
fn a_server_that_does_not_start_is_an_omission() {
    let server = MockServer::start([say("responses", "Done.")]);
    let world = world(&server, "responses", "[mcp_servers.gone]\ncommand = \"/no/such/program\"\n");
    let args = ["--session-id", FIRST, "hello"];
    let report = report(&world, &[&["context", "--json", "--mcp", "connect"], &args[..]].concat());
    assert_eq!(kinds(&report), ["mcp_failed"]);
    let why = "the MCP server gone: MCP client for `gone` failed to start: MCP startup failed: the program `/no/such/program` cannot be started: No such file or directory (os error 2)";
    assert_eq!(omitted_tools(&report), [why]);
    let strict = world.run(&[&["exec", "--strict-context"], &args[..]].concat());
    assert_eq!(strict.status, 1, "{}", strict.stderr);
    expect![[r#"
        warning: the MCP server gone: MCP client for `gone` failed to start: MCP startup failed: the program `/no/such/program` cannot be started: No such file or directory (os error 2)
        error: --strict-context: nothing was sent, because the warnings above name content that is changed, cut or left out
    "#]].assert_eq(&world.steady(&strict.stderr));
    assert_eq!(server.requests(), []);
    let told = run(&world, &[&["exec", "--json", "--context-events"], &args[..]].concat());
    assert!(told.out().lines().any(|line| line.contains("context.omission") && line.contains("server gone")));
}

#[test]
fn a_list_that_cannot_be_used_is_an_omission() {
    let script = McpScript::new(&["echo"]);
    let server = MockServer::start([say("responses", "Done.")]);
    let world = world(&server, "responses", &format!("[mcp_servers.depot]\n{}", script.config()));
    run(&world, &["exec", "--session-id", FIRST, "hello"]);
    let folder = world.files.path("home/mcp_tools");
    let list = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&list, "{\"format\":9,\"tools\":[]}").unwrap();
    let report = report(&world, &["context", "--json", "--session-id", SECOND, "hello"]);
    assert_eq!(kinds(&report), ["mcp_missing"]);
    let why = "the MCP server depot: the list that was kept of its tools cannot be used (it has the format 9, which this version does not know); --mcp connect asks it";
    assert_eq!(omitted_tools(&report), [why]);
}

#[test]
fn a_request_without_message_or_id_is_not_promised() {
    let server = MockServer::start([]);
    let world = world(&server, "responses", "");
    assert_eq!(kinds(&report(&world, &["context", "--json"])), ["message", "session_id"]);
    assert_eq!(kinds(&report(&world, &["context", "--json", "--session-id", FIRST, "hello"])), [""; 0]);
    let text = run(&world, &["context", "-v", "hello"]);
    let note = "note: these bytes are not certain to be sent: a session gets its id when it begins";
    assert!(text.out().contains(note), "{}", text.out());
}

/// A session whose next request is one for a summary: what is shown is what is sent, and the plan holds.
fn check_summary(wire: &str, more: &str, settings: &[&str], purpose: &str, replies: [MockReply; 3]) {
    let case = format!("{purpose} on {wire} with {settings:?}");
    let script = McpScript::new(&["echo"]);
    let server = MockServer::start(replies);
    let more = format!("{more}[mcp_servers.depot]\n{}", script.config());
    let world = world(&server, wire, &more);
    if purpose == "provider_summary" {
        let config = world.files.read("home/config.toml").replace("\"Mock\"", "\"OpenAI\"");
        world.files.write("home/config.toml", config);
    }
    let long = "A long message. ".repeat(200);
    let pack = &settings[..settings.len().min(2)];
    run(&world, &[&["exec"], pack, &["--session-id", FIRST, &long]].concat());
    let on = |command: &[&'static str]| {
        run(&world, &[command, settings, &["--mcp", "connect", "--session", FIRST, "and on"]].concat())
    };
    let shown = on(&["prompt", "--format", "body"]);
    let report: Value = serde_json::from_slice(&on(&["context", "--json"]).stdout).unwrap();
    let text = on(&["context", "-v"]);
    assert_eq!((report["request"]["purpose"].as_str(), kinds(&report)), (Some(purpose), vec![]), "{case}");
    assert!(covers(&report, &shown.stdout), "{case}");
    assert_eq!(report["continuity"], Value::Null, "{case}: it extends nothing");
    let due = &report["compaction"];
    let first = text.out().lines().next().unwrap();
    let figures =
        format!("tokens {}, compacts_at {}", due["tokens"].as_i64().unwrap(), due["compacts_at"].as_i64().unwrap());
    assert!(first.replace(',', "").contains(&figures.replace(',', "")), "{case}: {first}");
    assert!(due["tokens"].as_i64() >= due["compacts_at"].as_i64(), "{case}");

    let went = run(&world, &[&["exec", "--json", "--context-events"], settings, &["resume", FIRST, "and on"]].concat());
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{case}");
    assert!(requests[1].body == shown.stdout, "{case}: another request for a summary was sent");
    let events: Vec<Value> = went.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reports: Vec<&Value> = events.iter().filter(|it| it["type"] == "context.report").collect();
    assert_eq!(reports.len(), 2, "{case}: {reports:?}");
    assert_eq!(reports[0]["purpose"], purpose, "{case}");
    assert_eq!(reports[0]["bytes"], shown.stdout.len(), "{case}");
    assert_eq!(reports[1]["purpose"], Value::Null, "{case}");

    let (plan, answer) = (&report["plan"], &requests[2].body);
    let n = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let (before, after) = (n(&plan["before"]["bytes"]), n(&plan["after"]["bytes"]));
    let digest = |bytes: &[u8]| Digest::of([bytes]).to_string();
    assert_eq!(digest(&answer[..before]), plan["before"]["sha256"].as_str().unwrap(), "{case}: before the summary");
    assert_eq!(digest(&answer[answer.len() - after..]), plan["after"]["sha256"].as_str().unwrap(), "{case}: behind it");
    let summary = String::from_utf8_lossy(&answer[before..answer.len() - after]).into_owned();
    assert!(summary.contains("SUMMED UP"), "{case}: {summary}");
    check_verdicts(&world, requests.len(), &case);
}

/// Every request that was answered has a verdict about the provider's cache.
#[track_caller]
fn check_verdicts(world: &World, n_requests: usize, case: &str) {
    let shown: Value = report(world, &["sessions", "show", "--json", FIRST]);
    let verdicts = shown["cache"].as_array().unwrap();
    assert_eq!(verdicts.len(), n_requests, "{case}: {verdicts:?}");
    assert_eq!(verdicts[0]["verdict"], "cold", "{case}");
    let others = &verdicts[1..];
    assert!(others.iter().all(|it| it["verdict"].is_string() && it["verdict"] != "cold"), "{case}: {verdicts:?}");
}

#[test]
fn a_due_summary_is_what_is_shown() {
    for pack in ["codex", "openclaw", "ads"] {
        for wire in WIRES {
            let settings = ["--pack", pack, "-c", "model_auto_compact_token_limit=90"];
            let replies = [say(wire, "One."), say(wire, "SUMMED UP"), say(wire, "Two.")];
            check_summary(wire, "", &settings, "summary", replies);
        }
    }
}

#[test]
fn a_due_summary_keeps_turns_and_accounts_where_that_is_wanted() {
    let settings =
        ["--pack", "codex", "-c", "model_auto_compact_token_limit=90", "-c", "compaction.input=\"conversation\""];
    let replies = [say("chat", "One."), say("chat", "SUMMED UP"), say("chat", "Two.")];
    check_summary("chat", "", &settings, "summary", replies);
}

#[test]
fn a_due_summary_of_the_provider_is_what_is_shown() {
    let settings = ["--pack", "codex", "-c", "model_auto_compact_token_limit=90"];
    let compact = json!({ "output": [{ "type": "compaction", "encrypted_content": "SUMMED UP" }] });
    let replies = [say("responses", "One."), MockReply::status(200, &compact.to_string()), say("responses", "Two.")];
    check_summary("responses", "", &settings, "provider_summary", replies);
}

#[test]
fn a_due_summary_of_dropped_turns_is_what_is_shown() {
    for wire in WIRES {
        let settings = ["--pack", "agentcore", "-c", "model_context_window=2300"];
        let replies = [say(wire, "One."), say(wire, "SUMMED UP"), say(wire, "Two.")];
        check_summary(wire, "", &settings, "summary", replies);
    }
}

#[test]
fn a_summary_for_the_memory_is_what_is_shown() {
    for wire in WIRES {
        let server = MockServer::start([]);
        let world = world(&server, wire, "");
        let layout = "name = \"small\"\nfrom = \"risuai\"\n\
             [[slot]]\nid = \"environment\"\ntarget = \"user\"\nsource = \"environment\"\n\
             [[tool]]\nfile = \"update_plan\"\n\
             [memory]\nmax_context = 1246\nmax_response = 0\nsummaries = \"model\"\n\
             [memory.preset]\nmaxChatsPerSummary = 2\nmemoryTokensRatio = 0.15\n";
        world.files.write("small/pack.toml", layout);
        let pack = ["--pack", "../small"];
        let long = "word ".repeat(150);
        let mut is_due = false;
        for n in 1..=8 {
            let message = format!("Message {n}. {long}");
            let (before, id) = (server.requests().len(), ["--session-id", FIRST]);
            let stored = if n == 1 { id } else { ["--session", FIRST] };
            let shown = run(&world, &[&["prompt", "--format", "body"], &pack[..], &stored, &["--", &message]].concat());
            let report = report(&world, &[&["context", "--json"], &pack[..], &stored, &["--", &message]].concat());
            assert_eq!(kinds(&report), [""; 0], "{wire}");
            assert!(covers(&report, &shown.stdout), "{wire}");
            server.add((0..4).map(|_| say(wire, "Summed up.")));
            let args = if n == 1 { [&id[..], &["--", &message]].concat() } else { vec!["resume", FIRST, &message] };
            let went = run(&world, &[&["exec", "--json", "--context-events"], &pack[..], &args].concat());
            let sent = &server.requests()[before..];
            let events = went.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let reports: Vec<Value> = events.filter(|it| it["type"] == "context.report").collect();
            let told: Vec<_> = reports.iter().map(|it| it["bytes"].as_u64().unwrap()).collect();
            assert_eq!(
                told,
                sent.iter().map(|it| it.body.len() as u64).collect::<Vec<_>>(),
                "{wire}: every request is reported"
            );
            let purpose = reports[0]["purpose"].as_str().unwrap_or("answer");
            assert_eq!(report["request"]["purpose"], purpose, "{wire}");
            assert!(sent[0].body == shown.stdout, "{wire}, message {n}: another body was sent");
            check_verdicts(&world, server.requests().len(), wire);
            is_due = report["request"]["purpose"] == "memory_summary";
            if is_due {
                assert!(sent.len() > 1, "{wire}: the answer comes behind the summary");
                break;
            }
        }
        assert!(is_due, "{wire}: the memory never asked for a summary");
    }
}
