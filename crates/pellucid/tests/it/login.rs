//! `login` and `logout`: what is printed, what is stored, and that no key is printed.

use expect_test::Expect;
use expect_test::expect;

use crate::Ran;
use crate::World;

const KEY: &str = "sk-proj-abcdefghij1234567890";

/// Shows how a run ended; nothing of it may be on standard output, and the key nowhere.
#[track_caller]
fn check_ran(ran: &Ran, expected: &Expect) {
    expected.assert_eq(&format!("{} {}", ran.status, ran.stderr));
    assert_eq!(ran.out(), "");
    assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
}

fn log_in(world: &World, args: &[&str], key: &str) -> Ran {
    let mut all = vec!["login", "--with-api-key"];
    all.extend(args);
    world.run_with(&all, Some(key.as_bytes()))
}

#[test]
fn a_key_is_stored_shown_by_its_ends_and_removed() {
    let world = World::new("");
    check_ran(
        &world.run(&["login", "status"]),
        &expect![[r#"
        1 Not logged in
    "#]],
    );
    check_ran(
        &log_in(&world, &[], &format!(" {KEY}\n")),
        &expect![[r#"
        0 Reading API key from stdin...
        Successfully logged in
    "#]],
    );
    expect![[r#"
        {
          "auth_mode": "apikey",
          "OPENAI_API_KEY": "sk-proj-abcdefghij1234567890"
        }"#]]
    .assert_eq(&world.files.read("home/auth.json"));
    check_ran(
        &world.run(&["login", "status"]),
        &expect![[r#"
        0 Logged in using an API key - sk-proj-***67890
    "#]],
    );
    check_ran(
        &world.run(&["logout"]),
        &expect![[r#"
        0 Successfully logged out
    "#]],
    );
    assert!(!world.files.path("home/auth.json").exists());
    check_ran(
        &world.run(&["logout"]),
        &expect![[r#"
        0 Not logged in
    "#]],
    );
}

#[test]
fn what_is_no_key_is_refused_and_the_old_one_stays() {
    let world = World::new("");
    log_in(&world, &[], KEY);
    check_ran(
        &log_in(&world, &[], " \n"),
        &expect![[r#"
            1 Reading API key from stdin...
            error: No API key provided via stdin.
        "#]],
    );
    check_ran(
        &world.run_with(&["login", "--with-api-key"], Some(b"sk-\xff")),
        &expect![[r#"
            1 Reading API key from stdin...
            error: Failed to read API key from stdin: stream did not contain valid UTF-8
        "#]],
    );
    assert!(world.files.read("home/auth.json").contains(KEY));
}

#[test]
fn a_key_on_the_command_line_is_refused() {
    let world = World::new("");
    check_ran(
        &world.run(&["login", "--api-key", KEY]),
        &expect![[r#"
            1 error: --api-key is not taken, as other programs can see it. Pipe the key: `printenv OPENAI_API_KEY | pellucid login --with-api-key`
        "#]],
    );
    check_ran(
        &world.run(&["login", "--api-key"]),
        &expect![[r#"
            1 error: --api-key is not taken, as other programs can see it. Pipe the key: `printenv OPENAI_API_KEY | pellucid login --with-api-key`
        "#]],
    );
    assert!(!world.files.path("home/auth.json").exists());
}

#[test]
fn accounts_are_refused_with_what_to_do_instead() {
    let world = World::new("");
    check_ran(
        &world.run(&["login"]),
        &expect![[r#"
            1 error: Pellucid cannot log in with a ChatGPT account. Use an API key: `printenv OPENAI_API_KEY | pellucid login --with-api-key`
        "#]],
    );
    check_ran(
        &world.run(&["login", "--device-auth"]),
        &expect![[r#"
            1 error: Pellucid cannot log in with a ChatGPT account. Use an API key: `printenv OPENAI_API_KEY | pellucid login --with-api-key`
        "#]],
    );
    check_ran(
        &world.run(&["login", "-c", "forced_login_method=api"]),
        &expect![[r#"
            1 error: ChatGPT login is disabled: the configuration says forced_login_method = "api". Use an API key: `printenv OPENAI_API_KEY | pellucid login --with-api-key`
        "#]],
    );
    check_ran(
        &log_in(&world, &["-c", "forced_login_method=chatgpt"], KEY),
        &expect![[r#"
        1 Reading API key from stdin...
        error: could not log in: API key login is disabled: the configuration says forced_login_method = "chatgpt"
    "#]],
    );
}

#[test]
fn stores_that_keep_nothing_say_so() {
    let world = World::new("");
    check_ran(
        &log_in(&world, &["-c", "cli_auth_credentials_store=ephemeral"], KEY),
        &expect![[r#"
        0 Reading API key from stdin...
        Nothing was kept: cli_auth_credentials_store is "ephemeral". Set the variable CODEX_API_KEY for each run.
    "#]],
    );
    let ran = log_in(&world, &["-c", "cli_auth_credentials_store=keyring"], KEY);
    check_ran(
        &ran,
        &expect![[r#"
        1 Reading API key from stdin...
        error: could not log in: cli_auth_credentials_store = "keyring" is not supported: write "file", which keeps the login in ROOT/home/auth.json
    "#]],
    );
    assert!(!world.files.path("home/auth.json").exists());
}

#[test]
fn a_broken_file_is_named_and_can_be_removed() {
    let world = World::new("");
    world.files.write("home/auth.json", format!("{{\"OPENAI_API_KEY\":[\"{KEY}\"]}}"));
    check_ran(
        &world.run(&["login", "status"]),
        &expect![[r#"
        1 error: the login cannot be read: ROOT/home/auth.json:1:18: this is not a stored login; `pellucid logout` removes it
    "#]],
    );
    check_ran(
        &world.run(&["logout"]),
        &expect![[r#"
        0 Successfully logged out
    "#]],
    );
}

#[test]
fn a_turn_with_a_login_that_is_not_allowed_ends_before_it_begins() {
    let world = World::new("");
    log_in(&world, &[], KEY);
    check_ran(
        &world.run(&["exec", "-c", "forced_login_method=chatgpt", "hi"]),
        &expect![[r#"
            1 error: ChatGPT login is required (forced_login_method), but an API key is in use. Logging out.
        "#]],
    );
    assert!(!world.files.path("home/auth.json").exists());
}

#[test]
fn a_stored_account_that_cannot_be_used_is_told() {
    let world = World::new("");
    world.files.write("home/auth.json", r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null}"#);
    let id = "019a0000-0000-7000-8000-000000000001";
    let ran = world.run(&["prompt", "--format", "text", "--session-id", id, "hi"]);
    expect![[r#"
        warning: the stored login is a ChatGPT account's, which Pellucid does not send; give it an API key with `pellucid login --with-api-key` or CODEX_API_KEY
    "#]].assert_eq(&ran.stderr);
}
