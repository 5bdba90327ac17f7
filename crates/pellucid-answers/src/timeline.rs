//! What the requests of a session are made of, request by request, for a drawing with one column for each.
//!
//! Every byte of a request is in one cell, so the cells of a column add up to the request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Row;
use pellucid_engine::request::Frame;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_engine::transcript::Rendered;
use serde::Deserialize;
use serde::Serialize;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineCell {
    /// The place of the name in the list of names.
    pub name: usize,
    /// How many bytes the cell has.
    pub bytes: usize,
    /// How many tokens the cell has.
    pub tokens: usize,
}

/// Everything by which cells can be distinguished.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct CellKind {
    part: Arc<str>,
    source: Cow<'static, str>,
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
            source: row.origin.kind().into(),
            role: row.role.clone(),
            tool,
            author: OverviewOrigin::of(OverviewKind::of(row), &row.origin),
        }
    }

    fn name(&self, by: TimelineBy) -> &str {
        match by {
            TimelineBy::Part => &self.part,
            TimelineBy::Source => &self.source,
            TimelineBy::Role => self.role.as_deref().unwrap_or_default(),
            TimelineBy::Tool => self.tool.as_deref().unwrap_or_default(),
            TimelineBy::Author => self.author.name(),
        }
    }
}

/// The cells of the requests of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineCells {
    /// The kinds of cells, in the order in which they appear first.
    kinds: Vec<CellKind>,
    /// For each request its cells, with the place of the kind instead of the name.
    columns: Vec<Vec<TimelineCell>>,
}

/// Cells that are gathered request by request. A request that extends the one before costs what is new in it.
#[derive(Debug, Clone, Default)]
pub struct GatheredCells {
    cells: TimelineCells,
    places: BTreeMap<CellKind, usize>,
    /// The frame of the request before, and the places of the kinds of what is behind its items.
    frame: Option<(Frame, Vec<usize>)>,
    /// What the head of the request before and its items add up to, and how many bytes they have.
    sums: BTreeMap<usize, TimelineCell>,
    end: usize,
    n_items: usize,
}

impl GatheredCells {
    /// Continues cells that were gathered before.
    pub fn continuing(cells: TimelineCells) -> Self {
        let places = cells.kinds.iter().cloned().zip(0..).collect();
        Self { cells, places, ..Self::default() }
    }

    /// Adds the next request. It begins with `n_kept` items of the request that was added before it.
    pub fn add(&mut self, frame: &Frame, items: &[Rendered], n_kept: usize) {
        let list: Arc<str> = frame.list().into();
        let is_same_head = |(before, _): &(Frame, Vec<usize>)| std::ptr::eq(before.head_spans(), frame.head_spans());
        if self.n_items != n_kept || !self.frame.as_ref().is_some_and(is_same_head) {
            self.sums.clear();
            (self.end, self.n_items) = (0, 0);
            for span in frame.head_spans() {
                let place = self.place(span, None, None);
                add(&mut self.sums, &mut self.end, place, span.len);
            }
        }
        let is_same_tail = |(before, _): &(Frame, Vec<usize>)| std::ptr::eq(before.tail_spans(), frame.tail_spans());
        let notation = |len| Span { part: list.clone(), origin: Origin::Wire, len, raw_len: len };
        let n_before = self.n_items;
        for (n, item) in items.iter().enumerate().skip(n_before) {
            let place = self.place(&notation(item.lead), None, None);
            add(&mut self.sums, &mut self.end, place, item.lead);
            for span in item.spans.iter() {
                let place = self.place(span, Some(n), item.role.as_ref());
                add(&mut self.sums, &mut self.end, place, span.len);
            }
        }
        self.n_items = items.len();
        // What closes the list belongs to this request alone, because the list will continue.
        let (mut column, mut end) = (self.sums.clone(), self.end);
        let trail = items.last().map_or(0, |item| item.trail);
        let place = self.place(&notation(trail), None, None);
        add(&mut column, &mut end, place, trail);
        if !self.frame.as_ref().is_some_and(is_same_tail) {
            let tail = frame.tail_spans().iter().map(|span| self.place(span, None, None)).collect();
            self.frame = Some((frame.clone(), tail));
        }
        if let Some((before, tail)) = &mut self.frame {
            for (span, place) in frame.tail_spans().iter().zip(tail.iter()) {
                add(&mut column, &mut end, *place, span.len);
            }
            *before = frame.clone();
        }
        self.cells.columns.push(column.into_values().collect());
    }

    /// Adds a request that repeats the one of this number.
    pub fn add_again(&mut self, number: usize) {
        let column = number.checked_sub(1).and_then(|at| self.cells.columns.get(at)).cloned();
        self.cells.columns.push(column.unwrap_or_default());
    }

    /// Adds a request whose bytes are not known.
    pub fn add_unknown(&mut self) {
        self.cells.columns.push(Vec::new());
    }

    /// The cells of every request.
    pub fn finish(self) -> TimelineCells {
        self.cells
    }

    /// The place of the kind of some bytes. Of no bytes there is no cell, and any place will do.
    fn place(&mut self, span: &Span, item: Option<usize>, role: Option<&Arc<str>>) -> usize {
        if span.len == 0 {
            return 0;
        }
        let kind = CellKind::of(&Row {
            part: span.part.clone(),
            item,
            role: role.cloned(),
            origin: span.origin.clone(),
            start: 0,
            bytes: span.len,
            raw_bytes: span.raw_len,
            tokens: 0,
        });
        let n_known = self.cells.kinds.len();
        *self.places.entry(kind).or_insert_with_key(|kind| {
            self.cells.kinds.push(kind.clone());
            n_known
        })
    }
}

