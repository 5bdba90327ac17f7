//! The configuration as the program uses it: typed, resolved, grouped by the part of the program that uses it.
//!
//! Each part is a file, which has the type of its settings and reads them. Not here: the order of layers, and what several parts
//! decide together (`load`).

mod bootstrap;
mod compaction;
mod display;
mod documents;
mod limits;
mod login;
mod memories;
mod model;
mod noticed;
mod prompt;
mod records;
mod servers;
pub(crate) mod sourced;
pub mod terminal;
mod tools;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use bootstrap::BootstrapSettings;
pub use compaction::CompactionSettings;
pub use display::DisplaySettings;
pub use documents::DocumentSettings;
pub use limits::LimitSettings;
pub use login::LoginSettings;
pub use memories::MemorySettings;
pub use model::ModelSettings;
pub use noticed::Deprecation;
pub use noticed::Disallowed;
pub use noticed::Noticed;
pub use noticed::Warning;
use pellucid_protocol::environment::ShellEnvironmentPolicy;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::WebSearchMode;
pub use prompt::PromptSettings;
pub use prompt::StandingSettings;
pub use records::RecordSettings;
pub use servers::ServerSettings;
pub use servers::ThreadSettings;
pub use sourced::Sourced;
pub use sourced::ValueOrigin;
pub use terminal::TerminalSettings;
pub use tools::AgentRoleConfig;
pub use tools::SkillSwitch;
pub use tools::SnapshotSettings;
pub use tools::ToolSettings;
pub use words::CredentialStore;
pub use words::LoginMethod;
pub use words::MemoryScope;
pub use words::ResumeSettings;
pub use words::SandboxBackend;

use crate::error::listed;
use crate::keys;
use crate::layers::Layers;
use crate::mcp;
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
