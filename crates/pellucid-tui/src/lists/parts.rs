//! The parts of a patch that can be wanted or not: each hunk of a changed file, and each file that is added or deleted.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::change::FileChange;

/// What begins a hunk of a unified diff.
const HUNK: &str = "@@";

/// One part of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPart {
    /// The part in a few words: the file, the place in it and how many lines change.
    pub label: String,
    /// The file and the hunk as lines of a diff.
    diff: String,
    /// Whether the part is wanted.
    pub is_wanted: bool,
}

/// The parts of a patch. Paths are written from `folder` on where they are inside of it.
pub fn parts(changes: &BTreeMap<PathBuf, FileChange>, folder: Option<&Path>) -> Vec<PatchPart> {
    let mut out = Vec::new();
    for (path, change) in changes {
        let path = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path).display();
        let part = |label: String, diff: String| PatchPart { label, diff, is_wanted: true };
        match change {
            FileChange::Add { content } => {
                let label = format!("{path}, new file of {} lines", content.lines().count());
                out.push(part(label, format!("--- /dev/null\n+++ {path}\n{}", behind('+', content))));
            }
            FileChange::Delete { content } => {
                let label = format!("{path}, deleted with {} lines", content.lines().count());
                out.push(part(label, format!("--- {path}\n+++ /dev/null\n{}", behind('-', content))));
            }
            FileChange::Update { unified_diff, move_path } => {
                let to = move_path.as_ref().map_or_else(|| path.to_string(), |to| to.display().to_string());
                for hunk in hunks(unified_diff) {
                    let count = |sign| hunk.lines().filter(|line| line.starts_with(sign)).count();
                    let label = format!("{path}, {} (+{} -{})", place(hunk), count('+'), count('-'));
                    out.push(part(label, format!("--- {path}\n+++ {to}\n{hunk}")));
                }
            }
        }
    }
    out
}

/// The message that asks for the wanted parts alone; absent if all of them are wanted, or none.
pub fn message(parts: &[PatchPart]) -> Option<String> {
    let wanted: Vec<&str> = parts.iter().filter(|part| part.is_wanted).map(|part| part.diff.as_str()).collect();
    if wanted.is_empty() || wanted.len() == parts.len() {
        return None;
    }
    Some(format!("Make only these changes of the patch:\n\n```diff\n{}```", wanted.concat()))
}

fn behind(sign: char, content: &str) -> String {
    content.lines().map(|line| format!("{sign}{line}\n")).collect()
}

/// The hunks of a diff, each with its first line.
fn hunks(diff: &str) -> Vec<&str> {
    let begins = |at: &usize| diff[..*at].is_empty() || diff[..*at].ends_with('\n');
    let starts: Vec<usize> = diff.match_indices(HUNK).map(|(at, _)| at).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| &diff[*start..end]).collect()
}

/// Where a hunk is in the file as it is now: `line 3`.
fn place(hunk: &str) -> String {
    let line = hunk.split(['-', ',', ' ']).find(|it| it.starts_with(|sign: char| sign.is_ascii_digit()));
    format!("line {}", line.unwrap_or("0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> BTreeMap<PathBuf, FileChange> {
        let diff = "@@ -3,2 +3,2 @@\n a\n-b @@\n+c\n@@ -10 +10,2 @@\n d\n+e\n";
        BTreeMap::from([
            ("/w/new".into(), FileChange::Add { content: "one\ntwo\n".to_owned() }),
            ("/w/old".into(), FileChange::Delete { content: "gone\n".to_owned() }),
            ("/x/src".into(), FileChange::Update { unified_diff: diff.to_owned(), move_path: Some("/x/to".into()) }),
        ])
    }

    #[test]
    fn files_and_hunks_are_parts() {
        let parts = parts(&changes(), Some(Path::new("/w")));
        let labels: Vec<&str> = parts.iter().map(|part| part.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "new, new file of 2 lines",
                "old, deleted with 1 lines",
                "/x/src, line 3 (+1 -1)",
                "/x/src, line 10 (+1 -0)"
            ]
        );
    }

    #[test]
    fn the_message_has_the_wanted_parts_alone() {
        let mut parts = parts(&changes(), Some(Path::new("/w")));
        assert_eq!(message(&parts), None);
        parts[1].is_wanted = false;
        parts[2].is_wanted = false;
        let expected = "Make only these changes of the patch:\n\n```diff\n--- /dev/null\n+++ new\n+one\n+two\n--- /x/src\n+++ /x/to\n@@ -10 +10,2 @@\n d\n+e\n```";
        assert_eq!(message(&parts).as_deref(), Some(expected));
        parts.iter_mut().for_each(|part| part.is_wanted = false);
        assert_eq!(message(&parts), None);
    }
}
