//! The pack `ads`: standing instructions and a workspace's rules, over several runs.

use expect_test::expect;
use std::fs;

use serde_json::Value;

use crate::Ran;
use crate::World;
use crate::worked_example::check_page;
use crate::worked_example::rows_of;

const ID: &str = "00000000-0000-7000-8000-000000000001";

fn world(usage: u64) -> World {
    let reply = format!("[[reply]]\nsay = \"done\"\nusage = {{ input = {usage}, output = 10 }}\n");
    World::new(&format!("//- work/script.toml\n{reply}\n//- work/.ads/rules.md\nUse tabs.\n"))
}

fn begin(world: &World, prompt: &str) -> Ran {
    world.run(&["exec", "--pack", "ads", "--script", "script.toml", "--session-id", ID, prompt])
}

fn go_on(world: &World, prompt: &str) -> Ran {
    world.run(&["exec", "--pack", "ads", "--script", "script.toml", "resume", ID, prompt])
}

/// The messages of people in the only session file, first lines only.
fn said(world: &World) -> Vec<String> {
    let mut folder = world.files.path("home/sessions");
    while folder.is_dir() {
        folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    let text = fs::read_to_string(folder).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let items = lines.filter(|line| line["type"] == "response_item" && line["payload"]["role"] == "user");
    let texts = items.map(|line| line["payload"]["content"][0]["text"].as_str().unwrap().to_owned());
    texts.filter(|text| !text.starts_with("<environment_context>")).collect()
}

fn is_injected(text: &str) -> bool {
    text.starts_with("# Standing instructions") && text.contains("\n\n\nUse ")
}

#[test]
fn rules_are_said_first_when_they_change_and_when_the_window_fills() {
    let world = world(1000);
    assert_eq!(begin(&world, "one").status, 0);
    go_on(&world, "two");
    fs::write(world.files.path("work/.ads/rules.md"), "Use spaces.\n").unwrap();
    go_on(&world, "three");
    // A reply that leaves more than a quarter of the window used.
    world.files.write("work/script.toml", "[[reply]]\nsay = \"long\"\nusage = { input = 90000, output = 10 }\n");
    go_on(&world, "four");
    go_on(&world, "five");
    let said = said(&world);
    let injected: Vec<bool> = said.iter().map(|text| is_injected(text)).collect();
    assert_eq!(injected, [true, false, true, false, true], "{said:#?}");
    assert!(said[2].ends_with("Use spaces.\n\nthree"), "{}", said[2]);
    assert_eq!(said[1], "two");
}

#[test]
fn turns_count_across_runs_where_nothing_is_known_of_the_window() {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"done\"\n//- work/.ads/rules.md\nUse tabs.\n");
    let variables = [("ADS_REINJECTION_TURNS", "2"), ("ADS_REINJECTION_TRIGGER", "turns")];
    let run = |args: &[&str]| assert_eq!(world.run_in(args, &variables).status, 0);
    run(&["exec", "--pack", "ads", "--script", "script.toml", "--session-id", ID, "0"]);
    for n in ["1", "2", "3", "4"] {
        run(&["exec", "--pack", "ads", "--script", "script.toml", "resume", ID, n]);
    }
    let injected: Vec<bool> = said(&world).iter().map(|text| is_injected(text)).collect();
    assert_eq!(injected, [true, false, true, false, true]);
}

#[test]
fn rules_that_cannot_be_read_hold_the_input_back() {
    let world = world(1000);
    fs::write(world.files.path("work/.ads/rules.md"), [0xff, 0xfe]).unwrap();
    for _ in 0..2 {
        let ran = begin(&world, "one");
        assert_eq!(ran.status, 1);
        let said = "error: the rules are not valid UTF-8: save ROOT/work/.ads/rules.md as UTF-8 and try again; nothing was sent";
        assert_eq!(ran.stderr.lines().last(), Some(said));
    }
    let ran = world.run_in(
        &["exec", "--pack", "ads", "--script", "script.toml", "--session-id", ID, "one"],
        &[("RUST_LOG", "error")],
    );
    assert!(ran.stderr.contains("rules could not be read 3 times in a row"), "{}", ran.stderr);
    assert!(!world.files.path("home/sessions").exists(), "nothing was sent, so nothing is kept");
}

