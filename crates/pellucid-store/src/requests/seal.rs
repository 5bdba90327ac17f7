//! Seals: what the record says of the lines of the session file.
//!
//! A session file belongs to another program's format, so nothing in it can prove that it was not changed. The record
//! can: behind every turn it gets a seal, which holds the SHA-256 of the bytes that the session file has since the
//! seal before. Lines are hashed as they are written ([`Tally`]), so that a seal costs what is new and the file is
//! not read again. Every seal has the hash of the seal before.
//!
//! One digest says that a piece was changed, but not where. Reading the piece again does not help, because the
//! original is gone. So a seal has seven characters for each line: one names its kind and part (an index into the
//! list of names that the seal has), six are the line's CRC-32 and four bits of its length. Two lists of such marks
//! can be aligned, which distinguishes changed, missing, new and moved lines. The marks only locate, so a checksum is
//! enough and costs a tenth of a second hash: whether anything was changed is decided by the whole digest alone. The
//! seal has kind and part because a missing line cannot be read for them. Lines have several hundred bytes on
//! average, so their marks are one or two in a hundred of that; a seal with its names and hashes has about a
//! kilobyte.
//!
//! Not here: comparing a file with its seals (`verify`), and when seals are due (`pellucid-agent`).

use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use crate::read::LineReading;
use crate::read::RecordKind;
use crate::read::read_line;
use crate::read::split;
use crate::record::Record;
use crate::requests::chain::hex;

/// From how many bytes on a seal is due within a turn.
pub const PIECE_BYTES: u64 = 4 << 20;

/// How many characters a line has in a seal.
const LINE_CHARS: usize = 7;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The longest name of a kind within a kind that is kept.
const WORD_CHARS_MAX: usize = 40;

/// The kind of a line and the part of the request that it became.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The kind of line, with the kind of item or event.
    pub kind: String,
    /// The part that the item was sent as.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
}

/// A piece of a session file that has no seal yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsealedPiece {
    /// The offset of its first byte.
    pub from: u64,
    /// The offset behind it.
    pub at: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// The kinds and parts of its lines, each once.
    pub names: Vec<Name>,
    /// The lines: for each the index of its name and its mark.
    pub lines: String,
}

/// Hashes lines as they are written.
#[derive(Debug, Clone)]
pub struct Tally {
    from: u64,
    at: u64,
    hasher: Sha256,
    names: Vec<Name>,
    lines: String,
}

impl Tally {
    /// Begins behind so many bytes of a file.
    pub fn new(at: u64) -> Self {
        Self { from: at, at, hasher: Sha256::new(), names: Vec::new(), lines: String::new() }
    }

    /// Takes a line with its newline, and the part that it was sent as.
    pub fn add(&mut self, line: &[u8], part: &str) {
        self.hasher.update(line);
        self.at += line.len() as u64;
        let name = self.name(line, part);
        self.lines.push(letter(name as u64));
        self.lines.push_str(&LineMark::of(line).to_text());
    }

    /// How many bytes have no seal yet.
    pub fn len(&self) -> u64 {
        self.at - self.from
    }

    /// Whether no line was written since the last seal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives what has no seal yet, and begins behind it.
    pub fn take(&mut self) -> Option<UnsealedPiece> {
        if self.is_empty() {
            return None;
        }
        let Self { from, at, hasher, names, lines } = std::mem::replace(self, Self::new(self.at));
        Some(UnsealedPiece { from, at, sha256: hex(&hasher.finalize()), names, lines })
    }

    /// The index of a line's name. Names beyond the last index are not kept.
    fn name(&mut self, line: &[u8], part: &str) -> usize {
        let mut name = Name { kind: kind(line), part: part.to_owned() };
        if let Some(at) = self.names.iter().position(|known| *known == name) {
            return at;
        }
        if self.names.len() >= LETTERS.len() - 1 {
            name = Name { kind: "other".to_owned(), part: String::new() };
            if let Some(at) = self.names.iter().position(|known| *known == name) {
                return at;
            }
        }
        self.names.push(name);
        self.names.len() - 1
    }
}

/// A short digest that locates a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineMark(u64);

impl LineMark {
    /// The mark of a line, with its newline.
    pub fn of(line: &[u8]) -> Self {
        Self(u64::from(crc32fast::hash(line)) << 4 | line.len() as u64 & 15)
    }

    fn to_text(self) -> String {
        (0..LINE_CHARS - 1).rev().map(|n| letter(self.0 >> (6 * n) & 63)).collect()
    }
}

fn letter(n: u64) -> char {
    LETTERS[usize::try_from(n).unwrap_or_default() % LETTERS.len()] as char
}

/// The lines of a seal: the index of each name, and the short digest. Absent if they cannot be read.
pub fn lines(text: &str) -> Option<Vec<(usize, LineMark)>> {
    let value = |letter: u8| LETTERS.iter().position(|known| *known == letter);
    let line = |line: &[u8]| {
        let mut mark = 0;
        for letter in &line[1..] {
            mark = mark << 6 | value(*letter)? as u64;
        }
        Some((value(line[0])?, LineMark(mark)))
    };
    let chunks = text.as_bytes().chunks_exact(LINE_CHARS);
    if !chunks.remainder().is_empty() {
        return None;
    }
    chunks.map(line).collect()
}

