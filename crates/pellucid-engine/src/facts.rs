//! What is true for a turn: the engine's only input besides the pack and the transcript.
//!
//! The agent gathers facts at the edges (configuration, disk, environment); they never change while a request is put
//! together. Paths are text here: the engine shows paths, and does not follow them.
//!
//! Not here: how facts are gathered.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::feature::Features;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::apps::AppChoice;
use crate::bootstrap::LoadedFiles;
use crate::digest::Digest;
use crate::documents::imports::Imported;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::host::HostFacts;
use crate::injection;
use crate::mcp::ServerTool;
use crate::skills::Skills;
use crate::window::settings::WindowKeys;

/// All facts that a layout may use, grouped by what writes them and how long they hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// What was read from disk.
    pub world: World,
    /// The settings of the session. A change of settings writes here and nowhere else.
    pub settings: SessionSettings,
    /// Tools that do not come from the pack.
    pub tools: OutsideTools,
    /// Facts that only the layouts of some systems use.
    pub system: System,
}

/// What is known of the machine. What is not known is blank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineFacts {
    /// The name of the machine in its network.
    pub name: String,
    /// The operating system with its version.
    pub os: String,
    /// The architecture, such as `x86_64`.
    pub arch: String,
    /// The time zone of the system, as an IANA name.
    pub time_zone: String,
}

/// What is around a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Surroundings {
    /// The machine that commands run on.
    pub machine: MachineFacts,
    /// The top folder of the repository around the working directory, if there is one.
    pub repository: Option<String>,
    /// The name of the model's provider, if it is known.
    pub provider: Option<String>,
}

/// What was read from disk. An agent that a session starts reads all of it again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// The family of the user's shell: `bash`, `zsh`, `sh`, `powershell` or `cmd`.
    pub shell: String,
    /// Base instructions that a resumed session began with.
    pub recorded_instructions: Option<Provided>,
    /// The base instructions of a resumed session as fragments, if the origins of their text were kept.
    pub recorded_fragments: Vec<Fragment>,
    /// The user's instruction file in the home folder.
    pub home_document: Option<Document>,
    /// The project's instruction files, from its root to the working directory.
    pub project_documents: Vec<Document>,
    /// Files that instruction files import.
    pub imports: Vec<Imported>,
    /// Instruction files of other folders of the project that joined the conversation.
    pub nested_documents: Vec<Document>,
    /// Every instruction file that was looked for, used or not.
    pub candidates: Vec<Candidate>,
    /// Where instruction files that are links lead, by path.
    pub links: BTreeMap<String, String>,
    /// The skills of the working directory.
    pub skills: Skills,
    /// What earlier sessions left to remember.
    pub memory: Option<Memory>,
}

/// The settings of a session, from its configuration and from changes since.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSettings {
    /// The working directory, as given.
    pub cwd: String,
    /// Domains that managed requirements name; absent without such a section.
    pub network: Option<NetworkRules>,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// Where commands may write under a workspace policy, in the order to be shown.
    pub writable_roots: Vec<String>,
    /// Command prefixes that rules allow.
    pub approved_prefixes: Vec<Vec<PrefixToken>>,
    /// What the catalogue knows of the model.
    pub model: ModelInfo,
    /// How long the model may think, if configured.
    pub effort: Option<ReasoningEffort>,
    /// How the model's thoughts are summarised.
    pub summary: ReasoningSummary,
    /// How much the model writes, if configured.
    pub verbosity: Option<Verbosity>,
    /// The tone of the model, if configured.
    pub personality: Option<Personality>,
    /// Which features are on.
    pub features: Features,
    /// Base instructions that replace the model's own.
    pub base_instructions: Option<Provided>,
    /// Instructions of the developer who runs the agent.
    pub developer_instructions: Option<Provided>,
    /// How the model and the person work together, such as making a plan first.
    pub collaboration_mode: CollaborationMode,
    /// How many bytes of the project's instruction files are used.
    pub project_document_bytes_max: usize,
    /// What the configuration says about the project's instruction files.
    pub project_docs: ProjectDocs,
    /// Whether the hosted web search is offered.
    pub web_search: WebSearchMode,
    /// The name that commit messages give as an author; blank for none.
    pub commit_attribution: Option<String>,
}

