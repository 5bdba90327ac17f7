//! The configuration as the program uses it: typed, resolved, grouped by the part of the program that uses it.
//!
//! Not here: how it is made (`load`).

pub mod terminal;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pellucid_protocol::elicitation::ElicitationPolicy;
use pellucid_protocol::environment::ShellEnvironmentPolicy;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::ReinjectTrigger;
use pellucid_protocol::settings::ResumeContext;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
pub use terminal::TerminalSettings;
pub use words::CredentialStore;
pub use words::LoginMethod;
pub use words::MemoryScope;
pub use words::ResumeSettings;
pub use words::SandboxBackend;

use crate::apps::AppSettings;
use crate::error::listed;
use crate::guard::Acceptance;
use crate::keys;
use crate::layers::Layers;
use crate::layers::Location;
use crate::mcp;
use crate::mcp::McpLogins;
use crate::mcp::McpServer;
use crate::requirements::Requirements;
use crate::telemetry::TelemetryConfig;
use crate::value::Table;
use crate::value::Value;
use crate::value::dotted;
use crate::value::segments;

/// Everything a session needs to know from files and flags.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The folders that the session works with.
    pub folders: Folders,
    /// The name of the active profile.
    pub profile: Option<String>,
    /// The model and its provider.
    pub model: ModelSettings,
    /// The texts that the configuration gives for the prompt.
    pub prompt: PromptSettings,
    /// How a long history is summarised.
    pub compaction: CompactionSettings,
    /// The limits of a session.
    pub limits: LimitSettings,
    /// How instruction files of projects are read.
    pub documents: DocumentSettings,
    /// What commands may do.
    pub permissions: Permissions,
    /// Which features are on.
    pub features: Features,
    /// The tools that the model may call.
    pub tools: ToolSettings,
    /// How the environment of commands is made.
    pub shell_environment: ShellEnvironmentPolicy,
    /// What is recorded, and what is sent elsewhere.
    pub records: RecordSettings,
    /// What is exported as telemetry, as the files say.
    pub(crate) otel: TelemetryConfig,
    /// How a login is stored and which are allowed.
    pub login: LoginSettings,
    /// What clients show of the model's reasoning.
    pub display: DisplaySettings,
    /// How the terminal client behaves.
    pub terminal: TerminalSettings,
    /// How the app-server and `mcp-server` behave.
    pub servers: ServerSettings,
    /// What an administrator allows.
    pub requirements: Requirements,
    /// Warnings and notices from loading, for people.
    pub noticed: Noticed,
    pub(crate) layers: Layers,
}

/// Warnings and notices from loading a configuration, for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noticed {
    /// Keys and values of files that have no effect.
    pub warnings: Vec<Warning>,
    /// Values that an administrator does not allow, and the values used instead.
    pub disallowed: Vec<Disallowed>,
    /// Old spellings that are in use.
    pub deprecations: Vec<Deprecation>,
    /// The keys of features under development that are on, unless the user suppresses the warning.
    pub unstable_features: Vec<&'static str>,
}

/// The folders and files that a session works with.
#[derive(Debug, Clone, PartialEq)]
pub struct Folders {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The home folder with the user's files.
    pub home: PathBuf,
    /// The user's configuration file, whether it exists or not.
    pub user_file: PathBuf,
    /// The top folder of the project.
    pub project_root: PathBuf,
    /// The nearest folder at or above the working directory with a `.git` entry. `None` means unknown: there may be
    /// none, or it was not searched for.
    pub work_tree: Option<PathBuf>,
    /// The folder for log files, if the user wants them.
    pub logs: Option<PathBuf>,
}

/// The model and its provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The model's name in requests, if one is configured.
    pub slug: Option<String>,
    /// Whether the command line, or the client, names the model.
    pub is_typed: bool,
    /// Whether the command line, or the client, names the effort.
    pub is_effort_typed: bool,
    /// The model for reviews, if it differs.
    pub review_slug: Option<String>,
    /// The id of the provider.
    pub provider_id: String,
    /// The settings of that provider.
    pub provider: Provider,
    /// All providers by id.
    pub providers: BTreeMap<String, Provider>,
    /// The local provider that `--oss` uses.
    pub oss_provider: Option<String>,
    /// The context window in tokens.
    pub context_window: Option<i64>,
    /// At how many tokens the history is summarised.
    pub auto_compact_token_limit: Option<i64>,
    /// The reasoning effort, if one is configured.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How reasoning is summarised.
    pub reasoning_summary: ReasoningSummary,
    /// Whether the model can summarise its reasoning, if that overrides the catalogue.
    pub supports_reasoning_summaries: Option<bool>,
    /// The verbosity of answers, if one is configured.
    pub verbosity: Option<Verbosity>,
    /// The tone of the model's answers.
    pub personality: Option<Personality>,
    /// How many tokens of a tool's output are kept.
    pub tool_output_token_limit: Option<usize>,
}

