//! The lines of a paragraph that no later line can change.
//!
//! Later lines could make a heading of all lines of a paragraph, the head of a table of its first line or of a last line that
//! begins with `|`, and emphasis, code, links or HTML of what a line leaves open. So a line is final when the paragraph has two
//! lines, the line is no such head, and every mark before the end of the line that could open something has its other end. An
//! underline below more than one line makes no heading: dashes are a rule there, and other underlines are text.
//!
//! A long line is given out in parts, each of whole rows. Rows are final when a row that follows them is full, because a line
//! breaks before the first word that does not fit.

use std::ops::Range;

use pulldown_cmark::Event;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use ratatui_core::style::Style;

use crate::text::blocks;
use crate::text::inline::Inline;
use crate::text::palette::Palette;
use crate::text::wrap::Breaking;
use crate::text::wrap::breaks;

/// The line that is read in place of those that were given out, because a line that continues a paragraph is read in another
/// way than one that begins a block.
pub(super) const GIVEN_OUT: &str = ".\n";

/// Marks that wait longer for their other end are shown as they are written, so that the cost of a frame has a bound.
const HELD_MAX: usize = 1024;

/// The end of the last line that is final, of a source that is one paragraph.
pub(super) fn final_lines(source: &str) -> Option<usize> {
    source.lines().nth(1)?;
    let mut open = Open::default();
    let mut end = None;
    for (event, range) in blocks::parser(source).into_offset_iter() {
        open.event(&event, range.clone(), source);
        let is_line_end = matches!(event, Event::SoftBreak | Event::HardBreak);
        // A line that ends with a backslash needs the next one.
        if is_line_end && open.is_closed() && source.as_bytes()[range.start] != b'\\' {
            end = source[range.start..].find('\n').map(|at| range.start + at + 1);
        }
        if open.is_for_good {
            break;
        }
    }
    let last = source[..source.len() - 1].rfind('\n').map_or(0, |at| at + 1);
    let is_head = source[last..].trim_start_matches(' ').starts_with('|');
    // A backslash at the end of the source is a line break if a line follows.
    if open.is_closed() && !is_head && !is_escaped(source, source.len() - 1) {
        end = Some(source.len());
    }
    end.or_else(|| (source.len() > HELD_MAX).then_some(if is_head { last } else { source.len() }))
}

/// The last place in the last line of a paragraph at which a row begins and before which all is final.
pub(super) fn final_rows(source: &str, columns: usize) -> Option<usize> {
    let mut begins = row_begins(source, columns).into_iter().peekable();
    let mut open = Open::default();
    let mut end = None;
    for (event, Range { start: mut from, end: to }) in blocks::parser(source).into_offset_iter() {
        if matches!(event, Event::Text(_)) {
            while let Some(begin) = begins.next_if(|begin| *begin < to) {
                open.read(source, from..begin);
                from = begin;
                end = if open.is_closed() { Some(begin) } else { end };
            }
        }
        open.event(&event, from..to, source);
        if open.is_for_good {
            break;
        }
    }
    end
}

/// The places in the source at which rows of the last line begin with a word of plain text, but for the last row. The row after
/// such a row shows that its first word has its end.
fn row_begins(source: &str, columns: usize) -> Vec<usize> {
    let palette = Palette::plain();
    let mut inline = Inline::new(Style::new(), &palette);
    let mut depth = 0usize;
    // Parts of the last line that are shown as they are written, and where they are in the source.
    let mut parts: Vec<(Range<usize>, usize)> = Vec::new();
    for (event, range) in blocks::parser(source).into_offset_iter() {
        match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => continue,
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        let is_text = depth == 0 && matches!(event, Event::Text(_));
        let before = inline.written();
        inline.add(event, &source[range.clone()]);
        let after = inline.written();
        if after < before || after == 0 {
            parts.clear();
        } else if is_text && after - before == range.len() {
            parts.push((before..after, range.start));
        }
    }
    let line: String = inline.into_lines().pop().into_iter().flatten().map(|span| span.content).collect();
    let rows = breaks(&line, columns, columns, Breaking::Words);
    let mut parts = parts.into_iter().peekable();
    let mut out = Vec::new();
    for row in rows.iter().skip(1).take(rows.len().saturating_sub(2)) {
        while parts.next_if(|(shown, _)| shown.end <= row.start).is_some() {}
        // Another sign than a letter could begin a list, a quote or a heading.
        let is_word = line[..row.start].ends_with(' ') && line[row.start..].starts_with(char::is_alphabetic);
        if let Some((shown, place)) = parts.peek().filter(|(shown, _)| is_word && shown.contains(&row.start)) {
            out.extend(line[row.clone()].contains(' ').then_some(place + row.start - shown.start));
        }
    }
    out
}

