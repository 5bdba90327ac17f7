//! Styled text as lines that fit a width.
//!
//! Lines break at spaces and beside wide characters; a word that is too long is broken between graphemes. A URL is never
//! broken, because a person clicks or copies it: a line with a URL is the only one that may be wider than asked. Emoji of
//! several code points count with what the terminal needs that draws each of them, so that lines fit everywhere.

use std::ops::Range;

use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::width;

/// What lines begin with: the first one, and those that continue it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Indent {
    /// The beginning of the first line, such as a mark.
    pub first: Vec<Span<'static>>,
    /// The beginning of the lines that follow, usually as wide as `first`.
    pub rest: Vec<Span<'static>>,
}

impl Indent {
    /// A mark, and as many blanks under it.
    pub fn hanging(mark: Span<'static>) -> Self {
        let blanks = " ".repeat(width::columns(&mark.content));
        Self { first: vec![mark], rest: vec![Span::raw(blanks)] }
    }

    /// Blanks before every line.
    pub fn blanks(count: usize) -> Self {
        let blanks = vec![Span::raw(" ".repeat(count))];
        Self { first: blanks.clone(), rest: blanks }
    }
}

/// Where lines may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaking {
    /// At spaces and beside wide characters, for prose. Spaces at a break are left out.
    Words,
    /// Between any two graphemes, for code and output. Nothing is left out.
    Anywhere,
}

/// Breaks one logical line into lines of at most `columns`.
pub fn wrap(spans: &[Span<'static>], columns: usize, indent: &Indent, breaking: Breaking) -> Vec<Line<'static>> {
    let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
    let room = |beginning: &[Span<'static>]| columns.saturating_sub(spans_columns(beginning)).max(1);
    let ranges = breaks(&text, room(&indent.first), room(&indent.rest), breaking);
    let mut cutter = Cutter { spans, span: 0, begin: 0 };
    let mut out = Vec::with_capacity(ranges.len());
    for (number, range) in ranges.into_iter().enumerate() {
        let mut line = if number == 0 { indent.first.clone() } else { indent.rest.clone() };
        let is_blank = range.is_empty() && line.iter().all(|span| span.content.trim().is_empty());
        if is_blank {
            line.clear();
        }
        cutter.cut(range, &mut line);
        out.push(Line::from(line));
    }
    out
}

/// The same for a text of one style.
pub fn wrap_text(text: &str, style: Style, columns: usize, indent: &Indent, breaking: Breaking) -> Vec<Line<'static>> {
    wrap(&[Span::styled(text.to_owned(), style)], columns, indent, breaking)
}

/// Breaks a line that has its place already: what continues it begins below its last column, or a little further in than
/// the line itself.
pub fn wrap_hanging(line: &Line<'static>, columns: usize) -> Vec<Line<'static>> {
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let text = line.to_string();
    let indent = text.len() - text.trim_start_matches(' ').len();
    let of_last = text.trim_end().rfind("  ").map_or(0, |at| width::columns(&text[..at + 2]));
    let hanging = if of_last > indent && of_last * 5 <= columns * 3 { of_last } else { indent + 2 };
    let hanging = hanging.min(columns / 2);
    let indent = Indent { first: Vec::new(), rest: vec![Span::raw(" ".repeat(hanging))] };
    let style = line.style;
    wrap(&line.spans, columns, &indent, Breaking::Words).into_iter().map(|line| line.style(style)).collect()
}

/// The columns of several spans beside each other.
pub fn spans_columns(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width::columns(&span.content)).sum()
}

/// The columns of spans on the terminal that needs most ([`width::columns_at_most`]).
pub fn spans_columns_at_most(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width::columns_at_most(&span.content)).sum()
}

/// Takes ranges out of the joined text of spans, in order, with the styles.
struct Cutter<'a> {
    spans: &'a [Span<'static>],
    /// The span in which the next range begins, and the byte of the joined text at which that span begins.
    span: usize,
    begin: usize,
}

impl Cutter<'_> {
    fn cut(&mut self, range: Range<usize>, out: &mut Vec<Span<'static>>) {
        while let Some(span) = self.spans.get(self.span) {
            let end = self.begin + span.content.len();
            let (from, to) = (range.start.max(self.begin), range.end.min(end));
            if from < to {
                let content = span.content[from - self.begin..to - self.begin].to_owned();
                out.push(Span::styled(content, span.style));
            }
            if range.end < end {
                return;
            }
            self.begin = end;
            self.span += 1;
        }
    }
}

