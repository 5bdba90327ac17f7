//! Compressed request bodies: which providers accept them, and how they are made.
//!
//! The segments of a body are fed to the encoder one after the other and never copied together. The compressed body is
//! held as a whole: its length is then known, and a retry does not compress it again.

use std::io;
use std::io::Write;

use bytes::Bytes;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::provider::Provider;

use crate::credentials::Login;

/// The provider whose servers accept compressed bodies.
const TAKER: &str = "OpenAI";

/// The level that servers expect clients to use.
const LEVEL: i32 = 3;

/// How the body of a request is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    /// The body is sent uncompressed.
    #[default]
    None,
    /// The body is sent as one Zstandard frame.
    Zstd,
}

impl Compression {
    /// The compression that a provider accepts for this kind of login.
    pub fn of(provider: &Provider, login: Login, features: &Features) -> Self {
        let is_on = features.is_on(Feature::EnableRequestCompression);
        if is_on && login == Login::ChatGpt && provider.name == TAKER { Self::Zstd } else { Self::None }
    }
}

/// Makes one Zstandard frame of these segments.
///
/// # Errors
///
/// When the encoder has no memory.
pub(crate) fn zstd(segments: &[Bytes]) -> io::Result<Bytes> {
    let n_bytes: usize = segments.iter().map(Bytes::len).sum();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::with_capacity(n_bytes / 4 + 64), LEVEL)?;
    encoder.set_pledged_src_size(Some(n_bytes as u64))?;
    for segment in segments {
        encoder.write_all(segment)?;
    }
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_of(name: &str, login: Login, feature: bool, expected: Compression) {
        let provider = Provider { name: name.to_owned(), ..Provider::default() };
        let mut features = Features::default();
        features.set(Feature::EnableRequestCompression, feature);
        assert_eq!(Compression::of(&provider, login, &features), expected);
    }

    #[test]
    fn all_three_must_agree() {
        check_of("OpenAI", Login::ChatGpt, true, Compression::Zstd);
        check_of("OpenAI", Login::ChatGpt, false, Compression::None);
        check_of("OpenAI", Login::ApiKey, true, Compression::None);
        check_of("openai", Login::ChatGpt, true, Compression::None);
        assert!(Features::default().is_on(Feature::EnableRequestCompression));
    }

    #[track_caller]
    fn check_frame(segments: &[&'static str]) {
        let shared: Vec<Bytes> = segments.iter().map(|segment| Bytes::from_static(segment.as_bytes())).collect();
        let frame = zstd(&shared).unwrap();
        assert_eq!(frame[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(zstd::stream::decode_all(&frame[..]).unwrap(), segments.concat().as_bytes());
    }

    #[test]
    fn a_frame_holds_all_segments() {
        check_frame(&[]);
        check_frame(&["", ""]);
        check_frame(&["{\"a\":", "", "1}"]);
    }

    #[test]
    fn what_repeats_across_segments_costs_little() {
        let segments = vec![Bytes::from("The same words again and again. ".repeat(2_000)); 20];
        let frame = zstd(&segments).unwrap();
        assert!(frame.len() < 1_000, "{} bytes", frame.len());
        assert_eq!(zstd::stream::decode_all(&frame[..]).unwrap(), segments.concat());
    }
}
