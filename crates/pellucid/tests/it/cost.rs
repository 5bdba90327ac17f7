//! What sessions cost: limits in money, sums by part, and simulations against a server with a cache.

use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

/// A price of every model since long ago, so that no test depends on the day.
const PRICES: &str = "[[price]]\nmodel = \"gpt-*\"\nfrom = 2020-01-01\ncurrency = \"USD\"\ninput = 2\ncached_read = 0.5\n\
                      output = 10\nsource = \"a test\"\n";

fn world(server: &MockServer, wire: &str) -> World {
    let world = World::new("//- work/x\n//- work/AGENTS.md\nBe kind.\n");
    world.files.write("home/prices.toml", PRICES);
    let base_url = server.base_url();
    world.files.write(
        "home/config.toml",
        format!(
            "model = \"gpt-5.1\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\n\
             base_url = \"{base_url}\"\nwire_api = \"{wire}\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
        ),
    );
    world
}

fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => MockReply::items(items),
    }
}

fn said(wire: &str, text: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": text }]);
    reply(wire, [json!({ "type": "message", "id": "m", "role": "assistant", "content": content })])
}

fn planned(wire: &str) -> MockReply {
    let arguments = json!({ "plan": [{ "step": "one", "status": "pending" }] }).to_string();
    reply(wire, [json!({ "type": "function_call", "call_id": "c", "name": "update_plan", "arguments": arguments })])
}

