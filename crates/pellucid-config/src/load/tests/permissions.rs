//! Sandbox, approval, web search and requirements.

use super::*;
use crate::config::Permissions;

fn shown(config: &Config) -> String {
    let Permissions { approval_policy, sandbox_mode, .. } = &config.permissions;
    let mut text = format!("{approval_policy} {sandbox_mode}");
    for disallowed in &config.noticed.disallowed {
        let _ = write!(text, "\n{disallowed}");
    }
    text
}

#[test]
fn without_a_choice_trust_decides() {
    let trust = |level| format!("[projects.'$R/work']\ntrust_level = '{level}'\n");
    check_user("", &[], shown, &expect!["on-request read-only"]);
    check_user(&trust("trusted"), &[], shown, &expect!["on-request workspace-write"]);
    check_user(&trust("untrusted"), &[], shown, &expect!["untrusted workspace-write"]);
    check_user(&trust("untrusted"), &["sandbox_mode=read-only"], shown, &expect!["untrusted read-only"]);
    check_user("[projects.'$R/work']\n", &[], shown, &expect!["on-request read-only"]);
}

#[test]
fn the_caller_then_the_profile_then_the_top() {
    let text = "sandbox_mode = 'workspace-write'\napproval_policy = 'untrusted'\n[profiles.p]\nsandbox_mode = 'danger-full-access'\n";
    check_user(text, &[], shown, &expect!["untrusted workspace-write"]);
    check_user(text, &["profile=p"], shown, &expect!["untrusted danger-full-access"]);
    world(&[("home/config.toml", text)])
        .flags(&["profile=p"])
        .harness(|harness| {
            harness.sandbox_mode = Some(SandboxMode::ReadOnly);
            harness.approval_policy = Some(ApprovalPolicy::Never);
        })
        .check(shown, &expect!["never read-only"]);
}

