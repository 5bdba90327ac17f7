//! The user's requests, as a summary has to account for them.
//!
//! Requests are numbered in the order in which they were made. A request that was answered is completed. The list is
//! at the end of a summary in a form that the next compaction reads again, so a request stays completed when all that
//! shows it is gone.

use std::collections::BTreeMap;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use crate::boundary;

const OPEN: &str = "<requests>";
const CLOSE: &str = "</requests>";
const LABEL_CHARS_MAX: usize = 120;

/// Something that a person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRequest {
    /// The beginning of the request, on one line.
    pub label: String,
    /// Whether the request was answered.
    pub state: RequestState,
}

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// The request was answered.
    Completed,
    /// The request was not answered, or the answer was interrupted.
    Open,
}

impl RequestState {
    fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Open => "open",
        }
    }
}

/// The requests of a history. `summary_start` is what earlier summaries begin with.
pub fn requests(items: &[Item], summary_start: &str) -> Vec<UserRequest> {
    let mut found: Vec<UserRequest> = Vec::new();
    let mut known: BTreeMap<String, RequestState> = BTreeMap::new();
    let mut earlier = Vec::new();
    for item in items {
        let Some(said) = boundary::said_by_person(item) else {
            if let Some(last) = found.last_mut() {
                last.state = state_after(item, last.state);
            }
            continue;
        };
        if said.starts_with(summary_start) {
            earlier = lines(&said).into_iter().map(|(_, state, label)| UserRequest { label, state }).collect();
            known.extend(earlier.iter().map(|request| (request.label.clone(), request.state)));
            for request in &mut found {
                request.state = known.get(&request.label).copied().unwrap_or(request.state);
            }
        } else {
            found.push(UserRequest { label: label(&said), state: RequestState::Open });
        }
    }
    earlier.retain(|request| !found.iter().any(|it| it.label == request.label));
    earlier.append(&mut found);
    earlier
}

/// The list of requests in the notation of a summary.
pub fn block(requests: &[UserRequest]) -> String {
    let mut text = format!("{OPEN}\n");
    for (n, UserRequest { label, state }) in requests.iter().enumerate() {
        text += &format!("<request n=\"{}\" state=\"{}\">{label}</request>\n", n + 1, state.word());
    }
    text + CLOSE
}

/// The numbers of completed requests that a summary does not mark so.
pub fn missing(summary: &str, requests: &[UserRequest]) -> Vec<usize> {
    let marked = lines(summary);
    let is_marked = |n: usize| marked.iter().any(|(known, state, _)| *known == n && *state == RequestState::Completed);
    let completed = requests.iter().enumerate().filter(|(_, request)| request.state == RequestState::Completed);
    completed.map(|(n, _)| n + 1).filter(|n| !is_marked(*n)).collect()
}

