//! The arguments of a command, split as a shell would, with the spans of pasted texts and images kept whole.
//!
//! Such a span may have spaces and quotes in it. While the arguments are split, a mark without either takes its
//! place.

use std::ops::Range;

use pellucid_protocol::input::ByteRange;
use pellucid_protocol::input::TextElement;
use shlex::Shlex;

use super::Expansion;

/// Characters that no text has a use for: a mark is the number of a span between these two.
const OPEN: char = '\u{f0000}';
const CLOSE: char = '\u{f0001}';

/// The arguments of a command.
#[derive(Debug)]
pub(super) struct Arguments<'t> {
    /// The words. Text after a quote that is not closed is dropped.
    pub words: Vec<String>,
    spans: Vec<Span<'t>>,
}

#[derive(Debug)]
struct Span<'t> {
    text: &'t str,
    element: &'t TextElement,
}

impl<'t> Arguments<'t> {
    /// The arguments in `text` from this byte on.
    pub(super) fn parse(text: &'t str, start: usize, elements: &'t [TextElement]) -> Self {
        let mut elements: Vec<&TextElement> = elements.iter().collect();
        elements.sort_by_key(|element| element.byte_range.start);
        let mut marked = String::new();
        let mut spans = Vec::new();
        let mut at = start;
        for element in elements {
            let ByteRange { start, end } = element.byte_range;
            let (Some(before), Some(text)) = (text.get(at..start), text.get(start..end)) else {
                continue;
            };
            marked += before;
            marked += &format!("{OPEN}{}{CLOSE}", spans.len());
            spans.push(Span { text, element });
            at = end;
        }
        marked += &text[at..];
        Self { words: Shlex::new(&marked).collect(), spans }
    }

    /// A word with its marks made spans again.
    pub(super) fn shown(&self, word: &str) -> String {
        let mut output = Output::new(self);
        output.argument(word);
        output.finish().text
    }

    /// The first mark in a word: its bytes and its span.
    fn first_mark(&self, word: &str) -> Option<(Range<usize>, &Span<'t>)> {
        word.match_indices(OPEN).find_map(|(open, _)| {
            let number = open + OPEN.len_utf8();
            let close = number + word[number..].find(CLOSE)?;
            let span = self.spans.get(word[number..close].parse::<usize>().ok()?)?;
            Some((open..close + CLOSE.len_utf8(), span))
        })
    }
}

/// A prompt that is being filled.
#[derive(Debug)]
pub(super) struct Output<'a, 't> {
    arguments: &'a Arguments<'t>,
    expansion: Expansion,
}

impl<'a, 't> Output<'a, 't> {
    pub(super) fn new(arguments: &'a Arguments<'t>) -> Self {
        Self { arguments, expansion: Expansion::default() }
    }

    /// Adds text of the prompt.
    pub(super) fn text(&mut self, text: &str) {
        self.expansion.text += text;
    }

    /// Adds an argument, its marks made spans again.
    pub(super) fn argument(&mut self, argument: &str) {
        let mut rest = argument;
        while let Some((mark, span)) = self.arguments.first_mark(rest) {
            self.expansion.text += &rest[..mark.start];
            let start = self.expansion.text.len();
            self.expansion.text += span.text;
            let byte_range = ByteRange { start, end: self.expansion.text.len() };
            self.expansion.elements.push(TextElement { byte_range, placeholder: span.element.placeholder.clone() });
            rest = &rest[mark.end..];
        }
        self.expansion.text += rest;
    }

    pub(super) fn finish(self) -> Expansion {
        self.expansion
    }
}
