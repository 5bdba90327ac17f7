//! Any bytes are a prompt or are refused with a reason, and text that is already UTF-8 stays as it
//! is but for its mark.

pub fn check(data: &[u8], decode: impl Fn(&[u8]) -> Result<String, String>) {
    match (decode(data), std::str::from_utf8(data)) {
        (Ok(text), Ok(given)) => {
            let plain = given.strip_prefix('\u{feff}').unwrap_or(given);
            assert_eq!(text, plain);
        }
        (Ok(text), Err(_)) => assert!(text.len() <= data.len() * 2, "UTF-16 grows by half at most"),
        (Err(why), _) => assert!(!why.is_empty()),
    }
}
