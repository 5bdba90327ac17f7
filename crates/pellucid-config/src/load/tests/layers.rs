//! Layers, profiles, projects and trust.

use super::*;

fn logs(config: &Config) -> String {
    config.folders.logs.as_deref().map(Path::display).map(|it| it.to_string()).unwrap_or_default()
}

#[test]
fn layers_from_weak_to_strong() {
    world(&[
        ("etc/config.toml", "model = 'system'\nreview_model = 'system'\nfile_opener = 'cursor'\nnotify = ['s']\n"),
        ("home/config.toml", "review_model = 'user'\nnotify = ['u']\n[projects.'$R/work']\ntrust_level = 'trusted'\n"),
        ("work/.codex/config.toml", "# ours\nnotify = ['p', 'q']\nlog_dir = 'logs'\n"),
        ("etc/managed_config.toml", "hide_agent_reasoning = true\n"),
    ])
    .accepted()
    .flags(&["hide_agent_reasoning=false", "log_dir=elsewhere"])
    .check(
        origins(&[
            "model",
            "file_opener",
            "review_model",
            "notify",
            "log_dir",
            "hide_agent_reasoning",
            "compact_prompt",
        ]),
        &expect![[r#"
            model = "system" from model in $R/etc/config.toml:1
            file_opener = "cursor" from file_opener in $R/etc/config.toml:3
            review_model = "user" from review_model in $R/home/config.toml:1
            notify = ["p","q"] from notify in $R/work/.codex/config.toml:2
            log_dir = "$R/work/elsewhere" from log_dir in the command line
            hide_agent_reasoning = true from hide_agent_reasoning in $R/etc/managed_config.toml:1
            compact_prompt =  from 
        "#]],
    );
}

#[test]
fn nothing_at_all_is_a_configuration() {
    world(&[]).check(
        |config| format!("{:?} {} {}", config.model.slug, config.model.provider_id, logs(config)),
        &expect!["None openai "],
    );
}

#[test]
fn a_profile_is_stronger_than_the_top_wherever_that_comes_from() {
    let user = "model = 'top'\n[projects.'$R/work']\ntrust_level = 'trusted'\n[profiles.p]\nmodel = 'profile'\n";
    let files = [("home/config.toml", user), ("work/.codex/config.toml", "model = 'project'\n")];
    let model = origins(&["model"]);
    world(&files).check(
        model,
        &expect![[r#"
        model = "project" from model in $R/work/.codex/config.toml:1
    "#]],
    );
    world(&files).harness(|harness| harness.profile = Some("p".to_owned())).check(
        origins(&["model"]),
        &expect![[r#"
            model = "profile" from profiles.p.model in $R/home/config.toml:5
        "#]],
    );
    world(&files).flags(&["profile=p", "model=flag"]).check(
        origins(&["model", "profile"]),
        &expect![[r#"
            model = "profile" from profiles.p.model in $R/home/config.toml:5
            profile = "p" from profile in the command line
        "#]],
    );
    world(&files).flags(&["profile=p", "profiles.p.model=flag"]).check(
        origins(&["model"]),
        &expect![[r#"
            model = "flag" from profiles.p.model in the command line
        "#]],
    );
    world(&files)
        .flags(&["profile=p"])
        .harness(|harness| harness.model = Some("caller".to_owned()))
        .check(|config| format!("{:?}", config.model.slug), &expect![[r#"Some("caller")"#]]);
}

#[test]
fn a_profile_sets_only_what_it_may() {
    check_user(
        "[profiles.p]\nnotify = ['x']\nmodel_verbosity = 'low'\n[profiles.p.analytics]\nenabled = false\n",
        &["profile=p"],
        |config| {
            format!(
                "{:?} {:?} {:?}\n{}",
                config.records.notify,
                config.model.verbosity,
                config.value("analytics.enabled").is_some(),
                warnings(config)
            )
        },
        &expect![[r#"
            None Some(Low) true
            unknown key `profiles.p.notify` in $R/home/config.toml:2 (did you mean `notify`?)
        "#]],
    );
}

#[test]
fn projects_are_read_from_the_root_down_if_trusted() {
    let files = [
        ("work/.git/HEAD", ""),
        ("work/.codex/config.toml", "model = 'root'\nreview_model = 'root'\n"),
        ("work/a/.codex/config.toml", "model = 'a'\n"),
        ("work/a/b/.codex/skills/x", ""),
        ("home/config.toml", "[projects.'$R/work']\ntrust_level = 'trusted'\n"),
    ];
    world(&files).cwd("work/a/b/c").check(
        layer_list,
        &expect![[r#"
            System $R/etc/config.toml {}
            User $R/home/config.toml {"projects":{"$R/work":{"trust_level":"trusted"}}}
            Project $R/work/.codex/config.toml {"model":"root","review_model":"root"}
            Project $R/work/a/.codex/config.toml {"model":"a"}
            Project $R/work/a/b/.codex/config.toml {}
            Flags  {}
            Managed $R/etc/managed_config.toml {}
        "#]],
    );
    world(&files).cwd("work/a/b/c").check(
        origins(&["model", "review_model"]),
        &expect![[r#"
            model = "a" from model in $R/work/a/.codex/config.toml:1
            review_model = "root" from review_model in $R/work/.codex/config.toml:2
        "#]],
    );
}

#[test]
fn layers_of_other_projects_are_kept_but_off() {
    let files = [
        ("work/.git/HEAD", ""),
        ("work/.codex/config.toml", "model = 'root'\nmodle = 1\n"),
        ("work/a/.codex/config.toml", "model = \n"),
    ];
    let show =
        |config: &Config| format!("{:?} {:?}\n{}", config.model.slug, config.noticed.warnings, layer_list(config));
    world(&files).cwd("work/a").check(
        show,
        &expect![[r#"
            None []
            System $R/etc/config.toml {}
            User $R/home/config.toml {}
            Project $R/work/.codex/config.toml {"model":"root","modle":1}
              off: $R/work has no trust level; set `trust_level = "trusted"` under `[projects."$R/work"]` in $R/home/config.toml to use this file
            Project $R/work/a/.codex/config.toml {}
              off: $R/work has no trust level; set `trust_level = "trusted"` under `[projects."$R/work"]` in $R/home/config.toml to use this file
            Flags  {}
            Managed $R/etc/managed_config.toml {}
        "#]],
    );
    world(&files).cwd("work/a").flags(&["projects={'$R/work'={trust_level='untrusted'}}"]).check(
        |config| layer_list(config).lines().filter(|line| line.contains("off:")).take(1).collect(),
        &expect![[
            r#"  off: $R/work is marked as untrusted in $R/home/config.toml; set `trust_level = "trusted"` under `[projects."$R/work"]` there to use this file"#
        ]],
    );
}

#[test]
fn the_nearest_decision_counts() {
    let files = [
        ("work/.git/HEAD", ""),
        ("work/a/.codex/config.toml", "model = 'a'\n"),
        (
            "home/config.toml",
            "[projects.'$R/work']\ntrust_level = 'untrusted'\n[projects.'$R/work/a']\ntrust_level = 'trusted'\n",
        ),
    ];
    let model = |config: &Config| format!("{:?} {:?}", config.model.slug, config.permissions.trust);
    world(&files).cwd("work/a/b").check(model, &expect![[r#"Some("a") Some(Untrusted)"#]]);
    world(&files).cwd("work/a").check(model, &expect![[r#"Some("a") Some(Trusted)"#]]);
}

#[test]
fn a_worktree_is_trusted_like_its_repository() {
    let files = [
        ("main/.git/HEAD", ""),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("work/.git", "gitdir: $R/main/.git/worktrees/w\n"),
        ("work/.codex/config.toml", "model = 'w'\n"),
        ("home/config.toml", "[projects.'$R/main']\ntrust_level = 'trusted'\n"),
    ];
    let shown = |config: &Config| format!("{:?} {:?}", config.model.slug, config.permissions.trust);
    let listed = [&files[..], &[("main/.git/worktrees/w/gitdir", "$R/work/.git\n")]].concat();
    world(&listed).check(shown, &expect![[r#"Some("w") Some(Trusted)"#]]);
    world(&files).check(shown, &expect!["None None"]);
}

#[test]
fn markers_say_where_a_project_begins() {
    let files = [
        ("work/.hg/x", ""),
        ("work/.codex/config.toml", "model = 'root'\nproject_root_markers = ['.never']\n"),
        ("home/config.toml", "[projects.'$R/work']\ntrust_level = 'trusted'\n"),
    ];
    let show = |config: &Config| {
        format!("{:?} {} {:?}", config.model.slug, config.folders.project_root.display(), config.permissions.trust)
    };
    world(&files)
        .cwd("work/a")
        .flags(&["project_root_markers=['.hg']"])
        .check(show, &expect![[r#"Some("root") $R/work None"#]]);
    world(&files).cwd("work/a").flags(&["project_root_markers=[]"]).check(show, &expect!["None $R/work/a None"]);
    world(&files).cwd("work/a").flags(&["project_root_markers=['.none']"]).check(show, &expect!["None $R/work/a None"]);
}

#[test]
fn the_home_folder_is_no_project_folder() {
    let mut world =
        world(&[("user/.codex/config.toml", "model = 'home'\n[projects.'$R/user']\ntrust_level = 'trusted'\n")]);
    world.options.home = world.root.join("user/.codex");
    world.cwd("user").check(
        |config| config.layers().iter().map(|layer| format!("{:?} ", layer.source)).collect(),
        &expect!["System User Flags Managed "],
    );
}

#[test]
fn paths_start_at_their_file() {
    world(&[
        ("home/config.toml", "log_dir = 'l/../logs'\n[projects.'$R/work']\ntrust_level = 'trusted'\n[agents.x]\nconfig_file = '~/x.toml'\n"),
        ("work/.codex/config.toml", "[sandbox_workspace_write]\nwritable_roots = ['a', '../b', '/c']\n"),
    ])
    .accepted()
    .check(
        |config| {
            format!(
                "{}\n{:?}\n{:?}",
                logs(config),
                config.value("sandbox_workspace_write.writable_roots").unwrap().to_json(),
                config.tools.agent_roles["x"].config_file
            )
        },
        &expect![[r#"
            $R/home/logs
            Array [String("$R/work/.codex/a"), String("$R/work/b"), String("/c")]
            Some("$R/user/x.toml")"#]],
    );
}

#[test]
fn a_weaker_value_of_the_wrong_type_does_no_harm() {
    check_user(
        "model = 5\n",
        &["model=ok"],
        origins(&["model"]),
        &expect![[r#"
        model = "ok" from model in the command line
    "#]],
    );
}

#[test]
fn the_pack_is_not_for_projects() {
    let files = [
        ("work/.codex/config.toml", "pack = 'evil'\n"),
        ("home/config.toml", "[projects.'$R/work']\ntrust_level = 'trusted'\n"),
    ];
    let show = |config: &Config| format!("{}\n{}", config.prompt.pack, warnings(config));
    world(&files).check(
        show,
        &expect![[r#"
            codex
            key `pack` in $R/work/.codex/config.toml:1 is ignored: a project may not set it
        "#]],
    );
    world(&files).flags(&["pack=ads"]).check(|config| config.prompt.pack.clone(), &expect!["ads"]);
}

#[test]
fn the_folder_of_a_pack_starts_where_it_is_written() {
    let show = |config: &Config| config.prompt.pack.clone();
    let user = |pack: &str| world(&[("home/config.toml", &format!("pack = '{pack}'\n"))]);
    user("mine").check(show, &expect!["mine"]);
    user("./mine").check(show, &expect!["$R/home/mine"]);
    user("packs/mine").check(show, &expect!["$R/home/packs/mine"]);
    user("mine").flags(&["pack=../mine"]).check(show, &expect!["$R/mine"]);
}

#[test]
fn a_role_is_stronger_than_the_user_and_its_flags() {
    let mut world = world(&[("home/config.toml", "model = 'user'\n"), ("home/role.toml", "model = 'role'\n")])
        .flags(&["model=flag"]);
    world.options.role_file = Some(world.root.join("home/role.toml"));
    world.check(
        origins(&["model"]),
        &expect![[r#"
        model = "role" from model in $R/home/role.toml:1
    "#]],
    );
    world.options.role_file = Some(world.root.join("home/none.toml"));
    world.check(origins(&["model"]), &expect!["failed to read config file $R/home/none.toml: entity not found"]);
}