/// A text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The text itself, read from `file` if there is one.
    pub text: String,
    /// Where the value was set.
    pub origin: ValueOrigin,
    /// The file that the text was read from, if the value names one.
    pub file: Option<PathBuf>,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// A flag or a field of a request, which is stronger than all layers.
    Caller,
    /// A layer of the configuration.
    Layer {
        /// The path of the key in the layer, `profiles.…` if a profile set it.
        key: String,
        /// The file and line of the value.
        location: Location,
    },
}

impl std::fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Caller => f.write_str("the caller"),
            Self::Layer { key, location } => write!(f, "{key} in {location}"),
        }
    }
}

/// The texts that the configuration gives for the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptSettings {
    /// The prompt pack: the name of a built-in one, or a folder.
    pub pack: String,
    /// The base instructions that replace the pack's.
    pub base_instructions: Option<Sourced>,
    /// A further message with the role `developer`.
    pub developer_instructions: Option<Sourced>,
    /// The prompt that asks the model for a summary.
    pub compact_prompt: Option<Sourced>,
    /// What of the first context is sent when a session is resumed.
    pub resume_context: ResumeContext,
    /// Where model, effort and appended instructions of a resumed session come from.
    pub resume_settings: ResumeSettings,
    /// After how many turns the message of a slot is sent again, by the slot's name.
    pub reinject_turns: BTreeMap<String, u64>,
    /// The name that commit messages are attributed to; blank for none.
    pub commit_attribution: Option<String>,
    /// The phase of work, for packs that have prompts for phases.
    pub phase: Option<String>,
    /// How standing texts are repeated.
    pub reinject: StandingSettings,
    /// How much of a layout is used, if it is set.
    pub mode: Option<PromptMode>,
    /// Files with items to inject.
    pub inject: Vec<PathBuf>,
    /// Items to inject that came by standard input, as the text of such a file.
    pub inject_input: Option<Arc<str>>,
    /// The files that the layout begins with.
    pub bootstrap: BootstrapSettings,
    /// Values for the templates and conditions of the pack, by name.
    pub facts: serde_json::Map<String, serde_json::Value>,
}

/// How standing texts are repeated. The pack decides about absent values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandingSettings {
    /// The file of the workspace with its rules.
    pub rules: Option<String>,
    /// Whether texts are sent again that did not change.
    pub enabled: Option<bool>,
    /// After how many turns texts are sent again.
    pub turns: Option<f64>,
    /// After how many turns everything but the instructions is sent again.
    pub rules_turns: Option<f64>,
    /// What makes texts be sent again.
    pub trigger: Option<ReinjectTrigger>,
    /// The used shares of the window at which texts are sent again.
    pub thresholds: Option<Vec<f64>>,
}

/// How a long history is summarised. The pack decides about absent values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether the history is summarised without being asked for.
    pub auto: bool,
    /// The model that writes summaries.
    pub model: Option<String>,
    /// What happens when a history cannot be summarised by a model.
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    pub keep_turns: Option<usize>,
    /// By how many percent a summary must make a history smaller.
    pub saving_min: Option<u8>,
    /// How often a summary request that exceeds the window is retried.
    pub overflow_calls_max: Option<usize>,
    /// What the summarising model reads.
    pub input: Option<SummaryInput>,
    /// How a summary lists the user's requests.
    pub requests: Option<SummaryRequests>,
    /// Whether the texts of used skills stay.
    pub keep_skills: Option<bool>,
    /// How many tokens of the window are kept free for the answer, in packs that drop turns.
    pub reserved_output_tokens: Option<i64>,
    /// How many tokens a summary has at most, in packs that drop turns.
    pub summary_max_output_tokens: Option<i64>,
    /// How many recalled texts are used at most.
    pub memory_search_limit: Option<i64>,
    /// Whether dropped turns are summarised.
    pub summarise: Option<bool>,
}

