//! Bytes that the model does not see as they are: files that are not UTF-8, images that cannot be decoded.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::Value;

use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

/// A file in which one byte is no text.
const LATIN: &[u8] = b"Use caf\xe9 style.\n";

fn world() -> World {
    let providers: String = WIRES
        .iter()
        .map(|wire| {
            format!(
                "[model_providers.{wire}]\nname = \"{wire}\"\nbase_url = \"http://127.0.0.1:9\"\nwire_api = \"{wire}\"\n"
            )
        })
        .collect();
    World::new(&format!("//- home/config.toml\n{providers}//- work/answer.toml\n[[reply]]\nsay = \"Done.\"\n"))
}

fn report(world: &World, args: &[&str]) -> Value {
    let ran = world.run(&[&["context", "--json"], args].concat());
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_str(ran.out()).unwrap()
}

/// Checks what the report says of a damaged file, and that nothing is sent where that is forbidden.
#[track_caller]
fn check_not_utf8(world: &World, pack: &str, file: &str, (first, count): (u64, u64)) {
    for wire in WIRES {
        let report = report(world, &["--pack", pack, "--provider", wire, "hi"]);
        let omissions = report["omissions"].as_array().unwrap();
        let found: Vec<&Value> = omissions.iter().filter(|it| it["kind"] == "not_utf8").collect();
        assert_eq!(found.len(), 1, "{pack} {wire}: {omissions:#?}");
        let what = found[0]["what"].as_str().unwrap();
        assert!(what.ends_with(file), "{pack} {wire}: {what}");
        assert_eq!((&found[0]["first_byte"], &found[0]["bytes"]), (&first.into(), &count.into()), "{pack} {wire}");
        assert_ne!(found[0]["status"], "full");
        for list in ["rows", "sources"] {
            let rows = report[list].as_array().unwrap().iter();
            let mut of_file = rows.filter(|row| row["origin"] == what || row["source"] == what).peekable();
            assert!(list == "sources" || of_file.peek().is_some(), "{pack} {wire}: no row of {what}");
            assert!(of_file.all(|row| row["status"] == "altered"), "{pack} {wire}: {list}");
        }
    }
    let said = format!("{file}: ");
    let run = ["exec", "--pack", pack, "--script", "answer.toml"];
    let ran = world.run(&[&run[..], &["hi"]].concat());
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{pack}: {}", ran.stderr);
    let warned = ran.stderr.lines().any(|line| line.starts_with("warning: ") && line.contains(&said));
    assert!(warned && ran.stderr.contains("not UTF-8"), "{pack}: {}", ran.stderr);
    let ran = world.run(&[&run[..], &["--strict-context", "hi"]].concat());
    assert_eq!((ran.status, ran.out()), (1, ""), "{pack}: {}", ran.stderr);
    assert!(ran.stderr.contains("--strict-context"), "{pack}: {}", ran.stderr);
}

#[test]
fn a_file_that_is_not_utf8_is_an_omission_with_every_pack_on_every_wire() {
    for pack in ["codex", "openclaw", "agentcore", "risuai"] {
        let world = world();
        world.files.write("work/AGENTS.md", LATIN);
        check_not_utf8(&world, pack, "work/AGENTS.md", (7, 1));
    }
    for variant in ["current", "initial"] {
        let world = world();
        let layout = format!("name = \"mine\"\nfrom = \"ads\"\n[reinject]\nvariant = \"{variant}\"\n");
        world.files.write("mine/pack.toml", layout);
        world.files.write("work/.ads/templates/instructions.md", "Instructions.\n");
        world.files.write("work/.ads/rules.md", b"\xff\xfeRules.\xff\n");
        let report = report(&world, &["--pack", "../mine", "hi"]);
        let used = report["rows"].as_array().unwrap().iter().any(|row| row["origin"].to_string().contains("rules.md"));
        // Where the workspace's state is elsewhere, the file is not one of the pack's.
        if used {
            check_not_utf8(&world, "../mine", "rules.md", (0, 3));
        }
    }
}

#[test]
fn files_of_the_home_folder_and_imported_ones_are_looked_at_too() {
    let world = world();
    world.files.write("home/AGENTS.md", b"  Mine: \xe2\x82\n");
    let report = report(&world, &["hi"]);
    let omissions = report["omissions"].as_array().unwrap();
    assert_eq!(omissions.len(), 1, "{omissions:#?}");
    assert_eq!(omissions[0]["why"], "it is not UTF-8: the first of 2 such bytes is at offset 8");
    let ran = world.run(&["exec", "--script", "answer.toml", "--strict-context", "hi"]);
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        warning: ROOT/home/AGENTS.md: it is not UTF-8: the first of 2 such bytes is at offset 8
        error: --strict-context: nothing was sent, because the warnings above name content that is changed, cut or left out
    "#]].assert_eq(&ran.stderr);
    let world = self::world();
    let config = world.files.read("home/config.toml");
    world.files.write("home/config.toml", format!("[project_docs]\nimports = 1\n{config}"));
    world.files.write("work/AGENTS.md", "See @more.md\n");
    world.files.write("work/more.md", LATIN);
    check_not_utf8(&world, "codex", "work/more.md", (7, 1));
}

