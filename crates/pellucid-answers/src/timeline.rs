//! What the requests of a session are made of, request by request, for a drawing with one column for each.
//!
//! Every byte of a request is in one cell, so the cells of a column add up to the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;

use crate::overview::OverviewKind;
use crate::overview::OverviewOrigin;

/// What distinguishes the cells of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimelineBy {
    /// The slot or part.
    #[default]
    Part,
    /// The kind of the origin: `pack`, `file`, `fact` and so on.
    Source,
    /// The role of the item; empty outside of items.
    Role,
    /// The tool that is offered or that gave an output; empty for the rest.
    Tool,
    /// Whose words they are: `yours`, `pack`, `model`, `tool` or `session`.
    Author,
}

impl TimelineBy {
    /// Every way, with its word.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Part, "part"),
        (Self::Source, "source"),
        (Self::Role, "role"),
        (Self::Tool, "tool"),
        (Self::Author, "author"),
    ];

    /// The way of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, it)| *it == word).map(|(by, _)| by)
    }

    /// The word of the way.
    pub fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(by, _)| *by == self).map_or("part", |(_, word)| word)
    }
}

/// A cell: bytes of a request that have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineCell {
    /// The place of the name in the list of names.
    pub name: usize,
    /// How many bytes the cell has.
    pub bytes: usize,
    /// How many tokens the cell has.
    pub tokens: usize,
}

/// Everything by which cells can be distinguished.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CellKind {
    part: Arc<str>,
    source: &'static str,
    role: Option<Arc<str>>,
    tool: Option<Arc<str>>,
    author: OverviewOrigin,
}

impl CellKind {
    fn of(row: &Row) -> Self {
        let tool = match (&row.origin, row.part.strip_prefix("tools/")) {
            (_, Some(tool)) => Some(tool.into()),
            (Origin::Tool { name }, None) => Some(name.to_string().into()),
            _ => None,
        };
        Self {
            part: row.part.clone(),
            source: row.origin.kind(),
            role: row.role.clone(),
            tool,
            author: OverviewOrigin::of(OverviewKind::of(row), &row.origin),
        }
    }

    fn name(&self, by: TimelineBy) -> &str {
        match by {
            TimelineBy::Part => &self.part,
            TimelineBy::Source => self.source,
            TimelineBy::Role => self.role.as_deref().unwrap_or_default(),
            TimelineBy::Tool => self.tool.as_deref().unwrap_or_default(),
            TimelineBy::Author => self.author.name(),
        }
    }
}

/// The cells of the requests of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineCells {
    /// The kinds of cells, in the order in which they appear first.
    kinds: Vec<CellKind>,
    places: BTreeMap<CellKind, usize>,
    /// For each request its cells, with the place of the kind instead of the name.
    columns: Vec<Vec<TimelineCell>>,
}

impl TimelineCells {
    /// Adds the next request.
    pub fn add(&mut self, report: &Report) {
        let mut column: BTreeMap<usize, TimelineCell> = BTreeMap::new();
        for row in &report.rows {
            let kind = CellKind::of(row);
            let name = match self.places.get(&kind) {
                Some(place) => *place,
                None => {
                    self.places.insert(kind.clone(), self.kinds.len());
                    self.kinds.push(kind);
                    self.kinds.len() - 1
                }
            };
            let cell = column.entry(name).or_insert(TimelineCell { name, bytes: 0, tokens: 0 });
            cell.bytes += row.bytes;
            cell.tokens += row.tokens;
        }
        self.columns.push(column.into_values().collect());
    }

    /// Adds a request that repeats the one of this number.
    pub fn add_again(&mut self, number: usize) {
        let column = number.checked_sub(1).and_then(|at| self.columns.get(at)).cloned();
        self.columns.push(column.unwrap_or_default());
    }

    /// Adds a request whose bytes are not known.
    pub fn add_unknown(&mut self) {
        self.columns.push(Vec::new());
    }

    /// The names of cells, and the cells of every request.
    pub fn by(&self, by: TimelineBy) -> (Vec<&str>, Vec<Vec<TimelineCell>>) {
        let mut names: Vec<&str> = Vec::new();
        let place_of_kind: Vec<usize> = self
            .kinds
            .iter()
            .map(|kind| {
                let name = kind.name(by);
                names.iter().position(|it| *it == name).unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                })
            })
            .collect();
        let column = |cells: &Vec<TimelineCell>| {
            let mut merged: Vec<TimelineCell> = Vec::new();
            for cell in cells {
                let name = place_of_kind[cell.name];
                match merged.iter_mut().find(|it| it.name == name) {
                    Some(known) => {
                        known.bytes += cell.bytes;
                        known.tokens += cell.tokens;
                    }
                    None => merged.push(TimelineCell { name, ..*cell }),
                }
            }
            merged
        };
        let columns = self.columns.iter().map(column).collect();
        (names, columns)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn report(rows: &[(&str, Option<&str>, Origin, usize)]) -> Report {
        let mut report = Report::default();
        let mut start = 0;
        for (part, role, origin, bytes) in rows {
            report.rows.push(Row {
                part: Arc::from(*part),
                item: role.map(|_| 0),
                role: role.map(Arc::from),
                origin: origin.clone(),
                start,
                bytes: *bytes,
                raw_bytes: *bytes,
                tokens: bytes.div_ceil(4),
            });
            start += bytes;
        }
        report
    }

    #[test]
    fn every_byte_is_in_one_cell_however_cells_are_named() {
        let shell = || Origin::Tool { name: "shell".into() };
        let first = report(&[
            ("base", None, Origin::Catalogue, 40),
            ("user", Some("user"), Origin::User, 8),
            ("user", Some("user"), Origin::Wire, 4),
            ("tools/shell", None, Origin::Catalogue, 12),
        ]);
        let second = report(&[
            ("base", None, Origin::Catalogue, 40),
            ("user", Some("user"), Origin::User, 8),
            ("tool", Some("tool"), shell(), 100),
            ("tools/shell", None, Origin::Catalogue, 12),
        ]);
        let mut cells = TimelineCells::default();
        cells.add(&first);
        cells.add_unknown();
        cells.add(&second);
        cells.add_again(1);
        let mut text = String::new();
        for (by, word) in TimelineBy::ALL {
            assert_eq!(TimelineBy::of_word(word), Some(by));
            assert_eq!(by.word(), word);
            let (names, columns) = cells.by(by);
            for (column, report) in columns.iter().zip([&first, &Report::default(), &second, &first]) {
                assert_eq!(column.iter().map(|cell| cell.bytes).sum::<usize>(), report.bytes());
                assert_eq!(column.iter().map(|cell| cell.tokens).sum::<usize>(), report.tokens());
            }
            let last: Vec<String> =
                columns[2].iter().map(|cell| format!("{:?} {}", names[cell.name], cell.bytes)).collect();
            text += &format!("{word}: {}\n", last.join(", "));
        }
        expect![[r#"
            part: "base" 40, "user" 8, "tools/shell" 12, "tool" 100
            source: "catalogue" 52, "user" 8, "tool" 100
            role: "" 52, "user" 8, "tool" 100
            tool: "" 48, "shell" 112
            author: "pack" 52, "yours" 8, "tool" 100
        "#]]
        .assert_eq(&text);
    }
}