/// The files that a layout begins with. The pack decides about absent values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BootstrapSettings {
    /// How much of one file is used, in the unit of the pack.
    pub max_chars: Option<f64>,
    /// How much of all files is used.
    pub total_max_chars: Option<f64>,
    /// Paths and patterns of further files.
    pub extra: Vec<String>,
    /// For names of files, the files of the workspace whose texts they get.
    pub swap: BTreeMap<String, String>,
    /// The names of files that are left out.
    pub leave_out: Vec<String>,
    /// Files of the workspace that are added, with any name.
    pub add: Vec<String>,
}

/// How instruction files of projects are read.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentSettings {
    /// How many bytes of instruction files are used in all.
    pub max_bytes: usize,
    /// File names that are tried where the usual ones are missing.
    pub fallback_filenames: Vec<String>,
    /// Further settings for instruction files.
    pub rules: ProjectDocs,
}

/// What commands may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// When commands and patches need approval.
    pub approval_policy: ApprovalPolicy,
    /// The sandbox mode, as the configuration names it.
    pub sandbox_mode: SandboxMode,
    /// What commands may read, write and reach.
    pub sandbox_policy: SandboxPolicy,
    /// The mechanism that confines commands.
    pub sandbox_backend: SandboxBackend,
    /// Whether `.git` and the folders of agents stay read-only below writable roots.
    pub sandbox_protect: bool,
    /// The user's decision about this project.
    pub trust: Option<TrustLevel>,
}

/// The tools that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSettings {
    /// Whether the provider's web search is offered, outside of full access.
    pub web_search: WebSearchMode,
    /// Paths of the Node program for the JavaScript tool; the first existing one is used.
    pub node_paths: Vec<PathBuf>,
    /// How many further agents may be open at once.
    pub agents_max: usize,
    /// The roles of further agents, by name.
    pub agent_roles: BTreeMap<String, AgentRoleConfig>,
    /// MCP servers by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// The settings of connected apps.
    pub apps: AppSettings,
    /// What holds for all logins to MCP servers.
    pub mcp_logins: McpLogins,
    /// How requests offer the tools of MCP servers, if the pack does not decide.
    pub mcp_tools: Option<McpOffer>,
    /// Who answers the questions of MCP servers.
    pub mcp_answers: ElicitationPolicy,
    /// Whether the client shows addresses that MCP servers want opened. Clients set it.
    pub mcp_pages: bool,
    /// The skills that the user switched on or off.
    pub skills: Vec<SkillSwitch>,
    /// Names of skills that a client switched on or off for its session.
    pub skill_names: Vec<(String, bool)>,
    /// What snapshots for undo leave out.
    pub snapshots: SnapshotSettings,
    /// How memories of sessions are made.
    pub memories: MemorySettings,
}

/// A role of further agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRoleConfig {
    /// What agents of this role are for.
    pub description: Option<String>,
    /// The configuration file of agents of this role.
    pub config_file: Option<PathBuf>,
}

/// A skill that the user switched on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSwitch {
    /// The path of the skill's `SKILL.md`.
    pub path: PathBuf,
    /// Whether the skill is offered.
    pub enabled: bool,
}

/// What snapshots leave out. Zero or less means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// Untracked files of this size or more are left out, in bytes.
    pub large_file_bytes: i64,
    /// Untracked folders with this many files or more are left out.
    pub large_folder_files: i64,
    /// Whether the warnings about files that are left out are suppressed.
    pub disable_warnings: bool,
}

/// How memories of sessions are made. The numbers are within their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// How many memories are merged at most.
    pub raw_memories_max: usize,
    /// How old a session may be, in days.
    pub age_days_max: i64,
    /// How many sessions are read per start.
    pub sessions_per_start_max: usize,
    /// How many hours a session must be idle before it is read.
    pub idle_hours_min: i64,
    /// The model that reads sessions.
    pub reading_model: String,
    /// The model that merges memories.
    pub merging_model: String,
    /// Whose past sessions are read, merged and remembered.
    pub scope: MemoryScope,
    /// Whether sessions write memories in their background.
    pub is_written: bool,
}

/// The limits of a session with its agents, reviews and summaries; absent ones do not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LimitSettings {
    /// How many tokens requests and replies may have in all.
    pub max_tokens: Option<u64>,
    /// How many requests may be sent.
    pub max_requests: Option<u64>,
    /// What requests and replies may cost in all, in the currency of the prices.
    pub max_cost: Option<f64>,
}