/// The parts of a text that become lines. There is at least one part, which may be empty.
pub fn breaks(text: &str, first: usize, rest: usize, breaking: Breaking) -> Vec<Range<usize>> {
    match breaking {
        Breaking::Words => word_breaks(text, first, rest),
        Breaking::Anywhere => grapheme_breaks(text, first, rest),
    }
}

fn grapheme_breaks(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let room = if out.is_empty() { first } else { rest };
        let end = at + piece(&text[at..], room);
        out.push(at..end);
        at = end;
        if at >= text.len() {
            return out;
        }
    }
}

/// How many bytes of a text fit into `room` columns: at least one grapheme, so that every loop ends.
fn piece(text: &str, room: usize) -> usize {
    let (start, _) = width::beginning(near(text, room), room);
    if !start.is_empty() || text.is_empty() {
        return start.len();
    }
    width::graphemes(text).next().map_or(0, |(_, grapheme)| grapheme.len())
}

/// A beginning of the text that has more than enough for `room` columns, if the text is much longer.
fn near(text: &str, room: usize) -> &str {
    let enough = room * 8 + 64;
    if text.len() <= enough { text } else { &text[..text.floor_char_boundary(enough)] }
}

fn word_breaks(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let mut lines = Lines { out: Vec::new(), first, rest, begin: 0, end: 0, columns: 0 };
    let mut gap = 0;
    let mut at = 0;
    while at < text.len() {
        let blanks = text[at..].bytes().take_while(|byte| *byte == b' ').count();
        gap += blanks;
        at += blanks;
        let word = text[at..].find(' ').map_or(&text[at..], |end| &text[at..at + end]);
        if word.is_empty() {
            break;
        }
        if is_url(word) {
            lines.place(at..at + word.len(), width::columns_at_most(word), gap, None);
        } else if width::is_simple(word) {
            lines.place(at..at + word.len(), word.len(), gap, Some(word));
        } else {
            lines.place_parts(word, at, gap);
        }
        gap = 0;
        at += word.len();
    }
    lines.finish()
}

struct Lines {
    out: Vec<Range<usize>>,
    first: usize,
    rest: usize,
    /// The line that is being filled, in bytes, and its columns.
    begin: usize,
    end: usize,
    columns: usize,
}

impl Lines {
    fn room(&self) -> usize {
        if self.out.is_empty() { self.first } else { self.rest }
    }

    fn close(&mut self, next: usize) {
        self.out.push(self.begin..self.end);
        (self.begin, self.end, self.columns) = (next, next, 0);
    }

    fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Adds a part with the blanks before it. A part that no line can hold is broken if `text` is given.
    fn place(&mut self, part: Range<usize>, columns: usize, gap: usize, text: Option<&str>) {
        let is_beginning = self.is_empty() && self.out.is_empty() && self.begin == 0;
        let taken = self.columns + if is_beginning || !self.is_empty() { gap } else { 0 };
        if taken + columns <= self.room() {
            if self.is_empty() && !is_beginning {
                self.begin = part.start;
            }
            self.end = part.end;
            self.columns = taken + columns;
            return;
        }
        if !self.is_empty() {
            self.close(part.start);
        } else {
            self.begin = part.start;
        }
        (self.end, self.columns) = (part.end, columns);
        let Some(text) = text else {
            return;
        };
        let mut done = 0;
        while self.columns > self.room() {
            let taken = piece(&text[done..], self.room());
            if done + taken >= text.len() {
                break;
            }
            done += taken;
            self.end = part.start + done;
            self.close(part.start + done);
            (self.end, self.columns) = (part.end, width::columns_at_most(near(&text[done..], self.rest)));
        }
        if done > 0 {
            self.columns = width::columns_at_most(&text[done..]);
        }
    }

    /// Adds a word that has other characters than ASCII: lines may break beside wide ones.
    fn place_parts(&mut self, word: &str, at: usize, mut gap: usize) {
        let (mut begin, mut columns) = (0, 0);
        let mut before: Option<&str> = None;
        for (place, grapheme) in width::graphemes(word) {
            if place > begin && before.is_some_and(|before| may_break(before, grapheme)) {
                self.place(at + begin..at + place, columns, gap, Some(&word[begin..place]));
                (begin, columns, gap) = (place, 0, 0);
            }
            columns += width::grapheme_columns_at_most(grapheme);
            before = Some(grapheme);
        }
        self.place(at + begin..at + word.len(), columns, gap, Some(&word[begin..]));
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        if !self.is_empty() || self.out.is_empty() {
            self.out.push(self.begin..self.end);
        }
        self.out
    }
}

