//! Numbers in JSON: reading fractions inside of tagged types, and numbers as programs hold them.
//!
//! A tagged type is read into a buffer first. When any crate of a build turns on `serde_json`'s `arbitrary_precision`,
//! the buffer holds a fraction in a form that only `serde_json` knows. This module reads that form as a number.

use serde::Deserialize;
use serde::Deserializer;
use serde::de::Error;
use serde_json::Number;
use serde_json::Value;

pub(crate) fn as_f64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Number::deserialize(deserializer)?.as_f64().ok_or_else(|| D::Error::custom("the number is out of range"))
}

pub(crate) fn as_f32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    as_f64(deserializer).map(|number| number as f32)
}

/// Converts all numbers to 64-bit integers, and to doubles where that is impossible. The reference reads JSON like
/// this, so numbers that it passes on have their shortest form and not the one that was typed.
pub fn as_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(as_double(number)),
        Value::Array(values) => Value::Array(values.into_iter().map(as_doubles).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, as_doubles(value))).collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
    }
}

/// Does the same for a value that may be absent, while it is read.
pub fn optional_as_doubles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.map(as_doubles))
}

fn as_double(number: Number) -> Number {
    let is_whole = number.is_i64() || number.is_u64();
    // Only a double can be negative zero.
    let is_negative_zero = is_whole && number.as_i64() == Some(0) && number.to_string().starts_with('-');
    if is_whole && !is_negative_zero {
        return number;
    }
    // A number that no double can hold keeps its written form.
    let double = if is_negative_zero { Some(-0.0) } else { number.as_f64().filter(|double| double.is_finite()) };
    double.and_then(Number::from_f64).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_programs_hold_them() {
        for (json, expected) in [
            ("2.50", "2.5"),
            ("1e3", "1000.0"),
            ("-0", "-0.0"),
            ("-0.0", "-0.0"),
            ("0", "0"),
            ("1.0", "1.0"),
            ("9007199254740993", "9007199254740993"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("-9223372036854775809", "-9.223372036854776e+18"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("1e-7", "1e-7"),
            ("1E16", "1e+16"),
            (r#"{"z":[0.10,{"a":1e0}],"b":"1e3"}"#, r#"{"z":[0.1,{"a":1.0}],"b":"1e3"}"#),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(as_doubles(value).to_string(), expected, "{json}");
        }
    }
}
