//! Loosely typed values: reads a number, a text or a flag from a value of any type.
//!
//! No function here reports an error: an unusable value counts as absent.

use std::borrow::Cow;

use serde_json::Number;
use serde_json::Value;

/// A whole number: itself, a fraction cut off, or a text of digits in one of four bases.
pub fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), ..) => Some(whole),
            (None, Some(_), _) => Some(i64::MAX),
            (None, None, Some(float)) if float.is_finite() => Some(float.trunc() as i64),
            _ => None,
        },
        Value::String(text) => int_of_text(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A whole number as text: sign, base (`0x`, `0b`, `0o`, a plain leading `0`, `0d`) and digits with
/// single underscores between them.
fn int_of_text(text: &str) -> Option<i64> {
    let text = text.trim_matches(|c: char| matches!(c, '\t'..='\r' | ' '));
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0d") => (10, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.as_str()),
        _ => (10, lower.as_str()),
    };
    let is_well_formed = !digits.is_empty()
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__")
        && digits.chars().all(|c| c == '_' || c.is_digit(base));
    if !is_well_formed {
        return None;
    }
    let mut number: i64 = 0;
    for digit in digits.chars().filter_map(|c| c.to_digit(base)) {
        number = number.saturating_mul(i64::from(base)).saturating_add(i64::from(digit));
    }
    Some(if is_negative { -number } else { number })
}

/// A value as text: empty for null, a text unchanged, and any other as messages show it.
pub fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(inspect(other)),
    }
}

/// A number as the reference's language writes it: a fraction always has a point, and an exponent
/// from 1e16 on and below 1e-4.
fn number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    if float == 0.0 || (1e-4..1e16).contains(&float.abs()) {
        return format!("{float:?}");
    }
    let short = format!("{float:e}");
    let (digits, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}{point}e{sign}{exponent:0>2}")
}

/// A flag that only `true` turns on.
pub fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

/// A given value: neither missing nor null nor `false`.
pub fn given(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

/// Without NUL, tabs, line ends and spaces at both ends; other white space stays.
pub fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, '\0' | '\t'..='\r' | ' '))
}

/// Whether a text is blank after trimming.
pub fn is_blank(text: &str) -> bool {
    strip(text).is_empty()
}

/// The entries of a list, or a single value as a list of one; empty for null.
pub fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    }
}

/// A value as the reference's language shows it in messages.
pub fn inspect(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Array(values) => format!("[{}]", values.iter().map(inspect).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key:?} => {}", inspect(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Value::Number(given) => number(given),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_are_read_in_many_spellings() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(2.9), Some(2)),
            (json!(-2.9), Some(-2)),
            (json!(" 12\n"), Some(12)),
            (json!("-0x1F"), Some(-31)),
            (json!("0b101"), Some(5)),
            (json!("0o17"), Some(15)),
            (json!("010"), Some(8)),
            (json!("0"), Some(0)),
            (json!("1_000"), Some(1000)),
            (json!("08"), None),
            (json!("1__0"), None),
            (json!("_1"), None),
            (json!("3.0"), None),
            (json!("0x"), None),
            (json!(""), None),
            (json!("-"), None),
            (json!(null), None),
            (json!(true), None),
            (json!([1]), None),
        ] {
            assert_eq!(int(&value), expected, "{value}");
        }
    }

    #[test]
    fn values_that_are_no_text_become_one() {
        for (value, expected) in [
            (json!(null), ""),
            (json!("a"), "a"),
            (json!(42), "42"),
            (json!(2.50), "2.5"),
            (json!(1e3), "1000.0"),
            (json!(0.0001), "0.0001"),
            (json!(1.5e-5), "1.5e-05"),
            (json!(1e16), "1.0e+16"),
            (json!(-2.5e100), "-2.5e+100"),
            (json!(true), "true"),
            (json!([1, null, "a"]), "[1, nil, \"a\"]"),
        ] {
            assert_eq!(text(&value), expected, "{value}");
        }
    }

    #[test]
    fn only_ascii_white_space_and_nul_are_stripped() {
        assert_eq!(strip("\0\t a \u{b}\r\n"), "a");
        assert_eq!(strip("\u{a0}a\u{3000}"), "\u{a0}a\u{3000}");
        assert!(is_blank(" \0\n"));
        assert!(!is_blank("\u{a0}"));
    }
}
