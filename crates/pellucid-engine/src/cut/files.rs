//! Files within two budgets: one for each file, and one for all of them that is spent in order.
//!
//! A file that is too long keeps shares of its budget at either end, with a marker between them. If the rest of the
//! common budget is less than a file's budget, the shares are of that rest. A missing file leaves a line. All of it
//! can be counted in bytes, where no cut falls within a character, or in UTF-16 units, where the cuts of a file are
//! blind.
//!
//! Not here: which files exist, and the text around them in a prompt.

use serde::Deserialize;

use crate::cut;
use crate::file_chunks::FileChunks;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::utf16;

/// The unit in which a text is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes of the UTF-8 encoding.
    Bytes,
    /// Units of the UTF-16 encoding.
    Utf16,
}

/// How budgets are spent.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRules {
    /// The unit of all limits.
    pub unit: Unit,
    /// How much of one file, if that is limited.
    pub per_file: Option<usize>,
    /// How much of all files, if that is limited.
    pub total: Option<usize>,
    /// With less than this left, an existing file ends the list.
    pub min_remaining: usize,
    /// The share of a file's budget that its beginning gets.
    pub head_ratio: f64,
    /// The share that its end gets. A share of nothing is the whole text.
    pub tail_ratio: f64,
    /// The text between head and tail. May contain `{{path}}`, `{{name}}`, `{{kept_head}}`, `{{kept_tail}}`,
    /// `{{total}}` and `{{max}}`.
    pub marker: String,
    /// Whether the marker comes out of the budget or on top of it.
    pub marker_counts: bool,
    /// Whether white space at the end of a file goes first.
    pub trims_end: bool,
    /// The line for a file that does not exist. May name `{{path}}`.
    pub missing: String,
}

/// A file to be placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileEntry<'a> {
    /// The name of the file in markers.
    pub name: &'a str,
    /// The path of the file in the line for a missing file.
    pub path: &'a str,
    /// The text of the file; absent when the file does not exist.
    pub content: Option<FileContent<'a>>,
    /// A budget for this file, in place of the common one.
    pub max: Option<usize>,
}

/// The text of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileContent<'a> {
    /// The whole text of the file.
    Whole(&'a str),
    /// The beginning and the end of a long file.
    Ends {
        /// The beginning of the file.
        head: &'a str,
        /// The end of the file.
        tail: &'a str,
        /// The length of the whole file.
        len: usize,
    },
}

/// A text that was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The text in UTF-16 units, which may contain halves of characters.
    pub units: Vec<u16>,
    /// The origins of the units, in order.
    pub pieces: Vec<PlacedPiece>,
    /// Whether the file was too long.
    pub is_cut: bool,
    /// The length before the cut, without trimmed white space.
    pub original: usize,
    /// The budget that it had.
    pub max: Option<usize>,
    /// How many units of its beginning and its end were asked for, if it was too long.
    pub shares: Option<(usize, usize)>,
    /// How many bytes the text has without what was trimmed.
    pub text_end: usize,
}

/// A run of a placed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedPiece {
    /// The number of UTF-16 units of the run.
    pub n_units: usize,
    /// The origin of the run.
    pub from: PieceFrom,
}

/// The origin of a run of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceFrom {
    /// The file, from this byte of its text.
    Text {
        /// The offset of the first byte.
        start: usize,
    },
    /// A marker or a line for a missing file.
    Layout,
}

/// The decision about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placing {
    /// The file is in the prompt.
    Placed(Placed),
    /// Nothing is left of the file after trimming.
    Empty,
    /// The budget is spent; no file comes after this.
    Spent,
    /// Too little is left for a file.
    TooLittle {
        /// The rest of the budget.
        remaining: usize,
    },
}

/// A budget while it is spent.
#[derive(Debug)]
pub struct Spending<'a> {
    rules: &'a FileRules,
    remaining: Option<usize>,
}

