//! What the client is started with, from the configuration and the environment.

use std::path::Path;

use pellucid_agent::identity::VERSION;
use pellucid_agent::session::server_input::ServerPrompt;
use pellucid_agent::skills;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::terminal::NotifyMethod;
use pellucid_engine::custom_prompt::Chosen;
use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_engine::reinject::phases::PhaseNames;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tui::app::manner::Manner;
use pellucid_tui::app::manner::TitlePart;
use pellucid_tui::app::settings::AppSettings;
use pellucid_tui::app::settings::FirstMessage;
use pellucid_tui::app::settings::Notifying;
use pellucid_tui::app::settings::Surroundings;
use pellucid_tui::cells::transcript::ShownReasoning;
use pellucid_tui::cells::transcript::TranscriptOptions;
use pellucid_tui::commands::COMMANDS;
use pellucid_tui::commands::CommandGate;
use pellucid_tui::composer::popup::PromptEntry;
use pellucid_tui::composer::popup::SkillEntry;
use pellucid_tui::keymap::Keymap;
use pellucid_tui::keymap::changes::KeyChange;
use pellucid_tui::screen::Insertion;
use pellucid_tui::text::palette::ColourDepth;
use pellucid_workspace::custom_prompts;

use crate::pack;
use crate::start::Start;
use crate::tui::history::HistoryFile;

/// Reads the settings of the client.
pub fn read(start: &Start, first: Option<FirstMessage>) -> AppSettings {
    let (config, env) = (&start.config, &start.env);
    let folders = &config.folders;
    let has = |feature: Feature| config.features.is_on(feature);
    let has_modes = has(Feature::CollaborationModes);
    let is_offered = |gate: Option<CommandGate>| match gate {
        None => true,
        Some(CommandGate::Modes) => has_modes,
        Some(CommandGate::Personality) => has(Feature::Personality),
        Some(CommandGate::Apps) => has(Feature::Apps),
        // A pack that cannot be loaded is reported when the session opens.
        Some(CommandGate::Phases) => pack::selected(config).is_ok_and(|pack| !PhaseNames::of(&pack).names.is_empty()),
    };
    let terminal = &config.terminal;
    let provider = &config.model.provider;
    let address = provider.base_url.clone().unwrap_or_default();
    AppSettings {
        version: VERSION.to_owned(),
        transcript: TranscriptOptions { home: env.user_home(), reasoning: shown_reasoning(config) },
        around: Surroundings {
            provider: [provider.name.as_str(), address.as_str()].join(" ").trim().to_owned(),
            instructions: instructions(&folders.cwd),
            project_root: Some(folders.project_root.clone()),
            branch: pellucid_git::Repository::discover(&folders.cwd).and_then(|it| it.head()?.branch),
            has_guide: folders.cwd.join("AGENTS.md").exists(),
            workspace_write: workspace_write(config),
            personality: config.model.personality,
        },
        began: jiff::Timestamp::now().as_second(),
        keymap: keymap(config),
        depth: ColourDepth::of(
            env.text("NO_COLOR").as_deref(),
            env.text("COLORTERM").as_deref(),
            env.text("TERM").as_deref(),
        ),
        commands: COMMANDS.iter().filter(|row| is_offered(row.gate)).copied().collect(),
        prompts: custom_prompts::load(&folders.home).iter().map(prompt_entry).collect(),
        skills: skill_entries(config, env),
        n_stored: history(config).n_stored(),
        finds_bursts: terminal.finds_bursts,
        has_alternate_screen: terminal.second_screen.unwrap_or_else(|| env.text("ZELLIJ").is_none()),
        has_modes,
        status_line: terminal.status_line.clone(),
        skips_full_access_warning: terminal.skips_full_access_warning,
        // This terminal drops lines that leave a scroll region.
        insertion: if env.text("WT_SESSION").is_some() { Insertion::WholeScreen } else { Insertion::Region },
        notifying: notifying(config, env),
        manner: manner(config, env),
        kept: None,
        first,
    }
}

/// Which key does what, by the configuration.
pub fn keymap(config: &Config) -> Keymap {
    let location = |name: &str| {
        let place = config.layers().merged().at(["tui", "keymap"].into_iter().chain(name.split('.')))?.place;
        Some(config.layers().layer_of(place)?.location(place).to_string())
    };
    let changes: Vec<KeyChange> = config
        .terminal
        .keymap
        .iter()
        .map(|(name, keys)| KeyChange {
            name: name.clone(),
            keys: keys.clone(),
            location: location(name).unwrap_or_default(),
        })
        .collect();
    Keymap::with(&changes)
}

/// How much of the model's reasoning the configuration wants to be shown.
pub fn shown_reasoning(config: &Config) -> ShownReasoning {
    match &config.display {
        display if display.hide_reasoning => ShownReasoning::Nothing,
        display if display.show_raw_reasoning => ShownReasoning::Raw,
        _ => ShownReasoning::Summary,
    }
}