/// Tools that do not come from the pack: those of MCP servers, of the client and of the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutsideTools {
    /// Whether any MCP server is configured.
    pub has_mcp_servers: bool,
    /// Tools of MCP servers, in the order to be offered.
    pub mcp_tools: Arc<[ServerTool]>,
    /// How the configuration wants these tools to be offered.
    pub mcp_offers: McpOffers,
    /// Which of the tools of connected apps are offered.
    pub apps: AppChoice,
    /// Roles for other agents that the user defined, by name.
    pub agent_roles: Vec<AgentRole>,
    /// Tools that the client runs, in the order to be offered.
    pub dynamic_tools: Vec<DynamicTool>,
}

/// How the configuration wants the tools of MCP servers to be offered. The layout decides what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOffers {
    /// The rule for all servers.
    pub all: Option<McpOffer>,
    /// The rules for single servers, by name.
    pub servers: BTreeMap<String, McpOffer>,
}

impl McpOffers {
    /// Whether the tools of any server are to be deferred.
    pub fn defer_any(&self) -> bool {
        self.all.iter().chain(self.servers.values()).any(|offer| *offer == McpOffer::Deferred)
    }
}

/// Facts that only the layouts of some systems use. For other layouts, they are not read.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// How much of the layout is used.
    pub prompt_mode: PromptMode,
    /// Values that the configuration or the caller gives, for layouts that look at them.
    pub given: Map<String, Value>,
    /// What is around the session, for layouts that look at it.
    pub surroundings: Surroundings,
    /// The files that the layout's `[bootstrap]` reads.
    pub files: LoadedFiles,
    /// The inputs of sources of injected items.
    pub injection: InjectionFacts,
    /// The texts and conditions of the program around the engine.
    pub host: HostFacts,
}

impl Facts {
    /// The facts of a folder and a model, with nothing configured and nothing read.
    pub fn plain(cwd: &str, model: ModelInfo) -> Self {
        Self {
            world: World { shell: "bash".to_owned(), ..World::default() },
            settings: SessionSettings::plain(cwd, model),
            tools: OutsideTools::default(),
            system: System::default(),
        }
    }
}

impl SessionSettings {
    /// The settings of a folder and a model, with nothing configured.
    pub fn plain(cwd: &str, model: ModelInfo) -> Self {
        Self {
            cwd: cwd.to_owned(),
            network: None,
            approval_policy: ApprovalPolicy::Never,
            sandbox_policy: SandboxPolicy::ReadOnly,
            writable_roots: Vec::new(),
            approved_prefixes: Vec::new(),
            effort: None,
            summary: ReasoningSummary::Auto,
            verbosity: None,
            personality: None,
            features: Features::default(),
            base_instructions: None,
            developer_instructions: None,
            collaboration_mode: default_mode(&model.slug, None),
            model,
            project_document_bytes_max: 0,
            project_docs: ProjectDocs::default(),
            web_search: WebSearchMode::Disabled,
            commit_attribution: None,
        }
    }
}

/// The default collaboration mode, with a model and its effort.
pub fn default_mode(slug: &str, reasoning_effort: Option<ReasoningEffort>) -> CollaborationMode {
    let settings = CollaborationSettings { model: slug.to_owned(), reasoning_effort, developer_instructions: None };
    CollaborationMode { mode: CollaborationModeKind::Default, settings }
}

impl Default for System {
    fn default() -> Self {
        Self {
            prompt_mode: PromptMode::Full,
            given: Map::new(),
            surroundings: Surroundings::default(),
            files: LoadedFiles::default(),
            injection: InjectionFacts::default(),
            host: HostFacts::default(),
        }
    }
}

/// The inputs of sources of injected items.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InjectionFacts {
    /// The sources, in the order in which they run.
    pub sources: Vec<injection::ItemSource>,
    /// The files that each source wanted to have read.
    pub reads: Vec<injection::InjectionRead>,
    /// Attributes that the caller gives, by name.
    pub attributes: Map<String, Value>,
    /// Where the entries of a list of attributes came from, by attribute.
    pub places: BTreeMap<String, Vec<String>>,
    /// Texts by name; absent without a store.
    pub store: Option<BTreeMap<String, String>>,
    /// Texts that were remembered earlier.
    pub memory: Vec<String>,
    /// Names that system prompt and sections may have in double braces, with their values, in order.
    pub variables: Vec<(String, String)>,
    /// What a caller or the configuration sets for the window, over what the layout says.
    pub window: WindowKeys,
    /// The folder that the process works in.
    pub process_dir: String,
    /// The user's home folder.
    pub home: String,
}