/// The summary with the list in our own words at its end: what a model wrote there stays before it.
pub fn accounted(summary: &str, requests: &[UserRequest]) -> String {
    if requests.is_empty() {
        return summary.to_owned();
    }
    let outcomes = lines(summary).into_iter().map(|(n, state, outcome)| format!("{n}. {}: {outcome}", state.word()));
    let outcomes: Vec<String> = outcomes.collect();
    let rest = match (summary.rfind(OPEN), summary.rfind(CLOSE)) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &summary[..start], &summary[end + CLOSE.len()..]),
        _ => summary.to_owned(),
    };
    let parts = [rest.trim_end().to_owned(), outcomes.join("\n"), block(requests)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The lines of the last list in a text: number, state, words.
fn lines(text: &str) -> Vec<(usize, RequestState, String)> {
    let Some(start) = text.rfind(OPEN) else {
        return Vec::new();
    };
    text[start + OPEN.len()..].lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(usize, RequestState, String)> {
    let rest = line.trim().strip_prefix("<request ")?;
    let (head, words) = rest.split_once('>')?;
    let value = |name: &str| head.split_once(&format!("{name}=\""))?.1.split('"').next();
    let state = match value("state")? {
        "completed" => RequestState::Completed,
        _ => RequestState::Open,
    };
    Some((value("n")?.parse().ok()?, state, words.trim_end_matches("</request>").to_owned()))
}

/// The state of a request after an item that follows it.
fn state_after(item: &Item, state: RequestState) -> RequestState {
    match item {
        Item::Message { role, content, .. } if role == "assistant" && !is_blank(content) => RequestState::Completed,
        Item::FunctionCall { .. }
        | Item::CustomToolCall { .. }
        | Item::LocalShellCall { .. }
        | Item::FunctionCallOutput { .. }
        | Item::CustomToolCallOutput { .. } => RequestState::Open,
        Item::Message { role, content, .. } if role == "user" && is_aborted(content) => RequestState::Open,
        _ => state,
    }
}

fn is_blank(content: &[ContentPart]) -> bool {
    !content.iter().any(|part| matches!(part, ContentPart::OutputText { text } if !text.trim().is_empty()))
}

fn is_aborted(content: &[ContentPart]) -> bool {
    let begins = |part: &ContentPart| matches!(part, ContentPart::InputText { text } if text.trim_start().starts_with("<turn_aborted>"));
    content.iter().any(begins)
}

/// The beginning of a request on one line, without what would end its tag.
fn label(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !matches!(c, '<' | '>')).take(LABEL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Item {
        let (name, arguments) = ("shell".to_owned(), "{}".to_owned());
        Item::FunctionCall { id: None, name, arguments, call_id: "c".to_owned() }
    }

    fn check_states(items: &[Item], expected: &[(&str, RequestState)]) {
        let found = requests(items, "SUMMARY\n");
        let found: Vec<_> = found.iter().map(|request| (request.label.as_str(), request.state)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_answered_is_completed() {
        use RequestState::Completed;
        use RequestState::Open;
        let said = |text: &str| Item::text("user", text);
        let answer = || Item::text("assistant", "Done.");
        check_states(&[said("one"), answer(), said("two")], &[("one", Completed), ("two", Open)]);
        check_states(&[said("one"), answer(), call()], &[("one", Open)]);
        check_states(&[said("one"), call(), answer()], &[("one", Completed)]);
        check_states(&[said("one"), answer(), said("<turn_aborted>\nx\n</turn_aborted>")], &[("one", Open)]);
    }

    #[test]
    fn an_earlier_summary_says_how_requests_stood() {
        let request = |label: &str, state| UserRequest { label: label.to_owned(), state };
        let earlier = [request("gone", RequestState::Completed), request("one", RequestState::Completed)];
        let summary = Item::text("user", format!("SUMMARY\n{}", accounted("All is well.", &earlier)));
        check_states(
            &[Item::text("user", "one"), summary, Item::text("user", "two")],
            &[("gone", RequestState::Completed), ("one", RequestState::Completed), ("two", RequestState::Open)],
        );
    }

    #[test]
    fn a_summary_must_mark_what_is_completed() {
        let request = |label: &str, state| UserRequest { label: label.to_owned(), state };
        let asked = [
            request("one", RequestState::Completed),
            request("two", RequestState::Open),
            request("three", RequestState::Completed),
        ];
        assert_eq!(missing("All is well.", &asked), [1, 3]);
        assert_eq!(missing(&block(&asked), &asked), [] as [usize; 0]);
        let half = "Fine.\n<requests>\n<request n=\"1\" state=\"completed\">did it</request>\n<request n=\"3\" state=\"open\">x</request>\n</requests>";
        assert_eq!(missing(half, &asked), [3]);
        let text = accounted(half, &asked);
        assert_eq!(missing(&text, &asked), [] as [usize; 0], "the list is ours in the end");
        assert!(text.starts_with("Fine.\n\n1. completed: did it\n3. open: x\n\n<requests>\n"), "{text}");
    }
}
