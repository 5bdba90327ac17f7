//! Standing texts before a person's input: when they are said, said again, and how.
//!
//! A session has instructions (the product's) and rules (the workspace's). They go before the first
//! input, again when they changed, and again when so much was said since that the model may have
//! lost them: after a number of turns, or when its window is filled to a threshold.
//!
//! There is one machine. When it looks at files, what holds an input back, what is sent and how often are settings of a
//! layout; a layout may have several sets of them, its variants. All change one [`ReinjectState`], which a session stores.
//!
//! - [`account`]: what became of each file of an injection, for clients
//! - [`again`]: messages of any layout that are said again after some turns
//! - `decide`: whether standing texts are sent before an input, and why
//! - [`envelope`]: the texts in place of the input
//! - [`files`]: the texts that were found on disk
//! - [`layout`]: the keys of `[reinject]`
//! - [`parts`]: the texts of an injection
//! - [`phases`]: phases of work, whose prompts go before every input
//! - [`settings`]: how often texts are repeated, from layout, configuration and environment
//! - [`skill_words`]: skills that an input mentions
//!
//! Not here: reading files and keeping what was read (`pellucid-workspace`).

pub mod account;
pub mod again;
mod decide;
pub mod envelope;
pub mod files;
pub mod layout;
pub mod parts;
pub mod phases;
pub mod settings;
pub mod skill_words;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;

use self::files::FileRole;
use self::files::InjectionInput;
use self::parts::PartTexts;
use self::settings::ReinjectSettings;
use crate::fragment::Fragment;

/// The hash of a file that does not exist.
pub const MISSING: &str = "missing";

/// After this many consecutive read failures a separate warning is logged.
const FAILURES_REPORTED: u32 = 3;

/// How the reasons for injections without instructions begin.
const RULES_ONLY: &str = "rules-only";

/// What a session stores about the texts that were put before its inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReinjectState {
    /// Inputs that were sent.
    pub turn_count: u64,
    /// Whether anything was injected yet.
    pub has_injected: bool,
    /// The turn count at the last injection with instructions.
    pub last_injection_turn: Option<u64>,
    /// The turn count at the last injection of any kind.
    pub last_rules_injection_turn: Option<u64>,
    /// The hash of the instructions when they were sent last.
    pub last_instructions_hash: Option<String>,
    /// The same of the rules.
    pub last_rules_hash: Option<String>,
    /// The same of the soul.
    pub last_soul_hash: Option<String>,
    /// The same of the list of skills.
    pub last_skills_hash: Option<String>,
    /// A reason that waits for the next input.
    pub pending: Option<String>,
    /// Skills that an input asked for.
    pub requested_skills: Vec<String>,
    /// Thresholds that have fired and were not fallen below since, by their number.
    pub disarmed: BTreeSet<usize>,
    /// Failed reads in a row.
    pub failures: Failures,
    /// The warnings that the user has seen.
    pub warned: Warned,
    /// The counters of all injections.
    pub figures: Figures,
}

/// Failed reads in a row, by file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failures {
    /// Consecutive failures to read the instructions.
    pub instructions: u32,
    /// Consecutive failures to read the rules.
    pub rules: u32,
}

/// The warnings that the user has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Warned {
    /// The rules are missing.
    pub rules: bool,
    /// The workspace has no instructions.
    pub instructions: bool,
    /// The workspace is not initialised.
    pub workspace: bool,
}

/// How often something happened in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// The number of first injections.
    pub n_initial: u64,
    /// The number of later injections.
    pub n_reinjections: u64,
    /// Inputs that were held back.
    pub n_failures: u64,
}

/// The texts that go before an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The texts, in order.
    pub parts: Vec<StandingPart>,
    /// The reason for the injection, as one word.
    pub reason: String,
    /// The hash of the instructions, now or when they were sent last.
    pub instructions_hash: String,
    /// The hash of the rules.
    pub rules_hash: String,
}

/// One of the texts that go before an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingPart {
    /// The kind of the text.
    pub kind: PartKind,
    /// The text in fragments.
    pub text: Vec<Fragment>,
}

/// The kinds of texts that go before an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The notice that the workspace is not set up.
    Notice,
    /// The instructions of the workspace.
    Instructions,
    /// The rules of the workspace.
    Rules,
    /// How skills are used.
    Skills,
    /// Skills that were asked for.
    RequestedSkills,
    /// The agent's character, from a file of the workspace.
    Soul,
}

