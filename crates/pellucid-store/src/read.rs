//! Reading a session file back, whatever state it is in.
//!
//! Lines that are torn or of an unknown kind are set aside and counted; the rest is used. A line
//! is written with its keys in a fixed order, so its payload is found without parsing what stands
//! around it; a line in another order is parsed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::Forwards;
use crate::lines::Line;
use crate::record::Compacted;
use crate::record::Record;
use crate::record::SessionMeta;
use crate::record::TurnContext;
use crate::record::is_known_event;

/// A session file: where it is and what its session is.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFile {
    /// Where it is.
    pub path: PathBuf,
    /// What the session is: the first such line.
    pub meta: SessionMeta,
}

/// A session file, read back whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Where it is.
    pub path: PathBuf,
    /// What the session is: the first such line.
    pub meta: SessionMeta,
    /// Every line that could be read, in order.
    pub records: Vec<Record>,
    /// The numbers of the lines that could not, from one.
    pub set_aside: Vec<usize>,
}

/// Why a session file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read.
    #[error("the session file {path} cannot be read: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It cannot be added to.
    #[error("the session file {path} cannot be written: {source}")]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It has nothing in it.
    #[error("the session file {path} is empty")]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// It does not say which session it is of.
    #[error("the session file {path} has no line that says which session it is of")]
    NoMeta {
        /// Which.
        path: PathBuf,
    },
}

impl ReadError {
    /// A file that cannot be read.
    pub fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// A file that cannot be added to.
    pub fn unwritable(path: &Path, source: io::Error) -> Self {
        Self::Unwritable { path: path.to_owned(), source }
    }
}

/// What kind of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What the session is.
    SessionMeta,
    /// An item.
    ResponseItem,
    /// A summary.
    Compacted,
    /// Settings of a request.
    TurnContext,
    /// An event.
    EventMsg,
}

impl Kind {
    fn of(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"session_meta" => Self::SessionMeta,
            b"response_item" => Self::ResponseItem,
            b"compacted" => Self::Compacted,
            b"turn_context" => Self::TurnContext,
            b"event_msg" => Self::EventMsg,
            _ => return None,
        })
    }

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionMeta => "session_meta",
            Self::ResponseItem => "response_item",
            Self::Compacted => "compacted",
            Self::TurnContext => "turn_context",
            Self::EventMsg => "event_msg",
        }
    }
}

/// What came of a line.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once, and most lines are records")]
pub enum Reading {
    /// A record.
    Record(Record),
    /// An event of the format that means nothing to us.
    Passed,
    /// Torn, or of an unknown kind.
    SetAside,
}

/// The kind and the payload of a line that is written in the usual order. The payload is not
/// looked at.
///
/// ```
/// use pellucid_store::read::{Kind, split};
///
/// let line = br#"{"timestamp":"2026-11-15T07:25:24.929Z","type":"event_msg","payload":{"type":"x"}}"#;
/// assert_eq!(split(line), Some((Kind::EventMsg, br#"{"type":"x"}"#.as_slice())));
/// ```
pub fn split(line: &[u8]) -> Option<(Kind, &[u8])> {
    let rest = line.trim_ascii_end().strip_prefix(b"{\"timestamp\":\"")?;
    let rest = &rest[memchr(b'"', rest)?..];
    let rest = rest.strip_prefix(b"\",\"type\":\"")?;
    let (word, rest) = rest.split_at(memchr(b'"', rest)?);
    let payload = rest.strip_prefix(b"\",\"payload\":")?.strip_suffix(b"}")?;
    Some((Kind::of(word)?, payload))
}

/// Reads a line, in whatever order its keys are.
pub fn read_line(line: &[u8]) -> Reading {
    if let Some((kind, payload)) = split(line)
        && let Ok(reading) = read_payload(kind, payload)
    {
        return reading;
    }
    /// A line as anybody might write it.
    #[derive(Deserialize)]
    struct AnyLine<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let Ok(any) = serde_json::from_slice::<AnyLine<'_>>(line) else {
        return Reading::SetAside;
    };
    let kind = Kind::of(any.kind.as_bytes());
    kind.and_then(|kind| read_payload(kind, any.payload.get().as_bytes()).ok()).unwrap_or(Reading::SetAside)
}

