//! Markdown as styled lines, given out as soon as no later line of the source can change them.
//!
//! The reader keeps the source of the blocks that are open and has it parsed again when lines were added. A block is final
//! when the next one begins, an item of a list when the next item begins, and each line of fenced code at once. A line of a
//! paragraph is final when no mark before its end waits for another end (`paragraph`). The source of what is final is
//! dropped. How often the rest is parsed again follows from its length, so the work is linear.
//!
//! Every line end of a paragraph is kept. HTML and definitions of links are shown as they are written: a definition could
//! change lines that were given out long before.

use std::ops::Range;

use pulldown_cmark::Event;
use pulldown_cmark::Tag;
use ratatui_core::text::Line;

use super::blocks;
use super::blocks::Before;
use super::blocks::Continued;
use super::palette::Palette;
use super::stream::MarkdownStream;

mod last;
mod paragraph;

use last::LastBlock;
use last::State;

/// A block with a longer source is given out in parts, so that the cost of a frame has a bound.
const BLOCK_MAX: usize = 32 * 1024;

/// How many bytes may be parsed for each byte that arrives.
const WORK: usize = 8;

/// Definitions are searched for this many times, because one that became a text may let a later line be a definition. No
/// usual text needs more; in others code may get a backslash, but nothing is hidden.
const SEARCHES: usize = 4;

/// What the name of a definition ends with.
const DEFINED: &str = "]:";

/// A line that begins with more marks of quotes and items is read as two: the parser takes time for each open container
/// on every line.
const MARKS_MAX: usize = 256;

/// The head of a long table is repeated if it has at most this many bytes.
const HEAD_MAX: usize = 2 * 1024;

/// The whole text as lines of at most `columns`.
pub fn lines(text: &str, columns: usize, palette: &Palette) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new(columns, *palette);
    let mut out = stream.push(text);
    out.extend(stream.finish());
    out
}

/// Reads Markdown line by line.
#[derive(Debug, Clone)]
pub struct MarkdownReader {
    columns: usize,
    palette: Palette,
    /// The source of the blocks that are not given out; whole lines.
    source: String,
    /// What was given out of the first of these blocks.
    continued: Continued,
    before: Before,
    /// How many bytes may be parsed now; negative after work that could not wait.
    credit: isize,
    out: Vec<Line<'static>>,
    #[cfg(test)]
    pub(super) bytes_read: usize,
}