impl LimitSettings {
    /// Whether there is a limit.
    pub fn are_set(&self) -> bool {
        *self != Self::default()
    }
}

/// How the servers of the program behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// Which threads of the app-server stay loaded.
    pub threads: ThreadSettings,
    /// Whether `mcp-server` answers everything that the protocol has, instead of answering as Codex CLI.
    pub is_standard_mcp: bool,
}

/// Which threads of the app-server stay loaded while they idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSettings {
    /// How many threads stay loaded, those that were used last.
    pub loaded_max: usize,
    /// For how long a thread idles before it is unloaded; absent if it is not unloaded for that.
    pub unload_after: Option<Duration>,
}

impl ThreadSettings {
    /// The settings of a configuration that says nothing about threads.
    pub const DEFAULT: Self = Self { loaded_max: 500, unload_after: Some(Duration::from_secs(1800)) };
}

/// What is recorded, and what is sent elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSettings {
    /// The program that is run after each turn, with its arguments.
    pub notify: Option<Vec<String>>,
    /// Whether feedback may be sent.
    pub feedback: bool,
    /// Whether `exec --json` prints context events.
    pub context_events: bool,
    /// Whether the exit status of `exec` distinguishes kinds of failure.
    pub typed_exit_codes: bool,
}

/// How a login is stored and which are allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct LoginSettings {
    /// The only kind of login that is allowed.
    pub forced_method: Option<LoginMethod>,
    /// The only workspace that is allowed.
    pub forced_workspace_id: Option<String>,
    /// Where the login is stored.
    pub store: CredentialStore,
}

/// What clients show of the model's reasoning.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplaySettings {
    /// Whether reasoning summaries are hidden.
    pub hide_reasoning: bool,
    /// Whether raw reasoning is shown.
    pub show_raw_reasoning: bool,
}

/// A key or value of a file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The program does not know the key.
    UnknownKey {
        /// The dotted path of the key.
        key: String,
        /// The file and line of the key.
        place: Location,
        /// A known key with a similar spelling.
        suggestion: Option<String>,
    },
    /// The program does not know the feature.
    UnknownFeature {
        /// The name under `[features]`.
        key: String,
        /// The file and line of the name.
        place: Location,
        /// A known feature with a similar spelling.
        suggestion: Option<String>,
    },
    /// A project may not set this key.
    NotForProjects {
        /// The dotted path of the key.
        key: String,
        /// The file and line of the key.
        place: Location,
    },
    /// Values of a project that have not been accepted.
    NotAccepted {
        /// The keys as text for people.
        keys: String,
        /// The file and line of the first key.
        place: Location,
        /// Whether the file was accepted with other values.
        standing: Acceptance,
        /// The folder for which `pellucid trust accept` accepts them.
        folder: PathBuf,
    },
    /// The file of accepted values cannot be read.
    AcceptedUnreadable {
        /// The error as text for people.
        error: String,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, key, place, suggestion) = match self {
            Self::UnknownKey { key, place, suggestion } => ("key", key, place, suggestion),
            Self::UnknownFeature { key, place, suggestion } => ("feature", key, place, suggestion),
            Self::NotForProjects { key, place } => {
                return write!(f, "key `{key}` in {place} is ignored: a project may not set it");
            }
            Self::NotAccepted { keys, place, standing, folder } => {
                let why = match standing {
                    Acceptance::Changed => "they changed since they were accepted",
                    Acceptance::New | Acceptance::Accepted => "they are not accepted yet",
                };
                let folder = command_line_word(&folder.to_string_lossy());
                return write!(
                    f,
                    "{place}: not applied, because {why}: {keys}; `pellucid trust accept {folder}` shows and accepts them"
                );
            }
            Self::AcceptedUnreadable { error } => return write!(f, "{error}; nothing counts as accepted"),
        };
        write!(f, "unknown {what} `{key}` in {place}")?;
        match suggestion {
            Some(suggestion) => write!(f, " (did you mean `{suggestion}`?)"),
            None => Ok(()),
        }
    }
}

/// A path quoted for a shell.
fn command_line_word(path: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+=:@%,".contains(it);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// A value that an administrator does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disallowed {
    /// The key whose value is not allowed.
    pub key: &'static str,
    /// The value that was configured.
    pub wanted: &'static str,
    /// The value that is used instead.
    pub used: &'static str,
    /// The file of the administrator, and the values that it allows.
    pub reason: String,
}

