//! What is true for a turn: the engine's only input besides the pack and the transcript.
//!
//! Facts are gathered at the edges (configuration, disk, environment) and never change while a
//! request is put together. Paths are text here: the engine shows them, it does not follow them.
//!
//! Not here: where the facts come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::feature::Features;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
use serde_json::Map;
use serde_json::Value;

use crate::assistant::Assistant;
use crate::digest::Digest;
use crate::documents::imports::Imported;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::injection;
use crate::mcp::ServerTool;
use crate::skills::Skills;

/// Everything a layout may ask for, grouped by what writes it and how long it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// What was read from disk.
    pub world: World,
    /// What the session is set to. A change of settings writes here and nowhere else.
    pub settings: SessionSettings,
    /// Tools that do not come from the pack.
    pub tools: OutsideTools,
    /// What only the layouts of some systems ask for.
    pub system: System,
}

/// What was read from disk. An agent that a session starts reads all of it again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// The family of the user's shell: `bash`, `zsh`, `sh`, `powershell` or `cmd`.
    pub shell: String,
    /// Base instructions that the session was begun with, when it goes on.
    pub recorded_instructions: Option<Provided>,
    /// The same with the origins that their text had, where those were kept.
    pub recorded_fragments: Vec<Fragment>,
    /// The user's own instruction file in the home folder.
    pub home_document: Option<Document>,
    /// The project's instruction files, from its root to the working directory.
    pub project_documents: Vec<Document>,
    /// Files that they import.
    pub imports: Vec<Imported>,
    /// Files of other folders of the project that joined the conversation.
    pub nested_documents: Vec<Document>,
    /// Every file that was looked for, used or not.
    pub candidates: Vec<Candidate>,
    /// Where instruction files lie that are links, by path.
    pub links: BTreeMap<String, String>,
    /// The skills of the working directory.
    pub skills: Skills,
    /// What earlier sessions left to remember.
    pub memory: Option<Memory>,
}

/// What a session is set to, by its configuration and by changes since.
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
    /// The model.
    pub model: ModelInfo,
    /// How long it may think, if configured.
    pub effort: Option<ReasoningEffort>,
    /// How its thoughts are summarised.
    pub summary: ReasoningSummary,
    /// How much it says, if configured.
    pub verbosity: Option<Verbosity>,
    /// Its tone.
    pub personality: Option<Personality>,
    /// Which features are on.
    pub features: Features,
    /// Base instructions that replace the model's own.
    pub base_instructions: Option<Provided>,
    /// Instructions of the developer who runs the agent.
    pub developer_instructions: Option<Provided>,
    /// The way of working together.
    pub collaboration_mode: CollaborationMode,
    /// How many bytes of the project's instruction files are used.
    pub project_document_bytes_max: usize,
    /// What the configuration says about such files.
    pub project_docs: ProjectDocs,
    /// Whether the hosted web search is offered.
    pub web_search: WebSearchMode,
    /// Whose name goes into commit messages; blank for nobody's.
    pub commit_attribution: Option<String>,
}

/// Tools that do not come from the pack: those of MCP servers, of the client and of the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutsideTools {
    /// Whether any MCP server is configured.
    pub has_mcp_servers: bool,
    /// Tools of MCP servers, in the order to be offered.
    pub mcp_tools: Arc<[ServerTool]>,
    /// Roles for other agents that the user defined, by name.
    pub agent_roles: Vec<AgentRole>,
    /// Tools that the program which drives the session runs itself, in the order to be offered.
    pub dynamic_tools: Vec<DynamicTool>,
}

/// What only the layouts of some systems ask for. Nothing of it is read for other layouts.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// How much of a layout is there.
    pub prompt_mode: PromptMode,
    /// What an assistant that answers in chats knows, for layouts that ask for it.
    pub assistant: Option<Box<Assistant>>,
    /// What sources of injected items work with.
    pub injection: InjectionFacts,
}

