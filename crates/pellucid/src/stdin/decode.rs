//! The text of bytes, in whatever encoding they come.

/// Reads UTF-8, or UTF-16 with a byte order mark.
///
/// # Errors
/// Bytes in another encoding; the error is a clause that says which or where.
pub fn decode(bytes: &[u8]) -> Result<String, String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err("it ends within a UTF-16 character".to_owned());
        }
        let units = pairs.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).collect::<Result<String, _>>().map_err(|_error| "it is not valid UTF-16".to_owned())
    };
    match bytes {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Err("it is UTF-32; convert it to UTF-8".to_owned()),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not valid UTF-8 from byte {} on; convert it to UTF-8", error.valid_up_to()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "../../../../fuzz/checks/prompt.rs"]
mod check;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_decide_the_encoding() {
        let good = |bytes: &[u8]| decode(bytes).unwrap();
        assert_eq!(good(b"a\n"), "a\n");
        assert_eq!(good(b"\xEF\xBB\xBFa"), "a");
        assert_eq!(good(b"\xFF\xFEa\0\xE9\0"), "aé");
        assert_eq!(good(b"\xFE\xFF\0a"), "a");
        for bad in [&b"\xFF\xFE\0\0a\0\0\0"[..], b"a\xFF", b"\xFF\xFEa", b"\xFF\xFE\0\xD8"] {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/prompt");
        for entry in std::fs::read_dir(folder).unwrap() {
            check::check(&std::fs::read(entry.unwrap().path()).unwrap(), decode);
        }
    }
}
