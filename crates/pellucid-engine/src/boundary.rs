//! Decides which messages of role `user` were written by the user.
//!
//! Instruction files, skills, the environment and records of the runtime come in that role too;
//! they begin no turn.

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

/// Beginnings of messages that hold nothing else, as they are written.
const WHOLE: [&str; 3] = ["# AGENTS.md instructions for ", "<user_instructions>", "<skill"];

/// Beginnings of parts, after white space and in any case.
const PARTS: [&str; 3] = ["<environment_context>", "<turn_aborted>", "<user_shell_command>"];

/// Beginnings of the tags around an image.
const IMAGE_TAGS: [&str; 3] = ["<image>", "<image name=", "</image>"];

/// Whether a turn of a person begins with this item.
pub fn begins_user_turn(item: &Item) -> bool {
    let Item::Message { role, content, .. } = item else {
        return false;
    };
    role == "user" && !is_whole_injection(content) && !content.iter().any(is_runtime_part)
}

fn is_whole_injection(content: &[ContentPart]) -> bool {
    match content {
        [ContentPart::InputText { text }] => WHOLE.iter().any(|beginning| text.starts_with(beginning)),
        _ => false,
    }
}

fn is_runtime_part(part: &ContentPart) -> bool {
    let (text, marks) = match part {
        ContentPart::InputText { text } => (text, &PARTS[..]),
        // Text of the model in a user's message is odd; only the first two marks count there.
        ContentPart::OutputText { text } => (text, &PARTS[..2]),
        ContentPart::InputImage { .. } => return false,
    };
    let text = text.trim_start();
    marks.iter().any(|mark| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark)))
}

/// How many bytes at the start of a text are the beginning of a message that the user did not write, or the tag before or
/// behind an image; zero if it begins like any other.
pub fn beginning(text: &str) -> usize {
    let len_of = |text: &str, mark: &str| {
        text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark)).then_some(mark.len())
    };
    let blank = text.len() - text.trim_start().len();
    let whole = WHOLE.iter().chain(&IMAGE_TAGS).find_map(|mark| len_of(text, mark));
    let part = || PARTS.iter().find_map(|mark| Some(blank + len_of(&text[blank..], mark)?));
    whole.or_else(part).unwrap_or(0)
}

/// The index at which a history is cut to remove the last `n` turns of the user: before the `n`-th last beginning of
/// a turn, or before the first if there are fewer. `None` for zero turns.
pub fn cut_position(beginnings: &[usize], n_turns: usize) -> Option<usize> {
    let (first, before) = (beginnings.first()?, n_turns.checked_sub(1)?);
    Some(*beginnings.iter().rev().nth(before).unwrap_or(first))
}

/// The text of a user's message, without images and the tags around them.
pub fn said_by_person(item: &Item) -> Option<String> {
    let Item::Message { content, .. } = item else {
        return None;
    };
    if !begins_user_turn(item) {
        return None;
    }
    let is_image = |n: Option<usize>| {
        n.and_then(|n| content.get(n)).is_some_and(|part| matches!(part, ContentPart::InputImage { .. }))
    };
    let mut said = String::new();
    for (n, part) in content.iter().enumerate() {
        if let ContentPart::InputText { text } = part {
            let opens = text == "<image>" || (text.starts_with("<image name=") && text.ends_with('>'));
            let is_tag = (opens && is_image(n.checked_add(1))) || (text == "</image>" && is_image(n.checked_sub(1)));
            if !is_tag {
                said.push_str(text);
            }
        }
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(texts: &[&str]) -> Item {
        let part = |text: &&str| match *text {
            "IMAGE" => ContentPart::InputImage { image_url: "u".to_owned() },
            text => ContentPart::InputText { text: text.to_owned() },
        };
        Item::message("user", texts.iter().map(part).collect())
    }

    #[test]
    fn the_beginning_of_a_message_of_the_program_is_measured() {
        let long = [("# AGENTS.md instructions for /p", 29), ("<skill>x", 6), (" \n<Environment_Context>x", 23)];
        let tags = [
            ("<image>", 7),
            ("<image name=[a]>", 12),
            ("</image>", 8),
            ("<imagine>", 0),
            ("hello <skill>", 0),
            ("", 0),
        ];
        for (text, len) in long.into_iter().chain(tags) {
            assert_eq!(beginning(text), len, "{text}");
        }
    }

    #[test]
    fn injections_begin_no_turn() {
        for texts in [
            &["# AGENTS.md instructions for /p\n\n..."][..],
            &["<user_instructions>x"],
            &["<skill>\n<name>x</name>"],
            &[" \n<ENVIRONMENT_CONTEXT>"],
            &["hello", "<turn_aborted>\nx"],
            &["<user_shell_command>\n"],
        ] {
            assert!(!begins_user_turn(&message(texts)), "{texts:?}");
        }
        assert!(!begins_user_turn(&Item::text("developer", "hi")));
    }

    #[test]
    fn what_people_say_begins_a_turn() {
        for texts in [
            &["hello"][..],
            &["Warning: x"],
            &["# AGENTS.md instructions for /p", "and more"],
            &["see <turn_aborted>"],
            &["<image>", "IMAGE", "</image>"],
            &[],
        ] {
            assert!(begins_user_turn(&message(texts)), "{texts:?}");
        }
    }

    #[test]
    fn images_and_their_tags_are_not_said() {
        let said = |texts: &[&str]| said_by_person(&message(texts)).unwrap();
        assert_eq!(said(&["a", "<image name=[Image #1]>", "IMAGE", "</image>", "b"]), "ab");
        assert_eq!(said(&["<image>", "x", "</image>"]), "<image>x</image>");
        assert_eq!(said(&["<image>", "IMAGE", "</image>"]), "");
    }
}
