//! How the lines of a changed text differ.

use std::ops::Range;

use similar::ChangeTag;
use similar::TextDiff;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 2;

/// Fewer changed lines than this are read one by one, whatever they have in common.
const REWRITTEN_LINES_MIN: usize = 20;

/// How the lines of a text differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// How many lines both texts have, without blank ones.
    pub same: usize,
    /// The lines with changes and those around them.
    pub hunks: Vec<LineHunk>,
}

/// Lines with changes, and those around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHunk {
    /// The first changed line and the one behind the last, in the new text, from 1. Empty where lines were only removed.
    pub lines: Range<usize>,
    /// Every line with its sign: ` `, `-` or `+`.
    pub text: Vec<(char, String)>,
}

impl LineChange {
    /// Compares two texts; the new one begins at this line of its file.
    pub fn of(old: &str, new: &str, first_line: usize) -> Self {
        let diff = TextDiff::from_lines(old, new);
        let mut change = Self { added: 0, removed: 0, same: 0, hunks: Vec::new() };
        for op in diff.ops().iter().filter(|op| op.tag() == similar::DiffTag::Equal) {
            change.same += diff.iter_changes(op).filter(|line| !line.value().trim().is_empty()).count();
        }
        for group in diff.grouped_ops(CONTEXT) {
            let mut text = Vec::new();
            let mut lines: Option<Range<usize>> = None;
            for op in &group {
                for line in diff.iter_changes(op) {
                    let sign = match line.tag() {
                        ChangeTag::Equal => ' ',
                        ChangeTag::Delete => '-',
                        ChangeTag::Insert => '+',
                    };
                    text.push((sign, line.value().trim_end_matches('\n').to_owned()));
                }
                let range = op.new_range();
                let (start, end) = (range.start + first_line, range.end + first_line);
                match op.tag() {
                    similar::DiffTag::Equal => {}
                    _ => lines = Some(lines.map_or(start..end, |lines| lines.start..end)),
                }
            }
            change.added += text.iter().filter(|(sign, _)| *sign == '+').count();
            change.removed += text.iter().filter(|(sign, _)| *sign == '-').count();
            change.hunks.push(LineHunk { lines: lines.unwrap_or(first_line..first_line), text });
        }
        change
    }

    /// Whether the texts have next to nothing in common, so that one takes the place of the other.
    pub fn is_rewritten(&self) -> bool {
        let changed = self.added.min(self.removed);
        changed >= REWRITTEN_LINES_MIN && self.same * 5 < changed
    }

    /// The changed lines of the new text, from the first to the last, if there are any.
    pub fn lines(&self) -> Option<Range<usize>> {
        let (first, last) = (self.hunks.first()?, self.hunks.last()?);
        (last.lines.end > first.lines.start).then_some(first.lines.start..last.lines.end)
    }
}
