//! Standing texts before a person's input: when they are said, said again, and how.
//!
//! A session has instructions (the product's) and rules (the workspace's). They go before the first
//! input, again when they changed, and again when so much was said since that the model may have
//! lost them: after a number of turns, or when its window is filled to a threshold.
//!
//! Three ways of deciding are known: `design` is the default, `current` and `initial` do as two releases of the
//! system that this comes from. Each is in a separate file; all change one [`ReinjectState`], which a session stores.
//!
//! - [`account`]: what became of each file of an injection, for clients
//! - [`again`]: messages of any layout that are said again after some turns
//! - [`settings`]: how often texts are repeated, from configuration and environment
//! - [`files`]: the texts that were found on disk
//! - [`envelope`]: the texts in place of the input
//! - [`phases`]: phases of work, whose prompts go before every input
//! - [`skill_words`], [`preferences`]: skills and preferences that an input mentions, in the variant `current`
//!
//! Not here: reading files and keeping what was read (`pellucid-workspace`).

pub mod account;
pub mod again;
mod current;
mod design;
pub mod envelope;
pub mod files;
mod initial;
pub mod layout;
pub mod phases;
pub mod preferences;
pub mod settings;
pub mod skill_words;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;

use self::files::FileRole;
use self::files::InjectionInput;
use self::settings::ReinjectSettings;
use self::settings::Variant;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// The hash of a file that does not exist.
pub const MISSING: &str = "missing";

/// After this many consecutive read failures a separate warning is logged.
const FAILURES_REPORTED: u32 = 3;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// The notice that the workspace is not initialised.
    Notice,
    /// The instructions of the workspace.
    Instructions,
    /// The rules of the workspace.
    Rules,
    /// How skills are used.
    SkillSystem,
    /// Skills that were asked for.
    RequestedSkills,
    /// The agent's character, from `SOUL.md`.
    Soul,
}

/// The text between two parts.
const GAP: &str = "\n\n\n";

impl Injection {
    /// The parts with the gaps between them.
    pub fn fragments(&self) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                fragments.push(Fragment::layout(GAP));
            }
            fragments.extend(part.text.iter().cloned());
        }
        fragments
    }

    /// The parts and gaps as one text.
    pub fn text(&self) -> String {
        concat(&self.fragments())
    }
}

/// A line for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The severity of the line.
    pub level: Level,
    /// The name of the event, if it has one.
    pub code: Option<&'static str>,
    /// The file it is about, where it is about one.
    pub file: Option<FileRole>,
    /// The text of the line.
    pub text: String,
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
    /// Details for finding a fault.
    Debug,
}

impl Level {
    /// The word for the level in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl LogLine {
    fn new(level: Level, text: String) -> Self {
        Self { level, code: None, file: None, text }
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
    /// The lines for the log.
    pub log: Vec<LogLine>,
}

/// Texts of the pack that variants use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariantTexts {
    /// The notice that the workspace is not initialised.
    pub workspace_notice: Vec<Fragment>,
    /// How skills are used, with a place for their number.
    pub skill_system: Vec<Fragment>,
    /// The text about skills for a workspace without skills.
    pub skill_system_none: Vec<Fragment>,
}

impl ReinjectState {
    /// Whether the files must be read for the next decision.
    pub fn needs_files(&self, settings: &ReinjectSettings) -> bool {
        settings.variant != Variant::Initial || initial::reason(self, settings).is_some()
    }

    /// Decides what goes before the next input. `occupancy` is the used share of the window, where
    /// it is known. `files` may be empty where [`Self::needs_files`] says that they are not needed.
    pub fn decide(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        words: &VariantTexts,
        occupancy: Option<f64>,
    ) -> InjectionDecision {
        let mut log = Vec::new();
        let injection = match settings.variant {
            Variant::Design => self.design(settings, files, occupancy, &mut log),
            Variant::Current => Ok(self.current(settings, files, words, &mut log)),
            Variant::Initial => self.initial(settings, files, &mut log),
        };
        match &injection {
            Ok(Some(injection)) if injection.reason == "initial" => self.figures.n_initial += 1,
            Ok(Some(_)) => self.figures.n_reinjections += 1,
            Ok(None) => {}
            Err(_) => self.figures.n_failures += 1,
        }
        InjectionDecision { injection, log }
    }

    /// Notes that an input was sent, with or without success.
    pub fn complete_turn(&mut self) {
        self.turn_count += 1;
    }

    /// Notes that the workspace is another one. Gives the line for the log, where there is one.
    pub fn switch_workspace(&mut self, settings: &ReinjectSettings, path: &str) -> Option<LogLine> {
        self.warned = Warned::default();
        match settings.variant {
            // The first injection carries the new content anyway.
            Variant::Design if !self.has_injected => {}
            _ => self.pending = Some("workspace-changed".to_owned()),
        }
        let line = format!("Workspace switched to {path}");
        match settings.variant {
            Variant::Design => None,
            Variant::Initial => Some(LogLine::new(Level::Info, line)),
            Variant::Current => {
                self.last_soul_hash = None;
                self.last_skills_hash = None;
                self.requested_skills.clear();
                Some(LogLine::new(Level::Debug, line))
            }
        }
    }

    /// Notes that the conversation begins again.
    pub fn reset(&mut self, settings: &ReinjectSettings) {
        if settings.variant == Variant::Design {
            *self = Self { figures: self.figures, ..Self::default() };
        }
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

    /// Notes a reason if a file changed since it was last said and is still there.
    fn note_change(&mut self, last: Option<&str>, now: &str, reason: &str) {
        if last.is_some_and(|last| last != now) && now != MISSING {
            self.set_pending(reason);
        }
    }
}

/// The first eight characters of a hash.
fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