impl std::fmt::Display for Disallowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, wanted, used, reason } = self;
        write!(f, "`{key}` is `{used}` and not `{wanted}` as configured: {reason}")
    }
}

/// An old spelling that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The old spelling, in a sentence.
    pub summary: String,
    /// What to write instead.
    pub details: Option<String>,
}

fn collect_unused<'t>(table: &'t Table, names: &mut Vec<&'t str>, found: &mut Vec<(String, &'static str)>) {
    for entry in table.iter() {
        names.push(&entry.key);
        let path = dotted(names);
        match (keys::find(&path).and_then(|key| key.not_used), entry.value.as_table()) {
            (Some(why), _) => found.push((path, why)),
            (None, Some(table)) => collect_unused(table, names, found),
            (None, None) => {}
        }
        names.pop();
    }
}

impl Config {
    /// The layers that the configuration was made from.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The value of a dotted path in the layers and the profile, for keys without a field.
    pub fn value(&self, path: &str) -> Option<&Value> {
        self.find(path).map(|(_, value)| value)
    }

    /// Where the layers set the value of a dotted path, whether or not the caller overrides it.
    pub(crate) fn layer_origin(&self, path: &str) -> Option<ValueOrigin> {
        let (key, value) = self.find(path)?;
        let location = self.layers.layer_of(value.place)?.location(value.place);
        Some(ValueOrigin::Layer { key, location })
    }

    /// The web search that is offered under a sandbox policy: with full access it is live, if the configuration allows
    /// that.
    pub fn web_search_under(&self, policy: &SandboxPolicy) -> WebSearchMode {
        let configured = self.tools.web_search;
        if *policy != SandboxPolicy::DangerFullAccess || configured == WebSearchMode::Disabled {
            return configured;
        }
        let allows = |mode| self.requirements.web_search_modes.as_ref().is_none_or(|allowed| allowed.allows(mode));
        [WebSearchMode::Live, WebSearchMode::Cached]
            .into_iter()
            .find(|mode| allows(*mode))
            .unwrap_or(WebSearchMode::Disabled)
    }

    /// Adds an MCP server that a client brings for one session, in place of a configured one of this name. Gives whether
    /// there was one. The administrator's requirements count for it too.
    pub fn add_server(&mut self, name: &str, mut server: McpServer) -> bool {
        mcp::forbid(name, &mut server, &self.requirements);
        self.tools.mcp_servers.insert(name.to_owned(), server).is_some()
    }

    /// The MCP servers of a session: the configured ones, and the one of connected apps if those are on. Its name belongs to
    /// that one alone.
    pub fn session_servers(&self) -> BTreeMap<String, McpServer> {
        let mut servers = self.tools.mcp_servers.clone();
        servers.remove(APPS_SERVER);
        if self.features.is_on(Feature::Apps) {
            let mut server = self.tools.apps.server();
            mcp::forbid(APPS_SERVER, &mut server, &self.requirements);
            servers.insert(APPS_SERVER.to_owned(), server);
        }
        servers
    }

    /// The keys that are set but have no effect in this version, each with the reason.
    pub fn without_effect(&self) -> Vec<(String, &'static str)> {
        let mut found = Vec::new();
        collect_unused(self.layers.merged(), &mut Vec::new(), &mut found);
        found
    }

    /// The warning about features under development that are on.
    pub fn unstable_features_warning(&self) -> Option<String> {
        (!self.noticed.unstable_features.is_empty()).then(|| {
            format!(
                "Features under development are on: {}. They are unfinished and may behave unexpectedly. \
                 To hide this warning, write `suppress_unstable_features_warning = true` in {}.",
                listed(self.noticed.unstable_features.iter().copied()),
                self.folders.user_file.display()
            )
        })
    }

    fn find(&self, path: &str) -> Option<(String, &Value)> {
        let in_profile = || {
            let profile = self.profile.as_deref().filter(|_| keys::find(path).is_some_and(keys::Key::in_profiles))?;
            let names: Vec<_> = ["profiles", profile].into_iter().chain(segments(path)).collect();
            Some((dotted(&names), self.layers.merged().at(names.iter().copied())?))
        };
        in_profile().or_else(|| Some((path.to_owned(), self.layers.get(path)?)))
    }
}
