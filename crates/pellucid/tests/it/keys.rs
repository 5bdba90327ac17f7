//! Keys, switches and variables that the documentation describes have the effect that it describes.

use expect_test::Expect;
use expect_test::expect;

use crate::World;

fn check_ran(world: &World, args: &[&str], expected: &Expect) {
    let ran = world.run(args);
    expected.assert_eq(&format!("{} {}{}", ran.status, ran.out(), ran.stderr));
}

#[test]
fn features_are_switched_in_the_users_file() {
    let world = World::new("//- home/config.toml\nprofile = \"p\" # mine\n\n[profiles.p]\nmodel = \"m\"\n");
    check_ran(
        &world,
        &["features", "enable", "sqlite"],
        &expect![[r#"
            0 Enabled feature `sqlite` in config.toml.
            warning: `sqlite` is under development: it is unfinished and may change. To hide this warning, write `suppress_unstable_features_warning = true` in ROOT/home/config.toml
        "#]],
    );
    check_ran(
        &world,
        &["features", "disable", "undo"],
        &expect![[r#"
            0 Disabled feature `undo` in config.toml.
        "#]],
    );
    check_ran(
        &world,
        &["features", "enable", "nosuch"],
        &expect![[r#"
            1 error: Unknown feature flag: nosuch
            hint: `pellucid features list` shows those that exist
        "#]],
    );
    expect![[r#"
        profile = "p" # mine

        [profiles.p]
        model = "m"

        [features]
        sqlite = true
        undo = false
    "#]]
    .assert_eq(&world.files.read("home/config.toml"));
    let listed = world.run(&["features", "list"]);
    assert!(listed.out().lines().any(|line| line.starts_with("sqlite ") && line.ends_with("true")), "{}", listed.out());
}

#[test]
fn doctor_lists_keys_without_effect() {
    let world = World::new(
        "//- home/config.toml\ncheck_for_update_on_startup = false\n[tui]\nanimations = false\n[otel]\nexporter = \"none\"\n[apps.a]\ndisabled_reason = \"user\"\n",
    );
    let ran = world.run(&["doctor"]);
    let lines: Vec<&str> = ran.out().lines().map(str::trim).filter(|line| line.contains("has no effect")).collect();
    expect![[r#"
        `check_for_update_on_startup` has no effect: Pellucid never looks for updates
        `apps.a.disabled_reason` has no effect: the Codex CLI does not use it either
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

/// Runs a turn in which a personality is wanted of a model without a template for it.
fn turn_with_warnings(settings: &str, variables: &[(&str, &str)]) -> (World, String) {
    let world = World::new(&format!("//- home/config.toml\n{settings}\n//- work/s.toml\n[[reply]]\nsay = \"ok\"\n"));
    let args = ["exec", "--script", "s.toml", "-m", "nothing-known", "-c", "personality=friendly", "hi"];
    let ran = world.run_in(&args, variables);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    (world, ran.stderr)
}

const WARNING: &str = "`personality` has no effect";

/// The lines of warnings.
fn warnings(stderr: &str) -> String {
    stderr.split_inclusive('\n').filter(|line| line.starts_with("warning: ")).collect()
}

#[test]
fn the_log_is_selected_by_level_or_by_target() {
    let is_warned = |filter| turn_with_warnings("", &[("RUST_LOG", filter)]).1.contains(WARNING);
    assert!(is_warned("warn"));
    assert!(is_warned("error,pellucid_agent=warn"));
    assert!(!is_warned("error"));
    assert!(!is_warned("warn,pellucid_agent=error"));
    assert!(!is_warned(""));
    let (_, said) = turn_with_warnings("", &[("RUST_LOG", "pellucid_agent=loud")]);
    expect![[r#"
        warning: RUST_LOG is ignored: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5 in `pellucid_agent=loud`; write a level (error, warn, info, debug, trace) or a list of target=level
        warning: nothing is known of the model `nothing-known`; defaults are used, which may not suit it
    "#]].assert_eq(&warnings(&said));
}

#[test]
fn the_log_goes_to_its_folder_too() {
    let (world, said) = turn_with_warnings("log_dir = \"logs\"", &[("RUST_LOG", "warn")]);
    let log = world.files.read("home/logs/pellucid.log");
    assert!(log.contains(WARNING) && said.contains(WARNING), "{log}\n{said}");
    let (world, _) = turn_with_warnings("log_dir = \"logs\"", &[]);
    assert_eq!(world.files.read("home/logs/pellucid.log"), "");
    let (world, said) = turn_with_warnings("log_dir = \"config.toml\"", &[]);
    expect![[r#"
        warning: no log is written: ROOT/home/config.toml/pellucid.log: File exists (os error 17)
        warning: nothing is known of the model `nothing-known`; defaults are used, which may not suit it
    "#]]
    .assert_eq(&warnings(&world.shown(&said)));
}
