//! The prompt for a summary, and how a summary is shown to the model later.

use crate::cut::ends;
use crate::injection::scalar;

/// How many bytes of a message are summarised.
const TEXT_MAX: i64 = 4_000;

/// How many bytes of a tool's output are summarised.
const OUTPUT_MAX: i64 = 8_000;

/// How many bytes of a summary are shown.
const SUMMARY_MAX: i64 = 20_000;

/// The sampling temperature for summaries.
pub const TEMPERATURE: f64 = 0.2;

/// How many tokens a summary has at most when nothing usable is said.
pub const OUTPUT_TOKENS: i64 = 512;

/// A message of a history, as far as budgets and summaries are concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryMessage {
    /// `user`, `assistant`, `system` or `tool_result`.
    pub role: String,
    /// The text of the message.
    pub text: String,
    /// The tools that it calls, by name.
    pub tool_calls: Vec<String>,
    /// The tool whose output it is.
    pub tool_name: Option<String>,
    /// The call whose output it is.
    pub call_id: Option<String>,
}

impl HistoryMessage {
    /// A message of a role.
    pub fn new(role: &str, text: &str) -> Self {
        Self { role: role.to_owned(), text: text.to_owned(), ..Self::default() }
    }

    pub(super) fn begins_turn(&self) -> bool {
        self.role == "user"
    }

    /// The line of the message in a transcript.
    fn line(&self) -> Option<String> {
        let line = match self.role.as_str() {
            "system" => return None,
            "tool_result" => {
                let name = self.tool_name.as_deref().unwrap_or_default();
                let id = self.call_id.as_deref().unwrap_or_default();
                format!("[tool_result name={name} id={id}] {}", ends::head(&self.text, Some(OUTPUT_MAX)))
            }
            "assistant" if !self.tool_calls.is_empty() => {
                let mut names: Vec<&str> = Vec::new();
                for name in &self.tool_calls {
                    if !names.contains(&name.as_str()) {
                        names.push(name);
                    }
                }
                let text = ends::head(&self.text, Some(TEXT_MAX));
                format!("[assistant] {text}\n[tool_calls] {}", names.join(", "))
            }
            role => format!("[{role}] {}", ends::head(&self.text, Some(TEXT_MAX))),
        };
        Some(scalar::strip(&line).to_owned())
    }
}

/// The prompt for a summary.
pub fn question(previous: Option<&str>, dropped: &[HistoryMessage]) -> String {
    let lines: Vec<String> = dropped.iter().filter_map(HistoryMessage::line).collect();
    let transcript = lines.join("\n");
    let previous = previous.map(scalar::strip).filter(|previous| !previous.is_empty());
    let previous = previous.map(|it| format!("<previous_summary>\n{it}\n</previous_summary>\n\n")).unwrap_or_default();
    format!("{previous}<new_transcript>\n{}\n</new_transcript>\n", scalar::strip(&transcript))
}

/// The summary as a message of role `assistant` before the history.
pub fn shown(summary: &str) -> String {
    let text = ends::head(scalar::strip(summary), Some(SUMMARY_MAX));
    format!("<conversation_summary>\n{text}\n</conversation_summary>")
}

/// The maximum tokens of a summary: the given number, if it is above zero.
pub fn output_tokens(said: Option<i64>) -> i64 {
    said.filter(|n| *n > 0).unwrap_or(OUTPUT_TOKENS)
}
