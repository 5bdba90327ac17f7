//! How much of a list fits into an answer.

use serde_json::Value;

use crate::answer::ANSWER_BYTES_MAX;
use crate::error::ApiError;
use crate::error::ErrorCode;

/// Makes the longest answer that fits: with as many elements as are wanted, or with fewer. `make` gets how many.
///
/// # Errors
/// When not even one element fits.
pub fn fitting(wanted: usize, make: impl Fn(usize) -> Vec<u8>) -> Result<Vec<u8>, ApiError> {
    let mut count = wanted;
    loop {
        let text = make(count);
        if text.len() <= ANSWER_BYTES_MAX {
            return Ok(text);
        }
        if count <= 1 {
            return Err(ApiError::new(ErrorCode::TooLarge, "one element is longer than an answer may be"));
        }
        // A little less than what the mean length of the elements allows.
        let fits = count.saturating_mul(ANSWER_BYTES_MAX) / text.len();
        count = (fits * 9 / 10).clamp(1, count - 1);
    }
}

/// An object whose last key is a list of elements that are JSON already, as a line.
pub fn with_list(head: &Value, key: &str, elements: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut text = head.to_string();
    text.pop();
    text += &format!(",\"{key}\":[");
    let mut is_first = true;
    for element in elements {
        if !std::mem::take(&mut is_first) {
            text.push(',');
        }
        text += &element;
    }
    text += "]}\n";
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_that_is_too_long_is_shortened_until_it_fits() {
        let make = |length: usize| move |count: usize| vec![b'x'; 100 + count * length];
        assert_eq!(fitting(10, make(1000)).unwrap().len(), 10_100);
        let long = fitting(10_000, make(1000)).unwrap().len();
        assert!((ANSWER_BYTES_MAX * 8 / 10..=ANSWER_BYTES_MAX).contains(&long), "{long}");
        assert_eq!(fitting(0, make(1000)).unwrap().len(), 100);
        assert_eq!(fitting(7, make(ANSWER_BYTES_MAX)).unwrap_err().code, ErrorCode::TooLarge);
    }

    #[test]
    fn a_list_is_the_last_key() {
        let text = with_list(&json!({ "of": 2 }), "rows", ["1".to_owned(), "{}".to_owned()]);
        assert_eq!(text, b"{\"of\":2,\"rows\":[1,{}]}\n");
        assert_eq!(with_list(&json!({ "of": 0 }), "rows", []), b"{\"of\":0,\"rows\":[]}\n");
    }
}
