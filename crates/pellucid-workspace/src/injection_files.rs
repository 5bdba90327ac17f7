//! Reads what sources of injected items want: files, and the documents of a repository.
//!
//! Of a file that is longer than its budget, only the ends are read: the beginning, and after a jump the end, from
//! where a character begins. If its length has to be known, the rest passes through one buffer. Memory is bounded by
//! what can be used and that buffer, and the text that comes of it is the same as of the whole file.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;
use std::time::UNIX_EPOCH;

use pellucid_engine::file_version::FileVersion;
use pellucid_engine::injection::Counts;
use pellucid_engine::injection::FileCost;
use pellucid_engine::injection::FileRead;
use pellucid_engine::injection::FileText;
use pellucid_engine::injection::InjectionRead;
use pellucid_engine::injection::ReadCost;
use pellucid_engine::injection::ReadExtent;
use pellucid_engine::injection::RepoRead;
use pellucid_engine::injection::RepoWanted;
use pellucid_engine::injection::Wants;

use crate::whole_hash::whole_hash;

/// How much of a file passes through memory at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The longest sequence of bytes that makes a character, less one.
const SEQUENCE_REST: usize = 3;

/// How long a file may be that is read whole.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Reads what a source wants, and measures what that costs.
pub fn read(wants: &Wants) -> InjectionRead {
    let began = Instant::now();
    let files = wants.files.iter().map(|file| (file.path.clone(), read_file(Path::new(&file.path), file.keep)));
    let (files, repo) = (files.collect::<BTreeMap<_, _>>(), wants.repo.as_ref().map(repo).unwrap_or_default());
    let reads = files.values().chain(repo.documents.iter().map(|(_, read)| read));
    let costs = reads.filter_map(|read| match read {
        FileRead::Text(text) => Some((text.path().to_string(), cost(text))),
        FileRead::Missing | FileRead::Failed { .. } => None,
    });
    let measured = ReadCost { files: costs.collect(), duration: Some(began.elapsed()) };
    InjectionRead { files, repo, measured }
}

fn cost(text: &FileText) -> FileCost {
    let changed = fs::metadata(&**text.path()).and_then(|metadata| metadata.modified()).ok();
    let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    let mtime = since.and_then(|since| u64::try_from(since.as_millis()).ok());
    FileCost { bytes_read: text.bytes_read(), mtime }
}

/// Reads a file, or as much of it as can be used.
pub fn read_file(path: &Path, keep: ReadExtent) -> FileRead {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        _ => return FileRead::Missing,
    }
    let read = match keep {
        ReadExtent::Whole => {
            pellucid_files::read(path, WHOLE_BYTES_MAX).map(|bytes| FileText::whole(path.to_string_lossy(), bytes))
        }
        ReadExtent::Ends { bytes, counts } => read_ends(path, bytes, counts),
    };
    match read {
        Ok(text) => FileRead::Text(text),
        Err(error) => FileRead::Failed { error: error.to_string() },
    }
}

fn read_ends(path: &Path, bytes: usize, counts: Counts) -> io::Result<FileText> {
    let mut file = pellucid_files::open(path)?;
    let size = file.metadata()?.len();
    let end = bytes.saturating_add(2 * SEQUENCE_REST);
    if size <= 2 * end as u64 {
        let mut whole = Vec::new();
        file.read_to_end(&mut whole)?;
        return Ok(FileText::whole(path.to_string_lossy(), whole));
    }
    let mut head = vec![0; end];
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::Start(size - end as u64))?;
    let mut tail = vec![0; end];
    file.read_exact(&mut tail)?;
    tail.drain(..first_character(&tail));
    let (text_bytes, units) = match counts {
        Counts::Nothing => (0, 0),
        Counts::Text => {
            file.rewind()?;
            count(&mut file)?
        }
    };
    file.rewind()?;
    let sha256 = whole_hash(&[], &mut file, size);
    let path = FileVersion::new(&path.to_string_lossy(), sha256);
    Ok(FileText::Ends { path, head, tail, size, text_bytes, units })
}

/// The offset at which a character begins in these bytes, whatever came before them: the first byte that is not a
/// continuation byte, or after three of them, since no character has more.
fn first_character(bytes: &[u8]) -> usize {
    let goes_on = |byte: &u8| (0x80..0xC0).contains(byte);
    bytes.iter().take(SEQUENCE_REST).position(|byte| !goes_on(byte)).unwrap_or(SEQUENCE_REST.min(bytes.len()))
}

