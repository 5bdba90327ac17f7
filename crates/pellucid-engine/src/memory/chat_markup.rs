//! Chat markup: a text that is a list of messages.

use super::ask::SummaryMessage;
use super::entry::ChatRole;
use crate::utf16;

const OPEN: &str = "<|im_start|>";
const CLOSE: &str = "<|im_end|>";

/// The messages of a text that begins with chat markup; absent for any other text.
pub fn parse(text: &str) -> Option<Vec<SummaryMessage>> {
    let text = utf16::trim(text);
    if !text.starts_with(OPEN) {
        return None;
    }
    let mut messages = Vec::new();
    for piece in text.split(OPEN).skip(1) {
        let piece = piece.split_once(CLOSE).map_or(piece, |(inside, _)| inside);
        let (role, content) = piece.split_once('\n').unwrap_or((piece, ""));
        let role = match utf16::trim(role) {
            "user" => ChatRole::User,
            "assistant" => ChatRole::Assistant,
            "function" => ChatRole::Function,
            _ => ChatRole::System,
        };
        messages.push(SummaryMessage { role, content: utf16::trim(content).to_owned() });
    }
    Some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_markup_is_a_list_of_messages() {
        let text = "<|im_start|>system\nFold.<|im_end|>\n<|im_start|>user\na\nb<|im_end|>";
        let messages: Vec<_> = parse(text).unwrap().into_iter().map(|it| (it.role, it.content)).collect();
        assert_eq!(messages, [(ChatRole::System, "Fold.".to_owned()), (ChatRole::User, "a\nb".to_owned())]);
        assert_eq!(parse("Fold <|im_start|>"), None);
    }
}
