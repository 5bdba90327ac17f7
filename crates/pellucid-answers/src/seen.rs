//! What the model has been shown of files: which lines, and whether they are what the file has now.

use std::collections::BTreeMap;

/// A text that the model was shown, which is said to be of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownText {
    /// The path of the file.
    pub path: String,
    /// What showed it: a command, a tool, instructions.
    pub by: String,
    /// The text; absent if it is mixed with other texts.
    pub text: Option<String>,
}

/// A text of a file, compared with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenText {
    /// The path of the file.
    pub path: String,
    /// What showed it.
    pub by: String,
    /// The first and the last line in the file as it is now, from 1.
    pub lines: Option<(usize, usize)>,
    /// What the file has in place of the text now.
    pub state: SeenState,
}

/// Whether the model has the text that a file has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeenState {
    /// The file has the text as it was shown.
    Current,
    /// The file is as the last patch of the model left it.
    Patched,
    /// The file has another text.
    Old,
    /// The file does not exist, or is no text.
    Gone,
    /// The text cannot be compared, because it is mixed with other texts or empty.
    Unknown,
}

impl SeenState {
    /// The state in one word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Patched => "patched",
            Self::Old => "old",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }

    /// The state in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Patched => "as the model left it",
            Self::Old => "old: the file changed since",
            Self::Gone => "old: the file is gone",
            Self::Unknown => "not comparable",
        }
    }
}

/// Compares what was shown with the files as they are, in the order in which it was shown; the same text of the same file is
/// listed once. `current` gives the text of a file, `is_as_patched` whether the file is as a patch of the session left it.
pub fn seen(
    shown: &[ShownText],
    mut current: impl FnMut(&str) -> Option<String>,
    is_as_patched: impl Fn(&str, &str) -> bool,
) -> Vec<SeenText> {
    let mut texts: BTreeMap<&str, Option<String>> = BTreeMap::new();
    let mut seen: Vec<SeenText> = Vec::new();
    for ShownText { path, by, text } in shown {
        let now = texts.entry(path).or_insert_with(|| current(path));
        let (state, lines) = match (now, text.as_deref().map(|text| text.trim_matches('\n'))) {
            (None, _) => (SeenState::Gone, None),
            (Some(_), None | Some("")) => (SeenState::Unknown, None),
            (Some(now), Some(text)) => match now.find(text) {
                Some(at) => (SeenState::Current, Some(lines_of(now, at, text.len()))),
                None if is_as_patched(path, now) => (SeenState::Patched, None),
                None => (SeenState::Old, None),
            },
        };
        let one = SeenText { path: path.clone(), by: by.clone(), lines, state };
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// The lines of a text that a part of it is in, from 1.
fn lines_of(text: &str, at: usize, len: usize) -> (usize, usize) {
    let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let first = breaks(&text[..at]) + 1;
    (first, first + breaks(&text[at..at + len]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a text of a file `a` with this text, and checks what is said of it.
    #[track_caller]
    fn check_seen(
        shown: Option<&str>,
        now: Option<&str>,
        is_patched: bool,
        expected: (SeenState, Option<(usize, usize)>),
    ) {
        let text = ShownText { path: "a".to_owned(), by: "cat a".to_owned(), text: shown.map(str::to_owned) };
        let seen = seen(&[text.clone(), text], |_| now.map(str::to_owned), |_, _| is_patched);
        assert_eq!(seen.iter().map(|it| (it.state, it.lines)).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_text_is_current_as_long_as_the_file_has_it() {
        let now = Some("one\ntwo\nthree\n");
        check_seen(Some("one\ntwo\nthree\n"), now, false, (SeenState::Current, Some((1, 3))));
        check_seen(Some("two\n"), now, true, (SeenState::Current, Some((2, 2))));
        check_seen(Some("zwei\n"), now, false, (SeenState::Old, None));
        check_seen(Some("zwei\n"), now, true, (SeenState::Patched, None));
        check_seen(Some("one\n"), None, false, (SeenState::Gone, None));
        check_seen(None, now, false, (SeenState::Unknown, None));
        check_seen(Some("\n"), now, false, (SeenState::Unknown, None));
    }
}