impl MarkdownReader {
    /// A reader that makes lines of at most `columns`.
    pub fn new(columns: usize, palette: Palette) -> Self {
        Self {
            columns,
            palette,
            source: String::new(),
            continued: Continued::Nothing,
            before: Before::default(),
            credit: 0,
            out: Vec::new(),
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// Changes the width of the lines that follow.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Takes the lines that are finished.
    pub fn take(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.out)
    }

    /// Reads the next line of the source, which has no control characters.
    pub fn line(&mut self, mut line: &str) {
        while let Some(end) = many_marks(line) {
            self.whole_line(&line[..end]);
            line = &line[end..];
        }
        self.whole_line(line);
    }

    fn whole_line(&mut self, line: &str) {
        self.source.push_str(line);
        self.source.push('\n');
        self.credit = self.credit.saturating_add_unsigned(WORK * (line.len() + 1));
        if self.credit >= self.source.len().cast_signed() || self.source.len() > BLOCK_MAX {
            self.settle();
        }
    }

    /// Ends the text.
    pub fn finish(&mut self) {
        self.write_out_definitions();
        self.write_out_underlines();
        self.give_out(self.source.len(), Continued::Nothing);
    }

    /// Gives out what the next line cannot change.
    fn settle(&mut self) {
        self.write_out_definitions();
        self.write_out_underlines();
        self.count(self.source.len());
        let last = LastBlock::of(&self.source);
        let begin = last.line_start(&self.source);
        match last.state {
            State::Final => self.give_out(self.source.len(), Continued::Nothing),
            State::Paragraph | State::UntilBlank | State::Table if ends_with_blank_line(&self.source) => {
                self.give_out(self.source.len(), Continued::Nothing);
            }
            State::Code => {
                let fence = last.fence(&self.source).to_owned();
                self.give_out(self.source.len(), Continued::Code);
                self.source = fence + "\n";
            }
            State::List { number, items } => {
                let first = match self.continued {
                    Continued::List(first) if last.is_first => first,
                    _ => number,
                };
                self.give_out(begin, Continued::List(first.saturating_add(items.saturating_sub(1))));
            }
            State::Paragraph => self.give_out_lines(begin),
            State::UntilBlank | State::Table | State::Open => self.give_out(begin, Continued::Nothing),
        }
        if self.source.len() > BLOCK_MAX {
            self.give_out_part(last.state == State::Table);
        }
    }

    /// Gives out what is before the paragraph that begins at `begin`, and its lines that are final.
    fn give_out_lines(&mut self, begin: usize) {
        // The lines after the first ones may be the reason that a paragraph begins here, so it is drawn by itself.
        self.give_out(begin, Continued::Nothing);
        self.count(self.source.len());
        let Some(end) = paragraph::final_lines(&self.source) else {
            return;
        };
        // The line in place of those that were given out is no reason to draw.
        if self.continued != Continued::Paragraph || end > paragraph::GIVEN_OUT.len() {
            self.give_out(end, Continued::Paragraph);
            self.source.insert_str(0, paragraph::GIVEN_OUT);
        }
    }

    /// Gives out the rows that are final of a line that has no end yet, if it is a line of a paragraph. Returns how many bytes of
    /// the line that is; the rest of the line is read as the next one.
    pub fn long_line(&mut self, line: &str) -> usize {
        // What begins with these signs may depend on the end of the line or on the next one.
        if line.trim_start().starts_with(['<', '[', '|']) {
            return 0;
        }
        self.settle();
        let source = format!("{}{line}\n", self.source);
        self.count(source.len());
        let last = LastBlock::of(&source);
        if last.state != State::Paragraph {
            return 0;
        }
        let begin = last.line_start(&source);
        self.give_out(begin, Continued::Nothing);
        let (source, n_before) = (&source[begin..], self.source.len());
        self.count(2 * source.len());
        let Some(end) = paragraph::final_rows(source, self.columns) else {
            return 0;
        };
        self.source = source[..end].to_owned() + "\n";
        self.give_out(self.source.len(), Continued::Paragraph);
        self.source = paragraph::GIVEN_OUT.to_owned();
        end - n_before
    }

    /// Gives out a block that is too long. The rest of it is read as if it began here; a table gets its head again.
    fn give_out_part(&mut self, is_table: bool) {
        let head: String = self.source.split_inclusive('\n').take(2).collect();
        let is_repeated = is_table && head.len() <= HEAD_MAX;
        self.give_out(self.source.len(), if is_repeated { Continued::Table } else { Continued::Nothing });
        if is_repeated {
            self.source = head;
        }
    }

    /// Draws the source up to `end` and drops it. `next` says how the rest continues it.
    fn give_out(&mut self, end: usize, next: Continued) {
        if end == 0 {
            return;
        }
        self.count(end);
        let lines = blocks::draw(&self.source[..end], self.continued, &mut self.before, self.columns, &self.palette);
        self.out.extend(lines);
        self.source.drain(..end);
        self.continued = next;
    }

    /// Puts a backslash into each definition of a link. It is a text then.
    fn write_out_definitions(&mut self) {
        for _ in 0..SEARCHES {
            if !self.source.contains(DEFINED) {
                return;
            }
            self.count(self.source.len());
            let parser = blocks::parser(&self.source);
            if parser.reference_definitions().iter().next().is_none() {
                return;
            }
            let places = unread(parser.into_offset_iter(), &self.source);
            if places.is_empty() {
                return;
            }
            let mut out = String::with_capacity(self.source.len() + places.len());
            let mut done = 0;
            for place in places {
                out.push_str(&self.source[done..=place]);
                out.push('\\');
                done = place + 1;
            }
            out.push_str(&self.source[done..]);
            self.source = out;
        }
        self.source = self.source.replace(DEFINED, "]\\:");
    }

    /// Lets no underline make a heading of several lines.
    fn write_out_underlines(&mut self) {
        if !paragraph::may_have_underline(&self.source) {
            return;
        }
        loop {
            self.count(self.source.len());
            if !paragraph::write_out_underlines(&mut self.source, self.continued == Continued::Paragraph) {
                return;
            }
        }
    }

    /// The whole source, drawn at once.
    #[cfg(test)]
    pub(super) fn whole(mut self, source: &str) -> Vec<Line<'static>> {
        self.source = source.to_owned();
        self.finish();
        self.out
    }

    fn count(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_sub_unsigned(bytes);
        #[cfg(test)]
        {
            self.bytes_read += bytes;
        }
    }
}

/// The places of `]:` that belong to no text, link, code or HTML. The parser names only the first of several definitions
/// with the same name, but it leaves out the source of all of them.
fn unread<'a>(events: impl Iterator<Item = (Event<'a>, Range<usize>)>, source: &str) -> Vec<usize> {
    let is_shown = |event: &Event<'_>| match event {
        Event::Text(_) | Event::Code(_) | Event::Html(_) | Event::InlineHtml(_) => true,
        Event::Start(tag) => matches!(tag, Tag::Link { .. } | Tag::Image { .. }),
        _ => false,
    };
    let mut shown = events.filter(|(event, _)| is_shown(event)).map(|(_, range)| range).peekable();
    let mut out = Vec::new();
    for (place, _) in source.match_indices(DEFINED) {
        while shown.next_if(|range| range.end <= place).is_some() {}
        if !shown.peek().is_some_and(|range| range.contains(&place)) {
            out.push(place);
        }
    }
    out
}

/// Where the marks of quotes and items end that are read, if a line begins with too many of them.
fn many_marks(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut marks = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b' ' | b'0'..=b'9' => {}
            b'>' => marks += 1,
            b'-' | b'+' | b'*' | b'.' | b')' if bytes.get(at + 1) == Some(&b' ') => marks += 1,
            _ => return None,
        }
        if marks == MARKS_MAX {
            return Some(at + 1).filter(|end| *end < line.len());
        }
    }
    None
}

fn ends_with_blank_line(source: &str) -> bool {
    source.lines().next_back().is_some_and(|line| line.trim().is_empty())
}

#[cfg(test)]
mod tests;
