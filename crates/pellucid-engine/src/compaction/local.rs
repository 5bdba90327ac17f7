//! A summary without a model: the last answer, the plan, files, commands and requirements, copied from the history.
//! The same history always gives the same text.

use pellucid_protocol::event::StepStatus;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use serde_json::Value;

use super::last_answer;
use crate::boundary;
use crate::cut::middle::truncate_middle;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::loss;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;

pub(super) const LOCAL_SUMMARY: &str = "compact/local_summary.md";

/// The placeholders of the template.
pub(super) const SHAPE: Shape = Shape::with(&[
    TemplatePlace::may(ANSWER),
    TemplatePlace::may(PLAN),
    TemplatePlace::may(FILES),
    TemplatePlace::may(COMMANDS),
    TemplatePlace::may(DEMANDS),
]);

const ANSWER: &str = "{{ answer }}";
const PLAN: &str = "{{ plan }}";
const FILES: &str = "{{ files }}";
const COMMANDS: &str = "{{ commands }}";
const DEMANDS: &str = "{{ demands }}";

/// How many lines a list has at most; the newest stay.
const LINES_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 200;
const ANSWER_TOKENS_MAX: i64 = 1_000;

/// The summary of a history.
pub fn local_summary(items: &[Item], pack: &Pack) -> String {
    let policy = TruncationPolicy { mode: TruncationMode::Tokens, limit: ANSWER_TOKENS_MAX };
    let answer = last_answer(items).filter(|answer| !answer.trim().is_empty());
    let answer = answer.map_or_else(|| "-".to_owned(), |answer| truncate_middle(&answer, policy));
    let texts = || items.iter().filter(|item| !super::region::is_standing(item)).flat_map(loss::texts);
    let files = texts().flat_map(loss::words).filter(|word| loss::is_path(word)).map(str::to_owned);
    let said: Vec<String> = items.iter().filter_map(boundary::said_by_person).collect();
    let demands =
        said.iter().flat_map(|said| loss::sentences(said)).filter(|it| loss::is_demand(it)).map(str::to_owned);
    let plan = items.iter().rev().find_map(loss::plan).into_iter().flat_map(|plan| plan.plan);
    let plan = plan.map(|step| format!("{}: {}", status(step.status), step.step));
    let place = |mark, text: String| (mark, vec![Fragment::fact("history", text)]);
    let values = [
        place(ANSWER, answer),
        place(PLAN, listed(plan.collect())),
        place(FILES, listed(files.collect())),
        place(COMMANDS, listed(items.iter().filter_map(command).collect())),
        place(DEMANDS, listed(demands.collect())),
    ];
    concat(&pack.template(LOCAL_SUMMARY).render(&values)).trim_end().to_owned()
}

fn status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Completed => "completed",
        StepStatus::InProgress => "in progress",
        StepStatus::Pending => "pending",
    }
}

/// The newest lines, each once, at its last position.
fn listed(lines: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines.into_iter().rev() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().take(LINE_CHARS_MAX).collect();
        if !line.is_empty() && !kept.contains(&line) {
            kept.push(line);
        }
        if kept.len() == LINES_MAX {
            break;
        }
    }
    if kept.is_empty() {
        return "-".to_owned();
    }
    kept.iter().rev().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// The command of a call that runs one.
fn command(item: &Item) -> Option<String> {
    let arguments = match item {
        Item::FunctionCall { arguments, .. } => serde_json::from_str::<Value>(arguments).ok()?,
        _ => return None,
    };
    let command = arguments.get("command").or_else(|| arguments.get("cmd"))?;
    match command {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

/// Whether items have a text of the model's.
pub(super) fn has_answer(items: &[Item]) -> bool {
    let has_text = |part: &ContentPart| matches!(part, ContentPart::OutputText { text } if !text.trim().is_empty());
    items.iter().any(|item| {
        matches!(item, Item::Message { role, content, .. } if role == "assistant" && content.iter().any(has_text))
    })
}
