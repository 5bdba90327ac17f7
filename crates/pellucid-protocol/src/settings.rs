//! Settings of a turn, in the spellings of session files and API formats.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// Defines an enum whose values are words in files and API formats.
#[macro_export]
macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every spelling, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The spelling in files and API formats.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The value of a spelling that is written in the code.
            ///
            /// # Panics
            ///
            /// When there is no such spelling. In a constant, the compiler refuses it.
            pub const fn named(word: &str) -> Self {
                let mut at = 0;
                while at < Self::ALL.len() {
                    if $crate::settings::is_same_word(Self::WORDS[at], word) {
                        return Self::ALL[at];
                    }
                    at += 1;
                }
                panic!("there is no such word")
            }

            /// Reads a spelling; `None` if no value has it.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $crate::word_schema! { $name, $($word),+ }
    };
}

pub(crate) use word_enum;

/// Whether two spellings are the same, for constants.
#[doc(hidden)]
pub const fn is_same_word(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

word_enum! {
    /// When a command needs a person's approval.
    ApprovalPolicy {
        /// Ask before every command that is not known to only read.
        Untrusted = "untrusted",
        /// Ask after a sandboxed command failed.
        OnFailure = "on-failure",
        /// Ask when the model asks for more rights.
        OnRequest = "on-request",
        /// Never ask; what needs approval is refused.
        Never = "never",
    }
}

word_enum! {
    /// The named sandbox modes of the configuration.
    SandboxMode {
        /// Commands may read everything and write nothing.
        ReadOnly = "read-only",
        /// Commands may write in the workspace and in further roots.
        WorkspaceWrite = "workspace-write",
        /// Commands run without a sandbox.
        DangerFullAccess = "danger-full-access",
    }
}

word_enum! {
    /// Whether an outer sandbox allows network access.
    NetworkAccess {
        /// The outer sandbox blocks the network.
        Restricted = "restricted",
        /// The outer sandbox allows the network.
        Enabled = "enabled",
    }
}

word_enum! {
    /// How much the model reasons before it answers.
    ReasoningEffort {
        /// The model does not reason.
        None = "none",
        /// The smallest effort above none.
        Minimal = "minimal",
        /// Less effort than usual.
        Low = "low",
        /// The usual effort of most models.
        Medium = "medium",
        /// More effort than usual.
        High = "high",
        /// The largest effort that a model offers.
        XHigh = "xhigh",
    }
}

word_enum! {
    /// How the model's reasoning is summarised.
    ReasoningSummary {
        /// The provider chooses the length.
        Auto = "auto",
        /// Summaries are short.
        Concise = "concise",
        /// Summaries are long.
        Detailed = "detailed",
        /// The reasoning is not summarised.
        None = "none",
    }
}

word_enum! {
    /// How long the model's answers are.
    Verbosity {
        /// Answers are short.
        Low = "low",
        /// Answers have the usual length.
        Medium = "medium",
        /// Answers are long.
        High = "high",
    }
}

word_enum! {
    /// The tone of the model's answers.
    Personality {
        /// The pack prescribes no tone.
        None = "none",
        /// Answers are warm.
        Friendly = "friendly",
        /// Answers are to the point.
        Pragmatic = "pragmatic",
    }
}

word_enum! {
    /// Whether the provider's web search is offered to the model.
    WebSearchMode {
        /// The search is not offered.
        Disabled = "disabled",
        /// The search is offered, on the provider's cached pages.
        Cached = "cached",
        /// The search is offered, on the live web.
        Live = "live",
    }
}

word_enum! {
    /// A person's decision about a project folder.
    TrustLevel {
        /// The folder's configuration applies.
        Trusted = "trusted",
        /// The folder's configuration does not apply.
        Untrusted = "untrusted",
    }
}

word_enum! {
    /// The kind of collaboration mode.
    CollaborationModeKind {
        /// The model plans first and changes nothing.
        Plan = "plan",
        /// The model works. Older clients know it by other names.
        #[serde(alias = "code", alias = "pair_programming", alias = "execute", alias = "custom")]
        Default = "default",
    }
}

/// What commands may read, write and reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SandboxPolicy {
    /// Commands run without a sandbox.
    DangerFullAccess,
    /// Commands may read everything and write nothing.
    ReadOnly,
    /// Pellucid itself runs in a sandbox that another program made.
    ExternalSandbox {
        /// Whether the outer sandbox allows network access.
        network_access: NetworkAccess,
    },
    /// Commands may read everything, and write in the workspace and in these roots.
    WorkspaceWrite {
        /// Further folders that commands may write in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writable_roots: Vec<PathBuf>,
        /// Whether commands may use the network.
        #[serde(default)]
        network_access: bool,
        /// Whether `$TMPDIR` is not writable.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` is not writable.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl SandboxPolicy {
    /// The spelling in files and API formats.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::DangerFullAccess => "danger-full-access",
            Self::ReadOnly => "read-only",
            Self::ExternalSandbox { .. } => "external-sandbox",
            Self::WorkspaceWrite { .. } => "workspace-write",
        }
    }

    /// Whether commands may use the network.
    pub fn has_network(&self) -> bool {
        match self {
            Self::DangerFullAccess => true,
            Self::ReadOnly => false,
            Self::ExternalSandbox { network_access } => *network_access == NetworkAccess::Enabled,
            Self::WorkspaceWrite { network_access, .. } => *network_access,
        }
    }
}

