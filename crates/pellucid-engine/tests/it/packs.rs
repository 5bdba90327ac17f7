//! Packs: what is refused, and with which words.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::pack::Pack;

/// Loads the codex pack after replacing a text in one of its files.
#[track_caller]
fn check_refused(file: &str, from: &str, to: &str, expected: &Expect) {
    let mut files = Pack::builtin_files("codex").unwrap();
    let text = files.get_mut(file).expect("the file is there");
    assert!(text.contains(from), "{file} has {from:?}");
    *text = text.replacen(from, to, 1);
    expected.assert_eq(&Pack::load(&files).expect_err("the pack is wrong").to_string());
}

#[test]
fn every_builtin_pack_loads() {
    for name in Pack::builtin_names() {
        assert_eq!(Pack::builtin(name).map(|pack| pack.name).as_deref(), Some(name));
    }
    assert!(Pack::builtin("nothing").is_none());
}

#[test]
fn an_unknown_source_is_refused_with_the_known_ones() {
    check_refused(
        "pack.toml",
        "source = \"environment\"",
        "source = \"enviroment\"",
        &expect![
            "pack.toml:75: unknown source `enviroment`; known: `base_instructions`, `permissions`, `developer_instructions`, `memory_summary`, `collaboration`, `personality`, `apps`, `commit_trailer`, `home_document`, `project_docs`, `js_repl`, `skills_list`, `child_agents`, `environment`, `system_prompt`, `injected_sections`, `injected_items`, `injected_preamble`, `host`"
        ],
    );
}

#[test]
fn an_unknown_gate_is_refused_with_the_known_ones() {
    check_refused(
        "pack.toml",
        "gate = [\"feature:apps\"]",
        "gate = [\"feature:aps\"]",
        &expect![
            "pack.toml:50: unknown gate `feature:aps`; known: `not:GATE`, `feature:KEY`, `shell:default|local|unified_exec|shell_command`, `patch:freeform|function`, `model_tool:NAME`, `mcp:any`, `mcp:deferred`, `web_search:on`, `mode:full|minimal|none`, `if:CONDITION`, `host:NAME`"
        ],
    );
}

#[test]
fn an_unknown_key_is_refused() {
    check_refused(
        "pack.toml",
        "id = \"environment\"",
        "id = \"environment\"\ncolour = 1",
        &expect![
            "pack.toml:73:1: unknown field `colour`, expected one of `id`, `role`, `target`, `source`, `file`, `gate`, `template`, `budget`, `parts`, `again_turns`, `depth`, `from`, `before`, `after`"
        ],
    );
}

#[test]
fn an_unknown_variable_is_refused_with_its_line() {
    check_refused(
        "user_instructions.md",
        "{{ directory }}",
        "{{ folder }}",
        &expect![
            "user_instructions.md:1: unknown variable `{{ folder }}`; known here: `{{ text }}`, `{{ directory }}`"
        ],
    );
}

#[test]
fn a_template_that_would_lose_its_content_is_refused() {
    check_refused(
        "user_instructions.md",
        "{{ text }}",
        "",
        &expect!["user_instructions.md: variable `{{ text }}` is missing, its content would be lost"],
    );
}

#[test]
fn a_broken_tool_file_is_refused() {
    check_refused(
        "tools/update_plan.toml",
        "kind = \"function\"",
        "kind = \"funktion\"",
        &expect![
            "tools/update_plan.toml:1:8: unknown variant `funktion`, expected one of `function`, `custom`, `local_shell`, `web_search`"
        ],
    );
}

#[test]
fn a_missing_file_is_named() {
    let mut files = Pack::builtin_files("codex").unwrap();
    files.remove("base/default.md");
    expect!["base/default.md: the pack has no such file"].assert_eq(&Pack::load(&files).unwrap_err().to_string());
}

#[test]
fn built_in_templates_use_all_their_variables() {
    let files = Pack::builtin_files("codex").unwrap();
    for (file, variables) in [
        ("permissions/sandbox_read_only.md", &["{network_access}"][..]),
        ("permissions/sandbox_workspace_write.md", &["{network_access}"]),
        ("permissions/sandbox_danger_full_access.md", &["{network_access}"]),
        ("memory/read_path.md", &["{{ base_path }}", "{{ memory_summary }}"]),
        ("personality.md", &["{{ intro }}", "{{ message }}"]),
        ("base/codex.md", &["{{ personality }}"]),
        ("user_instructions.md", &["{{ text }}", "{{ directory }}"]),
        ("tools/spawn_agent.toml", &["{roles}"]),
        ("tools/wait.toml", &["{default}", "{min}", "{max}"]),
        ("tools/request_user_input.toml", &["{modes}"]),
    ] {
        for variable in variables {
            assert!(files[file].contains(variable), "{file} has no {variable}");
        }
    }
}

#[test]
fn no_built_in_text_asks_the_model_to_conceal_anything() {
    const WORDS: [&str; 6] =
        ["do not tell the user", "don't tell the user", "conceal", "do not reveal", "never reveal", "keep this secret"];
    for (file, text) in Pack::builtin_files("codex").unwrap() {
        let text = text.to_lowercase();
        assert!(!WORDS.iter().any(|words| text.contains(words)), "{file}");
    }
}