/// Adds the next bytes to the cell of their kind.
fn add(cells: &mut BTreeMap<usize, TimelineCell>, end: &mut usize, name: usize, bytes: usize) {
    if bytes == 0 {
        return;
    }
    let start = *end;
    *end += bytes;
    let cell = cells.entry(name).or_insert(TimelineCell { name, bytes: 0, tokens: 0 });
    cell.bytes += bytes;
    cell.tokens += tokens_of_bytes(*end) - tokens_of_bytes(start);
}

impl TimelineCells {
    /// Whether the cells are those of requests with so many bytes each. Cells that were stored may have become anything.
    pub fn are_of(&self, bytes: &[u64]) -> bool {
        let fits = |(cells, bytes): (&Vec<TimelineCell>, &u64)| {
            let mut sum = Some(0_u64);
            for cell in cells {
                let is_known = cell.name < self.kinds.len() && cell.tokens <= cell.bytes;
                sum = sum.filter(|_| is_known).and_then(|sum| sum.checked_add(u64::try_from(cell.bytes).ok()?));
            }
            cells.is_empty() || sum == Some(*bytes)
        };
        self.columns.len() == bytes.len() && self.columns.iter().zip(bytes).all(fits)
    }

    /// Leaves the cells of the first requests.
    pub fn truncate(&mut self, n: usize) {
        self.columns.truncate(n);
    }

    /// Cells of so many requests whose bytes are not known.
    pub fn unknown(n: usize) -> Self {
        Self { kinds: Vec::new(), columns: vec![Vec::new(); n] }
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
    use pellucid_engine::encode::Encoded;
    use pellucid_engine::report::Report;
    use pellucid_engine::transcript::View;

    use super::*;
    use crate::shared::SharedItems;

    fn span(part: &str, origin: Origin, len: usize) -> Span {
        Span { part: part.into(), origin, len, raw_len: len }
    }

    fn encoded(span: Span) -> Encoded {
        Encoded { bytes: vec![b' '; span.len], spans: vec![span] }
    }

    fn item(role: &str, lead: usize, spans: &[Span]) -> Rendered {
        Rendered { kind: "message", role: Some(role.into()), lead, spans: spans.into(), trail: 0 }
    }

    #[test]
    fn every_byte_is_in_one_cell_however_cells_are_named() {
        let shell = || Origin::Tool { name: "shell".into() };
        let frame = || {
            let (base, tools) = (span("base", Origin::Catalogue, 41), span("tools/shell", Origin::Catalogue, 12));
            Frame::recorded(View::default(), encoded(base), encoded(tools))
        };
        let user = item("user", 0, &[span("user", Origin::User, 9), span("user", Origin::Wire, 4)]);
        let output = item("tool", 1, &[span("tool", shell(), 101)]);
        let (one, other) = (frame(), frame());
        let last = Rendered { trail: 2, ..output.clone() };
        let requests = [
            (&one, vec![user.clone()]),
            (&one, vec![user.clone(), last]),
            (&one, vec![user.clone(), output.clone(), output.clone()]),
            (&other, vec![user, output.clone(), output.clone()]),
            (&other, vec![output]),
        ];
        let (mut gathered, mut shared) = (GatheredCells::default(), SharedItems::default());
        let mut reports = Vec::new();
        for (frame, items) in &requests {
            gathered.add(frame, items, shared.next(items));
            reports.push(Report::new(frame, items, Vec::new(), Vec::new()));
        }
        gathered.add_unknown();
        gathered.add_again(1);
        reports.extend([Report::default(), reports[0].clone()]);
        let cells = gathered.finish();
        for (at, (frame, items)) in requests.iter().enumerate() {
            let mut alone = GatheredCells::continuing(TimelineCells { columns: Vec::new(), ..cells.clone() });
            alone.add(frame, items, 0);
            assert_eq!(alone.finish().columns[0], cells.columns[at], "it does not depend on what came before");
        }
        let mut text = String::new();
        for (by, word) in TimelineBy::ALL {
            assert_eq!(TimelineBy::of_word(word), Some(by));
            assert_eq!(by.word(), word);
            let (names, columns) = cells.by(by);
            assert_eq!(columns.len(), reports.len());
            for (column, report) in columns.iter().zip(&reports) {
                assert_eq!(column.iter().map(|cell| cell.bytes).sum::<usize>(), report.bytes());
                assert_eq!(column.iter().map(|cell| cell.tokens).sum::<usize>(), report.tokens());
            }
            let last: Vec<String> =
                columns[1].iter().map(|cell| format!("{:?} {}", names[cell.name], cell.bytes)).collect();
            text += &format!("{word}: {}\n", last.join(", "));
        }
        expect![[r#"
            part: "base" 41, "user" 13, "tools/shell" 12, "input" 3, "tool" 101
            source: "catalogue" 53, "user" 9, "wire" 7, "tool" 101
            role: "" 56, "user" 13, "tool" 101
            tool: "" 57, "shell" 113
            author: "pack" 53, "yours" 9, "session" 7, "tool" 101
        "#]]
        .assert_eq(&text);
    }
}