/// The names of the instruction files that lie in the session's folder.
fn instructions(cwd: &Path) -> String {
    let found: Vec<&str> =
        ["AGENTS.override.md", "AGENTS.md"].into_iter().filter(|name| cwd.join(name).exists()).collect();
    if found.is_empty() { "no AGENTS.md in this folder".to_owned() } else { found.join(", ") }
}

/// The sandbox of the usual permissions: the configured one, if it is of this kind.
fn workspace_write(config: &Config) -> SandboxPolicy {
    match &config.permissions.sandbox_policy {
        policy @ SandboxPolicy::WorkspaceWrite { .. } => policy.clone(),
        _ => SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        },
    }
}

/// When the client notifies, and how: with a text where the terminal is known to show one.
fn notifying(config: &Config, env: &Env) -> Notifying {
    let is_known = || {
        let program = env.text("TERM_PROGRAM").unwrap_or_default().to_lowercase();
        let term = env.text("TERM").unwrap_or_default();
        let knows = ["wezterm", "ghostty", "iterm", "kitty"].iter().any(|name| program.contains(name));
        env.text("WT_SESSION").is_none()
            && (knows || env.text("ITERM_SESSION_ID").is_some() || term.contains("kitty") || term.contains("ghostty"))
    };
    Notifying {
        of_turns: config.terminal.notifications.has("agent-turn-complete"),
        of_questions: config.terminal.notifications.has("approval-requested"),
        has_text: config.terminal.notifies_by.map_or_else(is_known, |method| method == NotifyMethod::Text),
    }
}

/// How the client behaves at this terminal.
fn manner(config: &Config, env: &Env) -> Manner {
    let usual = Manner::default();
    let title = config.terminal.title.as_ref();
    Manner {
        is_spoken: config.terminal.is_for_screen_reader,
        has_mouse: config.terminal.has_mouse,
        frame_rate: u32::try_from(config.terminal.frame_rate).unwrap_or(usual.frame_rate),
        has_animations: config.terminal.has_animations,
        has_vim: config.terminal.has_vim,
        vim_escape: config.terminal.vim_escape.clone(),
        is_in_tmux: is_in_tmux(env),
        title: title.map_or(usual.title, |words| words.iter().filter_map(|word| TitlePart::of(word)).collect()),
    }
}

/// Whether tmux is between us and the terminal. SSH hands on the name of the terminal, but not the variable of tmux.
fn is_in_tmux(env: &Env) -> bool {
    env.text("TMUX").is_some() || env.text("TERM").is_some_and(|term| term.starts_with("tmux"))
}

/// The file of messages that were sent.
pub fn history(config: &Config) -> HistoryFile {
    let terminal = &config.terminal;
    HistoryFile::new(&config.folders.home, terminal.keeps_messages, terminal.messages_bytes_max)
}

fn prompt_entry(prompt: &CustomPrompt) -> PromptEntry {
    let hint = prompt.argument_hint.as_ref().map_or_else(String::new, |hint| format!(" {hint}"));
    let about = prompt.description.clone().unwrap_or_else(|| "custom prompt".to_owned());
    PromptEntry {
        command: prompt.command().trim_start_matches('/').to_owned(),
        description: format!("{about}{hint}"),
        inserted: match prompt.choose() {
            Chosen::Insert { text, cursor } => Some((text, cursor)),
            Chosen::Submit { .. } => None,
        },
    }
}

/// A prompt of an MCP server, for the list of commands.
pub fn server_prompt_entry(prompt: &ServerPrompt) -> PromptEntry {
    let about = if prompt.description.is_empty() { "prompt of an MCP server" } else { &prompt.description };
    let hint = prompt.hint.as_ref().map_or_else(String::new, |hint| format!(" {hint}"));
    // With arguments the person types on behind the command.
    let inserted =
        prompt.hint.is_some().then(|| format!("/{} ", prompt.command)).map(|text| (text.clone(), text.len()));
    PromptEntry { command: prompt.command.clone(), description: format!("{about}{hint}"), inserted }
}

/// The skills that are switched on.
pub fn skill_entries(config: &Config, env: &Env) -> Vec<SkillEntry> {
    let skills = skills::search(config, env).load();
    let enabled = skills.all().iter().filter(|skill| skill.is_enabled());
    enabled
        .map(|skill| SkillEntry {
            name: skill.name.clone(),
            description: skill.short_description.clone().unwrap_or_else(|| skill.description.clone()),
            path: skill.path.clone().into(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_is_known_by_its_variable_and_over_ssh_by_its_name() {
        for (variable, expected) in [
            (("TMUX", "/tmp/tmux-0/default,1,0"), true),
            (("TERM", "tmux-256color"), true),
            (("TERM", "xterm-256color"), false),
            (("TMUX", ""), false),
        ] {
            assert_eq!(is_in_tmux(&Env::from_pairs([variable])), expected, "{variable:?}");
        }
    }
}
