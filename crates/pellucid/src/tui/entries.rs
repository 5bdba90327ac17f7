//! The entries of menus: models, features, skills, branches, commits, stored sessions.

use pellucid_agent::gather;
use pellucid_agent::own_git;
use pellucid_agent::skills;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_git::history;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::FeatureStage;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_store::query::Query;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_tasks::Task;
use pellucid_tui::host::Menu;
use pellucid_tui::host::MenuEntry;
use serde_json::Value;
use serde_json::json;

/// How many commits are listed.
const COMMITS_MAX: usize = 100;

/// How many sessions are listed.
const SESSIONS_MAX: usize = 500;

/// The entries of a menu, or why there are none. Sessions are those of one provider.
pub async fn of(menu: Menu, config: &Config, env: &Env, provider_id: &str) -> Result<Vec<MenuEntry>, String> {
    match menu {
        Menu::Models => Ok(models(config)),
        Menu::Features => Ok(features(config)),
        Menu::Skills => Ok(switches(config, env)),
        Menu::Sessions { everywhere } => Ok(sessions(config, provider_id, everywhere)),
        Menu::Branches | Menu::Commits => {
            let (git, cwd) = (own_git::of(config, env), config.folders.cwd.clone());
            let asked = Task::blocking("asking git", move || match menu {
                Menu::Branches => {
                    history::branches(&git, &cwd).map(|names| names.iter().map(|it| branch(it)).collect())
                }
                _ => history::newest_commits(&git, &cwd, COMMITS_MAX)
                    .map(|commits| commits.iter().map(commit).collect::<Vec<MenuEntry>>()),
            });
            asked.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        }
    }
}

fn entry(id: &str, label: &str, about: &str) -> MenuEntry {
    MenuEntry { id: id.to_owned(), label: label.to_owned(), about: about.to_owned(), is_on: false, detail: Value::Null }
}

fn branch(name: &str) -> MenuEntry {
    entry(name, name, "")
}

fn commit(commit: &history::ListedCommit) -> MenuEntry {
    let short: String = commit.id.chars().take(7).collect();
    MenuEntry { detail: json!(commit.title), ..entry(&commit.id, &format!("{} {short}", commit.title), "") }
}

fn models(config: &Config) -> Vec<MenuEntry> {
    let catalogue = gather::catalogue(&config.folders.home);
    let current = config.model.slug.clone().unwrap_or_else(|| catalogue.default_model().to_owned());
    let mut listed: Vec<_> =
        catalogue.models().iter().filter(|model| model.visibility == ModelVisibility::List).collect();
    listed.sort_by_key(|model| model.priority);
    let one = |model: &&pellucid_protocol::model::ModelInfo| {
        let levels = model.supported_reasoning_levels.iter();
        let efforts: Vec<Value> =
            levels.map(|level| json!({ "effort": level.effort.as_str(), "about": level.description })).collect();
        MenuEntry {
            is_on: model.slug == current,
            detail: json!({ "efforts": efforts, "usual": model.default_reasoning_level.map(ReasoningEffort::as_str) }),
            ..entry(&model.slug, &model.slug, model.description.as_deref().unwrap_or_default())
        }
    };
    listed.iter().map(one).collect()
}

/// The features that people may try out.
fn features(config: &Config) -> Vec<MenuEntry> {
    let tried = Feature::ALL.iter().filter(|feature| feature.stage() == FeatureStage::Experimental);
    let one = |feature: &Feature| {
        let (label, about) = match feature {
            Feature::UseLinuxSandboxBwrap => ("Bubblewrap sandbox", "commands are confined by bubblewrap"),
            Feature::MultiAgent => ("Multi-agents", "the model may start further agents"),
            Feature::Apps => ("Apps", "tools of apps that are connected to the account"),
            other => (other.key(), ""),
        };
        let is_on = config.features.is_on(*feature);
        MenuEntry { is_on, detail: json!(is_on), ..entry(feature.key(), label, about) }
    };
    tried.map(one).collect()
}

fn switches(config: &Config, env: &Env) -> Vec<MenuEntry> {
    let skills = skills::search(config, env).load();
    let one = |skill: &pellucid_engine::skills::Skill| {
        let about = skill.short_description.clone().unwrap_or_else(|| skill.description.clone());
        MenuEntry { is_on: skill.is_enabled(), ..entry(&skill.path, &skill.name, &about) }
    };
    skills.all().iter().map(one).collect()
}

/// Stored sessions that a person had with a provider, the newest first.
pub fn sessions(config: &Config, provider_id: &str, everywhere: bool) -> Vec<MenuEntry> {
    let query = Query {
        sources: vec!["cli".to_owned(), "vscode".to_owned()],
        providers: vec![provider_id.to_owned()],
        default_provider: Some(config.model.provider_id.clone()),
        cwd: (!everywhere).then(|| std::env::current_dir().unwrap_or_else(|_| config.folders.cwd.clone())),
        limit: SESSIONS_MAX,
        ..Query::default()
    };
    let page = LocalSessions::new(&config.folders.home).list(&query);
    let one = |summary: pellucid_store::summary::SessionSummary| {
        let title = summary.name.clone().unwrap_or_else(|| summary.first_message.clone());
        let detail = json!({
            "created": summary.created_at,
            "updated": summary.updated_at,
            "branch": summary.begun.git.as_ref().and_then(|git| git.branch.clone()),
            "folder": summary.cwd,
        });
        MenuEntry { detail, ..entry(&summary.id, &title, "") }
    };
    page.sessions.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;
    use crate::args::shared::Shared;
    use crate::args::turn::StartArgs;
    use crate::start::Start;

    const FILES: &str = r#"
//- work/script.toml
[[reply]]
say = "Done."
"#;

    /// A session of a person with a provider.
    fn session(files: &Workspace, n: usize, provider: &str, said: &str) {
        let (id, at) = (format!("01a1ed48-923f-76bc-af0e-87f4ea0aca8{n}"), "2026-01-02T03:04:05.000Z");
        let content = json!([{ "type": "input_text", "text": said }]);
        let lines = [
            (
                "session_meta",
                json!({ "id": id, "timestamp": at, "cwd": files.path("work"), "originator": "codex_cli_rs",
                "cli_version": "0.1.0", "source": "cli", "model_provider": provider }),
            ),
            ("response_item", json!({ "type": "message", "role": "user", "content": content })),
            ("event_msg", json!({ "type": "user_message", "message": said, "images": [] })),
        ];
        let line = |(kind, payload)| format!("{}\n", json!({ "timestamp": at, "type": kind, "payload": payload }));
        let path = format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl");
        files.write(&path, lines.map(line).concat());
    }

    #[test]
    fn sessions_are_those_of_the_provider_that_requests_go_to() {
        let files = Workspace::new(FILES);
        session(&files, 1, "openai", "count the windows");
        session(&files, 2, "scripted", "count the doors");
        let listed = |script: Option<&str>| {
            let args = StartArgs {
                cd: Some(files.path("work")),
                script: script.map(|name| files.path(name)),
                ..StartArgs::default()
            };
            let start = Start::in_home(&files.path("home"), &Shared::default(), &args).unwrap();
            let entries = sessions(&start.config, start.provider_id(), true);
            entries.into_iter().map(|entry| entry.label).collect::<Vec<_>>()
        };
        assert_eq!(listed(Some("work/script.toml")), ["count the doors"]);
        assert_eq!(listed(None), ["count the windows"]);
    }
}
