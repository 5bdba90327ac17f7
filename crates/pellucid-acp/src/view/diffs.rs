//! Both texts of a changed file, from its difference and the file as it is now.
//!
//! The file may have been read before or after the patch was applied; the difference says which. If it fits neither, both
//! texts are those of the hunks alone.

use std::path::Path;

use agent_client_protocol::v1::schema::Diff;
use agent_client_protocol::v1::schema::ToolCallLocation;
use pellucid_protocol::change::FileChange;

use super::Texts;

/// The change of a file as a client shows it.
pub fn diff(path: &Path, change: &FileChange, texts: &Texts) -> Diff {
    match change {
        FileChange::Add { content } => Diff::new(path, content.clone()),
        FileChange::Delete { content } => Diff::new(path, String::new()).old_text(content.clone()),
        FileChange::Update { unified_diff, move_path } => {
            let (old, new) = both(unified_diff, texts.get(path).map(String::as_str));
            Diff::new(move_path.as_deref().unwrap_or(path), new).old_text(old)
        }
    }
}

/// The place of the first change in a file, its line counted from 1.
pub fn location(path: &Path, change: &FileChange) -> ToolCallLocation {
    match change {
        FileChange::Update { unified_diff, move_path } => {
            let hunks = hunks(unified_diff);
            let line = hunks.first().and_then(|hunk| u32::try_from(hunk.new_start + hunk.n_before).ok());
            ToolCallLocation::new(move_path.as_deref().unwrap_or(path)).line(line)
        }
        FileChange::Add { .. } | FileChange::Delete { .. } => ToolCallLocation::new(path).line(1u32),
    }
}

/// A stretch of a difference.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk<'a> {
    /// The first line of the old text, from 1.
    old_start: usize,
    /// The first line of the new text, from 1.
    new_start: usize,
    /// How many lines come before the first change.
    n_before: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// Whether the last line of each text lacks its end.
    is_old_open: bool,
    is_new_open: bool,
}

fn hunks(diff: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let (mut is_changed, mut last) = (false, ' ');
    for line in diff.lines() {
        if let Some(head) = line.strip_prefix("@@") {
            let start = |sign: char| {
                let rest = &head[head.find(sign)? + 1..];
                rest.split([',', ' ']).next()?.parse::<usize>().ok()
            };
            let (old_start, new_start) = (start('-').unwrap_or(1), start('+').unwrap_or(1));
            hunks.push(Hunk { old_start, new_start, ..Hunk::default() });
            is_changed = false;
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let text = line.get(1..).unwrap_or_default();
        match line.chars().next().unwrap_or(' ') {
            '-' => {
                hunk.old.push(text);
                (is_changed, last) = (true, '-');
            }
            '+' => {
                hunk.new.push(text);
                (is_changed, last) = (true, '+');
            }
            '\\' => {
                hunk.is_old_open |= last != '+';
                hunk.is_new_open |= last != '-';
            }
            _ => {
                hunk.old.push(text);
                hunk.new.push(text);
                hunk.n_before += usize::from(!is_changed);
                last = ' ';
            }
        }
    }
    hunks
}

/// The text before and the text after a difference. `now` is the file, before or after it.
fn both(diff: &str, now: Option<&str>) -> (String, String) {
    let hunks = hunks(diff);
    let whole = now.and_then(|now| {
        let after = replaced(now, &hunks, |hunk| (hunk.old_start, &hunk.old, &hunk.new, hunk.is_new_open));
        let before = || replaced(now, &hunks, |hunk| (hunk.new_start, &hunk.new, &hunk.old, hunk.is_old_open));
        match after {
            Some(after) => Some((now.to_owned(), after)),
            None => Some((before()?, now.to_owned())),
        }
    });
    whole.unwrap_or_else(|| {
        let part = |lines: fn(&Hunk<'_>) -> String| hunks.iter().map(lines).collect::<String>();
        (part(|hunk| ended(&hunk.old, hunk.is_old_open)), part(|hunk| ended(&hunk.new, hunk.is_new_open)))
    })
}

fn ended(lines: &[&str], is_open: bool) -> String {
    let mut text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
    if is_open {
        text.pop();
    }
    text
}

/// The lines of a hunk: from which line on, which are there, by which they are replaced, and whether the last of these
/// lacks its end.
type Replacement<'h, 'a> = (usize, &'h Vec<&'a str>, &'h Vec<&'a str>, bool);

/// A text in which each hunk is replaced; absent if the text has other lines where a hunk is.
fn replaced<'a>(text: &str, hunks: &[Hunk<'a>], of: for<'h> fn(&'h Hunk<'a>) -> Replacement<'h, 'a>) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare = |line: &str| line.strip_suffix('\n').unwrap_or(line).to_owned();
    let (mut made, mut at) = (String::with_capacity(text.len()), 0);
    for hunk in hunks {
        let (start, from, to, is_open) = of(hunk);
        // A hunk without lines begins behind the line that it names.
        let start = if from.is_empty() { start } else { start.checked_sub(1)? };
        made.extend(lines.get(at..start)?.iter().copied());
        let there = lines.get(start..start + from.len())?;
        if !there.iter().zip(from).all(|(line, wanted)| bare(line) == *wanted) {
            return None;
        }
        made += &ended(to, is_open);
        at = start + from.len();
    }
    made.extend(lines.get(at..)?.iter().copied());
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n@@ -9,1 +10,1 @@\n-y\n+Y\n\\ No newline at end of file\n";

    fn lines(text: &str) -> String {
        text.split(' ').map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_file_is_read_before_or_after_the_patch() {
        let (old, new) = (lines("a b c d e f g h y"), format!("{}Y", lines("a B B2 c d e f g h")));
        assert_eq!(both(DIFF, Some(&old)), (old.clone(), new.clone()));
        assert_eq!(both(DIFF, Some(&new)), (old, new));
    }

    #[test]
    fn of_another_file_the_hunks_are_shown() {
        let hunks = (lines("a b c y"), "a\nB\nB2\nc\nY".to_owned());
        assert_eq!(both(DIFF, Some("other\n")), hunks);
        assert_eq!(both(DIFF, None), hunks);
    }

    #[test]
    fn the_place_is_that_of_the_first_change() {
        let change = FileChange::Update { unified_diff: DIFF.to_owned(), move_path: None };
        assert_eq!(location(Path::new("/a"), &change).line, Some(2));
        let added = FileChange::Update { unified_diff: "@@ -0,0 +1,1 @@\n+x\n".to_owned(), move_path: None };
        assert_eq!(both("@@ -0,0 +1,1 @@\n+x\n", Some("")), (String::new(), "x\n".to_owned()));
        assert_eq!(location(Path::new("/a"), &added).line, Some(1));
    }
}
