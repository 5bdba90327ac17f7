//! The events that show an item to the user.

use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningContentPart;
use pellucid_protocol::item::ReasoningSummaryPart;
use pellucid_protocol::item::WebSearchAction;

/// The visible form of what the model said, thought or searched; absent for everything else.
///
/// `fresh_id` names items that the server did not.
pub fn visible(item: &Item, fresh_id: impl FnOnce() -> String) -> Option<TurnItem> {
    match item {
        Item::Message { id, role, content, phase, .. } if role == "assistant" => {
            let text = |part: &ContentPart| match part {
                ContentPart::OutputText { text } => Some(AgentContent::Text { text: text.clone() }),
                ContentPart::InputText { .. } | ContentPart::InputImage { .. } => None,
            };
            Some(TurnItem::AgentMessage {
                id: id.clone().unwrap_or_else(fresh_id),
                content: content.iter().filter_map(text).collect(),
                phase: *phase,
            })
        }
        Item::Reasoning { id, summary, content, .. } => Some(TurnItem::Reasoning {
            id: id.clone().unwrap_or_else(fresh_id),
            summary_text: summary.iter().map(|ReasoningSummaryPart::SummaryText { text }| text.clone()).collect(),
            raw_content: content.iter().flatten().map(raw_text).collect(),
        }),
        Item::WebSearchCall { id, action, .. } => Some(TurnItem::WebSearch {
            id: id.clone().unwrap_or_default(),
            query: action.as_ref().map(search_detail).unwrap_or_default(),
            action: action.clone().unwrap_or(WebSearchAction::Other),
        }),
        _ => None,
    }
}

/// The text of a message of the model, joined.
pub fn said(item: &Item) -> Option<String> {
    match item {
        Item::Message { role, content, .. } if role == "assistant" => {
            let texts = content.iter().filter_map(|part| match part {
                ContentPart::OutputText { text } => Some(text.as_str()),
                ContentPart::InputText { .. } | ContentPart::InputImage { .. } => None,
            });
            Some(texts.collect())
        }
        _ => None,
    }
}

fn raw_text(part: &ReasoningContentPart) -> String {
    match part {
        ReasoningContentPart::ReasoningText { text } | ReasoningContentPart::Text { text } => text.clone(),
    }
}

/// The subject of a search, in a few words.
fn search_detail(action: &WebSearchAction) -> String {
    match action {
        WebSearchAction::Search { query: Some(query), .. } if !query.is_empty() => query.clone(),
        WebSearchAction::Search { queries, .. } => match queries.as_deref() {
            Some([first, _, ..]) if !first.is_empty() => format!("{first} ..."),
            Some([first, ..]) => first.clone(),
            Some([]) | None => String::new(),
        },
        WebSearchAction::OpenPage { url } => url.clone().unwrap_or_default(),
        WebSearchAction::FindInPage { url, pattern } => match (pattern, url) {
            (Some(pattern), Some(url)) => format!("'{pattern}' in {url}"),
            (Some(pattern), None) => format!("'{pattern}'"),
            (None, url) => url.clone().unwrap_or_default(),
        },
        WebSearchAction::Other => String::new(),
    }
}

#[cfg(test)]
mod tests;
