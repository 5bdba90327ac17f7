//! Texts as JavaScript sees them, for rules that were written there first.
//!
//! What counts as white space, what a number looks like and how long a text is differ from Rust in
//! a few places, and a rule that depends on them must say which it means.

/// Whether JavaScript's `trim` takes the character away.
fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n'
            | '\u{b}'
            | '\u{c}'
            | '\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// The text without white space at its ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether the text is empty or white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// How many UTF-16 units the text has.
pub fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The number that a text is when JavaScript converts it; an empty one is zero there.
pub fn number(text: &str) -> Option<f64> {
    let text = trim(text);
    if text.is_empty() {
        return Some(0.0);
    }
    let radix = match text.get(..2) {
        Some("0x" | "0X") => Some(16),
        Some("0o" | "0O") => Some(8),
        Some("0b" | "0B") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let digits = &text[2..];
        let fold = |sum: f64, digit: char| digit.to_digit(radix).map(|digit| sum * f64::from(radix) + f64::from(digit));
        return if digits.is_empty() { None } else { digits.chars().try_fold(0.0, fold) };
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" {
        return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    // Rust reads words such as `inf` and `nan` too; JavaScript knows digits, a point and an exponent.
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if is_decimal { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_javascript_reads_them() {
        for (text, expected) in [
            ("5", Some(5.0)),
            (" 5.9\n", Some(5.9)),
            ("0x10", Some(16.0)),
            ("0b101", Some(5.0)),
            ("1e2", Some(100.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("-3", Some(-3.0)),
            ("+3", Some(3.0)),
            ("Infinity", Some(f64::INFINITY)),
            ("", Some(0.0)),
            ("5 turns", None),
            ("0x", None),
            ("1_000", None),
            ("inf", None),
            ("nan", None),
            ("-0x10", None),
            ("1e", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn white_space_is_javascripts() {
        assert_eq!(trim("\u{feff}\u{a0} a\u{85}\n"), "a\u{85}");
        assert!(is_blank(" \u{3000}\u{2028}"));
        assert!(!is_blank("\u{85}"));
    }
}
