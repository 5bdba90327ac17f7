//! Cutting text at the edge of a character.

/// The beginning of a text, at most so many bytes.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
