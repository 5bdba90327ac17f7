//! The `[policy]` of a lock file: which findings are errors, and how large the request may be.
//!
//! The section is written once. Later versions of the file keep it as the user left it, comments included.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::finding::FindingKind;
use super::finding::FindingLevel;

/// The section that a new lock begins with.
const FIRST: &str = include_str!("policy.toml");

/// Which findings are errors, and how large the request may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockPolicy {
    drift: PolicyLevel,
    truncated: PolicyLevel,
    shadowed: PolicyLevel,
    hidden: PolicyLevel,
    program: PolicyLevel,
    /// How many tokens the request may have.
    pub tokens_max: Option<usize>,
    /// How many tokens parts may have, by name.
    pub part_tokens_max: BTreeMap<String, usize>,
    text: String,
}

/// What becomes of findings of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyLevel {
    /// Nothing is reported.
    Allow,
    /// The finding is a warning.
    Warn,
    /// The finding is an error.
    Deny,
}

/// The section as it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    drift: Option<PolicyLevel>,
    truncated: Option<PolicyLevel>,
    shadowed: Option<PolicyLevel>,
    hidden: Option<PolicyLevel>,
    program: Option<PolicyLevel>,
    tokens_max: Option<usize>,
    #[serde(default)]
    part: BTreeMap<String, PartPolicy>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartPolicy {
    tokens_max: Option<usize>,
}

impl Default for LockPolicy {
    /// The policy of a new lock.
    fn default() -> Self {
        let file = PolicyFile { tokens_max: Some(20_000), ..PolicyFile::default() };
        let mut policy = Self::of(&file, FIRST.to_owned());
        policy.part_tokens_max.insert("user_instructions".to_owned(), 8_000);
        policy
    }
}

impl LockPolicy {
    /// The policy that a section says. What it leaves out is as in a new lock, except for sizes.
    pub(super) fn of(file: &PolicyFile, text: String) -> Self {
        let parts = file.part.iter().filter_map(|(name, part)| Some((name.clone(), part.tokens_max?)));
        Self {
            drift: file.drift.unwrap_or(PolicyLevel::Deny),
            truncated: file.truncated.unwrap_or(PolicyLevel::Deny),
            shadowed: file.shadowed.unwrap_or(PolicyLevel::Warn),
            hidden: file.hidden.unwrap_or(PolicyLevel::Deny),
            program: file.program.unwrap_or(PolicyLevel::Warn),
            tokens_max: file.tokens_max,
            part_tokens_max: parts.collect(),
            text: if text.is_empty() { FIRST.to_owned() } else { text },
        }
    }

    /// The section as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a finding of this kind is; absent if the policy allows it. A change is at least what `drift` says.
    pub fn level(&self, kind: FindingKind, is_change: bool) -> Option<FindingLevel> {
        let own = match kind {
            FindingKind::Truncated => self.truncated,
            FindingKind::Shadowed | FindingKind::Duplicate => self.shadowed,
            FindingKind::Hidden => self.hidden,
            FindingKind::Program => self.program,
            FindingKind::OverBudget | FindingKind::LockFormat => PolicyLevel::Deny,
            FindingKind::Drift
            | FindingKind::Added
            | FindingKind::Removed
            | FindingKind::ToolChanged
            | FindingKind::ToolAdded
            | FindingKind::ToolRemoved
            | FindingKind::Pack
            | FindingKind::Settings => self.drift,
        };
        let is_drift = is_change && kind != FindingKind::Program;
        match if is_drift { own.max(self.drift) } else { own } {
            PolicyLevel::Allow => None,
            PolicyLevel::Warn => Some(FindingLevel::Warning),
            PolicyLevel::Deny => Some(FindingLevel::Error),
        }
    }
}

/// The lines of `[policy]` and of the tables in it, wherever they are in the file.
pub(super) fn section(text: &str) -> String {
    let mut section = String::new();
    let mut is_in = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with('[') {
            let name = start.trim_start_matches('[').trim_start();
            is_in = name.strip_prefix("policy").is_some_and(|rest| rest.trim_start().starts_with([']', '.']));
        }
        if is_in {
            section += line;
            section.push('\n');
        }
    }
    let kept = section.trim_end();
    if kept.is_empty() { String::new() } else { format!("{kept}\n") }
}