/// The kind of a line of a session file, with the kind of item or event.
pub fn kind(line: &[u8]) -> String {
    let (kind, payload) = match split(line) {
        Some((kind, payload)) => (kind, payload),
        None => match read_line(line) {
            LineReading::Record(record) => (kind_of(&record), b"".as_slice()),
            LineReading::Passed => (RecordKind::EventMsg, b"".as_slice()),
            LineReading::SetAside => return "unreadable".to_owned(),
        },
    };
    let rest = payload.strip_prefix(b"{\"type\":\"").unwrap_or_default();
    let word = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    let is_plain = word.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    if word.is_empty() || word.len() > WORD_CHARS_MAX || !is_plain {
        return kind.as_str().to_owned();
    }
    format!("{} {}", kind.as_str(), String::from_utf8_lossy(word))
}

fn kind_of(record: &Record) -> RecordKind {
    match record {
        Record::SessionMeta(_) => RecordKind::SessionMeta,
        Record::ResponseItem(_) => RecordKind::ResponseItem,
        Record::Compacted(_) => RecordKind::Compacted,
        Record::TurnContext(_) => RecordKind::TurnContext,
        Record::EventMsg(_) => RecordKind::EventMsg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::chain::sha256;

    #[test]
    fn a_piece_has_what_was_added_since_the_last_one() {
        let event =
            b"{\"timestamp\":\"t\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":null}}\n";
        let item = b"{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\"}}\n";
        let mut tally = Tally::new(10);
        assert_eq!(tally.take(), None);
        tally.add(event, "");
        tally.add(item, "permissions");
        tally.add(event, "");
        assert_eq!(tally.len(), (2 * event.len() + item.len()) as u64);
        let piece = tally.take().unwrap();
        assert_eq!((piece.from, piece.at), (10, 10 + tally.from - 10));
        assert_eq!(piece.sha256, sha256(&[event.as_slice(), item, event].concat()));
        let called: Vec<(&str, &str)> = piece.names.iter().map(|it| (it.kind.as_str(), it.part.as_str())).collect();
        assert_eq!(called, [("event_msg token_count", ""), ("response_item message", "permissions")]);
        let read = lines(&piece.lines).unwrap();
        assert_eq!(read, [(0, LineMark::of(event)), (1, LineMark::of(item)), (0, LineMark::of(event))]);
        assert_eq!(lines("AB"), None);
        assert!(tally.is_empty());
        tally.add(b"torn\n", "");
        let piece = tally.take().unwrap();
        assert_eq!((piece.names[0].kind.as_str(), piece.names.len()), ("unreadable", 1));
    }

    #[test]
    fn there_are_no_more_names_than_letters() {
        let mut tally = Tally::new(0);
        for n in 0..200 {
            tally.add(b"x\n", &n.to_string());
        }
        let piece = tally.take().unwrap();
        assert_eq!(piece.names.len(), LETTERS.len());
        assert_eq!(piece.names.last().unwrap().kind, "other");
        assert_eq!(lines(&piece.lines).unwrap().last().unwrap().0, LETTERS.len() - 1);
    }

    #[test]
    fn lines_are_called_by_their_kind_and_the_kind_within() {
        let named = |line: &str| kind(line.as_bytes());
        let whole =
            |kind: &str, payload: &str| format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}");
        assert_eq!(named(&whole("event_msg", "{\"type\":\"token_count\"}")), "event_msg token_count");
        assert_eq!(
            named(&whole("response_item", "{\"type\":\"function_call\",\"name\":\"x\"}")),
            "response_item function_call"
        );
        assert_eq!(named(&whole("compacted", "{\"message\":\"x\"}")), "compacted");
        assert_eq!(named(&whole("turn_context", "{\"cwd\":\"/\"}")), "turn_context");
        assert_eq!(named(&whole("session_meta", "{\"id\":\"x\"}")), "session_meta");
        // Words that are no names of kinds are not taken into the record: the file is anybody's.
        for word in ["", "Secret", "a b", "with-dash", "1", &"x".repeat(WORD_CHARS_MAX + 1)] {
            assert_eq!(named(&whole("event_msg", &format!("{{\"type\":\"{word}\"}}"))), "event_msg", "{word}");
        }
        assert_eq!(named(&whole("hologram", "{}")), "unreadable");
        for odd in ["", "garbage", "{}", "\u{0}", "[1]"] {
            assert_eq!(named(odd), "unreadable", "{odd:?}");
        }
        let reordered = "{\"type\":\"compacted\",\"payload\":{\"message\":\"\"},\"timestamp\":\"t\"}";
        assert_eq!(named(reordered), "compacted");
        let passed = "{\"type\":\"event_msg\",\"payload\":{\"type\":\"error\"},\"timestamp\":\"t\"}";
        assert_eq!(named(passed), "event_msg");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_of_lines_is_read_back(lines in proptest::collection::vec(proptest::prelude::any::<Vec<u8>>(), 0..90)) {
            let mut tally = Tally::new(7);
            for line in &lines {
                tally.add(line, "");
            }
            let n_bytes: usize = lines.iter().map(Vec::len).sum();
            proptest::prop_assert_eq!(tally.len(), n_bytes as u64);
            let piece = tally.take();
            proptest::prop_assert_eq!(piece.is_some(), n_bytes > 0);
            if let Some(piece) = piece {
                let marks: Vec<LineMark> = super::lines(&piece.lines).unwrap().into_iter().map(|(_, mark)| mark).collect();
                let expected: Vec<LineMark> = lines.iter().map(|line| LineMark::of(line)).collect();
                proptest::prop_assert_eq!(marks, expected);
                proptest::prop_assert_eq!((piece.from, piece.at), (7, 7 + n_bytes as u64));
            }
        }

        #[test]
        fn any_text_is_a_list_of_lines_or_none(text in proptest::prelude::any::<String>()) {
            if let Some(read) = lines(&text) {
                proptest::prop_assert_eq!(read.len() * LINE_CHARS, text.len());
            }
        }
    }
}