impl<'a> Spending<'a> {
    /// With nothing spent yet.
    pub fn new(rules: &'a FileRules) -> Self {
        Self { rules, remaining: rules.total }
    }

    /// Places the next file.
    pub fn place(&mut self, file: &FileEntry<'_>) -> Placing {
        if self.remaining == Some(0) {
            return Placing::Spent;
        }
        let Some(content) = file.content else {
            let line = utf16::units(&self.rules.missing.replace("{{path}}", file.path));
            let original = measured(&line, self.rules.unit);
            let piece = PlacedPiece { n_units: line.len(), from: PieceFrom::Layout };
            let placed = Placed {
                units: line,
                pieces: vec![piece],
                is_cut: false,
                original,
                max: None,
                shares: None,
                text_end: 0,
            };
            return self.spend(placed, Placing::Spent);
        };
        if let Some(remaining) = self.remaining.filter(|remaining| *remaining < self.rules.min_remaining) {
            return Placing::TooLittle { remaining };
        }
        let max = match (file.max.or(self.rules.per_file), self.remaining) {
            (Some(own), Some(remaining)) => Some(own.min(remaining).max(1)),
            (own, remaining) => own.or(remaining),
        };
        let placed = trim(self.rules, file.name, file.path, content, max);
        self.spend(placed, Placing::Empty)
    }

    fn spend(&mut self, mut placed: Placed, nothing: Placing) -> Placing {
        if let Some(remaining) = self.remaining {
            clamp(&mut placed, remaining, self.rules.unit);
            self.remaining = Some(remaining.saturating_sub(measured(&placed.units, self.rules.unit)));
        }
        if placed.units.is_empty() { nothing } else { Placing::Placed(placed) }
    }
}

/// Brings one text within its budget.
pub fn trim(rules: &FileRules, name: &str, path: &str, content: FileContent<'_>, max: Option<usize>) -> Placed {
    let text = Text::new(content, rules);
    let whole = |text: Text<'_>| {
        let units = utf16::units(text.head);
        let pieces = vec![PlacedPiece { n_units: units.len(), from: PieceFrom::Text { start: 0 } }];
        Placed { units, pieces, is_cut: false, original: text.len, max, shares: None, text_end: text.head.len() }
    };
    let Some(limit) = max.filter(|max| text.len > *max) else {
        return whole(text);
    };
    let share = |of: usize, ratio: f64| (of as f64 * ratio).floor() as usize;
    let marker = |first: usize, last: usize| {
        let values = [("{{kept_head}}", first), ("{{kept_tail}}", last), ("{{total}}", text.len), ("{{max}}", limit)];
        let named = rules.marker.replace("{{path}}", path).replace("{{name}}", name);
        values.iter().fold(named, |marker, (slot, value)| marker.replace(slot, &value.to_string()))
    };
    let (mut first, mut last) = (share(limit, rules.head_ratio), share(limit, rules.tail_ratio));
    if rules.marker_counts {
        let room = limit.saturating_sub(measured(&utf16::units(&marker(first, last)), rules.unit));
        (first, last) = (share(room, rules.head_ratio), share(room, rules.tail_ratio));
    }
    let marker = utf16::units(&marker(first, last));
    let (head, tail) = (text.head(first), text.tail(last, rules));
    let pieces = vec![
        PlacedPiece { n_units: head.len(), from: PieceFrom::Text { start: 0 } },
        PlacedPiece { n_units: marker.len(), from: PieceFrom::Layout },
        PlacedPiece { n_units: tail.len(), from: PieceFrom::Text { start: text.tail_start(&tail) } },
    ];
    Placed {
        units: [head, marker, tail].concat(),
        pieces,
        is_cut: true,
        original: text.len,
        max,
        shares: Some((first, last)),
        text_end: text.tail.len(),
    }
}

