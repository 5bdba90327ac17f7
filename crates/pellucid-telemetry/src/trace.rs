//! The ids that tie spans together, and the header by which programs hand them on.
//!
//! Ids are digests of what they name, so that the same session has the same spans in every export, and nothing here
//! needs a source of randomness.

use std::fmt;

use sha2::Digest as _;
use sha2::Sha256;

/// The place of a span: its trace and itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanContext {
    /// The id of the trace.
    pub trace: [u8; 16],
    /// The id of the span.
    pub span: [u8; 8],
}

impl SpanContext {
    /// The first span of a trace that these texts name.
    pub fn root(of: &[&str]) -> Self {
        Self { trace: digest("trace", of), span: digest("span", of) }
    }

    /// A span of the same trace that these texts name.
    #[must_use]
    pub fn beside(&self, of: &[&str]) -> Self {
        Self { trace: self.trace, span: digest("span", of) }
    }

    /// Reads the value of a `traceparent`; absent if the value is invalid. Gives whether the trace is recorded, too.
    pub fn parse(text: &str) -> Option<(Self, bool)> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_known = version.len() == 2 && version != "ff" && bytes::<1>(version).is_some();
        if !is_known || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let context = Self { trace: bytes(trace)?, span: bytes(span)? };
        let [flags] = bytes::<1>(flags)?;
        (context.trace != [0; 16] && context.span != [0; 8]).then_some((context, flags & 1 == 1))
    }

    /// The id of the trace in hexadecimal digits.
    pub fn trace_hex(&self) -> String {
        hex(&self.trace)
    }

    /// The id of the span in hexadecimal digits.
    pub fn span_hex(&self) -> String {
        hex(&self.span)
    }
}

/// The value of a `traceparent`.
impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace_hex(), self.span_hex())
    }
}

impl fmt::Debug for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of a text in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn digest<const N: usize>(kind: &str, of: &[&str]) -> [u8; N] {
    let mut hash = Sha256::new();
    hash.update(kind.as_bytes());
    for text in of {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let whole = hash.finalize();
    let mut id = [0; N];
    id.copy_from_slice(&whole[..N]);
    // An id of zeros means that there is none.
    id[N - 1] |= 1;
    id
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut all = [0; N];
    for (byte, digits) in all.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let (context, is_recorded) = SpanContext::parse(text).unwrap();
        assert!(is_recorded);
        assert_eq!(context.to_string(), text);
        assert!(!SpanContext::parse(&text.replace("-01", "-00")).unwrap().1);
        // A later version may have more fields.
        assert!(SpanContext::parse(&format!("01{}-more", &text[2..])).is_some());
    }

    #[test]
    fn an_invalid_header_is_none() {
        let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let broken = [
            String::new(),
            "00".to_owned(),
            valid.replace("00-0a", "ff-0a"),
            format!("{valid}-more"),
            valid.to_uppercase(),
            valid.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            valid.replace("b7ad6b7169203331", &"0".repeat(16)),
            valid.replace("b7ad6b7169203331", "é7ad6b716920333"),
        ];
        for text in broken {
            assert_eq!(SpanContext::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn ids_depend_on_every_text_and_its_length() {
        let one = SpanContext::root(&["a", "bc"]);
        assert_ne!(one, SpanContext::root(&["ab", "c"]));
        assert_eq!(one, SpanContext::root(&["a", "bc"]));
        assert_eq!(one.beside(&["x"]).trace, one.trace);
        assert_ne!(one.beside(&["x"]).span, one.span);
    }
}
