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

/// The entries of a menu, or why there are none.
pub async fn of(menu: Menu, config: &Config, env: &Env) -> Result<Vec<MenuEntry>, String> {
    match menu {
        Menu::Models => Ok(models(config)),
        Menu::Features => Ok(features(config)),
        Menu::Skills => Ok(switches(config, env)),
        Menu::Sessions { everywhere } => Ok(sessions(config, everywhere)),
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

/// Stored sessions that a person had, the newest first.
pub fn sessions(config: &Config, everywhere: bool) -> Vec<MenuEntry> {
    let query = Query {
        sources: vec!["cli".to_owned(), "vscode".to_owned()],
        providers: vec![config.model.provider_id.clone()],
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
