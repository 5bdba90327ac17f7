//! `pack import` without a checkout, and `pack use`.

use std::fs;
use std::process::Command;

use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;

use crate::World;

/// A repository with the shape of the Codex CLI's, at the tag and after it. Returns its address and the tag's commit.
fn remote(world: &World) -> (String, String) {
    let folder = world.files.path("remote");
    world.files.write("remote/codex-rs/core/prompt.md", "Be good.\n");
    world.files.write("remote/codex-rs/Cargo.toml", "[workspace.package]\nversion = \"0.104.0\"\n");
    world.files.write("remote/LICENSE", "A licence.\n");
    world.files.write("remote/docs/large.md", "not read\n");
    let git = |words: &[&str]| {
        let settings = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
        let ran = Command::new("git").args(settings).args(words).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "--no-gpg-sign", "-m", "one"]);
    git(&["-c", "tag.gpgSign=false", "tag", "rust-v0.104.0"]);
    let commit = git(&["rev-parse", "HEAD"]);
    fs::write(folder.join("codex-rs/core/prompt.md"), "Be better.\n").unwrap();
    git(&["commit", "-q", "--no-gpg-sign", "-am", "two"]);
    (format!("file://{}", folder.display()), commit)
}

fn text(world: &World, path: &str) -> String {
    fs::read_to_string(world.files.path(path)).unwrap()
}

/// The standard error up to the texts that are missing, with the program's path left out.
fn said(stderr: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with("error: ") && !line.contains("more texts were not found");
    let line = |line: &str| match (line.find("with /"), line.find("/git,")) {
        (Some(start), Some(end)) => format!("{}GIT,{}", &line[..start + 5], &line[end + 5..]),
        _ => line.to_owned(),
    };
    stderr.lines().filter(is_kept).map(|it| line(it) + "\n").collect()
}

#[test]
fn the_tag_is_fetched_kept_and_used() {
    let world = World::new("//- work/README.md\nx\n//- home/config.toml\n# mine\nmodel = \"o3\"   # fast\n\n[tui]\n");
    let (url, commit) = remote(&world);
    let ran = world.run(&["pack", "import", "codex", "--partial", "--use", "--from", &url]);
    expect![[r#"
        Fetching the tag rust-v0.104.0 of file://ROOT/remote with GIT, confined, into ROOT/home/cache/codex-0.104.0
        1 texts imported, 167 not found; the pack is ROOT/home/packs/codex-0.104.0
    "#]]
    .assert_eq(&said(&ran.stderr));
    assert_eq!(text(&world, "home/packs/codex-0.104.0/base/default.md"), "Be good.\n");
    assert_eq!(text(&world, "home/packs/codex-0.104.0/LICENSE"), "A licence.\n");
    let manifest: Value = serde_json::from_str(&text(&world, "home/packs/codex-0.104.0/manifest.json")).unwrap();
    assert_eq!(manifest["origin"]["commit"], *commit);
    assert!(!world.files.path("home/cache/codex-0.104.0/docs").exists(), "only what the import reads is kept");
    expect![[r##"
        # mine
        model = "o3"   # fast
        pack = "codex-0.104.0"

        [tui]
    "##]]
    .assert_eq(&text(&world, "home/config.toml"));

    let again = world.run(&["pack", "import", "codex", "--partial", "--force"]);
    expect![[r#"
        Reading the texts from the sources that were fetched before, ROOT/home/cache/codex-0.104.0
        1 texts imported, 167 not found; the pack is ROOT/home/packs/codex-0.104.0
        hint: `pellucid pack use codex-0.104.0` uses it from now on
    "#]]
    .assert_eq(&said(&again.stderr));
    let manifest: Value = serde_json::from_str(&text(&world, "home/packs/codex-0.104.0/manifest.json")).unwrap();
    assert_eq!(manifest["origin"]["commit"], *commit);
    let body = world.run(&["prompt", "--format", "json", "hi"]);
    let body: Value = serde_json::from_slice(&body.stdout).unwrap();
    assert_eq!(body["instructions"], "Be good.\n");
}

#[test]
fn a_checkout_at_a_usual_place_is_read() {
    let world = World::new("//- work/README.md\nx\n");
    world.files.write("user/src/codex/codex-rs/core/prompt.md", "Be good.\n");
    world.files.write("user/src/codex/codex-rs/Cargo.toml", "[workspace.package]\nversion = \"0.104.0\"\n");
    let ran = world.run(&["pack", "import", "codex", "--partial"]);
    let first = said(&ran.stderr).lines().next().unwrap().to_owned();
    assert_eq!(first, "Reading the texts from the checkout ROOT/user/src/codex");
    assert!(!world.files.path("home/cache").exists());
}

#[test]
fn a_project_does_not_give_the_texts_unless_it_is_named() {
    let world = World::new("//- work/README.md\nx\n");
    let (url, _) = remote(&world);
    world.files.write("work/codex-rs/core/prompt.md", "Be evil.\n");
    world.files.write("work/codex-rs/Cargo.toml", "[workspace.package]\nversion = \"0.104.0\"\n");
    world.run(&["pack", "import", "codex", "--partial", "--from", &url]);
    world.run(&["pack", "import", "codex", "--partial", "--force"]);
    assert_eq!(text(&world, "home/packs/codex-0.104.0/base/default.md"), "Be good.\n");
    world.run(&["pack", "import", "codex", ".", "--partial", "--force"]);
    assert_eq!(text(&world, "home/packs/codex-0.104.0/base/default.md"), "Be evil.\n");
}

#[track_caller]
fn check_refused(args: &[&str], expected: &Expect) {
    let world = World::new("//- work/README.md\nx\n");
    let ran = world.run(args);
    assert_ne!(ran.status, 0);
    expected.assert_eq(&ran.stderr);
    assert!(!world.files.path("home/packs").exists() && !world.files.path("home/config.toml").exists());
}

#[test]
fn what_cannot_be_fetched_or_used_is_refused_with_what_to_do() {
    let import = |url| ["pack", "import", "codex", "--from", url];
    check_refused(
        &import("ssh://example.org/codex"),
        &expect![[r#"
            error: the sources could not be fetched: ssh://example.org/codex cannot be fetched from: an address begins with https:// or file:///
            hint: make a checkout of the tag rust-v0.104.0 yourself and name its folder: `pellucid pack import codex DIR`
        "#]],
    );
    check_refused(
        &["pack", "use", "nosuch"],
        &expect![[r#"
        error: there is no pack `nosuch`; known: ads, agentcore, codex, openclaw, pellucid, risuai
    "#]],
    );
}
