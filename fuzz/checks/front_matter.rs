//! Any text is a skill, or is refused with a reason; what a skill says of itself fits on a line. The file beside it
//! and the head of a custom prompt lose nothing of what follows.

use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_engine::skills::front_matter;
use pellucid_engine::skills::metadata;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match front_matter::parse(text) {
        Ok(head) => {
            check_line(&head.name, front_matter::NAME_CHARS_MAX);
            check_line(&head.description, front_matter::DESCRIPTION_CHARS_MAX);
            if let Some(short) = &head.short_description {
                check_line(short, front_matter::DESCRIPTION_CHARS_MAX);
            }
            let quoted = |value: &str| serde_json::to_string(value).expect("text is JSON");
            let mut again = format!("---\nname: {}\ndescription: {}\n", quoted(&head.name), quoted(&head.description));
            if let Some(short) = &head.short_description {
                again += &format!("metadata:\n  short-description: {}\n", quoted(short));
            }
            assert_eq!(
                front_matter::parse(&(again + "---\n")),
                Ok(head),
                "a head says the same when it is written anew"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = metadata::parse(text) {
        assert!(!error.is_empty());
    }
    let prompt = CustomPrompt::parse("any", "any.md", text);
    assert!(text.ends_with(&prompt.content), "what follows the head stays as it is");
}

#[track_caller]
fn check_line(value: &str, chars_max: usize) {
    assert!(!value.is_empty() && value.chars().count() <= chars_max);
    assert_eq!(value.split_whitespace().collect::<Vec<_>>().join(" "), value, "words with one space between");
}
