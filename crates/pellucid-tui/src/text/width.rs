//! How many columns of a terminal a text takes.
//!
//! The unit is the grapheme: what a person calls one character, such as an emoji of several code points or a letter with
//! its accents. Control characters take none; [`super::clean`] removes them before anything is measured.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// The columns of a text on one line.
pub fn columns(text: &str) -> usize {
    if is_simple(text) {
        return text.len();
    }
    text.graphemes(true).map(grapheme_columns).sum()
}

/// The columns of one grapheme: 0, 1 or 2.
pub fn grapheme_columns(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [b' '..=b'~'] => 1,
        _ => grapheme.width().min(2),
    }
}

/// The columns of a text on the terminal that needs most: some terminals draw an emoji of several code points as one, others
/// draw each of them. A line that fits by this measure fits on both.
pub fn columns_at_most(text: &str) -> usize {
    if is_simple(text) {
        return text.len();
    }
    graphemes(text).map(|(_, grapheme)| grapheme_columns_at_most(grapheme)).sum()
}

/// The same for one grapheme.
pub fn grapheme_columns_at_most(grapheme: &str) -> usize {
    let each: usize = grapheme.chars().filter_map(UnicodeWidthChar::width).sum();
    grapheme_columns(grapheme).max(each)
}

/// Whether every byte is one printable ASCII character, so that bytes and columns are the same.
pub(crate) fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The graphemes of a text with the byte at which each begins.
pub fn graphemes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// The longest beginning of `text` that takes at most `limit` columns on every terminal, and these columns.
pub fn beginning(text: &str, limit: usize) -> (&str, usize) {
    if is_simple(text) {
        let end = text.len().min(limit);
        return (&text[..end], end);
    }
    let mut taken = 0;
    for (at, grapheme) in graphemes(text) {
        let next = taken + grapheme_columns_at_most(grapheme);
        if next > limit {
            return (&text[..at], taken);
        }
        taken = next;
    }
    (text, taken)
}

/// The text if it fits into `limit` columns; otherwise its beginning and an ellipsis.
pub fn shortened(text: &str, limit: usize) -> String {
    let (start, _) = beginning(text, limit);
    if start.len() == text.len() {
        return text.to_owned();
    }
    match limit {
        0 => String::new(),
        _ => format!("{}…", beginning(text, limit - 1).0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_columns(text: &str, expected: usize) {
        assert_eq!(columns(text), expected, "{text:?}");
    }

    #[test]
    fn columns_of_graphemes() {
        check_columns("", 0);
        check_columns("plain text", 10);
        check_columns("名前", 4);
        check_columns("e\u{301}a", 2);
        check_columns("👍🏽", 2);
        check_columns("👨‍👩‍👧", 2);
        check_columns("🇩🇪", 2);
        check_columns("한국", 4);
        check_columns("ﾊﾝｶｸ", 4);
        check_columns("ก็", 1);
        check_columns("…", 1);
    }

    #[test]
    fn a_terminal_that_draws_each_code_point_needs_more() {
        assert_eq!(["👨‍👩‍👧", "👍🏽", "❤️", "e\u{301}", "名", "a"].map(columns_at_most), [6, 4, 2, 1, 2, 1]);
    }

    #[track_caller]
    fn check_shortened(text: &str, limit: usize, expected: &str) {
        let shown = shortened(text, limit);
        assert_eq!(shown, expected);
        assert!(columns(&shown) <= limit, "{shown:?} is wider than {limit}");
    }

    #[test]
    fn a_text_that_is_cut_never_takes_half_of_a_character() {
        check_shortened("abcdef", 6, "abcdef");
        check_shortened("abcdef", 5, "abcd…");
        check_shortened("名前値段", 8, "名前値段");
        check_shortened("名前値段", 6, "名前…");
        check_shortened("名前値段", 1, "…");
        check_shortened("名前", 0, "");
    }

    proptest::proptest! {
        #[test]
        fn the_columns_of_a_text_are_those_of_its_two_halves(text in "\\PC{0,40}", at in 0usize..60) {
            let cuts: Vec<usize> = graphemes(&text).map(|(at, _)| at).chain([text.len()]).collect();
            let at = cuts[at % cuts.len()];
            let (one, other) = text.split_at(at);
            proptest::prop_assert_eq!(columns(&text), columns_of(one) + columns_of(other));
        }

        #[test]
        fn a_beginning_fits_and_one_grapheme_more_does_not(text in "\\PC{0,40}", limit in 0usize..50) {
            let (start, taken) = beginning(&text, limit);
            proptest::prop_assert!(taken <= limit);
            proptest::prop_assert!(columns(start) <= taken);
            proptest::prop_assert_eq!(columns_at_most(start), taken);
            if let Some((_, next)) = graphemes(&text).find(|(at, _)| *at == start.len()) {
                proptest::prop_assert!(taken + grapheme_columns_at_most(next) > limit);
            }
        }
    }

    /// The columns without the short way for ASCII.
    fn columns_of(text: &str) -> usize {
        text.graphemes(true).map(grapheme_columns).sum()
    }
}