impl InjectionFacts {
    /// What sources may read.
    pub fn inputs<'a>(&'a self, texts: &'a injection::SourceTexts) -> injection::Inputs<'a> {
        injection::Inputs {
            attributes: &self.attributes,
            places: &self.places,
            store: self.store.as_ref(),
            texts,
            process_dir: &self.process_dir,
            home: &self.home,
        }
    }

    /// The keys that sources look up in the store.
    pub fn wanted_keys(&self) -> BTreeSet<String> {
        self.sources.iter().flat_map(injection::ItemSource::wanted_keys).collect()
    }

    /// The items of all sources in a mode, and the outcome of each source.
    pub fn collect(&self, mode: PromptMode, texts: &injection::SourceTexts) -> injection::Collected {
        injection::collect(&self.sources, &self.inputs(texts), mode, &self.reads)
    }
}

/// A text from the configuration or a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// Where the text was given: a configuration key, a flag or a file.
    pub place: String,
    /// The text, as it was given.
    pub text: String,
}

/// What earlier sessions left to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The folder that has the memory.
    pub folder: String,
    /// The file with the summary.
    pub summary: Document,
}

/// An instruction file, as read from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path of the file.
    pub path: String,
    /// The first bytes of the file, at most as many as the budget could use.
    pub bytes: Vec<u8>,
    /// How many bytes the file has in all.
    pub size: u64,
    /// The hash of the file, if all bytes were read.
    pub sha256: Option<Digest>,
}

impl Document {
    /// A file that has these bytes and no others.
    pub fn whole(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        let (size, sha256) = (bytes.len() as u64, Some(Digest::of([bytes.as_slice()])));
        Self { path, bytes, size, sha256 }
    }

    /// The path and the hash of the file, as origins have them.
    pub fn version(&self) -> FileVersion {
        FileVersion::new(&self.path, self.sha256)
    }
}

/// An instruction file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The path that was looked for.
    pub path: String,
    /// Whether the file was read, and if not, why.
    pub fate: Fate,
}

/// Whether an instruction file was read, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The file was read.
    Read,
    /// The file does not exist.
    Absent,
    /// The file exists, but another file of its folder comes first.
    Shadowed {
        /// The name of the file that comes first.
        by: String,
    },
    /// The path exists, but is not a regular file.
    NotAFile,
    /// The file exists, but could not be read.
    Unreadable {
        /// Why the file could not be read.
        error: String,
    },
    /// The file is empty or has only white space.
    Blank,
    /// The path is a link that leads out of the project.
    Outside {
        /// Where the link leads.
        target: String,
    },
    /// The user does not trust the project that has the file.
    Untrusted,
    /// The user accepted instruction files of the project, and not this text.
    NotAccepted {
        /// Whether the user accepted another text of the file.
        is_changed: bool,
    },
}

/// Domains that managed requirements allow and deny.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Domains that commands may reach.
    pub allowed_domains: Vec<String>,
    /// Domains that commands may not reach.
    pub denied_domains: Vec<String>,
}

/// One word of an approved command prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrefixToken {
    /// The command must have this word.
    Word(String),
    /// The command must have one of these words.
    OneOf(Vec<String>),
}

/// A role that another agent can be started in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRole {
    /// The name by which the model asks for the role.
    pub name: String,
    /// When the role is useful, for the model.
    pub description: Option<String>,
}

/// What loading an image from disk gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedImage {
    /// The image was read and fits.
    Ready {
        /// The image as a `data:` URL.
        data_url: String,
        /// The hash of the file with the image.
        sha256: Digest,
    },
    /// The file cannot be read.
    Unreadable {
        /// Why the file cannot be read.
        error: String,
    },
    /// The format was recognised but the data is broken.
    Invalid {
        /// Why the data is broken.
        error: String,
    },
    /// The bytes are not an image that can be read, and the file's name is not that of an image.
    NotAnImage {
        /// The media type that the file's name suggests, if any.
        mime: Option<String>,
        /// Why the bytes cannot be read.
        error: String,
    },
    /// The bytes are not an image that can be read, though the file's name is that of an image.
    Unsupported {
        /// The media type that the file's name suggests.
        mime: String,
        /// Why the bytes cannot be read.
        error: String,
    },
}

impl LoadedImage {
    /// Why the model does not see the image; absent if it does.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Ready { .. } => None,
            Self::Unreadable { error }
            | Self::Invalid { error }
            | Self::NotAnImage { error, .. }
            | Self::Unsupported { error, .. } => Some(error),
        }
    }
}
