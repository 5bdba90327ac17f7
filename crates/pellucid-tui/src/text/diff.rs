//! The change of a file as a person judges it: line numbers, three lines around each change, changed words set off.
//!
//! Not here: making diffs. A patch comes with the lines that it changes.

mod beside;

use std::ops::Range;

use pellucid_protocol::change::FileChange;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use similar::Algorithm;
use similar::DiffTag;

use super::clean;
use super::palette::Palette;
use super::wrap::Breaking;
use super::wrap::Indent;
use super::wrap::wrap;

/// Unchanged lines that are shown before and after a change.
const AROUND: usize = 3;

/// Lines with more words are shown without setting the changed ones off.
const WORDS_MAX: usize = 300;

/// What is said of a last line without a line end.
const NO_END: &str = " (no line end)";

/// The lines of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    rows: Vec<DiffRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DiffRow {
    /// Lines are left out here.
    Gap,
    Line {
        sign: Sign,
        /// The number of the line in the new file; of a removed one in the old file. 0 if it is not known.
        number: usize,
        /// The number of an unchanged line in the old file.
        old: usize,
        text: String,
        /// The bytes of the text that changed, if only a part did.
        changed: Vec<Range<usize>>,
        /// Whether the file ends with this line, without a line end.
        lacks_end: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Added,
    Removed,
    Same,
}

impl FileDiff {
    /// The lines of one change of a patch.
    pub fn of(change: &FileChange) -> Self {
        match change {
            FileChange::Add { content } => Self::whole(content, Sign::Added),
            FileChange::Delete { content } => Self::whole(content, Sign::Removed),
            FileChange::Update { unified_diff, .. } => Self::read(unified_diff),
        }
    }

    fn whole(content: &str, sign: Sign) -> Self {
        let lines = Lines::of(content);
        let mut diff = Self { rows: lines.enumerate().map(|(number, text)| row(sign, number + 1, 0, text)).collect() };
        if !content.ends_with('\n') {
            diff.mark_end();
        }
        diff
    }

    /// Marks the last line: its file has no line end.
    fn mark_end(&mut self) {
        if let Some(DiffRow::Line { lacks_end, .. }) = self.rows.last_mut() {
            *lacks_end = true;
        }
    }

    /// Reads a unified diff, with or without the lines that name the files.
    pub fn read(unified: &str) -> Self {
        let (mut diff, mut old, mut new) = (Self::default(), 1, 1);
        let mut is_inside = false;
        for line in Lines::of(unified) {
            if let Some(begin) = line.strip_prefix("@@").and_then(hunk) {
                (old, new) = begin;
                if is_inside {
                    diff.rows.push(DiffRow::Gap);
                }
                is_inside = true;
                continue;
            }
            let (sign, text) = match line.as_bytes().first() {
                _ if !is_inside => continue,
                Some(b'+') => (Sign::Added, &line[1..]),
                Some(b'-') => (Sign::Removed, &line[1..]),
                Some(b' ') => (Sign::Same, &line[1..]),
                None => (Sign::Same, line),
                Some(b'\\') => {
                    diff.mark_end();
                    continue;
                }
                // The header of a next file.
                _ => continue,
            };
            diff.rows.push(row(sign, if sign == Sign::Removed { old } else { new }, old, text));
            old += usize::from(sign != Sign::Added);
            new += usize::from(sign != Sign::Removed);
        }
        diff.rows = near_changes(diff.rows);
        diff.set_words_off();
        diff
    }

    /// Reads lines with signs, of which it is not known where they are in their files.
    pub fn without_numbers(lines: &str) -> Self {
        let mut diff = Self::default();
        for line in Lines::of(lines) {
            match line.split_at_checked(1) {
                Some(("+", text)) => diff.rows.push(row(Sign::Added, 0, 0, text)),
                Some(("-", text)) => diff.rows.push(row(Sign::Removed, 0, 0, text)),
                Some((" ", text)) => diff.rows.push(row(Sign::Same, 0, 0, text)),
                Some(("@", _)) => diff.rows.push(DiffRow::Gap),
                _ => diff.rows.push(row(Sign::Same, 0, 0, line)),
            }
        }
        diff.rows = near_changes(diff.rows);
        diff.set_words_off();
        diff
    }

