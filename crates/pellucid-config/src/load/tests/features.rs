//! Features, old spellings, and unknown keys.

use super::*;

/// Shows what differs from the defaults, then notices.
fn shown(config: &Config) -> String {
    let mut text = String::new();
    for feature in Feature::ALL {
        let on = config.features.is_on(*feature);
        if on != feature.default_on() {
            let _ = writeln!(text, "{}{}", if on { "+" } else { "-" }, feature.key());
        }
    }
    for deprecation in &config.noticed.deprecations {
        let _ = writeln!(text, "{}", deprecation.summary);
    }
    if let Some(warning) = config.unstable_features_warning() {
        let _ = writeln!(text, "{warning}");
    }
    text
}

#[test]
fn the_profile_is_stronger_and_the_caller_strongest() {
    let text =
        "[features]\nundo = true\nshell_tool = false\n[profiles.p.features]\nshell_tool = true\nmulti_agent = true\n";
    check_user(
        text,
        &[],
        shown,
        &expect![[r#"
        +undo
        -shell_tool
    "#]],
    );
    check_user(
        text,
        &["profile=p"],
        shown,
        &expect![[r#"
        +undo
        +multi_agent
    "#]],
    );
    world(&[("home/config.toml", text)])
        .flags(&["profile=p"])
        .harness(|harness| {
            harness.features.insert(Feature::MultiAgent, false);
        })
        .check(
            shown,
            &expect![[r#"
            +undo
        "#]],
        );
}

#[test]
fn old_spellings_work_and_are_told() {
    check_user(
        "experimental_use_unified_exec_tool = false\n[features]\ncollab = true\nconnectors = false\n",
        &["experimental_use_freeform_apply_patch=true"],
        shown,
        &expect![[r#"
            -unified_exec
            +apply_patch_freeform
            +multi_agent
            `collab` is deprecated: use `[features].multi_agent`
            `connectors` is deprecated: use `[features].apps`
            `experimental_use_freeform_apply_patch` is deprecated: use `[features].apply_patch_freeform`
            `experimental_use_unified_exec_tool` is deprecated: use `[features].unified_exec`
        "#]],
    );
    check_user(
        "[profiles.p]\ninclude_apply_patch_tool = true\ntools_web_search = true\n[profiles.p.features]\ncollab = true\n",
        &["profile=p"],
        shown,
        &expect![[r#"
            +web_search_request
            +apply_patch_freeform
            +multi_agent
            `[tools].web_search` is deprecated: web search is on without it
            `collab` is deprecated: use `[features].multi_agent`
            `include_apply_patch_tool` is deprecated: use `[features].apply_patch_freeform`
        "#]],
    );
    check_user(
        "experimental_instructions_file = 'x'\n",
        &["features.web_search_cached=false", "features.web_search=false", "tools.web_search_request=false"],
        shown,
        &expect![[r#"
            `[features].web_search` is deprecated: web search is on without it
            `[features].web_search_cached` is deprecated: web search is on without it
            `[tools].web_search` is deprecated: web search is on without it
            `experimental_instructions_file` is deprecated and ignored: use `model_instructions_file`
        "#]],
    );
}

#[test]
fn an_alias_gives_way_to_its_feature() {
    check_user(
        "",
        &["features.multi_agent=false", "features.collab=true"],
        shown,
        &expect![[r#"
        `collab` is deprecated: use `[features].multi_agent`
    "#]],
    );
}

#[test]
fn features_under_development_are_told() {
    check_user(
        "",
        &["features.sqlite=true", "features.js_repl=true", "features.js_repl_tools_only=true", "features.apps=true"],
        shown,
        &expect![[r#"
            +js_repl
            +js_repl_tools_only
            +sqlite
            +apps
            Features under development are on: js_repl, js_repl_tools_only, sqlite. They are unfinished and may behave unexpectedly. To hide this warning, write `suppress_unstable_features_warning = true` in $R/home/config.toml.
        "#]],
    );
    check_user(
        "suppress_unstable_features_warning = true\n",
        &["features.sqlite=true"],
        shown,
        &expect![[r#"
        +sqlite
    "#]],
    );
    check_user("", &["features.js_repl_tools_only=true", "features.sqlite=false"], shown, &expect![""]);
}

#[test]
fn keys_that_nobody_reads_are_told_with_what_was_meant() {
    let text = "\
modle = 'x'
network_access = true
something_else_entirely = 1

[features]
sqlit = true
nothing_like_it_at_all = true

[model_providers.mine]
name = 'Mine'
baseurl = 'x'

[profiles.p]
model_verbosty = 'low'

[[skills.config]]
path = 'x'
enabled = true
why = 1
";
    check_user(
        text,
        &["notifi=1"],
        warnings,
        &expect![[r#"
            unknown key `modle` in $R/home/config.toml:1 (did you mean `model`?)
            unknown key `network_access` in $R/home/config.toml:2 (did you mean `sandbox_workspace_write.network_access`?)
            unknown key `something_else_entirely` in $R/home/config.toml:3
            unknown feature `sqlit` in $R/home/config.toml:6 (did you mean `sqlite`?)
            unknown feature `nothing_like_it_at_all` in $R/home/config.toml:7
            unknown key `model_providers.mine.baseurl` in $R/home/config.toml:11 (did you mean `model_providers.mine.base_url`?)
            unknown key `profiles.p.model_verbosty` in $R/home/config.toml:14 (did you mean `profiles.p.model_verbosity`?)
            unknown key `skills.config.why` in $R/home/config.toml:19
            unknown key `notifi` in the command line (did you mean `notify`?)
        "#]],
    );
}