/// A collaboration mode with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollaborationMode {
    /// The kind of the mode.
    pub mode: CollaborationModeKind,
    /// The settings of the mode.
    pub settings: CollaborationSettings,
}

/// The settings of a collaboration mode. All keys are always written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Settings"))]
pub struct CollaborationSettings {
    /// The model's name in requests.
    pub model: String,
    /// The reasoning effort of the mode.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The instructions that the mode adds.
    pub developer_instructions: Option<String>,
}

/// How the output of tools is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationPolicy {
    /// Whether bytes or tokens are counted.
    pub mode: TruncationMode,
    /// How many bytes or tokens are kept.
    pub limit: i64,
}

word_enum! {
    /// What a truncation policy counts.
    TruncationMode {
        /// Bytes of the UTF-8 text.
        Bytes = "bytes",
        /// Tokens, estimated as four bytes each.
        Tokens = "tokens",
    }
}

word_enum! {
    /// How a request offers the tools of an MCP server.
    McpOffer {
        /// Each tool with its description and schema.
        Direct = "direct",
        /// By name; the model asks for descriptions and schemas.
        Deferred = "deferred",
    }
}

word_enum! {
    /// How an MCP server is greeted, and in which revision of the protocol.
    McpProtocol {
        /// With the greeting and the revision of the Codex CLI.
        Initialize = "initialize",
        /// In the newest revision that the server knows.
        Auto = "auto",
        /// In the revision of November 2024.
        V20241105 = "2024-11-05",
        /// In the revision of March 2025.
        V20250326 = "2025-03-26",
        /// In the revision of June 2025.
        V20250618 = "2025-06-18",
        /// In the revision of November 2025.
        V20251125 = "2025-11-25",
        /// In the revision of July 2026, which has no greeting.
        V20260728 = "2026-07-28",
    }
}

word_enum! {
    /// Whether the first request waits for an MCP server.
    McpStart {
        /// The request waits until the server has started or failed.
        Wait = "wait",
        /// The request does not wait; the tools of a server that starts later join between turns.
        Background = "background",
    }
}

word_enum! {
    /// How a request writes the schemas of tools that MCP servers describe.
    McpSchemas {
        /// The parts that every model understands, as the Codex CLI writes them.
        Reduced = "reduced",
        /// As the server wrote them.
        Whole = "whole",
    }
}

word_enum! {
    /// How much of a layout is used.
    PromptMode {
        /// All slots are used.
        Full = "full",
        /// The slots that an agent needs which works for another one.
        Minimal = "minimal",
        /// One line that says what the agent is.
        None = "none",
    }
}

word_enum! {
    /// What happens when a history cannot be summarised by a model.
    SummaryFallback {
        /// The turn ends with an error.
        None = "none",
        /// A summary is made from the history by rule.
        Local = "local",
    }
}

word_enum! {
    /// What the summarising model reads.
    SummaryInput {
        /// The whole history.
        All = "all",
        /// The history without the layout's texts, which every session has.
        Conversation = "conversation",
    }
}

word_enum! {
    /// The events that make standing texts be repeated.
    ReinjectTrigger {
        /// The used share of the window where it is known, else turns.
        Auto = "auto",
        /// The used share of the window.
        Occupancy = "occupancy",
        /// After a number of turns.
        Turns = "turns",
        /// After turns or at a share of the window, whichever comes first.
        Both = "both",
    }
}

word_enum! {
    /// How a summary lists the user's requests.
    SummaryRequests {
        /// As the model likes.
        Free = "free",
        /// With a line for each request; a summary without them is refused.
        Marked = "marked",
    }
}

word_enum! {
    /// What of the first context is sent when a session is resumed.
    ResumeContext {
        /// All of the first context.
        Again = "again",
        /// What the history does not contain word for word.
        Changed = "changed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_names_of_collaboration_modes_are_read_and_not_written() {
        for word in ["default", "code", "pair_programming", "execute", "custom"] {
            let mode: CollaborationModeKind = serde_json::from_str(&format!("\"{word}\"")).unwrap();
            assert_eq!(serde_json::to_string(&mode).unwrap(), "\"default\"", "{word}");
        }
        for word in ["Default", "pairProgramming", "ask", ""] {
            assert!(serde_json::from_str::<CollaborationModeKind>(&format!("\"{word}\"")).is_err(), "{word}");
        }
    }
}