#[test]
fn the_sandbox_protects_unless_its_user_says_otherwise() {
    let sandbox = |config: &Config| {
        let Permissions { sandbox_backend, sandbox_protect, .. } = &config.permissions;
        format!("{sandbox_backend} {sandbox_protect} {:?}", config.noticed.warnings)
    };
    check_user("", &[], sandbox, &expect!["auto true []"]);
    let text = "sandbox_protect = false\nsandbox_backend = 'landlock'\n";
    check_user(text, &[], sandbox, &expect!["landlock false []"]);
    check_user("", &["features.use_linux_sandbox_bwrap=true"], sandbox, &expect!["bubblewrap true []"]);
    let trust = "[projects.'$R/work']\ntrust_level = 'trusted'\n";
    world(&[("home/config.toml", trust), ("work/.codex/config.toml", text)]).check(sandbox, &expect![[r#"auto true [NotForProjects { key: "sandbox_protect", place: Location { source: Project, file: Some("$R/work/.codex/config.toml"), line: Some(1) } }, NotForProjects { key: "sandbox_backend", place: Location { source: Project, file: Some("$R/work/.codex/config.toml"), line: Some(2) } }]"#]]);
}

#[test]
fn workspace_write_has_parameters() {
    let text =
        "[sandbox_workspace_write]\nwritable_roots = ['/z', '/a']\nnetwork_access = true\nexclude_slash_tmp = true\n";
    let policy = |config: &Config| format!("{:?}", config.permissions.sandbox_policy);
    let add_dirs = |mode| {
        world(&[("home/config.toml", text)]).flags(&[mode]).harness(|harness| {
            harness.additional_writable_roots = vec!["sub".into(), "../x".into(), "/a".into(), "sub".into()];
        })
    };
    add_dirs("sandbox_mode=workspace-write").check(
        policy,
        &expect![[
            r#"WorkspaceWrite { writable_roots: ["/z", "/a", "$R/work/sub", "$R/x"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: true }"#
        ]],
    );
    add_dirs("sandbox_mode=read-only").check(policy, &expect!["ReadOnly"]);
    add_dirs("sandbox_mode=danger-full-access").check(policy, &expect!["DangerFullAccess"]);
}

#[test]
fn requirements_bound_what_is_chosen() {
    let allowed = [(
        "etc/requirements.toml",
        "allowed_approval_policies = ['untrusted', 'on-failure']\nallowed_sandbox_modes = ['read-only']\nallowed_web_search_modes = ['live']\n",
    )];
    world(&allowed).check(shown, &expect!["untrusted read-only"]);
    world(&allowed)
        .flags(&["sandbox_mode=workspace-write", "web_search=cached"])
        .harness(|harness| harness.approval_policy = Some(ApprovalPolicy::Never))
        .check(
            |config| format!("{}\n{}", config.tools.web_search, shown(config)),
            &expect![[r#"
                live
                untrusted read-only
                `approval_policy` is `untrusted` and not `never` as configured: $R/etc/requirements.toml allows only untrusted, on-failure
                `sandbox_mode` is `read-only` and not `workspace-write` as configured: $R/etc/requirements.toml allows only read-only
                `web_search` is `live` and not `cached` as configured: $R/etc/requirements.toml allows only live, disabled"#]],
        );
    world(&allowed).flags(&["approval_policy=on-failure"]).check(shown, &expect!["on-failure read-only"]);
}

#[test]
fn managed_configuration_fills_what_requirements_leave_open() {
    let managed = ("etc/managed_config.toml", "approval_policy = 'on-request'\nsandbox_mode = 'workspace-write'\n");
    world(&[managed])
        .harness(|harness| {
            harness.approval_policy = Some(ApprovalPolicy::Never);
            harness.sandbox_mode = Some(SandboxMode::DangerFullAccess);
        })
        .check(
            shown,
            &expect![[r#"
                on-request read-only
                `approval_policy` is `on-request` and not `never` as configured: $R/etc/managed_config.toml allows only on-request
                `sandbox_mode` is `read-only` and not `danger-full-access` as configured: $R/etc/managed_config.toml allows only read-only, workspace-write"#]],
        );
    world(&[managed, ("etc/requirements.toml", "allowed_approval_policies = ['never']\n")])
        .check(shown, &expect![[r#"
            never workspace-write
            `approval_policy` is `never` and not `on-request` as configured: $R/etc/requirements.toml allows only never"#]]);
}

#[test]
fn web_search_by_setting_and_by_old_features() {
    let mode = |config: &Config| {
        let full = config.web_search_under(&pellucid_protocol::settings::SandboxPolicy::DangerFullAccess);
        format!("{} {full}", config.tools.web_search)
    };
    check_user("", &[], mode, &expect!["cached live"]);
    check_user("", &["web_search=live"], mode, &expect!["live live"]);
    check_user("", &["web_search=cached"], mode, &expect!["cached live"]);
    check_user("", &["web_search=disabled"], mode, &expect!["disabled disabled"]);
    check_user("", &["features.web_search_request=true"], mode, &expect!["live live"]);
    check_user(
        "",
        &["features.web_search_request=true", "features.web_search_cached=true"],
        mode,
        &expect!["cached live"],
    );
    check_user("", &["tools.web_search=true"], mode, &expect!["live live"]);
    check_user(
        "web_search = 'live'\n[profiles.p]\nweb_search = 'disabled'\n",
        &["profile=p"],
        mode,
        &expect!["disabled disabled"],
    );
    world(&[("etc/requirements.toml", "allowed_web_search_modes = ['cached']\n")])
        .check(mode, &expect!["cached cached"]);
    world(&[("etc/requirements.toml", "allowed_web_search_modes = []\n")]).check(mode, &expect!["disabled disabled"]);
}

#[test]
fn forbidden_mcp_servers_are_off() {
    world(&[
        (
            "home/config.toml",
            "[mcp_servers]\na = {command = 'x'}\nb = {command = 'other'}\nc = {url = 'u'}\nd = {url = 'u'}\n",
        ),
        (
            "etc/requirements.toml",
            "[mcp_servers]\na.identity.command = 'x'\nb.identity.command = 'x'\nc.identity.url = 'u'\n",
        ),
    ])
    .check(
        |config| {
            let servers = config.tools.mcp_servers.iter();
            servers.map(|(name, server)| format!("{name} {} {:?}\n", server.enabled, server.disabled_reason)).collect()
        },
        &expect![[r#"
            a true None
            b false Some("requirements ($R/etc/requirements.toml)")
            c true None
            d false Some("requirements ($R/etc/requirements.toml)")
        "#]],
    );
}
