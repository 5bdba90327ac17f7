//! The pack `risuai`: a window, cards of a memory, over several runs.

use std::fs;

use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;

use crate::Ran;
use crate::World;
use crate::worked_example::check_example;
use crate::worked_example::check_page;
use crate::worked_example::rows_of;

const ID: &str = "00000000-0000-7000-8000-000000000002";

/// A pack with a window that four messages with their answers fill, and what else it says. The figures
/// leave room for folders with longer and shorter names.
fn world(memory: &str, preset: &str) -> World {
    let replies: String = (1..=20).map(|n| format!("[[reply]]\nsay = \"answer {n}\"\n")).collect();
    let layout = format!(
        "name = \"small\"\nfrom = \"risuai\"\n\
         [[slot]]\nid = \"environment\"\ntarget = \"user\"\nsource = \"environment\"\n\
         [[tool]]\nfile = \"update_plan\"\n\
         [memory]\nmax_context = 1246\nmax_response = 0\n{memory}\n"
    );
    // Other strategies read no preset.
    let layout = if memory.contains("strategy") && !memory.contains("hypa_v3") && !memory.contains("\"cards\"") {
        layout
    } else {
        format!("{layout}[memory.preset]\nmaxChatsPerSummary = 2\nmemoryTokensRatio = 0.15\n{preset}\n")
    };
    World::new(&format!("//- work/script.toml\n{replies}\n//- small/pack.toml\n{layout}"))
}

fn said(n: usize) -> String {
    let about = ["the dragon of the north", "the ship in the harbour", "the tower at the ford"][n % 3];
    format!("Message {n}, about {about}. {}", "word ".repeat(150).trim_end())
}

/// Sends messages, each in a separate run.
fn talk(world: &World, numbers: std::ops::RangeInclusive<usize>) {
    for n in numbers {
        let said = said(n);
        let mut args = vec!["exec", "--pack", "../small", "--script", "script.toml"];
        let rest = if n == 1 { ["--session-id", ID, &said] } else { ["resume", ID, &said] };
        args.extend(rest);
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{n}: {}", ran.stderr);
    }
}

fn memory(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["memory"], args, &["--session", ID]].concat())
}