    /// How many lines were added and removed.
    pub fn counts(&self) -> (usize, usize) {
        let count = |wanted: Sign| {
            self.rows.iter().filter(|row| matches!(row, DiffRow::Line { sign, .. } if *sign == wanted)).count()
        };
        (count(Sign::Added), count(Sign::Removed))
    }

    /// The lines, each behind its number and sign. `limit` bounds the lines of the source; what is left out is counted.
    pub fn draw(&self, columns: usize, limit: usize, palette: &Palette) -> Vec<Line<'static>> {
        let digits = self.digits();
        let mut out = Vec::new();
        for row in self.rows.iter().take(limit) {
            match row {
                DiffRow::Gap => out.extend(row.drawn(0, digits, columns, palette)),
                DiffRow::Line { number, .. } => out.extend(row.drawn(*number, digits, columns, palette)),
            }
        }
        let missing = self.rows.len().saturating_sub(limit);
        if missing > 0 {
            out.push(Line::from(Span::styled(format!("… +{missing} lines"), palette.dim())));
        }
        out
    }

    fn digits(&self) -> usize {
        let number = |row: &DiffRow| match row {
            DiffRow::Gap => 0,
            DiffRow::Line { number, .. } => *number,
        };
        self.rows.iter().map(number).max().unwrap_or(0).to_string().len()
    }

    /// Compares removed lines with the added ones that follow them, one by one.
    fn set_words_off(&mut self) {
        let mut at = 0;
        while at < self.rows.len() {
            let removed = self.run(at, Sign::Removed);
            let added = self.run(at + removed, Sign::Added);
            if removed == added {
                for place in at..at + removed {
                    self.compare(place, place + removed);
                }
            }
            at += (removed + added).max(1);
        }
    }

    /// How many lines with this sign follow each other.
    fn run(&self, at: usize, wanted: Sign) -> usize {
        self.rows[at.min(self.rows.len())..]
            .iter()
            .take_while(|row| matches!(row, DiffRow::Line { sign, .. } if *sign == wanted))
            .count()
    }

    fn compare(&mut self, old: usize, new: usize) {
        let Ok([DiffRow::Line { text: before, changed: old, .. }, DiffRow::Line { text: after, changed: new, .. }]) =
            self.rows.get_disjoint_mut([old, new])
        else {
            return;
        };
        (*old, *new) = changed_words(before, after);
    }
}

impl DiffRow {
    /// One line behind a number and its sign.
    fn drawn(&self, number: usize, digits: usize, columns: usize, palette: &Palette) -> Vec<Line<'static>> {
        let Self::Line { sign, text, changed, lacks_end, .. } = self else {
            return vec![Line::from(Span::styled(format!("{:>digits$} ⋮", ""), palette.dim()))];
        };
        let style = sign.style(palette);
        let number = if number == 0 { String::new() } else { number.to_string() };
        let gutter = Span::styled(format!("{number:>digits$} "), palette.dim());
        let indent = Indent {
            first: vec![gutter, Span::styled(sign.mark(), style)],
            rest: vec![Span::raw(" ".repeat(digits + 2))],
        };
        let mut spans = styled(text, changed, style);
        if *lacks_end {
            spans.push(Span::styled(NO_END, palette.dim()));
        }
        wrap(&spans, columns, &indent, Breaking::Anywhere)
    }
}

impl Sign {
    fn mark(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Same => " ",
        }
    }

    fn style(self, palette: &Palette) -> Style {
        match self {
            Self::Added => palette.added(),
            Self::Removed => palette.removed(),
            Self::Same => Style::new(),
        }
    }
}

fn row(sign: Sign, number: usize, old: usize, text: &str) -> DiffRow {
    let text = clean::line(text).into_owned();
    DiffRow::Line { sign, number, old, text, changed: Vec::new(), lacks_end: false }
}

