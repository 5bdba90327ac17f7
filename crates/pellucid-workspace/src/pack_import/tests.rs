//! Importing from a made-up checkout: the shape of the real one, other words.

use expect_test::Expect;
use expect_test::expect;
use tempfile::TempDir;

use super::*;

mod made_up;

fn checkout(changes: &[(&str, &str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    let mut changes = changes.to_vec();
    for (path, mut text) in made_up::files() {
        changes.retain(|(file, from, to)| {
            if *file != path {
                return true;
            }
            assert!(text.contains(from), "{path} has {from:?}");
            text = text.replacen(from, to, 1);
            false
        });
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    assert_eq!(changes, [], "every change was made");
    root
}

#[track_caller]
fn check_texts(expected: &[(&str, &str)]) {
    let import = import(checkout(&[]).path()).unwrap();
    for (file, text) in expected {
        assert_eq!(import.files.get(*file).map(String::as_str), Some(*text), "{file}");
    }
}

#[track_caller]
fn check_missing(changes: &[(&str, &str, &str)], expected: &Expect) {
    let import = import(checkout(changes).path()).unwrap();
    let missing: String = import.missing.iter().map(|it| format!("{it}\n")).collect();
    expected.assert_eq(&missing);
}

#[test]
fn every_text_is_found_and_is_its_own() {
    let import = import(checkout(&[]).path()).unwrap();
    assert_eq!(import.missing, []);
    assert_eq!(import.version.as_deref(), Some("0.104.0"));
    for found in &import.found {
        let text = std::str::from_utf8(import.bytes(found)).unwrap();
        let shared = ["sandbox_permissions", "justification", "prefix_rule", "items"];
        let parameter = found.slot.split_once('.').map_or("", |(_, path)| path);
        let name =
            if shared.iter().any(|it| parameter.split('.').next() == Some(it)) { parameter } else { &found.slot };
        let name = if name == "tools/js_repl_grammar" { "tools.js_repl_grammar" } else { name };
        assert!(text.contains(name), "{}: {text:?}", found.slot);
    }
}

#[test]
fn a_pack_can_be_made_of_it() {
    let mut files = import(checkout(&[]).path()).unwrap().files;
    files.insert("pack.toml".to_owned(), "name = \"x\"\nfrom = \"codex\"\n".to_owned());
    let (pack, errors) = Pack::check_user(&files, "/packs/x");
    assert_eq!(errors, []);
    let pack = pack.unwrap();
    assert_eq!(pack.unknown_files(), []);
    for slot in pack.slot_texts().iter().filter(|slot| slot.text.is_some() && !slot.is_users) {
        assert_eq!(slot.upstream, "", "{} has a text upstream", slot.name);
    }
}

#[test]
fn every_way_to_write_a_string_is_read() {
    check_texts(&[
        (
            "tools/exec_command.justification.md",
            "The words of justification, with \\\"these\\\".\n                    And a line.",
        ),
        ("tools/update_plan.md", "The words of\ntools/update_plan.\n"),
        ("tools/wait.timeout_ms.md", "The words of tools/wait.timeout_ms: {default}, {min}, {max}, {}."),
        ("tools/search_tool_bm25.limit.md", "The words of tools/search_tool_bm25.limit: 8."),
        (
            "tools/spawn_agent.agent_type.md",
            "The words of tools/spawn_agent.agent_type, `default`.\nAvailable roles:\n{roles}\n            ",
        ),
        ("tools/request_user_input.md", "The words of tools/request_user_input, in {modes}."),
        (
            "apps/section.md",
            "## Apps\nThe words of apps/section: `[$name](app://{id})` in `{apps_server}`, `{apps_server}`.",
        ),
        (
            "js_repl/section.md",
            "## JavaScript REPL (Node)\n- The words of js_repl/section.\n- With `{\"code\":\"...\"}`.\n- The last.",
        ),
        ("js_repl/section_tools_only.md", "- The words of js_repl/section_tools_only.\n- And more."),
        ("skills/env_question.md", "\"{skill}\" needs \"{name}\" ({description}). The words of skills/env_question."),
        (
            "review/target_base_branch_no_merge_base.md",
            "The words of review/target_base_branch_no_merge_base: `{branch}@{upstream}`.",
        ),
        ("permissions/writable_root_many.md", " The words of permissions/writable_root_many: {roots}."),
        ("personality/intro.md", "The words of personality/intro:"),
        ("tools/js_repl_grammar.lark", "\nstart: /tools.js_repl_grammar/\n"),
    ]);
}

#[test]
fn what_is_missing_is_named_with_where_it_was_looked_for() {
    check_missing(
        &[
            ("codex-rs/core/src/tasks/mod.rs", "TURN_ABORTED_INTERRUPTED_GUIDANCE", "TURN_ABORTED"),
            ("codex-rs/core/src/tools/spec.rs", "fn create_view_image_tool", "fn make_view_image_tool"),
            (
                "codex-rs/core/src/tools/handlers/plan.rs",
                "Some(\"The words of tools/update_plan.plan.\".to_string())",
                "None",
            ),
            ("codex-rs/core/src/tools/handlers/request_user_input.rs", "in {allowed_modes}", "in {modes_of_it}"),
            (
                "codex-rs/core/src/tools/handlers/apply_patch.rs",
                "properties.insert(\"input\"",
                "insert_into(properties, \"input\"",
            ),
            ("codex-rs/core/src/review_prompts.rs", "{mergeBaseSha}.\"", "{mergeBaseSha}."),
        ],
        &expect![[r#"
            review/target_base_branch: codex-rs/core/src/review_prompts.rs, const BASE_BRANCH_PROMPT: line 9: a string cannot be read
            review/target_base_branch_no_merge_base: codex-rs/core/src/review_prompts.rs, const BASE_BRANCH_PROMPT_BACKUP: line 9: a string cannot be read
            review/target_commit: codex-rs/core/src/review_prompts.rs, const COMMIT_PROMPT: line 9: a string cannot be read
            review/target_commit_titled: codex-rs/core/src/review_prompts.rs, const COMMIT_PROMPT_WITH_TITLE: line 9: a string cannot be read
            review/target_uncommitted: codex-rs/core/src/review_prompts.rs, const UNCOMMITTED_PROMPT: line 9: a string cannot be read
            turn/aborted: codex-rs/core/src/tasks/mod.rs, const TURN_ABORTED_INTERRUPTED_GUIDANCE: there is no `const TURN_ABORTED_INTERRUPTED_GUIDANCE`
            tools/apply_patch_function.input: codex-rs/core/src/tools/handlers/apply_patch.rs, fn create_apply_patch_json_tool: there is no description of its parameter `input`
            tools/request_user_input: codex-rs/core/src/tools/handlers/request_user_input.rs, fn request_user_input_tool_description: nothing is known of its placeholder `{modes_of_it}`
            tools/update_plan.plan: codex-rs/core/src/tools/handlers/plan.rs, static PLAN_TOOL: there is no description of its parameter `plan`
            tools/view_image: codex-rs/core/src/tools/spec.rs, fn create_view_image_tool: there is no `fn create_view_image_tool`
            tools/view_image.path: codex-rs/core/src/tools/spec.rs, fn create_view_image_tool: there is no `fn create_view_image_tool`
        "#]],
    );
}

#[test]
fn a_description_made_of_something_else_is_not_guessed() {
    check_missing(
        &[(
            "codex-rs/core/src/tools/handlers/plan.rs",
            "\"The words of tools/update_plan.plan.status.\"",
            "STATUS_WORDS",
        )],
        &expect![[r#"
            tools/update_plan.plan.status: codex-rs/core/src/tools/handlers/plan.rs, static PLAN_TOOL: it is made of `STATUS_WORDS`
        "#]],
    );
}

#[test]
fn lines_that_end_as_on_windows_are_read_like_others() {
    let root = checkout(&[]);
    let path = root.path().join("codex-rs/core/prompt.md");
    fs::write(&path, "one\r\ntwo\r\n").unwrap();
    assert_eq!(import(root.path()).unwrap().files["base/default.md"], "one\ntwo\n");
}

#[test]
fn bad_files_are_named() {
    let root = checkout(&[]);
    fs::write(root.path().join("codex-rs/core/prompt.md"), b"\xff").unwrap();
    fs::remove_file(root.path().join("codex-rs/core/models.json")).unwrap();
    fs::remove_file(root.path().join("codex-rs/core/src/skills/assets/samples/sail/SKILL.md")).unwrap();
    let missing: Vec<String> = import(root.path()).unwrap().missing.iter().map(ToString::to_string).collect();
    assert_eq!(
        missing,
        [
            "base/default: codex-rs/core/prompt.md: the file is not UTF-8",
            "models: codex-rs/core/models.json: No such file or directory (os error 2)",
            "bundled_skills: codex-rs/core/src/skills/assets/samples: there is no folder with a SKILL.md in it",
        ]
    );
}

#[test]
fn a_folder_that_is_no_checkout_is_refused() {
    let root = TempDir::new().unwrap();
    let error = import(root.path()).unwrap_err().to_string();
    assert!(error.ends_with("is not a checkout of the Codex CLI: it has no folder codex-rs"), "{error}");
}
