//! Reading fractions inside of tagged types.
//!
//! A tagged type is read into a buffer first. When any crate of a build asks `serde_json` to keep numbers as they
//! are written, a fraction lies in that buffer in a shape that only `serde_json` knows. It is read as its number.

use serde::Deserialize;
use serde::Deserializer;
use serde::de::Error;
use serde_json::Number;

pub(crate) fn as_f64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Number::deserialize(deserializer)?.as_f64().ok_or_else(|| D::Error::custom("the number is out of range"))
}

pub(crate) fn as_f32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    as_f64(deserializer).map(|number| number as f32)
}
