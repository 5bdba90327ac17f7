//! The prompt for a summary, and how a summary is shown to the model later.

use crate::cut::ends;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::injection::scalar;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

/// How the model is asked for a summary of dropped turns.
pub const INSTRUCTIONS: &str = "compact/window_summary.md";

const QUESTION: &str = "compact/window_question.md";
const QUESTION_AGAIN: &str = "compact/window_question_again.md";
const SHOWN: &str = "compact/window_shown.md";
const MESSAGE: &str = "compact/window_message.md";
const CALLS: &str = "compact/window_calls.md";
const TOOL_OUTPUT: &str = "compact/window_tool_result.md";

const TRANSCRIPT: &str = "{{ transcript }}";
const PREVIOUS: &str = "{{ previous }}";
const SUMMARY: &str = "{{ summary }}";
const ROLE: &str = "{{ role }}";
const TEXT: &str = "{{ text }}";
const NAME: &str = "{{ name }}";
const NAMES: &str = "{{ names }}";
const ID: &str = "{{ id }}";

/// The role of the output of a tool.
const TOOL_RESULT: &str = "tool_result";

const fn line(places: &'static [TemplatePlace]) -> Shape {
    Shape { trim: Trim::Newline, places }
}

/// The templates of the strategy, for layouts that have it.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (INSTRUCTIONS, line(&[])),
    (QUESTION, Shape::with(&[TemplatePlace::must(TRANSCRIPT)])),
    (QUESTION_AGAIN, Shape::with(&[TemplatePlace::must(PREVIOUS), TemplatePlace::must(TRANSCRIPT)])),
    (SHOWN, line(&[TemplatePlace::must(SUMMARY)])),
    (MESSAGE, line(&[TemplatePlace::may(ROLE), TemplatePlace::must(TEXT)])),
    (CALLS, line(&[TemplatePlace::may(ROLE), TemplatePlace::must(TEXT), TemplatePlace::may(NAMES)])),
    (TOOL_OUTPUT, line(&[TemplatePlace::may(NAME), TemplatePlace::may(ID), TemplatePlace::must(TEXT)])),
];

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

    pub(crate) fn begins_turn(&self) -> bool {
        self.role == "user"
    }

    /// The line of the message in a transcript.
    fn line(&self, pack: &Pack) -> Option<String> {
        let max = if self.role == TOOL_RESULT { OUTPUT_MAX } else { TEXT_MAX };
        let text = ends::head(&self.text, Some(max));
        let (file, values) = match self.role.as_str() {
            "system" => return None,
            TOOL_RESULT => {
                let name = self.tool_name.as_deref().unwrap_or_default();
                (TOOL_OUTPUT, [(NAME, name), (ID, self.call_id.as_deref().unwrap_or_default()), (TEXT, text)].to_vec())
            }
            role if !self.tool_calls.is_empty() => {
                let names = self.called();
                return Some(said(pack, CALLS, &[(ROLE, role), (TEXT, text), (NAMES, &names)]));
            }
            role => (MESSAGE, [(ROLE, role), (TEXT, text)].to_vec()),
        };
        Some(said(pack, file, &values))
    }

    /// The names of the tools that it calls, each once.
    fn called(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.tool_calls {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

/// A line of a transcript, made by a template of the pack.
fn said(pack: &Pack, file: &str, values: &[(&str, &str)]) -> String {
    let values: Vec<(&str, Vec<Fragment>)> =
        values.iter().map(|(mark, text)| (*mark, vec![Fragment::fact("history", *text)])).collect();
    scalar::strip(&concat(&pack.template(file).render(&values))).to_owned()
}

/// The prompt for a summary.
pub fn question(pack: &Pack, previous: Option<&str>, dropped: &[HistoryMessage]) -> Vec<Fragment> {
    let lines: Vec<String> = dropped.iter().filter_map(|message| message.line(pack)).collect();
    let transcript = lines.join("\n");
    let transcript = vec![Fragment::fact("history", scalar::strip(&transcript))];
    match previous.map(scalar::strip).filter(|previous| !previous.is_empty()) {
        None => pack.template(QUESTION).render(&[(TRANSCRIPT, transcript)]),
        Some(previous) => {
            let previous = vec![Fragment { origin: Origin::Model, text: previous.to_owned() }];
            pack.template(QUESTION_AGAIN).render(&[(PREVIOUS, previous), (TRANSCRIPT, transcript)])
        }
    }
}

/// The summary as a message of role `assistant` before the history.
pub fn shown(pack: &Pack, summary: &str) -> Vec<Fragment> {
    let text = ends::head(scalar::strip(summary), Some(SUMMARY_MAX)).to_owned();
    pack.template(SHOWN).render(&[(SUMMARY, vec![Fragment { origin: Origin::Model, text }])])
}

/// The maximum tokens of a summary: the given number, if it is above zero.
pub fn output_tokens(said: Option<i64>) -> i64 {
    said.filter(|n| *n > 0).unwrap_or(OUTPUT_TOKENS)
}
