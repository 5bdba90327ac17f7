//! The configuration as the program uses it: typed, resolved, grouped by who uses what.
//!
//! Not here: how it comes about (`load`).

mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::environment::ShellEnvironmentPolicy;
use pellucid_protocol::feature::Features;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::ResumeContext;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
pub use words::CredentialStore;
pub use words::LoginMethod;
pub use words::SandboxBackend;

use crate::error::listed;
use crate::guard::Standing;
use crate::keys;
use crate::layers::Layers;
use crate::layers::Location;
use crate::mcp::McpServer;
use crate::requirements::Requirements;
use crate::value::Table;
use crate::value::Value;
use crate::value::dotted;
use crate::value::segments;

/// Everything a session needs to know from files and flags.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where things are.
    pub folders: Folders,
    /// The active profile.
    pub profile: Option<String>,
    /// The model and its provider.
    pub model: ModelSettings,
    /// Texts for the prompt.
    pub prompt: PromptSettings,
    /// What happens to a long history.
    pub compaction: CompactionSettings,
    /// How much a session may ask for.
    pub limits: LimitSettings,
    /// Instruction files of projects.
    pub documents: DocumentSettings,
    /// What commands may do.
    pub permissions: Permissions,
    /// Which features are on.
    pub features: Features,
    /// What the model may call.
    pub tools: ToolSettings,
    /// What commands find in their environment.
    pub shell_environment: ShellEnvironmentPolicy,
    /// What is kept and sent elsewhere.
    pub records: RecordSettings,
    /// The login.
    pub login: LoginSettings,
    /// What people see.
    pub display: DisplaySettings,
    /// What an administrator allows.
    pub requirements: Requirements,
    /// Keys that nobody reads.
    pub warnings: Vec<Warning>,
    /// Values that an administrator does not allow, and what is used instead.
    pub disallowed: Vec<Disallowed>,
    /// Old spellings that are in use.
    pub deprecations: Vec<Deprecation>,
    /// Keys of features under development that are on, unless the user does not want to know.
    pub unstable_features: Vec<&'static str>,
    pub(crate) layers: Layers,
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The working directory.
    pub cwd: PathBuf,
    /// The home folder.
    pub home: PathBuf,
    /// The user's own configuration file. It need not be there.
    pub user_file: PathBuf,
    /// The project's top folder.
    pub project_root: PathBuf,
    /// The nearest folder at or above the working directory with a `.git` entry. Without one
    /// nothing is known: there may be none, or it was not looked for.
    pub work_tree: Option<PathBuf>,
    /// The folder that a log is written to, if the user wants one.
    pub logs: Option<PathBuf>,
}

/// The model and its provider.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// The model's name, if somebody chose one.
    pub slug: Option<String>,
    /// The model for reviews.
    pub review_slug: Option<String>,
    /// The id of the provider.
    pub provider_id: String,
    /// The provider.
    pub provider: Provider,
    /// Every provider by its id.
    pub providers: BTreeMap<String, Provider>,
    /// The local provider for open models.
    pub oss_provider: Option<String>,
    /// The window in tokens.
    pub context_window: Option<i64>,
    /// At how many tokens the history is summarised.
    pub auto_compact_token_limit: Option<i64>,
    /// How long the model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How its thoughts are summarised.
    pub reasoning_summary: ReasoningSummary,
    /// Whether summaries are asked for in any case.
    pub supports_reasoning_summaries: Option<bool>,
    /// How much the model says.
    pub verbosity: Option<Verbosity>,
    /// The model's tone.
    pub personality: Option<Personality>,
    /// How many tokens of a tool's output are kept.
    pub tool_output_token_limit: Option<usize>,
}

/// A text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The text.
    pub text: String,
    /// Who gave it.
    pub origin: Origin,
    /// The file that it was read from, if the value names one.
    pub file: Option<PathBuf>,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag or a field that is stronger than all layers.
    Caller,
    /// A layer.
    Layer {
        /// The path of the key there, `profiles.…` if the profile gave it.
        key: String,
        /// Where that stands.
        location: Location,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Caller => f.write_str("the caller"),
            Self::Layer { key, location } => write!(f, "{key} in {location}"),
        }
    }
}

