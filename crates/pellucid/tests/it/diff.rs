//! `context diff` as a person runs it: two requests of any pack, API format and model, and two sessions.

use std::fs;

use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::statuses::file;

/// The id of the session with this number.
fn id(n: usize) -> String {
    format!("019a0000-0000-7000-8000-00000000000{n}")
}

/// One session for each pack, with every API format and two models among them.
fn sessions_of_all_packs() -> World {
    let world = World::new("//- work/SOUL.md\nCalm.\n");
    // Packs trim differently, so the file has nothing to trim.
    world.files.write("work/AGENTS.md", "Use \"tabs\", café.");
    let message = json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": "Hé." }] });
    let cells = [
        ("codex", "responses", "gpt-5.2-codex"),
        ("openclaw", "chat", "gpt-5.2"),
        ("ads", "messages", "gpt-5.2-codex"),
        ("agentcore", "responses", "gpt-5.2"),
        ("risuai", "chat", "gpt-5.2-codex"),
    ];
    for (n, (pack, wire, model)) in cells.into_iter().enumerate() {
        let items = [message.clone()];
        let server = MockServer::start([match wire {
            "chat" => MockReply::chat(items),
            "messages" => MockReply::messages(items),
            _ => MockReply::items(items),
        }]);
        let url = server.base_url();
        world.files.write(
            "home/config.toml",
            format!(
                "pack = \"{pack}\"\nmodel = \"{model}\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\n\
                 base_url = \"{url}\"\nwire_api = \"{wire}\"\n"
            ),
        );
        let ran = world.run(&["exec", "--session-id", &id(n), "Say \"hé\"."]);
        assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
    }
    world
}

/// The second body, written from the first one and the steps of the diff.
fn applied(a: &[u8], diff: &Value) -> Vec<u8> {
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let mut body = Vec::new();
    for step in diff["steps"].as_array().unwrap().iter().filter(|step| !step["b"].is_null()) {
        match (step["wire"].as_str(), step["wire_bytes"].as_array()) {
            (Some(text), _) => body.extend_from_slice(text.as_bytes()),
            (None, Some(bytes)) => body.extend(bytes.iter().map(|it| u8::try_from(number(it)).unwrap())),
            (None, None) => body.extend_from_slice(&a[number(&step["a"]["bytes"][0])..number(&step["a"]["bytes"][1])]),
        }
    }
    body
}

#[test]
fn a_diff_turns_one_request_into_another_across_packs_formats_and_models() {
    let world = sessions_of_all_packs();
    for n in 0..5 {
        let (a, b) = (format!("{}#1", id(n)), format!("{}#1", id((n + 1) % 5)));
        let body = |name: &str| world.run(&["prompt", "--format", "body", name]).stdout;
        let ran = world.run(&["context", "diff", "--json", &a, &b]);
        assert_eq!(ran.status, 1, "{a} {b}: {}", ran.stderr);
        let diff: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert!(applied(&body(&a), &diff) == body(&b), "{a} {b}");
        let grown: i64 = diff["changes"].as_array().unwrap().iter().map(|it| it["bytes"].as_i64().unwrap()).sum();
        let expected = diff["b"]["bytes"].as_i64().unwrap() - diff["a"]["bytes"].as_i64().unwrap();
        assert_eq!(grown + diff["notation_bytes"].as_i64().unwrap(), expected, "{a} {b}");
        assert_eq!(diff["bytes"].as_i64(), Some(expected), "{a} {b}");
        // Every pack sends the text of the file, in some part and with some escapes.
        let is_file = |it: &&Value| it["origin"].as_str().is_some_and(|it| it.ends_with("AGENTS.md"));
        let changes = diff["changes"].as_array().unwrap().iter();
        let kinds: Vec<&Value> = changes.filter(is_file).map(|it| &it["op"]).filter(|op| *op != ">").collect();
        assert!(kinds.is_empty(), "{a} {b}: {kinds:?}");
    }
}

