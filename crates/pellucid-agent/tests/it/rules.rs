//! Which rules about commands count, and that the model is told of those that allow.

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::gather;
use pellucid_agent::gather::FactSources;
use pellucid_agent::rules;
use pellucid_config::Env;
use pellucid_config::LoadOptions;
use pellucid_config::SystemPaths;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::SessionSettings;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::update;
use pellucid_engine::update::FactsChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_testkit::Workspace;

const PROJECT: &str = "prefix_rule(pattern=['make'])\nprefix_rule(pattern=['rm'], decision='forbidden')\n";

/// Loads `home/` and the project `work/`, with this configuration of the user.
#[track_caller]
fn check_rules(config: &str, files: &[(&str, &str)], expected: &Expect) {
    let workspace = Workspace::new("");
    let root = workspace.root().display().to_string();
    let (home, work) = (workspace.folder("home"), workspace.folder("work"));
    workspace.git("work");
    workspace.write("home/config.toml", config.replace("$R", &root));
    for (path, text) in files {
        workspace.write(path, text);
    }
    let mut options = LoadOptions::new(work, home, Env::from_pairs([]));
    options.system = SystemPaths::in_folder(&workspace.folder("etc"));
    let config = pellucid_config::load(&options).unwrap();
    let found = match rules::load(&config) {
        Ok(policy) => {
            let mut found: String = policy.rules.iter().map(|rule| format!("{}: {rule}\n", rule.place)).collect();
            found.extend(policy.ignored.iter().map(|rule| format!("ignored {}\n", rule.place)));
            let sources = FactSources::new(config, Env::from_pairs([])).with_policy(policy);
            format!("{found}told: {:?}\n", gather::gather(&sources).facts.settings.approved_prefixes)
        }
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&found.replace(&root, "ROOT"));
}

#[test]
fn rules_of_all_layers_count() {
    let trusted = "[projects.\"$R/work\"]\ntrust_level = \"trusted\"\n";
    check_rules(
        trusted,
        &[
            ("etc/rules/s.rules", "prefix_rule(pattern=['sudo'], decision='forbidden')"),
            ("home/rules/u.rules", "prefix_rule(pattern=['git', 'pull'])"),
            ("work/.codex/rules/p.rules", PROJECT),
            ("etc/requirements.toml", "[rules]\nprefix_rules = [{pattern = [{token = 'dd'}], decision = 'prompt'}]\n"),
        ],
        &expect![[r#"
            requirements.toml, rule 1: prefix_rule(pattern=["dd"], decision="prompt")
            ROOT/home/rules/u.rules:1: prefix_rule(pattern=["git", "pull"], decision="allow")
            ROOT/work/.codex/rules/p.rules:1: prefix_rule(pattern=["make"], decision="allow")
            ROOT/work/.codex/rules/p.rules:2: prefix_rule(pattern=["rm"], decision="forbidden")
            ROOT/etc/rules/s.rules:1: prefix_rule(pattern=["sudo"], decision="forbidden")
            told: [[Word("git"), Word("pull")], [Word("make")]]
        "#]],
    );
}

#[test]
fn a_project_that_is_not_trusted_can_forbid_but_not_allow() {
    check_rules(
        "",
        &[("work/.codex/rules/p.rules", PROJECT)],
        &expect![[r#"
        ROOT/work/.codex/rules/p.rules:2: prefix_rule(pattern=["rm"], decision="forbidden")
        ignored ROOT/work/.codex/rules/p.rules:1
        told: []
    "#]],
    );
    let untrusted = "[projects.\"$R/work\"]\ntrust_level = \"untrusted\"\n";
    check_rules(
        untrusted,
        &[("work/.codex/rules/p.rules", PROJECT)],
        &expect![[r#"
        ROOT/work/.codex/rules/p.rules:2: prefix_rule(pattern=["rm"], decision="forbidden")
        ignored ROOT/work/.codex/rules/p.rules:1
        told: []
    "#]],
    );
    let with_config = [("work/.codex/rules/p.rules", PROJECT), ("work/.codex/config.toml", "model = 'x'\n")];
    check_rules(
        untrusted,
        &with_config,
        &expect![[r#"
        told: []
    "#]],
    );
}

#[test]
fn the_administrator_cannot_allow() {
    let allow = "[rules]\nprefix_rules = [{pattern = [{token = 'dd'}], decision = 'allow'}]\n";
    check_rules(
        "",
        &[("etc/requirements.toml", allow)],
        &expect![[r#"
        requirements.toml: rule 1 of `rules.prefix_rules`: it cannot allow; write "prompt" or "forbidden"
    "#]],
    );
}

#[test]
fn a_prefix_that_is_saved_meanwhile_is_told_with_the_next_permissions() {
    let workspace = Workspace::new("//- home/rules/u.rules\nprefix_rule(pattern=['git', 'pull'])\n");
    let (home, work) = (workspace.folder("home"), workspace.folder("work"));
    let mut options = LoadOptions::new(work, home, Env::from_pairs([]));
    options.system = SystemPaths::in_folder(&workspace.folder("etc"));
    let config = pellucid_config::load(&options).unwrap();
    let policy = rules::load(&config).unwrap();
    let mut gathered = gather::gather(&FactSources::new(config, Env::from_pairs([])).with_policy(policy));
    let before = gathered.facts.clone();
    for prefix in [["touch", "a.txt"], ["git", "pull"], ["touch", "a.txt"]] {
        gathered.allow(&prefix.map(str::to_owned));
    }
    let pack = Pack::builtin("codex").unwrap();
    let told = |before: &Facts, after: &Facts| {
        let change = FactsChange { pack: &pack, before, after, previous_model: None };
        update::updates(&change).messages.iter().map(|message| concat(&message.fragments)).collect::<String>()
    };
    // Nothing is told anew only because of it.
    assert_eq!(told(&before, &gathered.facts), "");
    let with = |facts: &Facts, approval_policy| Facts {
        settings: SessionSettings { approval_policy, ..facts.settings.clone() },
        ..facts.clone()
    };
    let text = told(&with(&before, ApprovalPolicy::Untrusted), &with(&gathered.facts, ApprovalPolicy::OnRequest));
    let list: Vec<_> = text.lines().filter_map(|line| line.find("- [\"").map(|at| &line[at..])).collect();
    expect![[r#"
        - ["git", "pull"]
        - ["touch", "a.txt"]"#]]
    .assert_eq(&list.join("\n"));
}