/// Whether a line may end between two graphemes of a word.
fn may_break(before: &str, after: &str) -> bool {
    const CLOSING: &str = "、。，．・：；？！）］｝〕〉》」』】〙〗ー…,.:;?!)]}";
    const OPENING: &str = "（［｛〔〈《「『【〘〖([{";
    let is_wide = width::grapheme_columns(before) == 2 || width::grapheme_columns(after) == 2;
    is_wide && !CLOSING.contains(after) && !OPENING.contains(before)
}

/// Whether a word is or contains a URL, such as `(https://a.test).`.
fn is_url(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && scheme.bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use ratatui_core::style::Stylize;

    use super::*;

    #[track_caller]
    fn check_words(text: &str, columns: usize, expected: &Expect) {
        let lines = wrap_text(text, Style::new(), columns, &Indent::hanging("- ".into()), Breaking::Words);
        let shown: Vec<String> = lines.iter().map(|line| format!("{line}|\n")).collect();
        expected.assert_eq(&shown.concat());
    }

    #[test]
    fn words_are_kept_whole_and_lines_hang() {
        check_words(
            "the quick brown fox jumps over it",
            14,
            &expect![[r#"
                - the quick|
                  brown fox|
                  jumps over|
                  it|
            "#]],
        );
        check_words(
            "",
            14,
            &expect![[r#"
                - |
            "#]],
        );
        check_words(
            "  kept   blanks  ",
            30,
            &expect![[r#"
                -   kept   blanks|
            "#]],
        );
        check_words(
            "exactly12345 fits",
            14,
            &expect![[r#"
                - exactly12345|
                  fits|
            "#]],
        );
    }

    #[test]
    fn a_word_that_no_line_can_hold_is_broken() {
        check_words(
            "a abcdefghijklmnopqrstuvwxyz z",
            12,
            &expect![[r#"
                - a|
                  abcdefghij|
                  klmnopqrst|
                  uvwxyz z|
            "#]],
        );
    }

    #[test]
    fn a_url_is_never_broken() {
        check_words(
            "see (https://example.test/a/very/long/path?with=query) for more",
            20,
            &expect![[r#"
                - see|
                  (https://example.test/a/very/long/path?with=query)|
                  for more|
            "#]],
        );
        check_words(
            "https://example.test/a/very/long/path end",
            20,
            &expect![[r#"
                - https://example.test/a/very/long/path|
                  end|
            "#]],
        );
    }

    #[test]
    fn wide_characters_break_anywhere_but_not_in_two() {
        check_words(
            "名前と値段はここにあります。終わり",
            13,
            &expect![[r#"
                - 名前と値段|
                  はここにあ|
                  ります。終|
                  わり|
            "#]],
        );
        check_words(
            "abc名前def",
            7,
            &expect![[r#"
                - abc名|
                  前def|
            "#]],
        );
        check_words(
            "名前",
            3,
            &expect![[r#"
                - 名|
                  前|
            "#]],
        );
    }

    #[test]
    fn styles_follow_their_text_over_a_break() {
        let spans = [Span::raw("plain ").red(), Span::raw("bold words").bold()];
        let lines = wrap(&spans, 10, &Indent::default(), Breaking::Words);
        assert_eq!(
            lines,
            [
                Line::from(vec![Span::raw("plain ").red(), Span::raw("bold").bold()]),
                Line::from(vec![Span::raw("words").bold()])
            ]
        );
    }

    #[test]
    fn code_keeps_every_blank() {
        let lines = wrap_text("    let x  = 1;", Style::new(), 8, &Indent::default(), Breaking::Anywhere);
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["    let ", "x  = 1;"]);
    }

    #[test]
    fn a_long_line_is_broken_once_over() {
        let text = "x".repeat(1 << 20);
        for breaking in [Breaking::Words, Breaking::Anywhere] {
            assert_eq!(breaks(&text, 80, 80, breaking).len(), (1usize << 20).div_ceil(80));
        }
    }

    proptest::proptest! {
        #[test]
        fn every_grapheme_is_on_one_line_and_lines_fit(text in "[a-z 名前é👍\u{301}\u{200d}\u{1f3fd}。(]{0,80}", columns in 2usize..30) {
            for breaking in [Breaking::Words, Breaking::Anywhere] {
                let ranges = breaks(&text, columns, columns, breaking);
                let mut end = 0;
                for range in &ranges {
                    proptest::prop_assert!(range.start >= end);
                    proptest::prop_assert!(text[end..range.start].bytes().all(|byte| byte == b' '));
                    let line = &text[range.clone()];
                    let is_single = width::graphemes(line).count() == 1;
                    proptest::prop_assert!(width::columns_at_most(line) <= columns || is_single, "{line:?}");
                    end = range.end;
                }
                proptest::prop_assert!(text[end..].bytes().all(|byte| byte == b' '));
            }
        }
    }
}
