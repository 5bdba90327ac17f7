//! The rows of a request for a person who is about to send it: what it is, where it came from, what it costs, and whether
//! the provider may have it in its cache.
//!
//! Rows of one part, item and source are one row here, and every byte is in one row, so the rows add up to the request.
//! Nothing is parsed but the texts of files, for their lines.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use pellucid_engine::continuity::Continuity;
use pellucid_engine::fragment::Origin;
use pellucid_engine::prices::PriceEntry;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::request::Request;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::usage::UsageSplit;

use crate::overview::OverviewKind;
use crate::overview::OverviewOrigin;

/// The rows of a request in groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPanel {
    /// The groups that have bytes, in the order of [`OverviewKind`].
    pub groups: Vec<PanelGroup>,
}

/// Rows that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelGroup {
    /// What the group has.
    pub kind: OverviewKind,
    /// Its rows, in the order of their bytes.
    pub rows: Vec<PanelRow>,
}

/// What one source gives to one part of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelRow {
    /// The slot or part.
    pub part: Arc<str>,
    /// The number of the input item, from 0.
    pub item: Option<usize>,
    /// The role of that item.
    pub role: Option<Arc<str>>,
    /// The kind of the origin: `pack`, `file`, `fact` and so on.
    pub source: &'static str,
    /// The file, configuration key, fact or tool; empty where the kind says it.
    pub origin: Arc<str>,
    /// Whose words these are.
    pub whose: OverviewOrigin,
    /// The lines of the file, from 1, for rows of files.
    pub lines: Option<RangeInclusive<usize>>,
    /// The first byte in the request.
    pub start: usize,
    /// How many bytes the row has.
    pub bytes: usize,
    /// How many tokens the row has.
    pub tokens: usize,
    /// How many of the tokens the provider may have in its cache, because the request before began with them.
    pub tokens_kept: usize,
    /// Whether all of the source is in the request.
    pub status: SourceStatus,
}

impl PanelRow {
    /// What the row costs if the provider reads from its cache what it may have there.
    pub fn cost(&self, price: &PriceEntry) -> Money {
        cost(price, self.tokens, self.tokens_kept)
    }
}

impl PanelGroup {
    /// How many bytes the group has.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    /// How many tokens the group has.
    pub fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }

    /// How many of its tokens the provider may have in its cache.
    pub fn tokens_kept(&self) -> usize {
        self.rows.iter().map(|row| row.tokens_kept).sum()
    }
}

impl ContextPanel {
    /// The rows of a report. `order` is the order in which the provider's models read, `request` is what the report is about.
    pub fn of(report: &Report, request: &Request, order: &[ReadSection]) -> Self {
        let mut groups: BTreeMap<OverviewKind, Gathering> = BTreeMap::new();
        let mut ends: BTreeMap<Arc<str>, (u64, usize)> = BTreeMap::new();
        for (row, status) in report.statuses() {
            let kind = OverviewKind::of(row);
            let is_kept = report.continuity.as_ref().is_some_and(|it| is_kept(row, it, order));
            let lines = lines_of(row, request, &mut ends);
            groups.entry(kind).or_default().add(kind, row, status, is_kept, lines);
        }
        Self { groups: groups.into_iter().map(|(kind, it)| PanelGroup { kind, rows: it.rows }).collect() }
    }

    /// How many bytes the request has.
    pub fn bytes(&self) -> usize {
        self.groups.iter().map(PanelGroup::bytes).sum()
    }

    /// How many tokens the request has.
    pub fn tokens(&self) -> usize {
        self.groups.iter().map(PanelGroup::tokens).sum()
    }

    /// How many of the tokens the provider may have in its cache.
    pub fn tokens_kept(&self) -> usize {
        self.groups.iter().map(PanelGroup::tokens_kept).sum()
    }

    /// What the request costs, without its answer, if the provider reads from its cache what it may have there.
    pub fn cost(&self, price: &PriceEntry) -> Money {
        cost(price, self.tokens(), self.tokens_kept())
    }
}

/// What tokens of a request cost, of which some may be in the provider's cache.
pub fn cost(price: &PriceEntry, tokens: usize, tokens_kept: usize) -> Money {
    let count = |tokens: usize| i64::try_from(tokens).unwrap_or(i64::MAX);
    let (cached_read, uncached) = (count(tokens_kept), count(tokens.saturating_sub(tokens_kept)));
    price.cost(&UsageSplit { cached_read, uncached, ..UsageSplit::default() })
}

/// The rows of a group so far, with the place of each source.
#[derive(Default)]
struct Gathering {
    rows: Vec<PanelRow>,
    places: BTreeMap<RowKey, usize>,
}

