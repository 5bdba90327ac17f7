//! Mentions are what the text says, in its order and without overlap; a text that calls a custom prompt is filled in,
//! refused with a reason, or left alone.

use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_engine::custom_prompt::expand;
use pellucid_engine::skills::mention::mentions;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut end = 0;
    for mention in mentions(text) {
        let said = &text[mention.span.clone()];
        assert!(mention.span.start >= end, "{said} overlaps what is before it");
        end = mention.span.end;
        match mention.link {
            None => assert_eq!(said, format!("${}", mention.name)),
            Some(link) => {
                assert!(said.starts_with(&format!("[${}]", mention.name)) && said.ends_with(')'), "{said}");
                assert!(!link.path.is_empty() && said.contains(link.path));
            }
        }
        let alone = mentions(said);
        assert_eq!(alone.len(), 1, "{said} is a mention wherever it stands");
        assert_eq!((alone[0].name, alone[0].link), (mention.name, mention.link));
    }

    let contents = ["plain", "$1 and $2, all: $ARGUMENTS", "$NAME of $FILE, $$1"];
    let prompts = contents.map(|content| CustomPrompt::parse(&content[..5].replace(' ', ""), "any.md", content));
    for prompt in &prompts {
        let command = format!("/prompts:{} {text}", prompt.name);
        match expand(&prompts, &command, &[]) {
            Ok(expansion) => assert!(expansion.is_some(), "the prompt is there"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if !text.starts_with("/prompts:") {
        assert_eq!(expand(&prompts, text, &[]), Ok(None), "other text is left alone");
    }
}