/// Something that the log says about a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandingNotice {
    /// Texts went before the input.
    Injected {
        /// The reason, as one word.
        reason: String,
        /// The hash of the instructions, if they are among the texts.
        instructions: Option<String>,
        /// The hash of the rules.
        rules: String,
    },
    /// The rules do not exist.
    RulesMissing {
        /// Where they were looked for.
        path: String,
    },
    /// No instructions exist.
    InstructionsMissing {
        /// Where they were looked for.
        path: String,
    },
    /// The pack's instructions stand in for those of the workspace.
    StandIn {
        /// Where the workspace's were looked for.
        path: String,
    },
    /// The workspace is not set up.
    NotSetUp {
        /// The folder of the workspace.
        path: String,
    },
    /// A file could not be read several times in a row.
    ReadFailed {
        /// The file by its part in an injection.
        role: FileRole,
        /// The path of the file.
        path: String,
    },
    /// The workspace is another one.
    Switched {
        /// The folder of the workspace.
        path: String,
    },
}

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The user has to act.
    Error,
    /// Something works less well than it could.
    Warn,
    /// A line about normal operation.
    Info,
}

impl Level {
    /// The word for the level in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }
}

impl StandingNotice {
    /// How loud the line is.
    pub fn level(&self) -> Level {
        match self {
            Self::Injected { .. } | Self::Switched { .. } => Level::Info,
            Self::ReadFailed { .. } => Level::Error,
            Self::RulesMissing { .. }
            | Self::InstructionsMissing { .. }
            | Self::StandIn { .. }
            | Self::NotSetUp { .. } => Level::Warn,
        }
    }

    /// The name of the event, if programs look for it.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::RulesMissing { .. } => Some("rules_missing"),
            Self::ReadFailed { .. } => Some("read_failed_3_times"),
            _ => None,
        }
    }

    /// The file it is about, where it is about one.
    pub fn file(&self) -> Option<FileRole> {
        match self {
            Self::RulesMissing { .. } => Some(FileRole::Rules),
            Self::InstructionsMissing { .. } | Self::StandIn { .. } => Some(FileRole::Instructions),
            Self::ReadFailed { role, .. } => Some(*role),
            Self::Injected { .. } | Self::NotSetUp { .. } | Self::Switched { .. } => None,
        }
    }
}

/// Why an input must not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The kind of problem, in one word.
    pub code: &'static str,
    /// The path of the file.
    pub path: String,
    /// The message for the user.
    pub message: String,
}

impl std::fmt::Display for Blocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Blocked {}

/// The decision about an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionDecision {
    /// The texts that go before the input, or why the input is refused; `None` means that no text goes before it.
    pub injection: Result<Option<Injection>, Blocked>,
    /// What the log says.
    pub notices: Vec<StandingNotice>,
}

impl ReinjectState {
    /// Decides what goes before the next input. `occupancy` is the used share of the window, where
    /// it is known. `files` may be empty where [`Self::needs_files`] says that they are not needed.
    pub fn decide(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        words: &PartTexts,
        occupancy: Option<f64>,
    ) -> InjectionDecision {
        let mut notices = Vec::new();
        let injection = self.choose(settings, files, words, occupancy, &mut notices);
        match &injection {
            Ok(Some(injection)) if injection.reason == "initial" => self.figures.n_initial += 1,
            Ok(Some(_)) => self.figures.n_reinjections += 1,
            Ok(None) => {}
            Err(_) => self.figures.n_failures += 1,
        }
        InjectionDecision { injection, notices }
    }

    /// Notes that an input was sent, with or without success.
    pub fn complete_turn(&mut self) {
        self.turn_count += 1;
    }

    /// Notes that the workspace is another one. Gives what the log says.
    pub fn switch_workspace(&mut self, path: &str) -> StandingNotice {
        self.warned = Warned::default();
        self.pending = Some("workspace-changed".to_owned());
        self.last_soul_hash = None;
        self.last_skills_hash = None;
        self.requested_skills.clear();
        StandingNotice::Switched { path: path.to_owned() }
    }

    /// How many turns ago something was, counted so that "never" is one turn before the first.
    fn distance(&self, last: Option<u64>) -> f64 {
        let last = last.map_or(-1.0, |turn| turn as f64);
        self.turn_count as f64 - last
    }

    fn set_pending(&mut self, reason: &str) {
        if self.pending.is_none() {
            self.pending = Some(reason.to_owned());
        }
    }
}

/// The first eight characters of a hash.
fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