/// Cuts a placed text to what is left, with an ellipsis where there is room for one.
fn clamp(placed: &mut Placed, budget: usize, unit: Unit) {
    const ELLIPSIS: &str = "…";
    if measured(&placed.units, unit) <= budget {
        return;
    }
    let mark = match unit {
        Unit::Bytes => ELLIPSIS.len(),
        Unit::Utf16 => utf16::len(ELLIPSIS),
    };
    let with_mark = budget > 3;
    let keep = if with_mark { budget - mark } else { budget };
    let at = safe_cut(&placed.units, keep, unit);
    placed.units.truncate(at);
    let mut left = at;
    for piece in &mut placed.pieces {
        piece.n_units = piece.n_units.min(left);
        left -= piece.n_units;
    }
    placed.pieces.retain(|piece| piece.n_units > 0);
    if with_mark {
        placed.units.extend(ELLIPSIS.encode_utf16());
        placed.pieces.push(PlacedPiece { n_units: utf16::len(ELLIPSIS), from: PieceFrom::Layout });
    }
}

/// The most units of at most `max`, not ending within a pair.
fn safe_cut(units: &[u16], max: usize, unit: Unit) -> usize {
    match unit {
        Unit::Utf16 => {
            let at = max.min(units.len());
            if utf16::splits_pair(units, at) { at - 1 } else { at }
        }
        Unit::Bytes => utf16::len(cut::first(&utf16::shown(units), max)),
    }
}

fn measured(units: &[u16], unit: Unit) -> usize {
    match unit {
        Unit::Utf16 => units.len(),
        Unit::Bytes => utf16::shown(units).len(),
    }
}

impl Placed {
    /// The text in fragments. Fragments of the file name `path` and their byte range: `head` maps the text at the
    /// beginning to bytes of the file, `tail` the text at the end. Halves of characters are left out.
    pub fn fragments(&self, path: &FileVersion, size: u64, head: &FileChunks, tail: &FileChunks) -> Vec<Fragment> {
        // White space at the end that was trimmed is not missing.
        let size = tail.end(self.text_end).unwrap_or(size);
        let mut fragments = Vec::new();
        let mut at = 0;
        let mut chunks = head;
        for piece in &self.pieces {
            let text = utf16::sent(&self.units[at..at + piece.n_units]);
            at += piece.n_units;
            match piece.from {
                PieceFrom::Layout if text.is_empty() => {}
                PieceFrom::Layout => fragments.push(Fragment::layout(text)),
                PieceFrom::Text { start } => fragments.extend(chunks.fragments(path, size, start, &text)),
            }
            chunks = tail;
        }
        fragments
    }
}

/// A text that can be cut, in one unit.
#[derive(Clone, Copy)]
struct Text<'a> {
    head: &'a str,
    tail: &'a str,
    len: usize,
    unit: Unit,
    /// Whether head and tail are the same text.
    is_whole: bool,
}

impl<'a> Text<'a> {
    fn new(content: FileContent<'a>, rules: &FileRules) -> Self {
        let unit = rules.unit;
        match content {
            FileContent::Whole(text) => {
                let text = if rules.trims_end { utf16::trim_end(text) } else { text };
                let len = match unit {
                    Unit::Bytes => text.len(),
                    Unit::Utf16 => utf16::len(text),
                };
                Self { head: text, tail: text, len, unit, is_whole: true }
            }
            FileContent::Ends { head, tail, len } => Self { head, tail, len, unit, is_whole: false },
        }
    }

    fn head(&self, n: usize) -> Vec<u16> {
        match self.unit {
            Unit::Utf16 => self.head.encode_utf16().take(n).collect(),
            Unit::Bytes => utf16::units(cut::first(self.head, n)),
        }
    }

    fn tail(&self, n: usize, rules: &FileRules) -> Vec<u16> {
        // The reference takes the last nothing of a text for all of it.
        if n == 0 && rules.unit == Unit::Utf16 && self.is_whole {
            return utf16::units(self.tail);
        }
        match self.unit {
            Unit::Utf16 => {
                let units = utf16::units(self.tail);
                units[units.len().saturating_sub(n)..].to_vec()
            }
            Unit::Bytes => utf16::units(cut::last(self.tail, n)),
        }
    }

