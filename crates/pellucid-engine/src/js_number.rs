//! Numbers as JavaScript reads them from a text, for settings that were written for it.

use crate::utf16;

/// The number that a text is when JavaScript converts it; an empty one is zero there.
pub fn parse(text: &str) -> Option<f64> {
    let text = utf16::trim(text);
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
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