/// Makes a rule or a text of each underline that would make a heading of several lines. `is_continued` says that lines of
/// the first block were given out. Returns whether one was changed.
pub(super) fn write_out_underlines(source: &mut String, is_continued: bool) -> bool {
    let mut depth = 0usize;
    let mut place = None;
    for (event, range) in blocks::parser(source).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let text = source[range.clone()].trim_end_matches('\n');
                let has_lines = text.matches('\n').count() > 1 || is_continued && range.start == 0;
                if depth == 0 && matches!(tag, Tag::Heading { .. }) && has_lines {
                    place = text.rfind('\n').map(|at| range.start + at + 1);
                    break;
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    let Some(place) = place else {
        return false;
    };
    let line = source[place..].lines().next().unwrap_or_default();
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let is_rule = line.trim().len() > 2 && line.trim().starts_with('-');
    source.insert(place + if is_rule { 0 } else { blanks }, if is_rule { '\n' } else { '\\' });
    true
}

/// Whether a source may have an underline: a line of one sign.
pub(super) fn may_have_underline(source: &str) -> bool {
    let is_underline = |line: &str, sign| !line.is_empty() && line.bytes().all(|byte| byte == sign);
    source.lines().map(str::trim).any(|line| is_underline(line, b'=') || is_underline(line, b'-'))
}

/// What the text of a paragraph has left open.
#[derive(Debug, Default)]
struct Open {
    containers: usize,
    /// Brackets without their other end.
    brackets: usize,
    /// Whether a mark was seen that may get its other end in any later line.
    is_for_good: bool,
}

impl Open {
    fn is_closed(&self) -> bool {
        self.containers == 0 && self.brackets == 0 && !self.is_for_good
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>, source: &str) {
        match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            Event::Start(_) => self.containers += 1,
            Event::End(_) => self.containers -= 1,
            Event::Text(_) => self.read(source, range),
            _ => {}
        }
    }

    /// Reads a part of the source that is text as far as the parser knows.
    fn read(&mut self, source: &str, range: Range<usize>) {
        let bytes = source.as_bytes();
        for at in range {
            let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
            let is_mark = match bytes[at] {
                b'`' => true,
                b'*' | b'~' => opens(source, at),
                b'_' => !source[..at].trim_end_matches('_').ends_with(char::is_alphanumeric) && opens(source, at),
                b'<' => next.is_ascii_alphabetic() || b"/!?".contains(&next),
                b']' => next == b'(',
                _ => false,
            };
            let is_bracket = b"[]".contains(&bytes[at]);
            if !(is_mark || is_bracket) || is_escaped(source, at) {
                continue;
            }
            self.is_for_good |= is_mark;
            match bytes[at] {
                b'[' => self.brackets += 1,
                b']' => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// Whether text follows the signs at a place, so that they may begin emphasis.
fn opens(source: &str, at: usize) -> bool {
    let sign = char::from(source.as_bytes()[at]);
    source[at..].trim_start_matches(sign).chars().next().is_some_and(|next| !next.is_whitespace())
}

fn is_escaped(source: &str, at: usize) -> bool {
    source[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}