fn id_of(world: &World) -> String {
    let listed = world.run(&["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    listed["sessions"][0]["id"].as_str().unwrap().to_owned()
}

/// A session of three turns against a server with a cache, in a world with a change.
fn session(wire: &str, change: fn(&World)) -> (World, String) {
    let replies = [planned(wire), said(wire, "First."), said(wire, "Second."), said(wire, "Third.")];
    let server = MockServer::start(replies.map(MockReply::charged));
    let world = world(&server, wire);
    change(&world);
    let exec = |args: &[&str]| {
        let ran = world.run(&[&["exec"], args].concat());
        assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
    };
    exec(&["make a plan"]);
    let id = id_of(&world);
    exec(&["resume", &id, "and then?"]);
    // Every model has a separate cache.
    exec(&["-m", "gpt-5.2", "resume", &id, "anything else?"]);
    (world, id)
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}\n{}", ran.out(), ran.stderr))
}

const MEASURES: [&str; 4] = ["read", "written", "uncached", "answered"];

fn tokens(value: &Value) -> [i64; 4] {
    MEASURES.map(|measure| value[measure].as_i64().unwrap_or(0))
}

#[test]
fn the_simulation_gives_the_recorded_figures() {
    for wire in WIRES {
        let (world, id) = session(wire, |_| {});
        // The server forgets nothing, however slow this machine is.
        let ran = world.run(&["cost", &id, "--json", "--by", "request", "--as", "ttl=24h"]);
        assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
        let cost = json_of(&ran);
        let recorded: Vec<_> = cost["groups"].as_array().unwrap().iter().map(tokens).collect();
        let simulated: Vec<_> = cost["simulated"][1]["requests"].as_array().unwrap().iter().map(tokens).collect();
        assert_eq!(recorded.len(), 4, "{wire}: {cost}");
        assert!(recorded[1][0] > 0 && recorded[2][0] > 0, "{wire}: the server reads its cache: {recorded:?}");
        assert_eq!(simulated, recorded, "{wire}");
        if wire == "chat" {
            // Nothing expires without a setting either.
            assert_eq!(cost["simulated_requests_that_differ"], 0);
        }
    }
}

#[test]
fn sums_over_parts_are_what_the_provider_reported() {
    for wire in WIRES {
        let (world, id) = session(wire, |_| {});
        let answers: Vec<Value> = ["session", "turn", "request", "part", "source", "tool"]
            .iter()
            .map(|by| json_of(&world.run(&["cost", &id, "--json", "--by", by])))
            .collect();
        let usage = json_of(&world.run(&["sessions", "show", "--json", &id]))["usage"].clone();
        for cost in &answers {
            let groups = cost["groups"].as_array().unwrap();
            let mut sum = [0; 4];
            for group in groups {
                for (sum, tokens) in sum.iter_mut().zip(tokens(group)) {
                    *sum += tokens;
                }
            }
            assert_eq!(sum, tokens(&cost["total"]), "{wire} by {}", cost["by"]);
            assert_eq!(cost["total"], answers[0]["total"], "{wire} by {}", cost["by"]);
            assert_eq!(cost["prices"][0]["from"], "2020-01-01", "{wire}");
        }
        let reported = ["cached_read", "cache_write", "uncached", "output"];
        let reported = reported.map(|measure| usage[measure].as_i64().unwrap_or(0));
        assert_eq!(tokens(&answers[0]["total"]), reported, "{wire}: {usage}");
        let parts: Vec<&str> =
            answers[3]["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
        for part in ["base", "user", "tools/update_plan", "answer"] {
            assert!(parts.contains(&part), "{wire}: {parts:?}");
        }
    }
}

#[test]
fn a_part_less_costs_what_a_run_without_it_does() {
    // On this API format nothing expires, however slow this machine is.
    let wire = "chat";
    let (world, id) = session(wire, |world| drop(world.files.write("work/AGENTS.md", "Be kind. ".repeat(900))));
    let ran = world.run(&["cost", &id, "--json", "--as", "without=user_instructions"]);
    let simulated = tokens(&json_of(&ran)["simulated"][1]);
    let (world, id) = session(wire, |world| std::fs::remove_file(world.files.path("work/AGENTS.md")).unwrap());
    let real = tokens(&json_of(&world.run(&["cost", &id, "--json"]))["total"]);
    for (simulated, real) in simulated.into_iter().zip(real) {
        assert!((simulated - real).abs() * 50 <= real, "{simulated} for {real}");
    }
}

/// A folder in which sessions are run under different settings.
struct Runs {
    world: World,
    wire: &'static str,
}

const ONE: &str = "019a0000-0000-7000-8000-00000000000a";
const TWO: &str = "019a0000-0000-7000-8000-00000000000b";

impl Runs {
    fn new(wire: &'static str) -> Self {
        let world = World::new("//- work/x\n//- work/AGENTS.md\nBe kind.\n//- work/SOUL.md\nCalm.\n");
        world.files.write("home/prices.toml", PRICES);
        Self { world, wire }
    }

    /// Writes the configuration of a session; the provider forgets nothing, however slow this machine is.
    fn configure(&self, server: &MockServer, wire: &str, top: &str) {
        let base_url = server.base_url();
        let text = format!(
            "model = \"gpt-5.1\"\nmodel_provider = \"mock\"\n{top}\n[model_providers.mock]\nname = \"Mock\"\n\
             base_url = \"{base_url}\"\nwire_api = \"{wire}\"\ncache_seconds = 100000000\n"
        );
        self.world.files.write("home/config.toml", text);
    }

    /// A session of two turns, the second in another process with these options.
    fn session(&self, id: &str, wire: &str, top: &str, options: &[&str], replies: &[MockReply]) {
        let server = MockServer::start(replies.iter().cloned().map(MockReply::charged));
        self.configure(&server, wire, top);
        for args in
            [&["exec", "--session-id", id, "make a plan"][..], &[&["exec"], options, &["resume", id, "and?"]].concat()]
        {
            let ran = self.world.run(args);
            assert_eq!(ran.status, 0, "{wire} {top}: {}", ran.stderr);
        }
        assert_eq!(server.requests().len(), replies.len(), "{wire} {top}");
        // Later answers come from the record, and the address may be gone.
        self.configure(&server, self.wire, "");
    }

    /// The figures of the first session under a setting, and those of the second.
    fn both(&self, setting: &str) -> (Vec<[i64; 4]>, Vec<[i64; 4]>) {
        let simulated = self.world.run(&["cost", ONE, "--json", "--as", setting]);
        assert_eq!(simulated.status, 0, "{} {setting}: {}", self.wire, simulated.stderr);
        let simulated = json_of(&simulated)["simulated"][1]["requests"].clone();
        let real = json_of(&self.world.run(&["cost", TWO, "--json", "--by", "request"]))["groups"].clone();
        let rows = |rows: &Value| rows.as_array().unwrap().iter().map(tokens).collect();
        (rows(&simulated), rows(&real))
    }
}

/// Runs a session under one setting and under another, and compares the second with the simulation of the first.
#[track_caller]
fn check_as(wire: &'static str, setting: &str, top: [&str; 2], other_wire: &str) {
    let runs = Runs::new(wire);
    let replies = |wire: &str| [planned(wire), said(wire, "First."), said(wire, "Second.")];
    runs.session(TWO, other_wire, top[1], &[], &replies(other_wire));
    runs.session(ONE, wire, top[0], &[], &replies(wire));
    let server = MockServer::start([]);
    runs.configure(&server, wire, top[0]);
    let (simulated, real) = runs.both(setting);
    assert_eq!(simulated, real, "{wire} {setting}");
    assert!(real[1][0] > 0 && real[2][0] > 0, "{wire} {setting}: {real:?}");
}

#[test]
fn another_pack_costs_what_a_run_with_it_does() {
    for (wire, pack) in [("responses", "openclaw"), ("chat", "ads"), ("messages", "agentcore"), ("responses", "risuai")]
    {
        check_as(wire, &format!("pack={pack}"), ["", &format!("pack = {pack:?}")], wire);
    }
    check_as("messages", "pack=codex", ["pack = \"openclaw\"", ""], "messages");
}

#[test]
fn another_api_format_costs_what_a_run_with_it_does() {
    for wire in WIRES {
        for other in WIRES {
            check_as(wire, &format!("wire={other}"), ["", ""], other);
        }
    }
}

#[test]
fn another_prompt_mode_costs_what_a_run_with_it_does() {
    let (full, minimal) = ("pack = \"openclaw\"", "pack = \"openclaw\"\nprompt_mode = \"minimal\"");
    for wire in WIRES {
        check_as(wire, "prompt_mode=minimal", [full, minimal], wire);
    }
}

#[test]
fn no_servers_cost_what_a_run_without_them_does() {
    for wire in WIRES {
        let tools = McpScript::new(&["echo", "count"]);
        let servers = format!("mcp_servers.depot = {{ {} }}", tools.config().trim().replace('\n', ", "));
        check_as(wire, "mcp=off", [&servers, ""], wire);
    }
}

#[test]
fn tools_by_name_cost_what_a_run_with_them_does() {
    for wire in WIRES {
        let tools = McpScript::new(&["echo", "count"]);
        let servers = format!("mcp_servers.depot = {{ {} }}", tools.config().trim().replace('\n', ", "));
        let deferred = format!("mcp_tools = \"deferred\"\n{servers}");
        check_as(wire, "mcp=deferred", [&servers, &deferred], wire);
        check_as(wire, "mcp=direct", [&deferred, &servers], wire);
    }
}

#[test]
fn another_limit_of_the_history_costs_what_a_run_with_it_does() {
    for wire in WIRES {
        let runs = Runs::new(wire);
        let (first, last) = ([planned(wire), said(wire, "First.")], said(wire, "Second."));
        let summarised = [&first[..], &[said(wire, "SUMMARY: all is well."), last.clone()]].concat();
        runs.session(ONE, wire, "", &["-c", "model_auto_compact_token_limit=100"], &summarised);
        runs.session(TWO, wire, "", &[], &[&first[..], &[last]].concat());
        let (simulated, real) = runs.both("compact_at=100000000");
        assert_eq!(simulated, real, "{wire}");
        // The limit of the process that ran the second turn is in the record.
        let (simulated, _) = runs.both(&format!("wire={wire}"));
        assert_eq!(simulated.len(), 4, "{wire}");
        let ran = runs.world.run(&["cost", TWO, "--as", "compact_at=100"]);
        assert_eq!(ran.status, 3, "{wire}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("the model would be asked for a summary before request #"),
            "{wire}: {}",
            ran.stderr
        );
    }
}

#[test]
fn files_that_have_changed_make_other_requests_unknown() {
    let (world, id) = session("responses", |_| {});
    // The model of the last turn is another one than that of the configuration, and the record has it.
    assert_eq!(world.run(&["cost", &id, "--as", "pack=ads"]).status, 0);
    let ran = world.run(&["cost", &id, "--as", "pack=nosuch"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`pack=nosuch`: there is no pack `nosuch`"), "{}", ran.stderr);
    world.files.write("work/AGENTS.md", "Be terse.\n");
    let ran = world.run(&["cost", &id, "--as", "pack=ads"]);
    assert_eq!((ran.status, ran.out()), (3, ""), "{}", ran.stderr);
    let expected =
        "request #1 comes out differently with the files and the configuration of today, first in user_instructions";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    // What the record has alone is still known.
    assert_eq!(world.run(&["cost", &id, "--as", "ttl=1h"]).status, 0);
}

#[test]
fn a_later_configuration_changes_no_past_answer() {
    for wire in WIRES {
        let (world, id) = session(wire, |world| {
            let config = world.files.read("home/config.toml");
            let terms = "cache_seconds = 100000000\ncache_order = [\"instructions\", \"tools\", \"items\"]\n";
            world.files.write("home/config.toml", format!("{config}{terms}"));
        });
        let answers = || {
            let cost = world.run(&["cost", &id, "--json", "--by", "part", "--as", "model=gpt-5.2"]);
            let cache = world.run(&["cache", &id, "--json"]);
            assert_eq!((cost.status, cache.status), (0, 0), "{wire}: {} {}", cost.stderr, cache.stderr);
            (cost.stdout, cache.stdout)
        };
        let before = answers();
        let config = world.files.read("home/config.toml");
        let config = config.replace("100000000", "1").replace("cache_order", "# cache_order");
        world.files.write("home/config.toml", config);
        assert_eq!(answers(), before, "{wire}");
        // Instructions are read first, so the second request reads them from the cache before its tools.
        let cost: Value = serde_json::from_slice(&before.0).unwrap();
        let base = cost["groups"].as_array().unwrap().iter().find(|group| group["name"] == "base").unwrap();
        assert!(base["read"].as_i64() > Some(0), "{wire}: {base}");
    }
}

#[test]
fn what_is_not_known_is_said() {
    let (world, id) = session("responses", |_| {});
    let ran = world.run(&["cost", &id]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        ran.out().contains("prices: gpt-5.1 from 2020-01-01 (a test); gpt-5.2 from 2020-01-01 (a test)\n"),
        "{}",
        ran.out()
    );
    assert!(ran.out().contains(": a factor of "), "{}", ran.out());
    let cache = world.run(&["cache", &id]);
    assert!(cache.out().contains("gpt-5.1 from 2020-01-01 (a test)"), "{}", cache.out());
    let ran = world.run(&["cost", &id, "--as", "model=no-such-model"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.out().contains("no-such-model unknown (see docs/prices.md)"), "{}", ran.out());
    let ran = world.run(&["cost", &id, "--as", "without=nosuch"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no request has the part `nosuch`; the parts are: "), "{}", ran.stderr);
    // The folder of the session is gone, as in a capsule of another computer.
    std::fs::rename(world.files.path("work"), world.files.path("elsewhere")).unwrap();
    std::fs::create_dir(world.files.path("other")).unwrap();
    let mut command = world.command(&["cost", &id, "--as", "wire=chat"]);
    command.current_dir(world.files.path("other"));
    let ran = world.finish(command, None);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains(": its folder ROOT/work is not here, and requests are made again"), "{}", ran.stderr);
    std::fs::rename(world.files.path("elsewhere"), world.files.path("work")).unwrap();
    let ran = world.run(&["cost", &id, "--as", "wire=smoke"]);
    assert_eq!(ran.status, 2);
    let expected = "error: invalid value 'wire=smoke' for '--as <SETTING>': wire takes responses, chat or messages\n\nFor more \
                    information, try '--help'.\n";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn sessions_without_a_record_are_estimated_from_their_token_counts() {
    let (world, id) = session("responses", |_| {});
    let count = |cache: &Value| cache["requests"].as_array().unwrap().len();
    let recorded = json_of(&world.run(&["cache", &id, "--json"]));
    assert_eq!((&recorded["estimated"], count(&recorded)), (&json!(false), 4));
    std::fs::remove_dir_all(world.files.path("home/requests")).unwrap();
    let estimated = json_of(&world.run(&["cache", &id, "--json"]));
    assert_eq!((&estimated["estimated"], count(&estimated)), (&json!(true), 4), "{estimated}");
    for (one, two) in recorded["requests"].as_array().unwrap().iter().zip(estimated["requests"].as_array().unwrap()) {
        assert_eq!(one["provider_read"], two["provider_read"]);
        assert_eq!(one["cost"], two["cost"]);
    }
    let words: Vec<&Value> =
        estimated["requests"].as_array().unwrap().iter().map(|row| &row["verdict"]["verdict"]).collect();
    assert_eq!(words[..3], ["cold", "extended", "extended"]);
    // Which of the two depends on the time between the runs.
    assert!(words[3] == "missed" || words[3] == "expired", "{words:?}");
    let text = world.run(&["cache", &id]);
    assert!(text.out().contains("estimated: the session has no record"), "{}", text.out());
    let cost = world.run(&["cost", &id]);
    assert_eq!(cost.status, 0, "{}", cost.stderr);
    let said = "a session has no record of what it sent, so its tokens are those of the counts in its file\n";
    assert!(cost.out().ends_with(said), "{}", cost.out());
    let cost = json_of(&world.run(&["cost", &id, "--json"]));
    assert_eq!((&cost["total"]["cost"], &cost["factor"]), (&recorded["cost"], &Value::Null));
    let cost = world.run(&["cost", &id, "--by", "part"]);
    assert!(cost.status == 3 && cost.stderr.contains("only the tokens of its requests are known"), "{}", cost.stderr);
}

#[test]
fn a_limit_in_money_stops_before_a_request_is_sent() {
    let rows: [(&[&str], usize, &str); 5] = [
        (
            &["--max-cost", "0"],
            0,
            "the limit of $0.0000 is reached: $0.0000 is spent, and this request costs at least ",
        ),
        (&["-c", "limits.max_cost=0"], 0, "the limit of $0.0000 is reached"),
        (&["--max-cost", "0.0001"], 0, "the limit of $0.0001 is reached: $0.0000 is spent"),
        (&["--max-cost", "1", "-m", "my-own"], 0, "the price of `my-own` is unknown"),
        // The first answer costs two cents.
        (&["--max-cost", "0.02"], 1, "the limit of $0.020 is reached: $0.0"),
    ];
    for wire in WIRES {
        for (args, n_requests, expected) in rows {
            let replies = [planned(wire), said(wire, "never")].map(MockReply::charged);
            let server = MockServer::start(replies);
            let world = world(&server, wire);
            let expensive = PRICES.replace("output = 10", "output = 1200");
            world.files.write("home/prices.toml", expensive);
            let ran = world.run(&[&["exec", "--typed-exit-codes"], args, &["hi"]].concat());
            assert_eq!(ran.status, 15, "{wire} {args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(expected), "{wire} {args:?}: {}", ran.stderr);
            assert_eq!(server.requests().len(), n_requests, "{wire} {args:?}");
            let ran = world.run(&[&["exec", "--json", "--context-events"], args, &["hi"]].concat());
            let last: Value = serde_json::from_str(ran.out().lines().last().unwrap()).unwrap();
            if n_requests == 0 {
                assert_eq!((&last["type"], &last["code"]), (&json!("turn.failed"), &json!("budget")), "{last}");
            }
        }
        let server = MockServer::start([said(wire, "hello")]);
        let world = world(&server, wire);
        let ran = world.run(&["exec", "--max-cost", "1", "hi"]);
        assert_eq!((ran.status, ran.out()), (0, "hello\n"), "{}", ran.stderr);
    }
}

#[test]
fn wrong_prices_are_named_with_their_place() {
    let (world, id) = session("responses", |_| {});
    world.files.write(
        "home/prices.toml",
        "[[price]]\nmodel = \"m\"\nfrom = \"soon\"\ncurrency = \"USD\"\ninput = 1\noutput = 1\n",
    );
    let expected = "prices.toml:3:8: the price of `m`: `from` is `soon`, a date such as 2026-01-31 is needed; \
                    docs/prices.md describes the file";
    for args in [&["exec", "--max-cost", "1", "hi"][..], &["cost", &id], &["cache", &id]] {
        let ran = world.run(args);
        assert!(ran.status != 0 && ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    // Without a limit in money no price is needed.
    let server = MockServer::start([said("responses", "hello")]);
    let config = world.files.read("home/config.toml");
    let url = config.lines().find(|line| line.starts_with("base_url")).unwrap();
    let now = format!("base_url = \"{}\"", server.base_url());
    world.files.write("home/config.toml", config.replace(url, &now));
    let ran = world.run(&["exec", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "hello\n"), "{}", ran.stderr);
}

#[test]
fn a_request_that_breaks_the_cache_without_a_cause_is_not_sent() {
    for wire in WIRES {
        let server = MockServer::start((0..4).map(|_| said(wire, "hello")));
        let world = world(&server, wire);
        let exec = |args: &[&str]| world.run(&[&["exec", "--typed-exit-codes"], args].concat());
        assert_eq!(exec(&["--strict-cache", "hi"]).status, 0, "{wire}");
        let id = id_of(&world);
        // Another model is an expected cause, and so is none.
        for model in ["gpt-5.2", "gpt-5.2"] {
            let ran = exec(&["--strict-cache", "-m", model, "resume", &id, "more"]);
            assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
        }
        let config = world.files.read("home/config.toml");
        world.files.write("home/base.md", "You are another.\n");
        world.files.write("home/config.toml", format!("model_instructions_file = \"base.md\"\n{config}"));
        let ran = exec(&["--strict-cache", "-m", "gpt-5.2", "resume", &id, "more"]);
        assert_eq!((ran.status, server.requests().len()), (1, 3), "{wire}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("the request diverges from the one before at base (instructions)"),
            "{wire}: {}",
            ran.stderr
        );
        let ran = exec(&["-m", "gpt-5.2", "resume", &id, "more"]);
        assert_eq!((ran.status, server.requests().len()), (0, 4), "{wire}: {}", ran.stderr);
    }
}

#[test]
fn the_next_request_is_said_with_what_the_provider_keeps() {
    let world = World::new(
        "//- work/script.toml\n[[reply]]\nsay = \"one\"\nusage = { input = 3000, output = 10 }\n//- work/silent.toml\n[[reply]]\nsay = \"two\"\n",
    );
    let id = "019a0000-0000-7000-8000-000000000001";
    let exec = |script: &str, id: &str| {
        let ran = world.run(&["exec", "--script", script, "--session-id", id, "hi"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    exec("script.toml", id);
    let answer = |args: &[&str]| -> Value {
        let ran = world.run(&[&["cache", "--json", id], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let same = answer(&[]);
    assert_eq!(same["next"], json!({"verdict": "extends"}), "{same}");
    assert_eq!(same["requests"][0]["cache_seconds"], 300);
    let other = answer(&["-c", "model=\"gpt-5.1-codex\""]);
    assert_eq!((&other["next"]["verdict"], &other["next"]["cause"]), (&"diverges".into(), &"model".into()), "{other}");
    assert!(other["next"]["tokens_rebilled"].as_u64().unwrap() > 1000, "{other}");
    let text = world.run(&["cache", id]);
    assert!(
        text.out().contains("\nnext request: extends; the provider keeps what it has read for 5 min\n"),
        "{}",
        text.out()
    );
    // A session of which no price was needed says so.
    let silent = "019b0000-0000-7000-8000-000000000002";
    exec("silent.toml", silent);
    let cost = world.run(&["cost", silent]);
    assert!(cost.out().ends_with("prices: none was used\n"), "{}{}", cost.out(), cost.stderr);
}