/// What rows of the same source have in common: part, item, kind and detail of the origin.
type RowKey = (Arc<str>, Option<usize>, &'static str, Arc<str>);

impl Gathering {
    fn add(
        &mut self,
        kind: OverviewKind,
        row: &Row,
        status: SourceStatus,
        is_kept: bool,
        lines: Option<RangeInclusive<usize>>,
    ) {
        let (source, origin): (_, Arc<str>) = match &row.origin {
            // The layers of notation are no sources of their own.
            Origin::Wire | Origin::Layout | Origin::Repair => ("wire", "".into()),
            origin => (origin.kind(), origin.detail().into()),
        };
        // Notation of one part is one row, wherever in the request it is.
        let item = row.item.filter(|_| kind != OverviewKind::Notation);
        let key = (row.part.clone(), item, source, origin.clone());
        let tokens_kept = if is_kept { row.tokens } else { 0 };
        if let Some(at) = self.places.get(&key) {
            let known = &mut self.rows[*at];
            known.bytes += row.bytes;
            known.tokens += row.tokens;
            known.tokens_kept += tokens_kept;
            known.status = known.status.max(status);
            known.lines = match (known.lines.take(), lines) {
                (Some(one), Some(two)) => Some(*one.start().min(two.start())..=*one.end().max(two.end())),
                (one, two) => one.or(two),
            };
            return;
        }
        self.places.insert(key, self.rows.len());
        self.rows.push(PanelRow {
            part: row.part.clone(),
            item,
            role: row.role.clone().filter(|_| item.is_some()),
            source,
            origin,
            whose: OverviewOrigin::of(kind, &row.origin),
            lines,
            start: row.start,
            bytes: row.bytes,
            tokens: row.tokens,
            tokens_kept,
            status,
        });
    }
}

/// The section of the request that a row is read in.
fn section(row: &Row) -> ReadSection {
    match &*row.part {
        _ if row.item.is_some() => ReadSection::Items,
        "base" => ReadSection::Instructions,
        "settings" => ReadSection::Settings,
        part if part == "tools" || part.starts_with("tools/") => ReadSection::Tools,
        _ => ReadSection::Items,
    }
}

/// Whether the request before began with the bytes of a row, in the order of reading.
fn is_kept(row: &Row, continuity: &Continuity, order: &[ReadSection]) -> bool {
    let section = section(row);
    let is_before = |end: usize| row.start < end;
    let is_known = section != ReadSection::Items || is_before(continuity.items_end);
    let Some(broken) = &continuity.broken else {
        return is_known;
    };
    let Some(broken_section) = broken.cause.section() else {
        return false;
    };
    let place = |section: ReadSection| order.iter().position(|it| *it == section).unwrap_or(usize::MAX);
    match place(section).cmp(&place(broken_section)) {
        std::cmp::Ordering::Less => is_known,
        std::cmp::Ordering::Equal if section == ReadSection::Items => is_known,
        std::cmp::Ordering::Equal => is_before(broken.first_byte),
        std::cmp::Ordering::Greater => false,
    }
}

/// The lines of its file that a row has. A row in the middle of a file has lines if the row before it of the same file ends
/// there.
fn lines_of(
    row: &Row,
    request: &Request,
    ends: &mut BTreeMap<Arc<str>, (u64, usize)>,
) -> Option<RangeInclusive<usize>> {
    let range = row.file_range().filter(|range| !range.is_empty())?;
    let path: Arc<str> = row.origin.detail().into();
    let first = match ends.get(&path) {
        _ if range.start == 0 => 1,
        Some((end, line)) if *end == range.start => *line,
        _ => return None,
    };
    let (n_ends, ends_line) = line_ends(request, row);
    ends.insert(path, (range.end, first + n_ends));
    Some(first..=first + n_ends.saturating_sub(usize::from(ends_line)))
}

/// How many line ends the text of a row has, and whether it ends with one. In the bytes they are written as `\n`.
fn line_ends(request: &Request, row: &Row) -> (usize, bool) {
    let (mut from, mut left) = (row.start, row.bytes);
    let (mut n_ends, mut is_escape, mut is_end) = (0, false, false);
    for segment in &request.segments {
        if from >= segment.len() {
            from -= segment.len();
            continue;
        }
        let run = &segment[from..segment.len().min(from + left)];
        for byte in run {
            is_end = is_escape && *byte == b'n';
            n_ends += usize::from(is_end);
            is_escape = !is_escape && *byte == b'\\';
        }
        left -= run.len();
        from = 0;
        if left == 0 {
            break;
        }
    }
    (n_ends, is_end)
}

#[cfg(test)]
mod tests;
