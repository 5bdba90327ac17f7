//! What sessions cost: limits in money, sums by part, and simulations against a server with a cache.

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
    let ran = world.run(&["cost", &id, "--as", "wire=chat"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("possible are model=M"), "{}", ran.stderr);
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
    assert_eq!(cost.status, 3, "{}", cost.stderr);
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
fn wrong_prices_are_named_where_money_is_limited() {
    let server = MockServer::start([said("responses", "hello")]);
    let world = world(&server, "responses");
    world.files.write("home/prices.toml", "[[price]]\nmodel = 1\n");
    let ran = world.run(&["exec", "--max-cost", "1", "hi"]);
    assert!(ran.status != 0 && ran.stderr.contains("prices.toml"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 0);
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
