//! The page with every row of the next request: groups that open, a marked row, and what is left out.

use std::collections::BTreeSet;

use ratatui_core::style::Modifier;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::dock;
use crate::look::report::CacheOutlook;
use crate::look::report::LookReport;
use crate::look::report::LookRow;
use crate::text::palette::Palette;
use crate::text::width::columns;
use crate::text::width::shortened;

/// The group of braces and separators, which is closed at first.
const NOTATION: &str = "notation";

/// What a key on the page asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsOutcome {
    /// The page stays as it is.
    Open,
    /// The person left the page.
    Left,
    /// Why the row at this byte is there.
    Why(usize),
    /// Why this is left out, by its place in the list.
    WhyNot(usize),
    /// The bytes of the request.
    Preview,
    /// What came of the provider's cache so far.
    Cache,
    /// The same facts under every pack.
    Packs,
    /// Count the tokens exactly, or estimate them again.
    Exact,
}

/// A line of the page that can be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Group(usize),
    Row(usize, usize),
    LeftOut(usize),
    /// A line that says something and cannot be asked about.
    Words,
}

/// The page with every row of a request.
#[derive(Debug, Default)]
pub struct RowsPage {
    /// The groups that were closed or opened against what they are at first.
    toggled: BTreeSet<String>,
    marked: usize,
    top: usize,
    height: usize,
    /// What the request is of, if not of this session: a pack.
    pub of_pack: Option<Box<LookReport>>,
}

impl RowsPage {
    /// A page with the request that another pack would make.
    pub fn of_pack(report: Box<LookReport>) -> Self {
        Self { of_pack: Some(report), ..Self::default() }
    }

    fn is_open(&self, name: &str) -> bool {
        (name != NOTATION) != self.toggled.contains(name)
    }