#[test]
fn each_changed_file_is_shown_by_its_lines_and_prices_name_their_day() {
    let world = World::new(
        "//- work/AGENTS.md\n# rules\nUse tabs.\nBe brief.\n//- work/sub/AGENTS.md\nOne.\nTwo.\nThree.\n//- home/prices.toml\n\
         [[price]]\nmodel = \"*\"\nfrom = 2020-01-01\ncurrency = \"USD\"\ninput = 2\ncached_read = 0.5\noutput = 10\n",
    );
    for words in [&["add", "."][..], &["commit", "-qm", "one"]] {
        let git = [&["-c", "user.name=A", "-c", "user.email=a@b"], words].concat();
        assert_eq!(world.finish(world.command_of("git", &git), None).status, 0);
    }
    world.files.write("work/AGENTS.md", "# rules\nUse spaces.\nBe brief.\n");
    world.files.write("work/sub/AGENTS.md", "One.\nTwo.\nThree.\nFour.\n");
    let diff = ["context", "diff", "-C", "sub", "now@HEAD", "now"];
    let ran = world.run(&diff);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let (shown, cache) = ran.out().split_once("\n\n").unwrap().1.split_once("cache: ").unwrap();
    expect![[r#"
        ~ user_instructions   file AGENTS.md   +1 line −1   lines 2-2   +2 bytes
              # rules
            - Use tabs.
            + Use spaces.
              Be brief.
        ~ user_instructions   file sub/AGENTS.md   +1 line −0   lines 4-4   +7 bytes
              Two.
              Three.
            + Four.
        ~ facts that differ between any two sessions: session (--all shows them)
        = 12 parts unchanged
    "#]]
    .assert_eq(shown);
    let json: Value = serde_json::from_slice(&world.run(&[&diff[..], &["--json"]].concat()).stdout).unwrap();
    // Two millionths for each token, of which there are more if the path of the folder is longer.
    let tokens = json["cache"]["broken"]["tokens_rebilled"].as_u64().unwrap();
    let amount = format!("0.{:06}", 2 * tokens);
    let amount = amount.trim_end_matches('0');
    assert_eq!(json["cost_again"], json!({ "amount": amount, "currency": "USD", "from": "2020-01-01" }));
    assert_eq!(
        cache,
        format!(
            "diverges at user_instructions; everything read after that is paid for again: {tokens} tokens ($0.0002, price \
             from 2020-01-01)\n"
        )
    );
    // The other reports with prices name the day too.
    let why = world.run(&["context", "why", "AGENTS.md:2"]);
    assert!(why.out().contains("(price from 2020-01-01)\n"), "{}", why.out());
    let why: Value = serde_json::from_slice(&world.run(&["context", "why", "AGENTS.md:2", "--json"]).stdout).unwrap();
    assert_eq!(why["cost"]["from"], "2020-01-01");
    let report = world.run(&["context", "hi"]);
    assert!(report.out().contains("\nprices: gpt-5.2-codex from 2020-01-01\n"), "{}", report.out());
}

#[test]
fn a_text_is_shown_as_the_model_reads_it_and_not_in_pieces() {
    let world = World::new("//- work/AGENTS.md\nUse tabs.\n//- say.toml\n[[reply]]\nsay = \"Done.\"\n");
    for (n, sandbox) in ["workspace-write", "read-only"].into_iter().enumerate() {
        let words = ["exec", "--script", "../say.toml", "--session-id", &id(n), "-s", sandbox, "hi"];
        assert_eq!(world.run(&words).status, 0);
    }
    let ran = world.run(&["context", "diff", &format!("{}#1", id(0)), &format!("{}#1", id(1))]);
    let body = |n: usize| {
        let body = world.run(&["prompt", "--format", "body", &format!("{}#1", id(n))]).stdout;
        serde_json::from_slice::<Value>(&body).unwrap()["input"][0]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let (old, new) = (body(0), body(1));
    let lines = |sign: &str| ran.out().lines().filter_map(|it| it.strip_prefix(sign)).collect::<Vec<_>>();
    let (removed, added) = (lines("    - "), lines("    + "));
    assert!(!removed.is_empty() && !added.is_empty(), "{}", ran.out());
    for line in removed {
        assert!(old.lines().any(|it| it == line), "no line of the first request: {line}");
    }
    for line in added {
        assert!(new.lines().any(|it| it == line), "no line of the second request: {line}");
    }
}

#[test]
fn a_request_that_diverges_is_explained_by_both_texts() {
    let world = World::new("//- say.toml\n[[reply]]\nsay = \"Done.\"\nusage = { input = 100, output = 10 }\n");
    for words in [
        &["exec", "--script", "../say.toml", "--session-id", &id(0), "hi"][..],
        &["exec", "--script", "../say.toml", "-m", "gpt-5.1-codex-max", "resume", &id(0), "again"],
    ] {
        assert_eq!(world.run(words).status, 0);
    }
    let explained = |number: &str| {
        let ran = world.run(&["cache", &id(0), "--explain", number]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.out().to_owned()
    };
    assert_eq!(explained("1"), "request 1 is the first one, so there is nothing that it could diverge from\n");
    let second = explained("2");
    assert!(second.starts_with("request 2 diverges from #1 at model, byte 9 (model): "), "{second}");
    let texts = "lines 1-1   +4 bytes\n    - \"gpt-5.2-codex\"\n    + \"gpt-5.1-codex-max\"\n";
    assert!(second.contains(texts), "{second}");
    assert!(
        second.ends_with("\nto avoid it: keep one model for a session; each model has a separate cache\n"),
        "{second}"
    );
    // What `context diff` alone can show is not offered as an option of `cache`.
    assert!(!second.contains("(--all"), "{second}");
}

#[test]
fn two_sessions_are_compared_request_by_request() {
    let world = World::new(
        "//- work/AGENTS.md\nUse tabs.\n//- say.toml\n[[reply]]\nsay = \"Done.\"\n//- other.toml\n[[reply]]\nsay = \"Well done.\"\n",
    );
    let run = |words: &[&str]| {
        let ran = world.run(words);
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    };
    for (n, script) in ["../say.toml", "../say.toml", "../other.toml"].into_iter().enumerate() {
        run(&["exec", "--script", script, "--session-id", &id(n), "hi"]);
        run(&["exec", "--script", "../say.toml", "resume", &id(n), "again"]);
    }
    run(&["exec", "--script", "../say.toml", "resume", &id(1), "once more"]);
    let compared = |a: usize, b: usize| {
        let ran = world.run(&["context", "diff", &id(a), &id(b)]);
        let heads: String = ran.out().lines().filter(|it| it.starts_with('#')).map(|it| format!("{it}\n")).collect();
        (ran.status, heads)
    };
    let same = "the same, but for facts that differ between any two sessions";
    assert_eq!(compared(0, 0), (0, format!("#1 {same}\n#2 {same}\n")));
    assert_eq!(compared(0, 1), (1, format!("#1 {same}\n#2 {same}\n#3 only the second session has it\n")));
    assert_eq!(compared(0, 2), (1, format!("#1 {same}\n#2 differs\n")));
    // A request whose bytes are not known is no difference, and the sessions are not known to be the same.
    let path = file(&world, "home/sessions", &id(2));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Well done.", "Hell done.")).unwrap();
    let (status, heads) = compared(2, 2);
    assert_eq!(status, 3, "{heads}");
    assert!(heads.starts_with(&format!("#1 {same}\n#2 ")), "{heads}");
    fs::remove_dir_all(world.files.path("home/requests")).unwrap();
    assert_eq!(compared(0, 1).0, 3);
}
