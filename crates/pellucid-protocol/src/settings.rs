//! Settings that shape a turn, in the spellings of files and wires.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// Makes an enum whose values are words in files and on wires.
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

            /// The spelling in files and on wires.
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

            /// Reads a spelling.
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
    /// When a person is asked before a command runs.
    ApprovalPolicy {
        /// Ask for everything but known-safe reads.
        Untrusted = "untrusted",
        /// Ask after a sandboxed command failed.
        OnFailure = "on-failure",
        /// Ask when the model asks for more rights.
        OnRequest = "on-request",
        /// Never ask.
        Never = "never",
    }
}

word_enum! {
    /// The named sandbox modes of the configuration.
    SandboxMode {
        /// Read everything, write nothing.
        ReadOnly = "read-only",
        /// Write in the workspace and given roots.
        WorkspaceWrite = "workspace-write",
        /// No sandbox.
        DangerFullAccess = "danger-full-access",
    }
}

word_enum! {
    /// Whether a sandbox that somebody else provides lets traffic through.
    NetworkAccess {
        /// No network.
        Restricted = "restricted",
        /// Network.
        Enabled = "enabled",
    }
}

word_enum! {
    /// How long the model may think.
    ReasoningEffort {
        /// Not at all.
        None = "none",
        /// Hardly.
        Minimal = "minimal",
        /// Briefly.
        Low = "low",
        /// As usual.
        Medium = "medium",
        /// Long.
        High = "high",
        /// Longest.
        XHigh = "xhigh",
    }
}

word_enum! {
    /// How the model's thoughts are summarised.
    ReasoningSummary {
        /// As the model likes.
        Auto = "auto",
        /// Briefly.
        Concise = "concise",
        /// At length.
        Detailed = "detailed",
        /// Not at all.
        None = "none",
    }
}

word_enum! {
    /// How much the model says.
    Verbosity {
        /// Little.
        Low = "low",
        /// As usual.
        Medium = "medium",
        /// Much.
        High = "high",
    }
}

word_enum! {
    /// The tone of the model.
    Personality {
        /// No particular tone.
        None = "none",
        /// Warm.
        Friendly = "friendly",
        /// To the point.
        Pragmatic = "pragmatic",
    }
}

word_enum! {
    /// Whether the hosted web search is offered.
    WebSearchMode {
        /// Not offered.
        Disabled = "disabled",
        /// Offered, from the provider's cache.
        Cached = "cached",
        /// Offered, on the live web.
        Live = "live",
    }
}

word_enum! {
    /// A person's decision about a project folder.
    TrustLevel {
        /// Its configuration applies.
        Trusted = "trusted",
        /// Its configuration does not apply.
        Untrusted = "untrusted",
    }
}

word_enum! {
    /// The kind of collaboration.
    CollaborationModeKind {
        /// Plan first, change nothing.
        Plan = "plan",
        /// Work. Older clients know it by other names.
        #[serde(alias = "code", alias = "pair_programming", alias = "execute", alias = "custom")]
        Default = "default",
    }
}

/// What commands may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SandboxPolicy {
    /// No sandbox.
    DangerFullAccess,
    /// Read everything, write nothing.
    ReadOnly,
    /// Somebody else confines us.
    ExternalSandbox {
        /// Whether their sandbox lets traffic through.
        network_access: NetworkAccess,
    },
    /// Read everything, write in the workspace and these roots.
    WorkspaceWrite {
        /// Further roots.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writable_roots: Vec<PathBuf>,
        /// Whether traffic is let through.
        #[serde(default)]
        network_access: bool,
        /// Leaves `$TMPDIR` out.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Leaves `/tmp` out.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

/// A way of working together, with what goes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollaborationMode {
    /// The kind.
    pub mode: CollaborationModeKind,
    /// What goes with it.
    pub settings: CollaborationSettings,
}

/// What goes with a collaboration mode. All keys are always written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Settings"))]
pub struct CollaborationSettings {
    /// The model.
    pub model: String,
    /// How long it may think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Instructions of the mode.
    pub developer_instructions: Option<String>,
}

/// How tool output is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationPolicy {
    /// What is counted.
    pub mode: TruncationMode,
    /// How many of it are kept.
    pub limit: i64,
}

word_enum! {
    /// What a truncation policy counts.
    TruncationMode {
        /// Bytes of UTF-8.
        Bytes = "bytes",
        /// Tokens of about four bytes.
        Tokens = "tokens",
    }
}

word_enum! {
    /// How much of a layout is there.
    PromptMode {
        /// Everything.
        Full = "full",
        /// What an agent that works for another one needs.
        Minimal = "minimal",
        /// One line that says what it is.
        None = "none",
    }
}

word_enum! {
    /// What happens when no summary of a history comes.
    SummaryFallback {
        /// The turn ends.
        None = "none",
        /// One is made from the history by rule.
        Local = "local",
    }
}

word_enum! {
    /// What the model that summarises is shown.
    SummaryInput {
        /// The whole history.
        All = "all",
        /// The history without what the layout says in every session.
        Conversation = "conversation",
    }
}

word_enum! {
    /// How a summary accounts for what the person asked for.
    SummaryRequests {
        /// As it likes.
        Free = "free",
        /// With a line for each request, or it is refused.
        Marked = "marked",
    }
}

word_enum! {
    /// What of the first context is said when a session goes on.
    ResumeContext {
        /// All of it.
        Again = "again",
        /// What the history does not have in the same words.
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
