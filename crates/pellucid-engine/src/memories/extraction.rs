//! The first phase: what a model is asked about a session, and what its answer says.

use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use crate::cut::middle::truncate_middle;
use crate::encode::to_json;
use crate::fragment::Fragment;
use crate::pack::Pack;

pub(super) const INSTRUCTIONS: &str = "memory/stage_one_system.md";
pub(super) const INPUT: &str = "memory/stage_one_input.md";

/// The share of the model's window that a session may fill, in percent.
const WINDOW_PERCENT: i64 = 70;

/// How many tokens of a session are shown to a model whose window is not known.
const TOKENS_MAX: i64 = 150_000;

/// A session that a model reads.
#[derive(Debug, Clone, Copy)]
pub struct ExtractionSource<'a> {
    /// The path of the session file.
    pub path: &'a str,
    /// The working directory of the session.
    pub cwd: &'a str,
    /// The items of the session, in order.
    pub items: &'a [Item],
}

/// The model's answer about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractionAnswer {
    /// Facts that are worth keeping for other tasks.
    pub raw_memory: String,
    /// A summary of the session.
    pub rollout_summary: String,
    /// A few words for the name of a file.
    #[serde(default)]
    pub rollout_slug: Option<String>,
}

/// The base instructions of the model.
pub fn instructions(pack: &Pack) -> Vec<Fragment> {
    pack.template(INSTRUCTIONS).text()
}

/// The prompt about a session: its items as JSON, cut in the middle to a share of the window.
pub fn input(pack: &Pack, session: &ExtractionSource<'_>, window: Option<i64>) -> Vec<Fragment> {
    let share = window.filter(|window| *window > 0).map(|window| (window * WINDOW_PERCENT / 100).max(1));
    let policy = TruncationPolicy { mode: TruncationMode::Tokens, limit: share.unwrap_or(TOKENS_MAX) };
    let shown = truncate_middle(&contents(session.items), policy);
    let place = format!("the session file {}", session.path);
    pack.template(INPUT).render(&[
        ("{{ rollout_path }}", vec![Fragment::fact("session file", session.path)]),
        ("{{ rollout_cwd }}", vec![Fragment::fact("working directory of the session", session.cwd)]),
        ("{{ rollout_contents }}", vec![Fragment::provided(&place, shown)]),
    ])
}

/// The items of a session that a model reads, as a JSON list.
fn contents(items: &[Item]) -> String {
    let items: Vec<&Item> = items.iter().filter(|item| is_read(item)).collect();
    String::from_utf8_lossy(&to_json(&items)).into_owned()
}

/// Whether an item says what was wanted, done or found. Messages of this program, thoughts,
/// snapshots and sealed summaries do not.
fn is_read(item: &Item) -> bool {
    match item {
        Item::Message { role, .. } => role != "developer",
        Item::LocalShellCall { .. }
        | Item::FunctionCall { .. }
        | Item::FunctionCallOutput { .. }
        | Item::CustomToolCall { .. }
        | Item::CustomToolCallOutput { .. }
        | Item::WebSearchCall { .. } => true,
        Item::Reasoning { .. } | Item::GhostSnapshot { .. } | Item::Compaction { .. } | Item::Other => false,
    }
}

/// The form of an answer.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "rollout_summary": { "type": "string" },
            "rollout_slug": { "type": ["string", "null"] },
            "raw_memory": { "type": "string" },
        },
        "required": ["rollout_summary", "rollout_slug", "raw_memory"],
        "additionalProperties": false,
    })
}

/// Parses an answer; `None` where the model found nothing worth keeping.
///
/// # Errors
/// When it has another form.
pub fn parse(answer: &str) -> Result<Option<ExtractionAnswer>, String> {
    let answer: ExtractionAnswer =
        serde_json::from_str(answer).map_err(|error| format!("the answer has another form: {error}"))?;
    let is_empty = answer.raw_memory.is_empty() || answer.rollout_summary.is_empty();
    Ok((!is_empty).then_some(answer))
}

#[cfg(test)]
#[path = "extraction/tests.rs"]
mod tests;