#[test]
fn a_character_that_the_budget_cuts_is_cut_and_not_damaged() {
    let world = world();
    world.files.write("work/AGENTS.md", "漢字漢字");
    let report = report(&world, &["-c", "project_doc_max_bytes=4", "hi"]);
    let kinds: Vec<&str> =
        report["omissions"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert!(kinds.contains(&"cut") && !kinds.contains(&"not_utf8"), "{kinds:?}");
}

#[test]
fn texts_that_must_be_utf8_are_refused_by_name() {
    let world = world();
    world.files.write("home/base.md", LATIN);
    let ran =
        world.run(&["exec", "--script", "answer.toml", "-c", "model_instructions_file=\"../home/base.md\"", "hi"]);
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        error: failed to read model instructions file ROOT/home/base.md: stream did not contain valid UTF-8
    "#]]
    .assert_eq(&ran.stderr);
    world.files.write("mine/pack.toml", "name = \"mine\"\nfrom = \"codex\"\n");
    world.files.write("mine/texts/base/codex.md", LATIN);
    world.files.write("mine/base/codex.md", LATIN);
    let ran = world.run(&["exec", "--script", "answer.toml", "--pack", "../mine", "hi"]);
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        error: ROOT/mine/base/codex.md is not UTF-8; the files of a pack are texts
    "#]]
    .assert_eq(&ran.stderr);
    world.files.write("work/.agents/skills/odd/SKILL.md", b"---\nname: odd\ndescription: caf\xe9\n---\n");
    let ran = world.run(&["exec", "--script", "answer.toml", "--strict-context", "hi"]);
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        warning: ROOT/work/.agents/skills/odd/SKILL.md: failed to read file: stream did not contain valid UTF-8
        error: --strict-context: nothing was sent, because the warnings above name content that is changed, cut or left out
    "#]].assert_eq(&ran.stderr);
}

#[test]
fn an_image_that_cannot_be_decoded_is_named_with_the_true_reason() {
    let world = world();
    world.files.write("work/bad.png", "no image at all");
    let mut reasons = BTreeSet::new();
    for pack in ["codex", "openclaw", "agentcore", "risuai", "ads"] {
        world.files.write("work/.ads/rules.md", "Rules.\n");
        let report = report(&world, &["--pack", pack, "-i", "bad.png", "--", "hi"]);
        let omissions = report["omissions"].as_array().unwrap();
        let of_image = omissions.iter().find(|it| it["what"] == "bad.png").unwrap_or_else(|| panic!("{omissions:#?}"));
        reasons.insert(of_image["why"].as_str().unwrap().to_owned());
    }
    expect!["failed to decode image at bad.png: its bytes are not those of image/png, nor of another image format that can be read"].assert_eq(&Vec::from_iter(reasons).join("\n"));
    let run = ["exec", "--script", "answer.toml", "-i", "bad.png"];
    let ran = world.run(&[&run[..], &["--", "hi"]].concat());
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    expect![[r#"
        warning: failed to decode image at bad.png: its bytes are not those of image/png, nor of another image format that can be read
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
        hi
        pellucid
        Done.
    "#]].assert_eq(&world.steady(&ran.stderr));
    let events = ["exec", "--json", "--context-events", "--script", "answer.toml", "-i", "bad.png", "--", "hi"];
    let ran = world.run(&events);
    assert!(ran.out().contains("\"context.omission\",\"part\":\"user\",\"what\":\"bad.png\""), "{}", ran.out());
    for option in ["--strict-context", "--typed-exit-codes"] {
        for (image, said) in [
            (
                "bad.png",
                expect![[r#"
            error: failed to decode image at bad.png: its bytes are not those of image/png, nor of another image format that can be read; nothing was sent
        "#]],
            ),
            (
                "none.png",
                expect![[r#"
            error: failed to read image at none.png: No such file or directory (os error 2); nothing was sent
        "#]],
            ),
        ] {
            let ran = world.run(&["exec", "--script", "answer.toml", option, "-i", image, "--", "hi"]);
            assert_eq!((ran.status, ran.out()), (1, ""), "{option} {image}: {}", ran.stderr);
            said.assert_eq(&ran.stderr);
        }
    }
}