/// Texts for the prompt.
#[derive(Debug, Clone)]
pub struct PromptSettings {
    /// The prompt pack: the name of a built-in one, or a folder.
    pub pack: String,
    /// What takes the place of the base instructions.
    pub base_instructions: Option<Sourced>,
    /// A further message from the developer.
    pub developer_instructions: Option<Sourced>,
    /// How the model is asked for a summary.
    pub compact_prompt: Option<Sourced>,
    /// What of the first context is said when a session goes on.
    pub resume_context: ResumeContext,
    /// After how many turns the message of a slot is said again, by the slot's name.
    pub reinject_turns: BTreeMap<String, u64>,
    /// Whose name goes into commit messages; blank for nobody's.
    pub commit_attribution: Option<String>,
    /// The phase of work, for packs that have prompts for phases.
    pub phase: Option<String>,
    /// How much of a layout is there, if that is said.
    pub mode: Option<PromptMode>,
    /// Files with what is to be injected.
    pub inject: Vec<PathBuf>,
    /// What an assistant that answers in chats is told.
    pub assistant: AssistantSettings,
}

/// What happens to a long history. What is absent is the pack's to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether it is summarised without being asked for.
    pub auto: bool,
    /// The model that is asked for summaries.
    pub model: Option<String>,
    /// What happens when no summary comes.
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    pub keep_turns: Option<usize>,
    /// By how many percent a summary must make a history smaller.
    pub saving_min: Option<u8>,
    /// How often a summary is asked for that does not fit.
    pub overflow_calls_max: Option<usize>,
    /// What the summarising model is shown.
    pub input: Option<SummaryInput>,
    /// How a summary accounts for requests.
    pub requests: Option<SummaryRequests>,
}

/// What an assistant that answers in chats is told.
#[derive(Debug, Clone, Default)]
pub struct AssistantSettings {
    /// The session's key.
    pub session_key: Option<String>,
    /// How much of one bootstrap file is used.
    pub bootstrap_max_chars: Option<f64>,
    /// How much of all.
    pub bootstrap_total_max_chars: Option<f64>,
    /// Further bootstrap files.
    pub extra_files: Vec<String>,
    /// A further text.
    pub extra_system_prompt: Option<String>,
    /// The user's time zone.
    pub time_zone: Option<String>,
    /// Who may command it.
    pub owner_numbers: Vec<String>,
    /// What a heartbeat says.
    pub heartbeat_prompt: Option<String>,
    /// Where the documentation lies.
    pub docs_path: Option<PathBuf>,
    /// The channel that is answered on.
    pub channel: Option<String>,
    /// What that channel can do.
    pub capabilities: Vec<String>,
    /// How to speak when an answer is read out.
    pub voice_hint: Option<String>,
}

/// Instruction files of projects.
#[derive(Debug, Clone)]
pub struct DocumentSettings {
    /// How many bytes are used.
    pub max_bytes: usize,
    /// Files that are looked for instead of the usual ones.
    pub fallback_filenames: Vec<String>,
    /// What holds for such files beyond that.
    pub rules: ProjectDocs,
}

/// What commands may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch, as a word.
    pub sandbox_mode: SandboxMode,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// What confines them.
    pub sandbox_backend: SandboxBackend,
    /// Whether `.git` and the folders of agents stay read-only under writable roots.
    pub sandbox_protect: bool,
    /// What the user decided about this project.
    pub trust: Option<TrustLevel>,
}

/// What the model may call.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// Whether the hosted web search is offered, outside of full access.
    pub web_search: WebSearchMode,
    /// Where the Node program for the JavaScript tool may be; the first that is there counts.
    pub node_paths: Vec<PathBuf>,
    /// How many further agents may be open.
    pub agents_max: usize,
    /// The roles of further agents, by name.
    pub agent_roles: BTreeMap<String, AgentRole>,
    /// MCP servers by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Skills that the user switched on or off.
    pub skills: Vec<SkillSwitch>,
    /// What snapshots leave out.
    pub snapshots: SnapshotSettings,
    /// What is remembered of sessions.
    pub memories: MemorySettings,
}

/// A role of further agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRole {
    /// What it is for.
    pub description: Option<String>,
    /// Configuration of its agents.
    pub config_file: Option<PathBuf>,
}

/// A skill that the user switched on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSwitch {
    /// Its file.
    pub path: PathBuf,
    /// Whether it is offered.
    pub enabled: bool,
}

/// What snapshots leave out. Zero or less leaves out nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// From which size untracked files are left out, in bytes.
    pub large_file_bytes: i64,
    /// From how many files untracked folders are left out.
    pub large_folder_files: i64,
    /// Says nothing about it.
    pub disable_warnings: bool,
}