/// The lines of a text between line feeds. A carriage return before a line feed belongs to the line end only if every line
/// has one: otherwise it is a difference that a person must see.
struct Lines<'a> {
    lines: std::str::SplitTerminator<'a, char>,
    are_dos: bool,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        // The lines that a diff itself adds, such as `@@`, may end in another way.
        let is_of_file =
            |line: &&str| line.starts_with(['+', '-', ' ']) && !line.starts_with("+++") && !line.starts_with("---");
        let is_diff = text.lines().any(|line| line.starts_with("@@"));
        let mut counted = text.split_terminator('\n').filter(|line| !is_diff || is_of_file(line)).peekable();
        let are_dos = counted.peek().is_some() && counted.all(|line| line.ends_with('\r'));
        Self { lines: text.split_terminator('\n'), are_dos }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.next()?;
        Some(if self.are_dos { line.strip_suffix('\r').unwrap_or(line) } else { line })
    }
}

/// The first lines of a hunk in the old and the new file, from ` -3,7 +3,8 @@ fn main()`.
fn hunk(text: &str) -> Option<(usize, usize)> {
    let mut words = text.split_ascii_whitespace();
    let mut begin = |sign: char| -> Option<usize> { words.next()?.strip_prefix(sign)?.split(',').next()?.parse().ok() };
    Some((begin('-')?.max(1), begin('+')?.max(1)))
}

/// Leaves out unchanged lines that are far from every change.
fn near_changes(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    let is_change = |row: &DiffRow| matches!(row, DiffRow::Line { sign: Sign::Added | Sign::Removed, .. });
    // How many rows from here on are near the change.
    let left = |row: &DiffRow, before: usize| match row {
        DiffRow::Gap => 0,
        row if is_change(row) => AROUND + 1,
        _ => before.saturating_sub(1),
    };
    let mut keeps = vec![false; rows.len()];
    let mut after = 0;
    for (keep, row) in keeps.iter_mut().zip(&rows) {
        after = left(row, after);
        *keep |= after > 0;
    }
    let mut before = 0;
    for (keep, row) in keeps.iter_mut().zip(&rows).rev() {
        before = left(row, before);
        *keep |= before > 0;
    }
    let mut out: Vec<DiffRow> = Vec::new();
    let mut is_left_out = false;
    for (row, keep) in rows.into_iter().zip(keeps) {
        if row == DiffRow::Gap || !keep {
            is_left_out = true;
            continue;
        }
        if is_left_out && !out.is_empty() {
            out.push(DiffRow::Gap);
        }
        is_left_out = false;
        out.push(row);
    }
    out
}

/// The parts of two lines that differ. None if the lines have so little in common that everything changed.
fn changed_words(before: &str, after: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (old, new) = (words(before), words(after));
    if old.len() + new.len() > WORDS_MAX {
        return Default::default();
    }
    let texts =
        |words: &[Range<usize>], text: &str| words.iter().map(|it| text[it.clone()].to_owned()).collect::<Vec<_>>();
    let operations = similar::capture_diff_slices(Algorithm::Myers, &texts(&old, before), &texts(&new, after));
    let bytes = |words: &[Range<usize>]| match (words.first(), words.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => 0..0,
    };
    let (mut removed, mut added, mut same) = (Vec::new(), Vec::new(), 0);
    for operation in operations {
        let (tag, old_words, new_words) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            same += before[bytes(&old[old_words])].trim().len();
            continue;
        }
        removed.extend(Some(bytes(&old[old_words])).filter(|it| !it.is_empty()));
        added.extend(Some(bytes(&new[new_words])).filter(|it| !it.is_empty()));
    }
    let is_alike = 3 * same >= before.trim().len().max(after.trim().len());
    if is_alike { (removed, added) } else { Default::default() }
}