#[test]
fn counts_that_cannot_be_kept_are_reported_once() {
    let world = world(1000);
    world.files.write("home/session_state", "in the way");
    let ran = begin(&world, "one");
    assert_eq!(ran.status, 0);
    let warnings: String = ran.stderr.split_inclusive('\n').filter(|line| line.starts_with("warning: ")).collect();
    expect![[r#"
        warning: memory and counts of this session are not saved, so a later turn begins without them: ROOT/home/session_state/ID.json: File exists (os error 17)
    "#]]
    .assert_eq(&world.steady(&warnings));
}

#[test]
fn missing_rules_warn_and_missing_instructions_stop() {
    let world = world(1000);
    fs::remove_file(world.files.path("work/.ads/rules.md")).unwrap();
    let ran = begin(&world, "one");
    assert_eq!(ran.status, 0);
    expect![[r#"
        Pellucid VERSION
        --------
        workdir: ROOT/work
        model: gpt-5.2-codex
        provider: scripted
        approval: never
        sandbox: read-only
        reasoning effort: medium
        reasoning summaries: auto
        session id: ID
        --------
        user
        one
        warning: rules missing at ROOT/work/.ads/rules.md, continuing with instructions only
        pellucid
        done
        tokens used
        1,010
    "#]]
    .assert_eq(&world.steady(&ran.stderr));
    world.files.write("mine/pack.toml", "name = \"mine\"\nfrom = \"ads\"\n[reinject]\nassets_dir = \"/nowhere\"\n");
    let pack = world.files.path("mine");
    let ran = world.run(&["exec", "--pack", pack.to_str().unwrap(), "--script", "script.toml", "two"]);
    assert_eq!(ran.status, 1);
    let said = "error: the instructions are missing: put the file back at /nowhere/templates/instructions.md; nothing was sent";
    assert_eq!(ran.stderr.lines().last(), Some(said));
}

#[test]
fn a_phase_goes_before_every_input() {
    let world = world(1000);
    let ran = world.run(&["prompt", "--pack", "ads", "-c", "phase=review", "look"]);
    assert!(ran.out().contains("\n\nPhase: review. Change nothing."), "{}", ran.out());
    assert!(ran.out().contains("a way to see it.\n\nlook\n"), "{}", ran.out());
    let ran = world.run(&["exec", "--pack", "ads", "-c", "phase=rest", "--script", "script.toml", "look"]);
    let warning = "warning: phase `rest`: the pack `ads` knows requirements, implementation, review";
    assert!(ran.stderr.lines().any(|line| line == warning), "{}", ran.stderr);
    let said = said(&world);
    assert!(is_injected(&said[0]) && said[0].ends_with("Use tabs.\n\nlook"), "only the phase is left out: {said:#?}");
}

/// The accounts of injections that a run prints, with the members that ADS's users look for.
fn accounts(ran: &Ran) -> Vec<String> {
    let out = ran.out();
    let lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let accounts = lines.filter(|line| line["type"] == "prompt_injection.item");
    let shown = |it: Value| {
        assert_eq!(it["source_type"], "standing");
        let members = ["item_id", "outcome", "bytes_before", "bytes_after", "reason", "turn", "channel"];
        let path = it["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let hash = it["hash"].as_str().unwrap();
        let hash = if hash == "missing" { hash.to_owned() } else { format!("sha1:{}", hash.len()) };
        let members = members.map(|name| it[name].to_string().replace('"', ""));
        format!("{path} {hash} {}", members.join(" "))
    };
    accounts.map(shown).collect()
}

#[test]
fn every_injection_has_an_account_of_each_file() {
    let world = world(1000);
    let options = ["exec", "--json", "--context-events", "--pack", "ads", "--script", "script.toml"];
    let run = |more: &[&str]| accounts(&world.run(&[&options[..], more].concat()));
    let size = run(&["--session-id", ID, "one"]);
    let instructions = size[0].clone();
    assert!(instructions.starts_with("instructions.md sha1:40 instructions injected "), "{instructions}");
    assert!(instructions.ends_with(" initial 0 exec"), "{instructions}");
    assert_eq!(size[1..], ["rules.md sha1:40 rules injected 10 9 initial 0 exec"]);
    assert_eq!(run(&["resume", ID, "two"]), [""; 0]);
    fs::remove_file(world.files.path("work/.ads/rules.md")).unwrap();
    assert_eq!(run(&["resume", ID, "three"]), [""; 0], "rules that are gone are no reason");
    fs::write(world.files.path("work/.ads/rules.md"), "Use spaces.\n").unwrap();
    let updated = run(&["resume", ID, "four"]);
    assert_eq!(updated[1..], ["rules.md sha1:40 rules injected 12 11 rules-updated 3 exec"]);
    let plain = world.run(&["exec", "--json", "--pack", "ads", "--script", "script.toml", "one"]);
    assert_eq!(accounts(&plain), [""; 0], "only clients that ask for it");
}

/// The last line of the log about how often texts are sent again, with variables of the environment.
fn effective(world: &World, env: &[(&str, &str)]) -> String {
    let mut command = world.command(&["exec", "--pack", "ads", "--script", "script.toml", "look"]);
    command.env("RUST_LOG", "info").envs(env.iter().copied());
    let ran = world.finish(command, None);
    let line = ran.stderr.lines().rfind(|line| line.contains("reinjection enabled")).unwrap_or(&ran.stderr);
    line[line.find("reinjection").unwrap_or(0)..].to_owned()
}

#[test]
fn variables_override_the_configuration_which_overrides_the_pack() {
    let world = world(1000);
    let pack = "reinjection enabled:true turns:15 trigger:auto thresholds:0.25,0.5,0.75";
    assert_eq!(effective(&world, &[]), pack);
    let table = "[reinject]\nenabled = false\nturns = 4\ntrigger = \"both\"\nthresholds = [0.1, 0.9]\n";
    world.files.write("home/config.toml", table);
    let configured = "reinjection enabled:false turns:4 trigger:both thresholds:0.1,0.9";
    assert_eq!(effective(&world, &[]), configured);
    let env = [("ADS_REINJECTION_TURNS", "7"), ("ADS_REINJECTION_ENABLED", "on")];
    assert_eq!(effective(&world, &env), configured.replace("false", "true").replace("turns:4", "turns:7"));
    world.files.write("home/config.toml", "[reinject]\nturns = 0\nthresholds = [2.5]\n");
    assert_eq!(effective(&world, &[]), pack);
    let ran = begin(&world, "look");
    let warnings: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("warning: reinject")).collect();
    expect![[r#"
        warning: reinject.turns: 0 is not used, because it is below 1; the pack's value holds
        warning: reinject.thresholds: not used, because a share is not between 0 and 1; the pack's value holds"#]]
    .assert_eq(&warnings.join("\n"));
}

#[test]
fn every_pack_repeats_the_file_that_the_configuration_names() {
    for pack in pellucid_engine::pack::Pack::builtin_names() {
        let world = world(1000);
        world.files.write("work/RULES.md", "Name the cause.\n");
        let run = |more: &[&str]| {
            let options = ["exec", "--pack", pack, "--script", "script.toml"];
            let set = ["-c", "reinject.rules=RULES.md", "-c", "reinject.turns=2", "-c", "reinject.trigger=turns"];
            let ran = world.run(&[&options[..], &set, more].concat());
            assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
        };
        run(&["--session-id", ID, "one"]);
        ["two", "three", "four"].iter().for_each(|word| run(&["resume", ID, word]));
        let said = said(&world);
        let people: Vec<&String> = said
            .iter()
            .filter(|text| ["one", "two", "three", "four"].iter().any(|word| text.ends_with(word)))
            .collect();
        let with_rules: Vec<bool> = people.iter().map(|text| text.contains("Name the cause.\n\n")).collect();
        assert_eq!(with_rules, [true, false, true, false], "{pack}: {said:#?}");
    }
}

#[test]
fn a_pack_without_standing_texts_says_what_to_name() {
    let world = world(1000);
    let ran = world.run(&["exec", "-c", "reinject.turns=2", "--script", "script.toml", "one"]);
    let warning =
        "warning: reinject: the pack `codex` has no standing texts; name a file of the workspace with `reinject.rules`";
    assert!(ran.stderr.lines().any(|line| line == warning), "{}", ran.stderr);
}

#[test]
fn the_shipped_variants_look_for_other_files() {
    let world = world(1000);
    world.files.write("mine/pack.toml", "name = \"mine\"\nfrom = \"ads\"\n[reinject]\nvariant = \"current\"\n");
    let pack = world.files.path("mine");
    let pack = pack.to_str().unwrap();
    let ran = world.run(&["prompt", "--pack", pack, "hello"]);
    assert!(ran.out().contains("<skill_system>\nThis workspace has no skills yet."), "{}", ran.out());
    assert!(ran.out().contains("everything above is background.**\n\nhello\n"), "{}", ran.out());
    world.files.write("mine/pack.toml", "name = \"mine\"\nfrom = \"ads\"\n[reinject]\nvariant = \"initial\"\n");
    let ran = world.run(&["prompt", "--pack", pack, "hello"]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: the instructions are missing: put the file back at ROOT/work/.ads/templates/instructions.md; nothing was sent
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn the_example_about_ads_is_up_to_date() {
    let world = world(1000);
    let mut example =
        String::from("$ cat .ads/rules.md\nUse tabs.\n\n$ pellucid context -vv --pack ads \"Add a test\"\n");
    let ran = world.run(&["context", "-vv", "--pack", "ads", "--session-id", ID, "Add a test"]);
    example += &rows_of(&world.shown(ran.out()).replace("ROOT/work/", "./"), "user");
    begin(&world, "Add a test");
    let log = |ran: &Ran| {
        let lines = ran.stderr.lines().filter_map(|line| line.split_once("pellucid_agent::standing: "));
        lines.map(|(_, text)| format!("{text}\n")).collect::<String>()
    };
    let args = ["exec", "--pack", "ads", "--script", "script.toml", "resume", ID];
    let with_log = [("RUST_LOG", "info")];
    example += "\n$ RUST_LOG=info pellucid exec --pack ads resume ID \"And run it\"\n";
    example += &log(&world.run_in(&[&args[..], &["And run it"]].concat(), &with_log));
    fs::write(world.files.path("work/.ads/rules.md"), "Use tabs. Name tests after what they show.\n").unwrap();
    example += "\n$ echo \"Use tabs. Name tests after what they show.\" > .ads/rules.md\n";
    example += "$ RUST_LOG=info pellucid exec --pack ads resume ID \"One more\"\n";
    example += &log(&world.run_in(&[&args[..], &["One more"]].concat(), &with_log));
    check_page("ads.md", &example);
}
