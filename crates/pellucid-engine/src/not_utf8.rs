//! Bytes of a file that are not UTF-8.
//!
//! The model is given U+FFFD in their place, as the programs whose layouts the packs follow do. The model therefore
//! sees a changed file, which is an omission.
//!
//! Not here: decoding. Every source decodes where it makes its text.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::facts::Document;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::injection::FileRead;
use crate::injection::FileText;
use crate::injection::REPO_DOCS;

/// The bytes of a file that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The offset of the first such byte, from 0.
    pub first: u64,
    /// The number of such bytes.
    pub count: u64,
}

/// Whether a file continues behind the bytes that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEnd {
    /// The text ends with the file.
    OfFile,
    /// The text was cut, so an incomplete character at its end is not a fault of the file.
    OfCut,
}

impl NotUtf8 {
    /// Finds bytes that are not UTF-8; absent if all are.
    pub fn find(bytes: &[u8], end: TextEnd) -> Option<Self> {
        let (mut found, mut at): (Option<Self>, usize) = (None, 0);
        while let Err(error) = std::str::from_utf8(&bytes[at..]) {
            let start = at + error.valid_up_to();
            let len = match (error.error_len(), end) {
                (Some(len), _) => len,
                (None, TextEnd::OfFile) => bytes.len() - start,
                (None, TextEnd::OfCut) => break,
            };
            found.get_or_insert(Self { first: start as u64, count: 0 }).count += len as u64;
            at = start + len;
        }
        found
    }
}

/// The omissions for bytes that are not UTF-8 in the files of these fragments.
pub(crate) fn omissions<'a>(
    facts: &'a Facts,
    slot: &Arc<str>,
    fragments: impl IntoIterator<Item = &'a Fragment>,
) -> Vec<Omission> {
    let omission = |(path, used): (&str, Used)| {
        let not_utf8 = in_file(facts, path, used)?;
        Some(Omission { slot: slot.clone(), what: path.to_owned(), why: Why::NotUtf8(not_utf8) })
    };
    used_files(facts, fragments).into_iter().filter_map(omission).collect()
}

/// The omission for bytes that are not UTF-8 in the part of a file that was read.
pub fn omission(facts: &Facts, slot: &str, path: &str) -> Option<Omission> {
    let not_utf8 = in_file(facts, path, Used::All)?;
    Some(Omission { slot: slot.into(), what: path.to_owned(), why: Why::NotUtf8(not_utf8) })
}

/// How much of a file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Used {
    /// As much as was read.
    All,
    /// The first bytes of the file, this many.
    First(u64),
}

/// The files that fragments are made of, each once.
fn used_files<'a>(facts: &'a Facts, fragments: impl IntoIterator<Item = &'a Fragment>) -> BTreeMap<&'a str, Used> {
    let mut files = BTreeMap::new();
    for fragment in fragments {
        match &fragment.origin {
            Origin::File { path, range, size } => {
                let here = if range.end < *size { Used::First(range.end) } else { Used::All };
                files
                    .entry(&**path)
                    .and_modify(|used| {
                        *used = match (*used, here) {
                            (Used::First(a), Used::First(b)) => Used::First(a.max(b)),
                            _ => Used::All,
                        };
                    })
                    .or_insert(here);
            }
            // Documents whose text had to be escaped have lost their origin.
            Origin::Provided { place } if place.as_ref() == REPO_DOCS => {
                let documents = facts.system.injection.reads.iter().flat_map(|read| &read.repo.documents);
                let texts = documents.filter_map(|(_, found)| match found {
                    FileRead::Text(text) => Some(&**text.path()),
                    FileRead::Missing | FileRead::Failed { .. } => None,
                });
                files.extend(texts.map(|path| (path, Used::All)));
            }
            _ => {}
        }
    }
    files
}

