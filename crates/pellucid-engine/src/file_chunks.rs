//! The bytes of a file behind its text.
//!
//! A text names the bytes of its file only where it is these bytes. What is no UTF-8 became U+FFFD on the way: that is
//! no longer the file's, so it is a piece of the layout between the file's own bytes.

use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Origin;

/// Maps a text to the bytes of the file that it was read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChunks(Vec<Chunk>);

/// A run of a text that is a run of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    /// The offset of the chunk in the text.
    text: usize,
    /// The offset of the chunk in the file.
    file: u64,
    len: usize,
}

/// Text of these bytes of a file, which begin at `start`, in fragments that name them.
pub fn of_file(path: &FileVersion, bytes: &[u8], start: u64, size: u64) -> Vec<Fragment> {
    FileChunks::of(bytes, start).fragments(path, size, 0, &String::from_utf8_lossy(bytes))
}

impl FileChunks {
    /// The chunks of the text that these bytes become, which begin at `start` of their file.
    pub fn of(bytes: &[u8], start: u64) -> Self {
        let (mut text, mut file) = (0, start);
        let mut chunks = Vec::new();
        for chunk in bytes.utf8_chunks() {
            let len = chunk.valid().len();
            if len > 0 {
                chunks.push(Chunk { text, file, len });
            }
            text += len;
            file += len as u64;
            if !chunk.invalid().is_empty() {
                text += char::REPLACEMENT_CHARACTER.len_utf8();
                file += chunk.invalid().len() as u64;
            }
        }
        Self(chunks)
    }

    /// The offset in the file after the first `text_end` bytes of the text; absent where those bytes are not from the
    /// file.
    pub fn end(&self, text_end: usize) -> Option<u64> {
        let chunk = self.0.iter().find(|chunk| chunk.text < text_end && text_end <= chunk.text + chunk.len)?;
        Some(chunk.file + (text_end - chunk.text) as u64)
    }

    /// A part of the text, which begins at its byte `start`, in fragments.
    pub fn fragments(&self, path: &FileVersion, size: u64, start: usize, text: &str) -> Vec<Fragment> {
        let end = start + text.len();
        let mut fragments = Vec::new();
        let mut at = start;
        for chunk in &self.0 {
            let (from, to) = (chunk.text.max(at), (chunk.text + chunk.len).min(end));
            if from >= to {
                continue;
            }
            if at < from {
                fragments.push(Fragment::layout(&text[at - start..from - start]));
            }
            let first = chunk.file + (from - chunk.text) as u64;
            let range = first..first + (to - from) as u64;
            let origin = Origin::File { path: path.clone(), range, size };
            fragments.push(Fragment { origin, text: text[from - start..to - start].to_owned() });
            at = to;
        }
        if at < end {
            fragments.push(Fragment::layout(&text[at - start..]));
        }
        fragments
    }
}

/// Whether a fragment replaces bytes that are not UTF-8.
pub fn is_replacement(fragment: &Fragment) -> bool {
    fragment.origin == Origin::Layout && fragment.text.chars().all(|it| it == char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fragment::concat;

    proptest! {
        #[test]
        fn every_fragment_of_a_file_is_its_bytes(
            bytes in prop::collection::vec(prop_oneof![3 => any::<u8>(), 5 => 0x20_u8..0x7f, 1 => Just(0xc3), 1 => Just(0xa9)], 0..60),
            cut in (0_usize..80, 0_usize..80),
        ) {
            let whole = String::from_utf8_lossy(&bytes);
            let from = whole.floor_char_boundary(cut.0);
            let to = whole.floor_char_boundary(cut.1).max(from);
            let text = &whole[from..to];
            let fragments = FileChunks::of(&bytes, 0).fragments(&"f".into(), bytes.len() as u64, from, text);
            prop_assert_eq!(concat(&fragments), text);
            for fragment in &fragments {
                match &fragment.origin {
                    Origin::File { range, .. } => {
                        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
                        prop_assert_eq!(fragment.text.as_bytes(), &bytes[range]);
                    }
                    _ => prop_assert!(is_replacement(fragment), "{:?}", fragment),
                }
            }
        }
    }
}
