//! Changes to texts, shown as the resulting text.

use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;

#[track_caller]
fn check_edit(text: &str, edits: &[(&str, ValueEdit)], expected: &Expect) {
    let edits: Result<Vec<_>, _> = edits.iter().map(|(path, change)| Edit::at(path, change.clone())).collect();
    let found = edits.and_then(|edits| apply(text, &edits)).unwrap_or_else(|error| error.to_string());
    expected.assert_eq(&found);
}

fn replace(value: Json) -> ValueEdit {
    ValueEdit::Replace(value)
}

fn merge(value: Json) -> ValueEdit {
    ValueEdit::Merge(value)
}

const TEXT: &str = "\
# My settings.
model = 'o3' # fast

[tui] # what I see
animations = true
# keep this
[features]
sqlite=true
";

#[test]
fn what_is_not_changed_stays_as_it_was_written() {
    check_edit(
        TEXT,
        &[("model", replace(json!("gpt-5"))), ("tui.animations", replace(json!(false)))],
        &expect![[r##"
            # My settings.
            model = "gpt-5" # fast

            [tui] # what I see
            animations = false
            # keep this
            [features]
            sqlite=true
        "##]],
    );
    check_edit(
        TEXT,
        &[("model", replace(json!("o3")))],
        &expect![[r#"
        # My settings.
        model = 'o3' # fast

        [tui] # what I see
        animations = true
        # keep this
        [features]
        sqlite=true
    "#]],
    );
    check_edit(
        TEXT,
        &[("notify", replace(json!(["a", "b"]))), ("tui.show_tooltips", replace(json!(true)))],
        &expect![[r##"
        # My settings.
        model = 'o3' # fast
        notify = ["a", "b"]

        [tui] # what I see
        animations = true
        show_tooltips = true
        # keep this
        [features]
        sqlite=true
    "##]],
    );
}

#[test]
fn tables_are_made_with_one_header() {
    check_edit(
        "",
        &[("features.sqlite", replace(json!(true)))],
        &expect![[r#"
        [features]
        sqlite = true
    "#]],
    );
    check_edit(
        "model = \"x\"",
        &[("profiles.a.model", replace(json!("y")))],
        &expect![[r#"
        model = "x"

        [profiles.a]
        model = "y"
    "#]],
    );
    check_edit(
        "",
        &[("mcp_servers", merge(json!({"foo": {"command": "npx", "args": ["-y", "srv"], "env": {"A": "1"}}})))],
        &expect![[r#"
            [mcp_servers.foo]
            command = "npx"
            args = ["-y", "srv"]

            [mcp_servers.foo.env]
            A = "1"
        "#]],
    );
    check_edit(
        "",
        &[(r#"projects."/a.b".trust_level"#, replace(json!("trusted")))],
        &expect![[r#"
        [projects."/a.b"]
        trust_level = "trusted"
    "#]],
    );
}

#[test]
fn a_merge_keeps_what_it_does_not_name() {
    let text = "[mcp_servers.foo]\ncommand = \"npx\" # mine\nenv = { A = \"1\" }\n";
    check_edit(
        text,
        &[("mcp_servers.foo", merge(json!({"args": ["b"], "env": {"B": "2"}})))],
        &expect![[r#"
            [mcp_servers.foo]
            command = "npx" # mine
            env = { A = "1", B = "2" }
            args = ["b"]
        "#]],
    );
    check_edit(
        text,
        &[("mcp_servers.foo", replace(json!({"url": "http://x"})))],
        &expect![[r#"
        [mcp_servers.foo]
        url = "http://x"
    "#]],
    );
    check_edit(
        text,
        &[("mcp_servers.foo.env.C", replace(json!({"deep": 1})))],
        &expect![[r#"
            [mcp_servers.foo]
            command = "npx" # mine
            env = { A = "1", C = { deep = 1 } }
        "#]],
    );
}

#[test]
fn values_of_all_kinds() {
    check_edit(
        "",
        &[("a", replace(json!([1, "a", {"b": 1.5}, []]))), ("b", replace(json!(-1)))],
        &expect![[r#"
        a = [1, "a", { b = 1.5 }, []]
        b = -1
    "#]],
    );
    check_edit("", &[("a", replace(json!({"b": null})))], &expect!["`a.b` cannot be set: null is not a value of TOML"]);
    check_edit("", &[("a", replace(json!(u64::MAX)))], &expect!["`a` cannot be set: the number is too large"]);
}

#[test]
fn clearing() {
    check_edit(
        TEXT,
        &[("features.sqlite", ValueEdit::Clear), ("model", ValueEdit::Clear)],
        &expect![[r#"

        [tui] # what I see
        animations = true
        # keep this
        [features]
    "#]],
    );
    check_edit(
        TEXT,
        &[("features", ValueEdit::Clear), ("nothing", ValueEdit::Clear)],
        &expect![[r#"
        # My settings.
        model = 'o3' # fast

        [tui] # what I see
        animations = true
    "#]],
    );
    check_edit(TEXT, &[("nothing.here", ValueEdit::Clear)], &expect!["there is no `nothing`"]);
    check_edit(TEXT, &[("model.here", ValueEdit::Clear)], &expect!["there is no `model`"]);
}

#[test]
fn what_cannot_be_done() {
    check_edit(TEXT, &[("", replace(json!(1)))], &expect!["the path of a key must not be empty"]);
    check_edit(
        TEXT,
        &[("model.x", replace(json!(1)))],
        &expect!["`model` is not a table, so nothing can be set in it"],
    );
    check_edit("a = [", &[("b", replace(json!(1)))], &expect!["the file is not TOML: unclosed array, expected `]`"]);
}

#[track_caller]
fn check_switch(text: &str, enabled: bool, expected: &Expect) {
    expected.assert_eq(&switch_skill(text, "/s/SKILL.md", enabled, &|path| path == "/s/SKILL.md").unwrap());
}

#[test]
fn only_switched_off_skills_are_written_down() {
    check_switch(
        "model = \"x\"\n",
        false,
        &expect![[r#"
        model = "x"

        [[skills.config]]
        path = "/s/SKILL.md"
        enabled = false
    "#]],
    );
    check_switch(
        "model = \"x\"\n",
        true,
        &expect![[r#"
        model = "x"
    "#]],
    );
    check_switch("[[skills.config]]\npath = \"/s/SKILL.md\"\nenabled = false\n", true, &expect![[""]]);
    check_switch(
        "[[skills.config]]\npath = \"/other/SKILL.md\" # mine\nenabled = false\n\n[[skills.config]]\npath = \"/s/SKILL.md\"\nenabled = true\n",
        false,
        &expect![[r#"
            [[skills.config]]
            path = "/other/SKILL.md" # mine
            enabled = false

            [[skills.config]]
            path = "/s/SKILL.md"
            enabled = false
        "#]],
    );
    check_switch(
        "skills = { config = [{ path = \"/other\", enabled = false }] }\n",
        false,
        &expect![[r#"
            [[skills.config]]
            path = "/other"
            enabled = false

            [[skills.config]]
            path = "/s/SKILL.md"
            enabled = false
        "#]],
    );
}