    fn entries(&self, report: &LookReport) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (at, group) in report.groups.iter().enumerate() {
            entries.push(Entry::Group(at));
            if self.is_open(&group.name) {
                entries.extend((0..group.rows.len()).map(|row| Entry::Row(at, row)));
            }
        }
        if !report.left_out.is_empty() {
            entries.push(Entry::Words);
            entries.extend((0..report.left_out.len()).map(Entry::LeftOut));
        }
        entries
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap, report: Option<&LookReport>) -> RowsOutcome {
        let action = keymap.action(Place::Look, key);
        match action {
            Some(Action::LookLeave) => return RowsOutcome::Left,
            Some(Action::LookPreview) => return RowsOutcome::Preview,
            Some(Action::LookCache) => return RowsOutcome::Cache,
            Some(Action::LookPacks) => return RowsOutcome::Packs,
            Some(Action::LookExact) => return RowsOutcome::Exact,
            _ => {}
        }
        let Some(report) = report else { return RowsOutcome::Open };
        let entries = self.entries(report);
        let last = entries.len().saturating_sub(1);
        self.marked = self.marked.min(last);
        let page = self.height.max(1);
        match action {
            Some(Action::LookUp) => self.marked = self.marked.saturating_sub(1),
            Some(Action::LookDown) => self.marked = (self.marked + 1).min(last),
            Some(Action::LookPageUp) => self.marked = self.marked.saturating_sub(page),
            Some(Action::LookPageDown) => self.marked = (self.marked + page).min(last),
            Some(Action::LookStart) => self.marked = 0,
            Some(Action::LookEnd) => self.marked = last,
            Some(Action::LookOpen) => {
                if let Some(Entry::Group(at) | Entry::Row(at, _)) = entries.get(self.marked).copied() {
                    let name = &report.groups[at].name;
                    if !self.toggled.remove(name) {
                        self.toggled.insert(name.clone());
                    }
                    let is_group = |entry: &Entry| *entry == Entry::Group(at);
                    self.marked = self.entries(report).iter().position(is_group).unwrap_or(0);
                }
            }
            Some(Action::LookWhy) => match entries.get(self.marked) {
                Some(Entry::Row(group, row)) => return RowsOutcome::Why(report.groups[*group].rows[*row].start),
                Some(Entry::Group(group)) => {
                    let largest = report.groups[*group].rows.iter().max_by_key(|row| row.size.bytes);
                    return largest.map_or(RowsOutcome::Open, |row| RowsOutcome::Why(row.start));
                }
                Some(Entry::LeftOut(at)) => return RowsOutcome::WhyNot(*at),
                Some(Entry::Words) | None => {}
            },
            _ => {}
        }
        RowsOutcome::Open
    }

    /// Draws the page: sizes above, the rows, and the keys below. `title` says which request it is.
    pub fn draw_over(
        &mut self,
        title: &str,
        report: Result<&LookReport, &str>,
        (width, height): (usize, usize),
        keys: &str,
        palette: &Palette,
    ) -> Vec<Line<'static>> {
        let report = match report {
            Ok(report) => report,
            Err(words) => {
                let title = Line::styled("── next request ", palette.dim());
                let mut lines = vec![title, Line::default(), Line::from(shortened(&format!(" {words}"), width))];
                lines.truncate(height);
                return lines;
            }
        };
        let mut lines = head(title, report, width, palette);
        let entries = self.entries(report);
        self.marked = self.marked.min(entries.len().saturating_sub(1));
        self.height = height.saturating_sub(lines.len() + 1).max(1);
        self.top = self.top.clamp((self.marked + 1).saturating_sub(self.height), self.marked);
        self.top = self.top.min(entries.len().saturating_sub(self.height));
        for (at, entry) in entries.iter().enumerate().skip(self.top).take(self.height) {
            let mut line = self.line(*entry, report, width, palette);
            if at == self.marked {
                line.style = line.style.add_modifier(Modifier::REVERSED);
            }
            lines.push(line);
        }
        lines.resize(height.saturating_sub(1), Line::default());
        lines.push(Line::styled(shortened(&format!("── {keys} "), width), palette.dim()));
        lines
    }

    fn line(&self, entry: Entry, report: &LookReport, width: usize, palette: &Palette) -> Line<'static> {
        match entry {
            Entry::Group(at) => {
                let group = &report.groups[at];
                let mark = if self.is_open(&group.name) { '▾' } else { '▸' };
                let name = match group.rows.len() {
                    1 => format!("{mark} {}", group.name),
                    n => format!("{mark} {} ({n})", group.name),
                };
                let share = dock::percent(group.size.tokens, report.size.tokens);
                let figures = figures(&group.size, &share, width);
                let room = width.saturating_sub(columns(&figures) + 1);
                let name = padded(&name, room);
                Line::from(vec![Span::styled(format!("{name} {figures}"), palette.bold())])
            }
            Entry::Row(group, row) => {
                let is_sent = report.outlook == CacheOutlook::Sent;
                row_line(&report.groups[group].rows[row], is_sent, width, palette)
            }
            Entry::LeftOut(at) => {
                let left_out = &report.left_out[at];
                let style = if left_out.is_loss { palette.removed() } else { palette.dim() };
                Line::styled(shortened(&format!("    {}: {}", left_out.what, left_out.why), width), style)
            }
            Entry::Words => Line::styled("not seen by the model", palette.bold()),
        }
    }
}

/// The sizes of the request, how it continues the last one, and the names of the columns.
fn head(title: &str, report: &LookReport, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let mut lines = vec![dock::title_line(report, title, width, palette)];
    let fitting = |text: &str| format!(" {}", shortened(text, width.saturating_sub(1)));
    if let Some(purpose) = &report.purpose {
        lines.push(Line::styled(fitting(purpose), palette.bold()));
    }
    lines.extend(report.facts.iter().map(|fact| Line::from(fitting(fact))));
    // The bytes of a request that cannot be rebuilt are not known, and no request has none.
    if report.size.bytes == 0 {
        lines.extend(report.notes.iter().map(|note| Line::styled(fitting(note), palette.removed())));
        return lines;
    }
    lines.push(Line::from(fitting(&dock::size_line(report))));
    lines.push(dock::bar_line(report, width, palette));
    lines.extend(dock::outlook_lines(report, width, palette));
    if let CacheOutlook::Breaks(broken) = &report.outlook {
        lines.push(Line::styled(fitting(&format!("  to avoid it: {}", broken.advice)), palette.dim()));
    }
    if let (Some(encoding), false) = (&report.counted_by, report.groups.is_empty()) {
        lines.push(Line::styled(fitting(&format!("tokens counted by {encoding}")), palette.dim()));
    }
    if let Some(words) = dock::price_line(report) {
        lines.push(Line::styled(fitting(&words), palette.dim()));
    }
    lines.extend(report.notes.iter().map(|note| Line::styled(fitting(note), palette.removed())));
    lines.push(Line::styled(heading(width), palette.bold()));
    lines
}