impl Facts {
    /// The facts of a folder and a model, and nothing else that anybody said.
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

/// The usual way of working together, with a model and its effort.
pub fn default_mode(slug: &str, reasoning_effort: Option<ReasoningEffort>) -> CollaborationMode {
    let settings = CollaborationSettings { model: slug.to_owned(), reasoning_effort, developer_instructions: None };
    CollaborationMode { mode: CollaborationModeKind::Default, settings }
}

impl Default for System {
    fn default() -> Self {
        Self { prompt_mode: PromptMode::Full, assistant: None, injection: InjectionFacts::default() }
    }
}

/// What sources of injected items work with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InjectionFacts {
    /// The sources, in order.
    pub sources: Vec<injection::ItemSource>,
    /// What each of them wanted to have read.
    pub reads: Vec<injection::InjectionRead>,
    /// Data of the caller, by name.
    pub attributes: Map<String, Value>,
    /// Where the entries of a list of attributes came from.
    pub places: BTreeMap<String, Vec<String>>,
    /// Texts by name; absent without a store.
    pub store: Option<BTreeMap<String, String>>,
    /// What was remembered.
    pub memory: Vec<String>,
    /// The folder that the process works in.
    pub process_dir: String,
    /// The user's home folder.
    pub home: String,
}

impl InjectionFacts {
    /// What sources may look at.
    pub fn inputs(&self) -> injection::Inputs<'_> {
        injection::Inputs {
            attributes: &self.attributes,
            places: &self.places,
            store: self.store.as_ref(),
            process_dir: &self.process_dir,
            home: &self.home,
        }
    }

    /// The items of all sources in a mode, and what became of each.
    pub fn collect(&self, mode: PromptMode) -> injection::Collected {
        injection::collect(&self.sources, &self.inputs(), mode, &self.reads)
    }
}

/// A text that configuration or a caller gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// Where it was given: a configuration key, a flag or a file.
    pub place: String,
    /// The text.
    pub text: String,
}

/// What earlier sessions left to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The folder it lies in.
    pub folder: String,
    /// Its summary.
    pub summary: Document,
}

/// An instruction file, as read from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Where it lies.
    pub path: String,
    /// Its first bytes, at most as many as the budget could use.
    pub bytes: Vec<u8>,
    /// How many bytes it has in all.
    pub size: u64,
    /// The hash of all of them, where all were read.
    pub sha256: Option<Digest>,
}

impl Document {
    /// A file that has these bytes and no others.
    pub fn whole(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        let (size, sha256) = (bytes.len() as u64, Some(Digest::of([bytes.as_slice()])));
        Self { path, bytes, size, sha256 }
    }

    /// What its origin names.
    pub fn version(&self) -> FileVersion {
        FileVersion::new(&self.path, self.sha256)
    }
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub path: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was read.
    Read,
    /// It is not there.
    Absent,
    /// It is there, but another file of its folder comes first.
    Shadowed {
        /// That file.
        by: String,
    },
    /// It is there, but is no file that can be read.
    NotAFile,
    /// It could not be read.
    Unreadable {
        /// Why.
        error: String,
    },
    /// It is blank.
    Blank,
    /// It is a link that leads out of the project.
    Outside {
        /// Where it leads.
        target: String,
    },
    /// The user has said that its project is not to be trusted.
    Untrusted,
}

/// Domains of managed requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Reachable ones.
    pub allowed_domains: Vec<String>,
    /// Unreachable ones.
    pub denied_domains: Vec<String>,
}

/// One word of an approved command prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrefixToken {
    /// This word.
    Word(String),
    /// One of these.
    OneOf(Vec<String>),
}

/// A role for another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRole {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
}

/// A picture on disk, as the edge could load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedImage {
    /// It was read and fits.
    Ready {
        /// The picture as a `data:` URL.
        data_url: String,
        /// The hash of the file that it was read from.
        sha256: Digest,
    },
    /// The file cannot be read.
    Unreadable {
        /// Why.
        error: String,
    },
    /// The format was recognised but the data is broken.
    Invalid {
        /// Why.
        error: String,
    },
    /// Its bytes are of no image that can be read, and its name is not that of one.
    NotAnImage {
        /// The media type that its name suggests, if any.
        mime: Option<String>,
        /// Why it cannot be read.
        error: String,
    },
    /// Its bytes are of no image that can be read, though its name says so.
    Unsupported {
        /// The media type that its name suggests.
        mime: String,
        /// Why it cannot be read.
        error: String,
    },
}

impl LoadedImage {
    /// Why the model does not see it; absent if it does.
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