/// The bytes and the UTF-16 units of a file's text, with U+FFFD for what is no UTF-8.
fn count(file: &mut File) -> io::Result<(u64, u64)> {
    const REPLACEMENT: u64 = char::REPLACEMENT_CHARACTER.len_utf8() as u64;
    let (mut text_bytes, mut units) = (0, 0);
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + SEQUENCE_REST);
    loop {
        let n_read = file.by_ref().take(BUFFER_BYTES as u64).read_to_end(&mut buffer)?;
        let mut rest = buffer.as_slice();
        let left = loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => {
                    text_bytes += text.len() as u64;
                    units += n_units(text);
                    break 0;
                }
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            text_bytes += valid.len() as u64;
            units += n_units(&String::from_utf8_lossy(valid));
            match error.error_len() {
                Some(len) => rest = &after[len..],
                None if n_read == 0 => rest = &[],
                // The character may continue in the next buffer.
                None => break after.len(),
            }
            text_bytes += REPLACEMENT;
            units += 1;
        };
        if n_read == 0 {
            return Ok((text_bytes, units));
        }
        buffer.drain(..buffer.len() - left);
    }
}

fn n_units(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

/// Documents from the nearest folder with a marker down to the start; only in the start without one.
fn repo(wanted: &RepoWanted) -> RepoRead {
    let start = Path::new(&wanted.start);
    let has_marker = |folder: &&Path| wanted.markers.iter().any(|marker| folder.join(marker).exists());
    let root = start.ancestors().find(has_marker).unwrap_or(start);
    let mut layers: Vec<&Path> = start.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    layers.reverse();
    let mut documents: Vec<(PathBuf, FileRead)> = Vec::new();
    for layer in layers {
        for name in &wanted.names {
            let path = layer.join(name);
            if documents.iter().any(|(known, _)| *known == path) {
                continue;
            }
            match read_file(&path, ReadExtent::Whole) {
                FileRead::Missing => {}
                found => {
                    documents.push((path, found));
                    if wanted.first_only {
                        break;
                    }
                }
            }
        }
    }
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    RepoRead { documents: documents.into_iter().map(|(path, found)| (shown(&path), found)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_ends(content: &[u8], bytes: usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, content).unwrap();
        let whole = FileText::whole("file", content);
        let FileRead::Text(ends) = read_file(&path, ReadExtent::Ends { bytes, counts: Counts::Text }) else {
            panic!("it is there");
        };
        if let FileText::Ends { text_bytes, units, head, tail, .. } = &ends {
            let text = String::from_utf8_lossy(content);
            assert_eq!((*text_bytes, *units), (text.len() as u64, n_units(&text)));
            assert!(head.len() + tail.len() <= 2 * (bytes + 2 * SEQUENCE_REST));
        }
        let text = |text: &FileText, max| {
            let (cut, _) = text.cut(max, "|");
            cut.iter().map(|fragment| fragment.text.as_str()).collect::<String>()
        };
        for max in 0..=bytes {
            let max = i64::try_from(max).unwrap();
            assert_eq!(text(&ends, max), text(&whole, max), "{max} of {content:?}");
        }
    }

    #[test]
    fn the_ends_of_a_file_are_those_of_the_whole() {
        for unit in ["a", "é", "漢", "😀", "a漢😀é\n"] {
            for extra in 0..5 {
                check_ends(format!("{}{}", "x".repeat(extra), unit.repeat(60)).as_bytes(), 20);
                check_ends(format!("{}{}", unit.repeat(60), "x".repeat(extra)).as_bytes(), 20);
            }
        }
        let broken: Vec<u8> =
            (0..400u32).map(|n| [0x80, 0xff, 0xe3, 0x81, 0xf0, 0x9f, 0x98][(n * n % 7) as usize]).collect();
        for cut in 0..8 {
            check_ends(&broken[cut..], 24);
        }
    }

    #[test]
    fn a_long_file_is_counted_through_one_buffer() {
        let content = "漢😀".repeat(BUFFER_BYTES / 3);
        check_ends(content.as_bytes(), 5);
    }

    #[test]
    fn what_is_no_file_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_file(folder.path(), ReadExtent::Whole), FileRead::Missing);
        assert_eq!(read_file(&folder.path().join("no"), ReadExtent::Whole), FileRead::Missing);
    }
}