    /// The byte of the text where its end begins.
    fn tail_start(&self, tail: &[u16]) -> usize {
        if self.is_whole { self.tail.len().saturating_sub(utf16::sent(tail).len()) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fragment::Origin;

    fn rules(unit: Unit) -> FileRules {
        FileRules {
            unit,
            per_file: Some(40),
            total: Some(90),
            min_remaining: 8,
            head_ratio: 0.5,
            tail_ratio: 0.25,
            marker: "[{{name}} {{kept_head}}+{{kept_tail}} of {{total}}, {{max}}]".to_owned(),
            marker_counts: true,
            trims_end: false,
            missing: "no {{path}}".to_owned(),
        }
    }

    fn placed(rules: &FileRules, texts: &[Option<&str>]) -> Vec<String> {
        let mut spending = Spending::new(rules);
        texts
            .iter()
            .map(|text| {
                let content = text.map(FileContent::Whole);
                match spending.place(&FileEntry { name: "a", path: "/a", content, max: None }) {
                    Placing::Placed(placed) => utf16::sent(&placed.units),
                    other => format!("{other:?}"),
                }
            })
            .collect()
    }

    #[test]
    fn files_are_placed_until_too_little_is_left() {
        let long = "0123456789".repeat(6);
        let found = placed(&rules(Unit::Bytes), &[Some(&long), None, Some(""), Some(&long), Some("x"), None]);
        assert_eq!(
            found,
            ["0123456789[a 10+5 of 60, 40]56789", "no /a", "Empty", "0123456789[a 10+5 of 60, 40]56789", "x", "no /a",]
        );
        let mut tight = rules(Unit::Bytes);
        tight.total = Some(44);
        assert_eq!(placed(&tight, &[Some(&long), None, Some("x")])[1..], ["no /a", "TooLittle { remaining: 6 }"]);
    }

    #[test]
    fn pieces_name_the_bytes_of_the_file() {
        let long = "é".repeat(40);
        let placed = trim(&rules(Unit::Utf16), "a", "/a", FileContent::Whole(&long), Some(30));
        let chunks = FileChunks::of(long.as_bytes(), 0);
        let fragments = placed.fragments(&"/a".into(), 80, &chunks, &chunks);
        let origins: Vec<_> = fragments.iter().map(|fragment| fragment.origin.clone()).collect();
        assert_eq!(origins[0], Origin::File { path: "/a".into(), range: 0..12, size: 80 });
        assert_eq!(origins[2], Origin::File { path: "/a".into(), range: 74..80, size: 80 });
    }

    proptest! {
        #[test]
        fn the_budget_for_all_is_never_exceeded(
            texts in proptest::collection::vec(proptest::option::of("\\PC{0,60}"), 0..6),
            total in 1usize..120, per_file in 1usize..60, is_bytes: bool, marker_counts: bool,
        ) {
            let unit = if is_bytes { Unit::Bytes } else { Unit::Utf16 };
            let rules = FileRules { total: Some(total), per_file: Some(per_file), marker_counts, ..rules(unit) };
            let mut spending = Spending::new(&rules);
            let mut spent = 0;
            for text in &texts {
                let content = text.as_deref().map(FileContent::Whole);
                if let Placing::Placed(placed) = spending.place(&FileEntry { name: "a", path: "/a", content, max: None }) {
                    spent += measured(&placed.units, unit);
                    prop_assert_eq!(placed.pieces.iter().map(|piece| piece.n_units).sum::<usize>(), placed.units.len());
                    if unit == Unit::Bytes {
                        prop_assert_eq!(utf16::n_halves(&placed.units), 0);
                    }
                }
            }
            prop_assert!(spent <= total, "{} of {}", spent, total);
        }
    }
}