fn in_file(facts: &Facts, path: &str, used: Used) -> Option<NotUtf8> {
    let imported = facts.world.imports.iter().filter_map(|imported| imported.outcome.as_ref().ok());
    let documents = facts.world.home_document.iter().chain(&facts.world.project_documents).chain(imported);
    let memory = facts.world.memory.iter().map(|memory| &memory.summary);
    let mut documents = documents.chain(&facts.world.nested_documents).chain(memory);
    if let Some(document) = documents.find(|document| document.path == path) {
        return in_document(document, used);
    }
    let mut bootstrap = facts.system.files.read.iter();
    if let Some(file) = bootstrap.find(|file| file.text_path() == path) {
        return file.not_utf8;
    }
    let reads = facts.system.injection.reads.iter();
    let mut found = reads.flat_map(|read| read.files.values().chain(read.repo.documents.iter().map(|(_, it)| it)));
    found.find_map(|found| match found {
        FileRead::Text(text) if &**text.path() == path => in_text(text),
        _ => None,
    })
}

fn in_document(document: &Document, used: Used) -> Option<NotUtf8> {
    let n_read = document.bytes.len();
    let n_used = match used {
        Used::All => n_read,
        Used::First(bytes) => usize::try_from(bytes).unwrap_or(n_read).min(n_read),
    };
    let end = if (n_used as u64) < document.size { TextEnd::OfCut } else { TextEnd::OfFile };
    NotUtf8::find(&document.bytes[..n_used], end)
}

fn in_text(text: &FileText) -> Option<NotUtf8> {
    match text {
        FileText::Whole { bytes, .. } => NotUtf8::find(bytes, TextEnd::OfFile),
        FileText::Ends { head, tail, size, .. } => {
            let start = size - tail.len() as u64;
            let last = NotUtf8::find(tail, TextEnd::OfFile).map(|it| NotUtf8 { first: start + it.first, ..it });
            match (NotUtf8::find(head, TextEnd::OfCut), last) {
                (Some(first), Some(last)) => Some(NotUtf8 { count: first.count + last.count, ..first }),
                (first, last) => first.or(last),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_bytes(bytes: &[u8], end: TextEnd, expected: Option<(u64, u64)>) {
        let found = NotUtf8::find(bytes, end).map(|it| (it.first, it.count));
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn bytes_that_are_no_text_are_counted_from_the_first() {
        check_bytes(b"", TextEnd::OfFile, None);
        check_bytes("café 漢 😀".as_bytes(), TextEnd::OfFile, None);
        check_bytes(b"Use caf\xe9 style.\n", TextEnd::OfFile, Some((7, 1)));
        check_bytes(b"a\xff\xfeb\xc3", TextEnd::OfFile, Some((1, 3)));
        // Half of a character is what a run of bytes is that begins one and does not end it.
        check_bytes(b"x\xe6\xbcy", TextEnd::OfFile, Some((1, 2)));
    }

    #[test]
    fn a_character_that_a_budget_cuts_is_no_fault_of_the_file() {
        check_bytes(b"ab\xe6\xbc", TextEnd::OfCut, None);
        check_bytes(b"\xffab\xe6\xbc", TextEnd::OfCut, Some((0, 1)));
        check_bytes(b"ab\xe6\xbc", TextEnd::OfFile, Some((2, 2)));
    }

    #[test]
    fn the_ends_of_a_long_file_are_looked_at_where_they_lie() {
        let ends = |head: &[u8], tail: &[u8]| FileText::Ends {
            path: "f".into(),
            head: head.to_vec(),
            tail: tail.to_vec(),
            size: 100,
            text_bytes: 100,
            units: 100,
        };
        let found = |text: &FileText| in_text(text).map(|it| (it.first, it.count));
        assert_eq!(found(&ends(b"ab\xe6", b"cd")), None);
        assert_eq!(found(&ends(b"ab", b"c\xff")), Some((99, 1)));
        assert_eq!(found(&ends(b"\xffb", b"c\xff")), Some((0, 2)));
    }
}
