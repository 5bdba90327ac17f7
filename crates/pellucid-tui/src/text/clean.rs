//! Text of models, tools and files, made harmless: nothing in it can move the cursor, change a colour, hide or reorder
//! other text, or cost more than its bounds.
//!
//! What a person would not see is written out by `pellucid_engine::visible`. Output of commands is meant for terminals, so
//! its colours and cursor movements are removed instead, and a line that was overwritten shows what was written last.

use std::borrow::Cow;

use pellucid_engine::visible::visible;

use super::width;

/// Tabs reach to the next multiple of this column.
const TAB: usize = 4;

/// A longer line is cut, and says how much is missing.
pub const LINE_MAX: usize = 4096;

/// One line, harmless: no line ends, tabs as spaces, hidden characters written out.
///
/// A line that is longer than [`LINE_MAX`] bytes is cut.
pub fn line(text: &str) -> Cow<'_, str> {
    line_within(text, LINE_MAX)
}

/// The same with another bound, in bytes.
pub fn line_within(text: &str, max: usize) -> Cow<'_, str> {
    let (kept, missing) = bounded(text, max);
    match (visible_line(kept), missing) {
        (shown, 0) => shown,
        (shown, missing) => Cow::Owned(format!("{shown}… +{missing} bytes")),
    }
}

/// The same without a bound, for text that the caller has bounded.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    if width::is_simple(text) {
        return Cow::Borrowed(text);
    }
    match visible(text) {
        Cow::Borrowed(shown) if !shown.contains(['\t', '\n']) => Cow::Borrowed(shown),
        shown => Cow::Owned(without_tabs(&shown)),
    }
}

/// The lines of a text, each harmless.
pub fn lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.lines().map(line)
}

/// One line of a command's output: as [`line()`], without the terminal's commands, and only what was written last if a
/// carriage return started the line again.
pub fn output_line(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\r');
    let last = text.rfind('\r').map_or(text, |at| &text[at + 1..]);
    if !last.contains(['\u{1b}', '\u{8}', '\u{9b}']) {
        return line(last);
    }
    // The bound is taken first, so that a megabyte of colours costs no more than a megabyte of text.
    let (kept, missing) = bounded(last, 4 * LINE_MAX);
    let plain = without_commands(kept);
    let shown = line(&plain).into_owned();
    if missing == 0 { Cow::Owned(shown) } else { Cow::Owned(format!("{shown}… +{missing} bytes")) }
}

/// The beginning of a text in at most `max` bytes, and how many bytes are missing.
fn bounded(text: &str, max: usize) -> (&str, usize) {
    if text.len() <= max {
        return (text, 0);
    }
    let end = text.floor_char_boundary(max);
    (&text[..end], text.len() - end)
}

fn without_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + TAB);
    let mut column = 0;
    for (_, grapheme) in width::graphemes(text) {
        match grapheme {
            "\t" => {
                let blanks = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            "\n" | "\r\n" | "\r" => {
                out.push(' ');
                column += 1;
            }
            other => {
                out.push_str(other);
                column += width::grapheme_columns(other);
            }
        }
    }
    out
}

/// Removes control sequences as ECMA-48 defines them, strings with their ends, and characters that were deleted by
/// backspaces.
fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{8}' => {
                out.pop();
            }
            '\u{9b}' => skip_sequence(&mut rest),
            '\u{1b}' => match rest.next() {
                Some('[') => skip_sequence(&mut rest),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                // A sequence with intermediate bytes, such as the choice of a character set, has one more.
                Some(' '..='/') => {
                    rest.next();
                }
                _ => {}
            },
            other => out.push(other),
        }
    }
    out
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_sequence(rest: &mut Characters<'_>) {
    while rest.peek().is_some_and(|it| matches!(it, ' '..='?')) {
        rest.next();
    }
    if rest.peek().is_some_and(|it| matches!(it, '@'..='~')) {
        rest.next();
    }
}

fn skip_string(rest: &mut Characters<'_>) {
    while let Some(character) = rest.next() {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(text: &str, expected: &str) {
        assert_eq!(line(text), expected);
    }

    #[track_caller]
    fn check_output(text: &str, expected: &str) {
        assert_eq!(output_line(text), expected);
    }

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        check_line("plain", "plain");
        check_line("\u{1b}[2Jgone", "\\u{1b}[2Jgone");
        check_line("a\0b", "a\\u{0}b");
        check_line("a\u{202e}b", "a\\u{202e}b");
        check_line("a\rb", "a\\u{d}b");
        check_line("\tx\ty", "    x   y");
        check_line("名\tx", "名  x");
        check_line("two\nlines", "two lines");
        check_line("👨‍👩‍👧", "👨‍👩‍👧");
    }

    #[test]
    fn output_loses_the_commands_that_it_has_for_a_terminal() {
        check_output("\u{1b}[31mred\u{1b}[0m end", "red end");
        check_output("\u{1b}]0;title\u{7}text", "text");
        check_output("\u{1b}]8;;http://a.test\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check_output("10%\r20%\r100%\r", "100%");
        check_output("ab\u{8}c", "ac");
        check_output("\u{1b}(Bx\u{1b}cy", "xy");
        check_output("\u{9b}31mred", "red");
        check_output("\u{1b}", "");
        check_output("\u{1b}]0;never ends", "");
        check_output("bell\u{7}\u{1b}[m", "bell\\u{7}");
    }

    #[test]
    fn a_line_of_a_megabyte_is_cut_and_says_by_how_much() {
        let long = "x".repeat(1 << 20);
        let shown = line(&long);
        assert!(shown.len() < LINE_MAX + 32, "{}", shown.len());
        assert!(shown.ends_with(&format!("… +{} bytes", (1 << 20) - LINE_MAX)));
        let coloured = "\u{1b}[31mé".repeat(1 << 18);
        assert!(output_line(&coloured).len() < 2 * LINE_MAX);
        let hidden = "\u{202e}".repeat(1 << 18);
        assert!(line(&hidden).len() < 4 * LINE_MAX);
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_shown_commands_a_terminal(text in "(?s).{0,200}", spice in "[\u{0}-\u{1f}\u{7f}-\u{9f}\\[\\]m;0-9\u{202a}-\u{202e}]{0,40}") {
            let text = text + &spice;
            for shown in [line(&text), output_line(&text)] {
                proptest::prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
                let turned = shown.chars().any(|it| matches!(it, '\u{202a}'..='\u{202e}'));
                proptest::prop_assert!(!turned, "{shown:?}");
            }
        }
    }
}
