//! Finds the texts that a summary lost, without asking a model.
//!
//! Compares the history that went with what is left: paths, names of code, steps of a plan that are
//! not done, and sentences in which a person demanded something. What does not occur any more is
//! listed in the order in which it came up. Words of tools' outputs are not looked at: they are many,
//! and can be had again.
//!
//! Not here: a judgement. Some of it may well be forgotten.

use std::collections::BTreeSet;

use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::StepStatus;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use crate::boundary;

/// Words of a sentence that demands something.
const DEMANDS: [&str; 14] = [
    "must",
    "never",
    "always",
    "only",
    "don't",
    "dont",
    "not",
    "avoid",
    "without",
    "unless",
    "except",
    "required",
    "forbidden",
    "should",
];

/// How short a name of code may be.
const NAME_CHARS_MIN: usize = 4;

/// Texts of the history that are missing from the summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// Paths and names of files.
    pub paths: Vec<String>,
    /// Names of functions, types, variables.
    pub identifiers: Vec<String>,
    /// Steps of the last plan that are not done.
    pub open_tasks: Vec<String>,
    /// Sentences in which the user demanded something.
    pub constraints: Vec<String>,
}

impl Loss {
    /// Compares a history with what is left of it.
    pub fn of(before: &[Item], after: &[Item]) -> Self {
        let left: String = after.iter().flat_map(texts).fold(String::new(), |left, text| left + text + "\n");
        let mut loss = Self::default();
        let mut seen = BTreeSet::new();
        for word in before.iter().flat_map(texts).flat_map(words) {
            let list = match () {
                () if is_path(word) => &mut loss.paths,
                () if is_identifier(word) => &mut loss.identifiers,
                () => continue,
            };
            if seen.insert(word) && !left.contains(word) {
                list.push(word.to_owned());
            }
        }
        let plan = before.iter().rev().find_map(plan).into_iter().flat_map(|plan| plan.plan);
        let open = plan.filter(|step| step.status != StepStatus::Completed).map(|step| step.step);
        loss.open_tasks = open.filter(|step| !left.contains(step.as_str())).collect();
        let mut seen = BTreeSet::new();
        for said in before.iter().filter_map(boundary::said_by_person) {
            let lost = sentences(&said).filter(|it| is_demand(it) && !left.contains(it));
            loss.constraints.extend(lost.filter(|it| seen.insert((*it).to_owned())).map(str::to_owned));
        }
        loss
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The texts of messages and calls, without the outputs of calls.
pub(crate) fn texts(item: &Item) -> Vec<&str> {
    match item {
        Item::Message { content, .. } => content
            .iter()
            .filter_map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(text.as_str()),
                ContentPart::InputImage { .. } => None,
            })
            .collect(),
        Item::FunctionCall { arguments, .. } => vec![arguments],
        Item::CustomToolCall { input, .. } => vec![input],
        _ => Vec::new(),
    }
}

pub(crate) fn plan(item: &Item) -> Option<PlanUpdate> {
    match item {
        Item::FunctionCall { name, arguments, .. } if name == "update_plan" => serde_json::from_str(arguments).ok(),
        _ => None,
    }
}

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|=\\".contains(c);
    text.split(ends).map(|word| {
        let word = word.trim_start_matches(['*', '#', ':']).trim_end_matches(['.', ':', '!', '?', '*']);
        // A place in a file is the file.
        let file = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
        if file.len() < word.len() && word[file.len()..].starts_with(':') { file } else { word }
    })
}

pub(crate) fn is_path(word: &str) -> bool {
    if word.contains("://") || !word.chars().any(char::is_alphanumeric) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let is_file = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let is_extension = |c: char| c.is_ascii_alphanumeric();
        stem.chars().count() >= 2
            && stem.chars().any(char::is_alphabetic)
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.chars().all(is_extension)
    });
    let begins_like_one = ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start));
    is_file || begins_like_one || word.matches('/').count() >= 2
}

fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_name = bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
        && bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && bytes.len() >= NAME_CHARS_MIN;
    let is_snake = word.trim_matches('_').contains('_');
    let is_camel = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    is_name && (is_snake || is_camel || word.contains("::"))
}

pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    // A full stop inside a word, as in a file's name, ends nothing.
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().find_map(|(at, c)| {
            let after = at + c.len_utf8();
            let is_end = c == '\n' || (matches!(c, '.' | '!' | '?') && rest[after..].starts_with(char::is_whitespace));
            is_end.then_some(after)
        });
        let sentence;
        (sentence, rest) = rest.split_at(end.unwrap_or(rest.len()));
        (!sentence.is_empty()).then(|| sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

pub(crate) fn is_demand(sentence: &str) -> bool {
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    words.into_iter().any(|word| DEMANDS.contains(&word.to_lowercase().replace('’', "'").as_str()))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn call(name: &str, arguments: &str) -> Item {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        Item::FunctionCall { id: None, name, arguments, call_id: "c".to_owned() }
    }

    #[track_caller]
    fn check_loss(before: &[Item], after: &str, expected: &Expect) {
        let Loss { paths, identifiers, open_tasks, constraints } = Loss::of(before, &[Item::text("user", after)]);
        expected.assert_eq(&format!(
            "paths {paths:?}\nidentifiers {identifiers:?}\nopen tasks {open_tasks:?}\nconstraints {constraints:?}\n"
        ));
    }

    #[test]
    fn what_is_left_is_not_lost() {
        check_loss(
            &[
                Item::text(
                    "user",
                    "Mend src/main.rs:12. You must not touch Cargo.toml! And be quick, 1.5 times or so.",
                ),
                Item::text(
                    "assistant",
                    "I look at `parse_line` and Reader::next_line in src/lib.rs, e.g. https://a.b/c.",
                ),
                call("exec_command", "{\"cmd\":\"cat ./notes/todo.txt && ls /etc/hosts\"}"),
                call(
                    "update_plan",
                    r#"{"plan":[{"step":"read","status":"completed"},{"step":"write tests","status":"pending"}]}"#,
                ),
            ],
            "Was in src/lib.rs, parse_line is done.",
            &expect![[r#"
                paths ["src/main.rs", "Cargo.toml", "./notes/todo.txt", "/etc/hosts"]
                identifiers ["Reader::next_line"]
                open tasks ["write tests"]
                constraints ["You must not touch Cargo.toml!"]
            "#]],
        );
    }

    #[test]
    fn nothing_is_lost_of_nothing() {
        assert!(Loss::of(&[], &[]).is_empty());
        assert!(Loss::of(&[Item::text("user", "Hello there, and/or good day.")], &[]).is_empty());
    }

    #[test]
    fn paths_and_names_of_code_are_told_from_other_words() {
        for path in ["src/main.rs", "/etc", "./x", "../x", "~/x", "Cargo.toml", "a/b/c", "notes.md", "été.txt"] {
            assert!(is_path(path), "{path}");
        }
        for other in
            ["and/or", "e.g", "1.5", "3.14.15", "https://a.b/c", "...", "/", "word", "a.b", "x.toolong", "v1.2"]
        {
            assert!(!is_path(other), "{other}");
        }
        for name in ["parse_line", "nextLine", "Reader::next", "_private_thing", "snake_case_2"] {
            assert!(is_identifier(name), "{name}");
        }
        for other in ["word", "Word", "a_b", "1st_thing", "with-dash", "__init", "é_é_é", "HTTP"] {
            assert!(!is_identifier(other), "{other}");
        }
    }

    #[test]
    fn words_lose_what_surrounds_them() {
        let split = |text: &str| words(text).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(split("see `src/a.rs:12:3`, (\"b.rs\"); **c.rs**!"), ["see", "src/a.rs", "b.rs", "c.rs"]);
        assert_eq!(split("key=value|other [x]{y}"), ["key", "value", "other", "x", "y"]);
        assert_eq!(split("12:30"), ["12:30"], "a time is no place in a file");
    }

    #[test]
    fn sentences_end_at_full_stops_before_a_space_and_at_lines() {
        let all = |text: &str| sentences(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            all("One. Two! Three? src/a.rs stays.\nFour"),
            ["One.", "Two!", "Three?", "src/a.rs stays.", "Four"]
        );
        assert_eq!(all(" \n\n "), Vec::<String>::new());
        for (sentence, expected) in [
            ("You must do it", true),
            ("DON’T touch", true),
            ("don't touch", true),
            ("Nothing here", false),
            ("A mustang", false),
            ("only this", true),
        ] {
            assert_eq!(is_demand(sentence), expected, "{sentence}");
        }
    }
}