/// What is remembered of sessions. The numbers are within their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// How many memories are merged.
    pub raw_memories_max: usize,
    /// How old a session may be, in days.
    pub age_days_max: i64,
    /// How many sessions are looked at per start.
    pub sessions_per_start_max: usize,
    /// How long a session must rest before, in hours.
    pub idle_hours_min: i64,
    /// The model that reads sessions.
    pub reading_model: String,
    /// The model that merges memories.
    pub merging_model: String,
}

/// How much a session may ask for, with its agents, reviews and summaries; absent is without limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// Tokens of requests and replies.
    pub max_tokens: Option<u64>,
    /// How many requests may be sent.
    pub max_requests: Option<u64>,
}

/// What is kept and sent elsewhere.
#[derive(Debug, Clone)]
pub struct RecordSettings {
    /// A program that is run after each turn.
    pub notify: Option<Vec<String>>,
    /// Whether feedback may be sent.
    pub feedback: bool,
    /// Whether `exec --json` tells what requests are made of.
    pub context_events: bool,
    /// Whether `exec` tells kinds of failure apart by its exit code.
    pub typed_exit_codes: bool,
}

/// The login.
#[derive(Debug, Clone)]
pub struct LoginSettings {
    /// The only kind that is allowed.
    pub forced_method: Option<LoginMethod>,
    /// The only workspace that is allowed.
    pub forced_workspace_id: Option<String>,
    /// Where it is kept.
    pub store: CredentialStore,
}

/// What people see.
#[derive(Debug, Clone)]
pub struct DisplaySettings {
    /// Hides summaries of the model's thoughts.
    pub hide_reasoning: bool,
    /// Shows the model's thoughts as they are.
    pub show_raw_reasoning: bool,
}

/// A key that nobody reads, or not from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// There is no such key.
    UnknownKey {
        /// Its path.
        key: String,
        /// Where it stands.
        place: Location,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// There is no such feature.
    UnknownFeature {
        /// Its key.
        key: String,
        /// Where it stands.
        place: Location,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// A project may not set this.
    NotForProjects {
        /// Its path.
        key: String,
        /// Where it stands.
        place: Location,
    },
    /// Values of a project that nobody has accepted.
    NotAccepted {
        /// Which, in words.
        keys: String,
        /// Where the first of them stands.
        place: Location,
        /// Whether the file was accepted with other values.
        standing: Standing,
        /// The folder to accept them for.
        folder: PathBuf,
    },
    /// What was accepted cannot be read.
    AcceptedUnreadable {
        /// What is wrong with it.
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
                    Standing::Changed => "they changed since they were accepted",
                    Standing::New | Standing::Accepted => "nobody has accepted them",
                };
                let folder = command_line_word(&folder.to_string_lossy());
                return write!(
                    f,
                    "{place}: not applied, as {why}: {keys}; `pellucid trust accept {folder}` shows and accepts them"
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

/// A path as a person can paste it into a shell.
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
    /// The key.
    pub key: &'static str,
    /// What somebody chose.
    pub wanted: &'static str,
    /// What is used instead.
    pub used: &'static str,
    /// Who says so, and what they allow.
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
    /// What it is.
    pub summary: String,
    /// What to do about it.
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
    /// The layers that this was made of.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The value of a dotted path as the layers and the profile have it, for keys without a field.
    pub fn value(&self, path: &str) -> Option<&Value> {
        self.find(path).map(|(_, value)| value)
    }

    /// Where the layers have the value of a dotted path, whatever the caller gives.
    pub(crate) fn layer_origin(&self, path: &str) -> Option<Origin> {
        let (key, value) = self.find(path)?;
        let location = self.layers.layer_of(value.place)?.location(value.place);
        Some(Origin::Layer { key, location })
    }

    /// The web search that is offered under a sandbox policy: full access goes live if it may.
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

    /// The keys that are set and have no effect in this version, each with the reason.
    pub fn without_effect(&self) -> Vec<(String, &'static str)> {
        let mut found = Vec::new();
        collect_unused(self.layers.merged(), &mut Vec::new(), &mut found);
        found
    }

    /// What to tell the user about features under development that are on.
    pub fn unstable_features_warning(&self) -> Option<String> {
        (!self.unstable_features.is_empty()).then(|| {
            format!(
                "Features under development are on: {}. They are unfinished and may do what nobody expects. \
                 To hide this warning, write `suppress_unstable_features_warning = true` in {}.",
                listed(self.unstable_features.iter().copied()),
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