/// Words, and every other character by itself.
fn words(text: &str) -> Vec<Range<usize>> {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut was_word = false;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        match out.last_mut() {
            Some(last) if was_word && is_word(character) => last.end = end,
            _ => out.push(at..end),
        }
        was_word = is_word(character);
    }
    out
}

fn styled(text: &str, changed: &[Range<usize>], style: Style) -> Vec<Span<'static>> {
    let set_off = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    let mut out = Vec::new();
    let mut at = 0;
    for range in changed {
        out.push(Span::styled(text[at..range.start].to_owned(), style));
        out.push(Span::styled(text[range.clone()].to_owned(), set_off));
        at = range.end;
    }
    out.push(Span::styled(text[at..].to_owned(), style));
    out.retain(|span| !span.content.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// Changed words are between `{` and `}`.
    #[track_caller]
    fn check_diff(unified: &str, columns: usize, expected: &Expect) {
        let diff = FileDiff::read(unified);
        let mut shown = format!("{:?}\n", diff.counts());
        for line in diff.draw(columns, 100, &Palette::plain()) {
            for span in &line.spans {
                let is_set_off = span.style.add_modifier.contains(Modifier::UNDERLINED);
                shown += &if is_set_off { format!("{{{}}}", span.content) } else { span.content.to_string() };
            }
            shown += "|\n";
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn numbers_signs_and_gaps() {
        check_diff(
            "--- a/x\n+++ b/x\n@@ -9,3 +9,4 @@ fn x()\n one\n-two\n+two and\n+three\n four\n@@ -100 +101 @@\n-old\n+new\n\\ No newline at end of file\n",
            40,
            &expect![[r#"
                (3, 2)
                  9  one|
                 10 -two|
                 10 +two and|
                 11 +three|
                 12  four|
                    ⋮|
                100 -old|
                101 +new (no line end)|
            "#]],
        );
    }

    #[test]
    fn changed_words_are_set_off_if_lines_are_alike() {
        check_diff(
            "@@ -1,2 +1,2 @@\n-let count = first(a, b);\n-x\n+let count = second(a, b);\n+y\n",
            60,
            &expect![[r#"
                (2, 2)
                1 -let count = {first}(a, b);|
                2 -x|
                1 +let count = {second}(a, b);|
                2 +y|
            "#]],
        );
        check_diff(
            "@@ -1 +1 @@\n-one\n+ONE\n",
            60,
            &expect![[r#"
            (1, 1)
            1 -one|
            1 +ONE|
        "#]],
        );
    }

    #[test]
    fn three_lines_around_a_change_are_shown() {
        let same = " same\n".repeat(9);
        check_diff(
            &format!("@@ -1,20 +1,19 @@\n{same}-gone\n{same}+came\n{same}"),
            40,
            &expect![[r#"
            (1, 1)
             7  same|
             8  same|
             9  same|
            10 -gone|
            10  same|
            11  same|
            12  same|
               ⋮|
            16  same|
            17  same|
            18  same|
            19 +came|
            20  same|
            21  same|
            22  same|
        "#]],
        );
    }

    #[test]
    fn long_and_hostile_lines_stay_in_their_column() {
        check_diff(
            "@@ -1 +1,2 @@\n+abcdefghijklmnop\n+\u{1b}[2J\tx\n",
            12,
            &expect![[r#"
            (2, 0)
            1 +abcdefghi|
               jklmnop|
            2 +\u{1b}[2J|
                  x|
        "#]],
        );
        check_diff(
            "no diff at all\n+x\n",
            12,
            &expect![[r#"
            (0, 0)
        "#]],
        );
    }

    #[test]
    fn a_new_file_is_added_as_a_whole_up_to_the_limit() {
        let diff = FileDiff::of(&FileChange::Add { content: "x\n".repeat(12) });
        assert_eq!(diff.counts(), (12, 0));
        let lines: Vec<String> = diff.draw(20, 2, &Palette::plain()).iter().map(ToString::to_string).collect();
        assert_eq!(lines, [" 1 +x", " 2 +x", "… +10 lines"]);
    }
}