/// Reads the payload of a line.
fn read_payload(kind: Kind, payload: &[u8]) -> serde_json::Result<Reading> {
    let record = match kind {
        Kind::SessionMeta => Record::SessionMeta(Box::new(serde_json::from_slice::<SessionMeta>(payload)?)),
        Kind::ResponseItem => Record::ResponseItem(serde_json::from_slice(payload)?),
        Kind::Compacted => Record::Compacted(serde_json::from_slice::<Compacted>(payload)?),
        Kind::TurnContext => Record::TurnContext(Box::new(serde_json::from_slice::<TurnContext>(payload)?)),
        Kind::EventMsg => match serde_json::from_slice(payload) {
            Ok(event) => Record::EventMsg(event),
            Err(_) if is_known_event(payload) => return Ok(Reading::Passed),
            Err(error) => return Err(error),
        },
    };
    Ok(Reading::Record(record))
}

/// Opens a session file and reads what its session is.
///
/// # Errors
/// When the file cannot be read, is blank, or does not say which session it is of.
pub fn open(path: &Path) -> Result<SessionFile, ReadError> {
    let failed = |source| ReadError::io(path, source);
    let file = File::open(path).map_err(failed)?;
    let mut lines = Forwards::new(file, 0, u64::MAX).map_err(failed)?;
    let mut is_blank = true;
    while let Some(line) = lines.next_line().map_err(failed)? {
        is_blank &= line.is_blank();
        if split(line.bytes).is_none_or(|(kind, _)| kind == Kind::SessionMeta)
            && let Reading::Record(Record::SessionMeta(meta)) = read_line(line.bytes)
        {
            return Ok(SessionFile { path: path.to_owned(), meta: *meta });
        }
    }
    let path = path.to_owned();
    Err(if is_blank { ReadError::Empty { path } } else { ReadError::NoMeta { path } })
}

/// Reads a session file whole.
///
/// # Errors
/// When the file cannot be read, is blank, or does not say which session it is of.
pub fn read(path: &Path) -> Result<Loaded, ReadError> {
    let SessionFile { path, meta } = open(path)?;
    let failed = |source| ReadError::io(&path, source);
    let mut lines = Forwards::new(File::open(&path).map_err(failed)?, 0, u64::MAX).map_err(failed)?;
    let (mut records, mut set_aside) = (Vec::new(), Vec::new());
    let mut n = 0;
    while let Some(line) = lines.next_line().map_err(failed)? {
        n += 1;
        sort(&line, n, &mut records, &mut set_aside);
    }
    Ok(Loaded { path, meta, records, set_aside })
}

fn sort(line: &Line<'_>, n: usize, records: &mut Vec<Record>, set_aside: &mut Vec<usize>) {
    if line.is_blank() {
        return;
    }
    match read_line(line.bytes) {
        Reading::Record(record) => records.push(record),
        Reading::Passed => {}
        Reading::SetAside => set_aside.push(n),
    }
}

/// The records of a text, and the numbers of the lines that are none.
pub fn parse(bytes: &[u8]) -> (Vec<Record>, Vec<usize>) {
    let (mut records, mut set_aside) = (Vec::new(), Vec::new());
    for (n, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = Line { start: 0, end: 0, bytes, is_whole: true };
        sort(&line, n + 1, &mut records, &mut set_aside);
    }
    (records, set_aside)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_parse(text: &str, expected: &Expect) {
        let (records, set_aside) = parse(text.as_bytes());
        let kinds: Vec<String> = records
            .iter()
            .map(|record| serde_json::to_value(record).unwrap()["type"].as_str().unwrap().to_owned())
            .collect();
        expected.assert_eq(&format!("{} / set aside {set_aside:?}", kinds.join(" ")));
    }

    #[test]
    fn torn_and_foreign_lines_are_set_aside() {
        check_parse(
            r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[]}}

{"timestamp":"t","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"timestamp":"t","type":"hologram","payload":{}}
{"timestamp":"t","type":"event_msg","payload":{"type":"dance"}}
{"timestamp":"t","type":"compacted","payload":{"message":"x"}}
{"timestamp":"t","type":"response_i"#,
            &expect!["response_item event_msg compacted / set aside [4, 5, 7]"],
        );
    }

    #[test]
    fn keys_may_come_in_any_order_and_others_may_stand_beside_them() {
        check_parse(
            r#"{"type":"compacted","payload":{"message":"x"},"timestamp":"t"}
{"timestamp":"t","type":"compacted","payload":{"message":"x"},"more":{}}
{"timestamp":"t","ordinal":1,"type":"compacted","payload":{"message":"x"}}
{"timestamp":"t","type":"compacted","payload":{"message":"x"}}{"timestamp":"t"}"#,
            &expect!["compacted compacted compacted / set aside [4]"],
        );
    }

    #[test]
    fn events_of_the_format_that_mean_nothing_to_us_are_no_damage() {
        check_parse(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"entered_review_mode","target":{}}}
{"timestamp":"t","type":"event_msg","payload":{"type":"exec_command_end","call_id":"c"}}"#,
            &expect![" / set aside []"],
        );
    }
}