fn cards(world: &World) -> Vec<Value> {
    let ran = memory(world, &["list", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    serde_json::from_str(ran.out()).unwrap()
}

#[test]
fn what_leaves_the_window_comes_back_as_cards() {
    let world = world("summaries = \"lexical\"", "");
    talk(&world, 1..=6);
    let cards = cards(&world);
    assert_eq!(cards.len(), 3, "{cards:#?}");
    assert_eq!(cards[0]["text"], "user: Message 1, about the ship in the harbour.\nassistant: answer 1");
    assert_eq!(cards[0]["origins"][0]["role"], "user");
    assert!(cards[0]["tokens"].as_u64() < cards[0]["tokens_replaced"].as_u64(), "{cards:#?}");
    let ran = world.run(&["prompt", "--pack", "../small", "--script", "script.toml", "--session", ID, "And now?"]);
    let shown = ran.out();
    let block = "<Previous Conversation><Past Events Summary>\nuser: Message 1, about the ship in the harbour.";
    assert!(shown.contains(block), "{shown}");
    assert!(!shown.contains(&said(1)) && shown.contains(&said(6)), "{shown}");
}

/// What a model is shown: a line for each message, with its role and the beginning of its text.
fn messages_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let line = |item: &Value| {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        let shown: Vec<&str> = text.lines().filter(|line| !line.is_empty()).take(4).collect();
        format!("{:<9} {}\n", item["role"].as_str().unwrap_or_default(), shown.join(" / "))
    };
    body["input"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn the_layout_puts_texts_of_the_configuration_around_and_into_the_conversation() {
    let world = World::new(
        "//- work/script.toml
[[reply]]
say = \"The ship waits.\"
[[reply]]
say = \"The tower too.\"
//- home/config.toml
pack = \"risuai\"
[facts]
description = \"You tell what happens in the harbour.\"
persona = \"The person is a pilot.\"
lorebook = [\"The ship is called Argo.\", \"The tower has no door.\"]
author_note = \"Answer in one line.\"
depth_prompt = \"It is night.\"
",
    );
    for args in [&["--session-id", ID, "What of the ship?"][..], &["resume", ID, "And the tower?"]] {
        let ran = world.run(&[&["exec", "--script", "script.toml"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let shown = |args: &[&str]| {
        let ran = world.run(&[args, &["--script", "script.toml", "--session", ID, "Who keeps the light?"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        world.shown(ran.out())
    };
    let messages = messages_of(&shown(&["prompt", "--format", "body"]));
    let shown_of = |text: &str| messages.lines().filter(|line| line.contains(text)).count();
    let places =
        ["harbour. / The person", "What of the ship?", "It is night.", "The ship waits.", "Who keeps", "Argo. / "];
    let places = places.map(|text| messages.find(text).unwrap_or_else(|| panic!("{text}: {messages}")));
    assert!(places.is_sorted() && shown_of("It is night.") == 1, "{messages}");
    let conversation: Vec<&str> = messages.lines().filter(|line| !line.contains('<') && !line.contains('`')).collect();
    let report = rows_of(&shown(&["context", "-vv"]), "after_chat");
    let example = format!(
        "$ pellucid prompt --session ID \"Who keeps the light?\"      # by role\n{}\n\n\
         $ pellucid context -vv --session ID \"Who keeps the light?\"\n{report}",
        conversation.join("\n")
    );
    check_example("risuai.md", "example of the layout", &example);
    let ran = world.run(&["replay", ID]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
}

#[test]
fn the_session_file_stays_whole_and_the_others() {
    let world = world("summaries = \"lexical\"", "");
    talk(&world, 1..=6);
    let mut folder = world.files.path("home/sessions");
    while folder.is_dir() {
        folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    let text = fs::read_to_string(folder).unwrap();
    for n in 1..=6 {
        assert!(text.contains(&said(n)), "{n}");
    }
    assert!(!text.contains("Past Events Summary"), "what is ours is not in it");
    assert!(world.files.path(format!("home/session_state/{ID}.json")).exists());
}

/// A pack that is none of the built-in ones, with its texts, its keys and another place for the memory.
#[test]
fn a_pack_of_ones_own_has_a_memory_with_its_words_at_its_place() {
    let world = world("", "");
    let layout = "name = \"diary\"\nfrom = \"codex\"\n\
        [[slot]]\nid = \"environment\"\ntarget = \"user\"\nsource = \"environment\"\n\
        [[tool]]\nfile = \"update_plan\"\n\
        [memory]\nstrategy = \"cards\"\nsummaries = \"lexical\"\nmax_context = 1246\ndepth = 1\n\
        [memory.cards]\nmessages_per_card = 2\nmemory_ratio = 0.15\nrecent_ratio = 1\nsimilar_ratio = 0\n";
    world.files.write("small/pack.toml", layout);
    world.files.write("small/memory/cards.md", "DIARY\n{{ cards }}\nEND\n");
    world.files.write("small/memory/previous.md", "({{ memory }})\n");
    talk(&world, 1..=6);
    let ran = world.run(&["prompt", "--pack", "../small", "--script", "script.toml", "--session", ID, "And now?"]);
    let shown = ran.out();
    let places = ["Message 6", "(DIARY", "END)", "And now?"]
        .map(|text| shown.rfind(text).unwrap_or_else(|| panic!("{text}: {shown}")));
    assert!(places.is_sorted() && !shown.contains("Past Events"), "{shown}");
    assert!(shown.matches("(DIARY").count() == 1 && !shown.contains(&said(1)), "{shown}");
    let ran = world.run(&["replay", ID]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
}

#[test]
fn every_strategy_keeps_a_conversation_going() {
    let theirs = ["supa", "hypa_v1", "hypa_v2", "hypa_v3", "hanurai"];
    let ours = ["window", "running_summary", "summary_and_fragments", "summaries_and_details", "cards", "recall"];
    for strategy in theirs.into_iter().chain(ours) {
        let own = match strategy {
            "supa" | "hypa_v1" | "running_summary" | "summary_and_fragments" => {
                "summaries = \"lexical\"\nchunk_tokens = 450"
            }
            "hypa_v2" | "summaries_and_details" => {
                "summaries = \"lexical\"\nchunk_tokens = 450\nallocated_tokens = 200"
            }
            "hypa_v3" | "cards" => "summaries = \"lexical\"",
            "hanurai" | "recall" => "recall_tokens = 100",
            _ => "",
        };
        let memory = format!("strategy = \"{strategy}\"\n{own}");
        let world = world(&memory, "");
        talk(&world, 1..=7);
        let args = ["context", "--pack", "../small", "--script", "script.toml", "--session", ID, "--json", "Go on"];
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{strategy}: {}", ran.stderr);
        let report: Value = serde_json::from_str(ran.out()).unwrap();
        let omitted = report["omissions"].as_array().unwrap();
        assert!(omitted.iter().any(|it| it["part"] == "memory"), "{strategy}: {omitted:#?}");
    }
}

#[test]
fn cards_can_be_changed_pinned_and_forgotten() {
    let world = world("summaries = \"lexical\"", "recentMemoryRatio = 1\nsimilarMemoryRatio = 0");
    talk(&world, 1..=6);
    let n = cards(&world).len();
    assert_eq!(memory(&world, &["edit", "1", "The ship is called Argo."]).out(), "card 1 changed\n");
    assert_eq!(memory(&world, &["pin", "1"]).out(), "card 1 pinned\n");
    let ran = memory(&world, &["show", "1"]);
    expect![[r#"
        card 1: 11 tokens for 210, pinned, used last as recent

        The ship is called Argo.

        made from
          e712c3468e0ae9eb user: Message 1, about the ship in the harbour. word word word wor…
          0675bd980c05abb9 assistant: answer 1
    "#]]
    .assert_eq(&world.steady(ran.out()));
    talk(&world, 7..=7);
    let cards_now = cards(&world);
    assert_eq!(cards_now[0]["used"], serde_json::json!(["important"]), "{cards_now:#?}");
    assert_eq!(memory(&world, &["forget", "1-2"]).out(), "2 cards forgotten\n");
    assert_eq!(cards(&world).len(), n - 2 + (cards_now.len() - n));
    let numbers = |args: &[&str]| -> Vec<u64> {
        let ran = memory(&world, &[&["list", "--json"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let cards: Vec<Value> = serde_json::from_str(ran.out()).unwrap();
        cards.iter().map(|card| card["number"].as_u64().unwrap()).collect()
    };
    let all = numbers(&[]);
    let of_dragon = numbers(&["--search", "DRAGON"]);
    assert!(!of_dragon.is_empty() && of_dragon.len() < all.len(), "{of_dragon:?} of {all:?}");
    assert_eq!(numbers(&["--pinned"]), [] as [u64; 0]);
    assert_eq!(numbers(&["--category", ""]), all);
    assert_eq!(numbers(&["--category", "cat_1"]), [] as [u64; 0]);
    assert_eq!(memory(&world, &["merge", "1-2", "Both at once."]).out(), "2 cards merged into card 1\n");
    assert_eq!((cards(&world)[0]["text"].as_str(), numbers(&[]).len()), (Some("Both at once."), all.len() - 1));
    let ran = memory(&world, &["merge", "1", "One."]);
    assert!(
        ran.status == 1 && ran.stderr.contains("1 is one card; `memory merge` takes two at least"),
        "{}",
        ran.stderr
    );
    let ran = memory(&world, &["show", "99"]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: no card 99: the session ID has 1; see `pellucid memory list`
    "#]]
    .assert_eq(&world.steady(&ran.stderr));
}

#[test]
fn summaries_and_vectors_come_from_the_provider() {
    let world =
        world("vectors = \"provider\"\nvector_model = \"vec\"", "recentMemoryRatio = 0\nsimilarMemoryRatio = 1");
    let vectors = |n: usize| {
        let rows: Vec<Value> = (0..n).map(|at| serde_json::json!({ "index": at, "embedding": [1.0, at] })).collect();
        MockReply::status(200, &serde_json::json!({ "data": rows }).to_string())
    };
    let mut replies: Vec<MockReply> = (1..=4).map(|n| MockReply::say(&format!("answer {n}"))).collect();
    replies.extend(["A card of the provider.", "Another."].map(MockReply::say));
    replies.extend([vectors(2), vectors(3), MockReply::say("answer 5")]);
    let server = MockServer::start(replies);
    let provider = format!(
        "model = \"test\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", provider);
    for n in 1..=5 {
        let said = said(n);
        let mut args = vec!["exec", "--pack", "../small"];
        args.extend(if n == 1 { ["--session-id", ID, &said] } else { ["resume", ID, &said] });
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{n}: {}", ran.stderr);
    }
    let cards = cards(&world);
    assert_eq!(cards[0]["text"], "A card of the provider.", "{cards:#?}");
    assert_eq!(cards[0]["used"], serde_json::json!(["similar"]));
    let requests = server.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(paths[4..], ["responses", "responses", "embeddings", "embeddings", "responses"]);
    let body = |at: usize| serde_json::from_slice::<Value>(&requests[at].body).unwrap();
    assert!(body(4)["input"][0]["content"][0]["text"].as_str().unwrap().starts_with("user: Message 1"));
    assert_eq!(body(4)["input"][1]["role"], "developer");
    assert_eq!(body(6)["input"], serde_json::json!(["A card of the provider.", "Another."]));
    assert!(body(8).to_string().contains("A card of the provider."));
}

#[test]
fn a_summary_that_fails_ends_the_turn_and_says_why() {
    let world = world("", "");
    talk(&world, 1..=4);
    world
        .files
        .write("work/script.toml", "[[reply]]\nerror = { status = 400, body = { error = { message = \"no\" } } }\n");
    let said = said(5);
    let ran = world.run(&["exec", "--pack", "../small", "--script", "script.toml", "resume", ID, &said]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let errors: String = ran.stderr.split_inclusive('\n').filter(|line| line.starts_with("error: ")).collect();
    expect![[r#"
        error: memory: summarization failed: the provider refused the request (400 Bad Request): no
    "#]]
    .assert_eq(&errors);
}

#[test]
fn the_example_about_risuai_is_up_to_date() {
    let world = world("summaries = \"lexical\"", "");
    talk(&world, 1..=6);
    let mut example = String::from("$ pellucid memory list\n");
    example += memory(&world, &["list"]).out();
    example += "\n$ pellucid memory show 1\n";
    example += memory(&world, &["show", "1"]).out();
    memory(&world, &["pin", "1"]);
    example += "\n$ pellucid memory pin 1\ncard 1 pinned\n\n$ pellucid context -vv --pack ./small --session ID \"What of the ship?\"\n";
    let args =
        ["context", "-vv", "--pack", "../small", "--script", "script.toml", "--session", ID, "What of the ship?"];
    let ran = world.run(&args);
    example += &rows_of(ran.out(), "memory");
    for line in ran.out().lines().filter(|line| *line == "not seen by the model" || line.contains("(memory):")) {
        example += line;
        example.push('\n');
    }
    check_page("risuai.md", &example);
}

#[test]
fn a_conversation_that_does_not_fit_any_more_has_a_way_on() {
    let world = world("summaries = \"lexical\"", "");
    talk(&world, 1..=1);
    let run = ["exec", "--pack", "../small", "--script", "script.toml", "resume", ID];
    let long = "word ".repeat(2_000);
    for said in [long.as_str(), "short"] {
        let ran = world.run(&[&run[..], &[said]].concat());
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        let advice = format!(
            "raise `model_context_window`, write shorter messages, continue from an earlier message with \
             `pellucid fork {ID} --at N PROMPT`, or begin a new session\n"
        );
        assert!(ran.stderr.contains(&advice), "{}", ran.stderr);
    }
    let fork = ["fork", ID, "--at", "1", "--pack", "../small", "--script", "script.toml", "short"];
    let ran = world.run(&fork);
    assert_eq!((ran.status, ran.out()), (0, "answer 1\n"), "{}", ran.stderr);
}