/// A row: its part, where it came from, its sizes. Of a request that was sent it is not known which rows were cached.
fn row_line(row: &LookRow, is_sent: bool, width: usize, palette: &Palette) -> Line<'static> {
    let word = match row.status.as_str() {
        "full" if is_sent => String::new(),
        "full" => dock::freshness(&row.size),
        status => status.to_owned(),
    };
    let figures = figures(&row.size, &word, width);
    let room = width.saturating_sub(columns(&figures) + 5);
    let part_room = (room * 9 / 20).min(26);
    let part = padded(&shortened(&row.part, part_room), part_room);
    let origin = padded(&row.origin, room.saturating_sub(part_room + 1));
    let is_whole = matches!(row.status.as_str(), "full" | "duplicate");
    let figures_style = if !is_whole {
        palette.removed()
    } else if row.size.tokens_kept >= row.size.tokens {
        palette.dim()
    } else {
        ratatui_core::style::Style::new()
    };
    Line::from(vec![
        Span::raw(format!("    {part} ")),
        Span::styled(origin, dock::whose_style(row.whose, palette)),
        Span::styled(format!(" {figures}"), figures_style),
    ])
}

/// The names of the columns.
fn heading(width: usize) -> String {
    let sizes = columns_of(width);
    let mut text = String::new();
    if sizes.has_bytes {
        text += &format!("{:>8} ", "bytes");
    }
    text += &format!("{:>7} ", "tokens");
    if sizes.has_cost {
        text += &format!("{:>8} ", "price");
    }
    text += &format!("{:<9}", "");
    let room = width.saturating_sub(columns(&text) + 1);
    format!("{} {text}", padded("  part and origin", room))
}

/// Bytes, tokens, price and a word, in columns.
fn figures(size: &crate::look::report::LookSize, word: &str, width: usize) -> String {
    let sizes = columns_of(width);
    let mut text = String::new();
    if sizes.has_bytes {
        text += &format!("{:>8} ", dock::number(size.bytes));
    }
    text += &format!("{:>7} ", dock::number(size.tokens));
    if sizes.has_cost {
        let cost = size.cost.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        text += &format!("{cost:>8} ");
    }
    text + &format!("{:<9}", shortened(word, 9))
}

/// Which columns a page of this width has.
struct Columns {
    has_bytes: bool,
    has_cost: bool,
}

fn columns_of(width: usize) -> Columns {
    Columns { has_bytes: width >= 60, has_cost: width >= 70 }
}

/// A text in exactly so many columns. If it is longer, its beginning is left out: the end of a path says more.
fn padded(text: &str, room: usize) -> String {
    let width = columns(text);
    if width <= room {
        return format!("{text}{}", " ".repeat(room - width));
    }
    if room < 8 {
        let cut = shortened(text, room);
        let blanks = " ".repeat(room.saturating_sub(columns(&cut)));
        return cut + &blanks;
    }
    // The kind of an origin stays in front of its name.
    let kind = text.split_once(' ').map_or("", |(kind, _)| kind);
    let kind = if !kind.is_empty() && columns(kind) + 8 <= room { format!("{kind} ") } else { String::new() };
    let tail_room = room - 1 - columns(&kind);
    let mut tail = String::new();
    for (_, grapheme) in crate::text::width::graphemes(text).collect::<Vec<_>>().into_iter().rev() {
        if columns(&tail) + columns(grapheme) > tail_room {
            break;
        }
        tail.insert_str(0, grapheme);
    }
    let blanks = " ".repeat(tail_room - columns(&tail));
    format!("{kind}…{tail}{blanks}")
}
