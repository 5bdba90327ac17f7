//! The last block of a source that is still arriving: what later lines may do to it.

use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::Tag;

use crate::text::blocks;

/// The block that a source ends with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LastBlock {
    /// Where the block begins; for a list, where its last item begins.
    start: usize,
    pub(super) state: State,
    /// Whether the source has no other block.
    pub(super) is_first: bool,
}

/// What later lines may do to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing, or there is no block.
    Final,
    /// The block is a paragraph: they may change the lines that leave something open, until there is a blank line.
    Paragraph,
    /// They may change it until there is a blank line.
    UntilBlank,
    /// The same, and the block is a table.
    Table,
    /// They add lines to fenced code.
    Code,
    /// They may change the last item and add further ones. `number` is that of the first item.
    List { number: u64, items: u64 },
    /// They may change all of it.
    Open,
}

impl LastBlock {
    pub(super) fn of(source: &str) -> Self {
        let mut last = Self { start: source.len(), state: State::Final, is_first: true };
        let mut blocks = 0usize;
        let mut depth = 0usize;
        let mut code_end = 0;
        for (event, range) in blocks::parser(source).into_offset_iter() {
            let is_block = depth == 0 && matches!(event, Event::Start(_) | Event::Rule);
            if is_block {
                blocks += 1;
                last = Self { start: range.start, state: state(&event), is_first: blocks == 1 };
                code_end = source[range.start..].find('\n').map_or(source.len(), |at| range.start + at);
            }
            match event {
                Event::Start(tag) => {
                    if let (State::List { items, .. }, 1, Tag::Item) = (&mut last.state, depth, tag) {
                        *items += 1;
                        last.start = range.start;
                    }
                    depth += 1;
                }
                Event::End(_) => {
                    depth -= 1;
                    let rest = source.get(code_end..range.end).unwrap_or_default();
                    // Only the closing fence comes after the text of the code.
                    if depth == 0 && last.state == State::Code && !rest.trim().is_empty() {
                        last.state = State::Final;
                    }
                }
                Event::Text(_) if depth == 1 => code_end = code_end.max(range.end),
                _ => {}
            }
        }
        last
    }

    /// Where the line begins in which the block begins.
    pub(super) fn line_start(&self, source: &str) -> usize {
        source[..self.start].rfind('\n').map_or(0, |at| at + 1)
    }

    /// The line that opens the code, without the name of the language. What reads the lines keeps
    /// the language and its place in it.
    pub(super) fn fence<'a>(&self, source: &'a str) -> &'a str {
        let line = source[self.line_start(source)..].lines().next().unwrap_or_default();
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let sign = line[blanks..].chars().next().unwrap_or('`');
        &line[..line.len() - line[blanks..].trim_start_matches(sign).len()]
    }
}

fn state(event: &Event<'_>) -> State {
    match event {
        Event::Rule | Event::Start(Tag::Heading { .. }) => State::Final,
        Event::Start(Tag::Paragraph) => State::Paragraph,
        Event::Start(Tag::BlockQuote(_)) => State::UntilBlank,
        Event::Start(Tag::Table(_)) => State::Table,
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => State::Code,
        Event::Start(Tag::List(number)) => State::List { number: number.unwrap_or(0), items: 0 },
        _ => State::Open,
    }
}
