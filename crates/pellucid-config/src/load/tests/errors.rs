//! Errors, and how they are reported to a person.

use super::*;

#[test]
fn a_file_that_is_not_toml() {
    check_error(
        "model = \"oops\n",
        &[],
        &expect![[r#"
            config.toml cannot be loaded:
            $R/home/config.toml:1:14: invalid basic string, expected `"`
              |
            1 | model = "oops
              |              ^"#]],
    );
    check_error(
        "model = \"a\"\nmodel = \"b\"\n",
        &[],
        &expect![[r#"
            config.toml cannot be loaded:
            $R/home/config.toml:2:1: duplicate key
              |
            2 | model = "b"
              | ^^^^^"#]],
    );
}

#[test]
fn a_wrong_type_in_a_file_is_shown_there() {
    check_error(
        "model = 5\n",
        &[],
        &expect![[r#"
            config.toml cannot be loaded:
            $R/home/config.toml:1:9: invalid type: integer `5`, expected a string
              |
            1 | model = 5
              |         ^"#]],
    );
    check_error(
        "\n\n\n\n\n\n\n\n\nsandbox_mode = \"sideways\"\n",
        &[],
        &expect![[r#"
            config.toml cannot be loaded:
            $R/home/config.toml:10:16: unknown variant `sideways`, expected one of `read-only`, `workspace-write`, `danger-full-access`
               |
            10 | sandbox_mode = "sideways"
               |                ^^^^^^^^^^"#]],
    );
    world(&[
        ("home/config.toml", "[projects.'$R/work']\ntrust_level = 'trusted'\n"),
        ("work/.codex/config.toml", "[features]\nsqlite = true\njs_repl = 5\n"),
    ])
    .check(
        |_| String::new(),
        &expect![[r#"
            config.toml cannot be loaded:
            $R/work/.codex/config.toml:3:11: invalid type: integer `5`, expected a boolean
              |
            3 | js_repl = 5
              |           ^"#]],
    );
}

#[test]
fn a_wrong_type_without_a_file_is_named() {
    check_error(
        "",
        &["model=5"],
        &expect![[r#"
            config.toml cannot be loaded: invalid type: integer `5`, expected a string
            in `model`"#]],
    );
    check_error(
        "",
        &["shell_environment_policy.set.A=1"],
        &expect![[r#"
            config.toml cannot be loaded: invalid type: integer `1`, expected a string
            in `shell_environment_policy.set.A`"#]],
    );
    check_error(
        "",
        &["sandbox_mode=sideways"],
        &expect![[r#"
            config.toml cannot be loaded: unknown variant `sideways`, expected one of `read-only`, `workspace-write`, `danger-full-access`
            in `sandbox_mode`"#]],
    );
    check_error(
        "",
        &["model.foo=3"],
        &expect![[r#"
            config.toml cannot be loaded: invalid type: map, expected a string
            in `model`"#]],
    );
}

#[test]
fn a_trusted_project_that_is_not_toml() {
    world(&[
        ("home/config.toml", "[projects.'$R/work']\ntrust_level = 'trusted'\n"),
        ("work/.codex/config.toml", "model = \n"),
    ])
    .check(
        |_| String::new(),
        &expect![[r#"
            config.toml cannot be loaded: Error parsing project config file $R/work/.codex/config.toml: TOML parse error at line 1, column 9
              |
            1 | model = 
              |         ^
            string values must be quoted, expected literal string"#]],
    );
}

#[test]
fn names_that_are_not_there() {
    check_error(
        "profile = 'unknown'\n",
        &[],
        &expect![
            "config profile `unknown` not found; write it as [profiles.unknown] in config.toml, or choose another one"
        ],
    );
    check_error(
        "",
        &["profile="],
        &expect!["config profile `` not found; write it as [profiles.] in config.toml, or choose another one"],
    );
    check_error(
        "model_provider = 'nowhere'\n",
        &[],
        &expect![
            "Model provider `nowhere` not found; write it as [model_providers.nowhere] in config.toml, or choose another one"
        ],
    );
    check_error(
        "model_provider = 'ollama-chat'\n",
        &[],
        &expect![[r#"
            the provider `ollama-chat` is gone
            To fix it, write `ollama` in `model_provider`, in `oss_provider` or after `--local-provider`"#]],
    );
}

#[test]
fn files_that_are_named_must_say_something() {
    check_error(
        "model_instructions_file = 'none.md'\n",
        &[],
        &expect!["failed to read model instructions file $R/home/none.md: No such file or directory (os error 2)"],
    );
    world(&[("home/config.toml", "model_instructions_file = 'blank.md'\n"), ("home/blank.md", " \n")])
        .check(|_| String::new(), &expect!["model instructions file is empty: $R/home/blank.md"]);
    world(&[
        ("home/config.toml", "compact_prompt = 'x'\nexperimental_compact_prompt_file = 'blank.md'\n"),
        ("home/blank.md", ""),
    ])
    .check(|_| String::new(), &expect!["experimental compact prompt file is empty: $R/home/blank.md"]);
}

#[test]
fn numbers_that_make_no_sense() {
    check_error("[agents]\nmax_threads = 0\n", &[], &expect!["agents.max_threads must be at least 1"]);
}

#[test]
fn a_file_that_cannot_be_read() {
    let world = world(&[]);
    std::fs::create_dir(world.root.join("home/config.toml")).unwrap();
    world.check(
        |_| String::new(),
        &expect!["failed to read config file $R/home/config.toml: Is a directory (os error 21)"],
    );
}

#[test]
fn mcp_servers_are_of_one_kind() {
    check_error(
        "\n[mcp_servers.a]\ncommand = 'x'\nurl = 'y'\n",
        &[],
        &expect![[r#"
            config.toml cannot be loaded:
            $R/home/config.toml:2:1: url is not supported for stdio
              |
            2 | [mcp_servers.a]
              | ^^^^^^^^^^^^^^^"#]],
    );
    let short = |flags: &[&str], expected: &Expect| check_error("", flags, expected);
    short(
        &["mcp_servers.a.enabled=true"],
        &expect![[r#"
            config.toml cannot be loaded: invalid transport
            in `mcp_servers.a`"#]],
    );
    short(
        &["mcp_servers.a={url='x',args=[]}"],
        &expect![[r#"
            config.toml cannot be loaded: args is not supported for streamable_http
            in `mcp_servers.a`"#]],
    );
    short(
        &["mcp_servers.a={url='x',bearer_token='t'}"],
        &expect![[r#"
            config.toml cannot be loaded: bearer_token is not supported for streamable_http
            in `mcp_servers.a`"#]],
    );
    short(
        &["mcp_servers.a={command='x',bearer_token='t'}"],
        &expect![[r#"
            config.toml cannot be loaded: bearer_token is not supported for stdio
            in `mcp_servers.a`"#]],
    );
    short(
        &["mcp_servers.a={command='x',startup_timeout_sec=-1}"],
        &expect![[r#"
            config.toml cannot be loaded: -1 seconds is not a length of time
            in `mcp_servers.a`"#]],
    );
}

#[test]
fn requirements_that_do_not_hold() {
    world(&[("etc/requirements.toml", "allowed_approval_policies = 3\n")]).check(
        |_| String::new(),
        &expect![[r#"
            config.toml cannot be loaded: Error parsing requirements file $R/etc/requirements.toml: TOML parse error at line 1, column 29
              |
            1 | allowed_approval_policies = 3
              |                             ^
            invalid type: integer `3`, expected a sequence"#]],
    );
}
