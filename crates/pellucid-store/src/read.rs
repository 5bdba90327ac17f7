//! Reading a session file back, whatever state it is in.
//!
//! Lines that are torn or of an unknown kind are set aside and counted; the rest is used. A line is written with its
//! keys in a fixed order, so its payload is found without parsing the rest of the line; a line in another order is
//! parsed.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use memchr::memchr;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lines::Backwards;
use crate::lines::Forwards;
use crate::lines::Line;
use crate::name;
use crate::record::Compacted;
use crate::record::Record;
use crate::record::SessionMeta;
use crate::record::TurnContext;
use crate::record::is_known_event;

/// A session file: where it is and what its session is.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFile {
    /// The path of the session file.
    pub path: PathBuf,
    /// The first `session_meta` line.
    pub meta: SessionMeta,
    /// The problem with the first line, if there is one; the id is then the one in the file's name.
    pub doubt: Option<Doubt>,
}

/// Why the `session_meta` line of a file cannot be trusted. The id is then the one in the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The line names another session.
    OtherId,
    /// The file has no `session_meta` line that can be read.
    NoLine,
    /// The file begins with a line of another kind.
    NoHead,
}

impl SessionFile {
    /// A warning for the user about a file whose first line cannot be trusted.
    pub fn warning(&self) -> Option<String> {
        let path = self.path.display();
        let id = &self.meta.id;
        Some(match self.doubt? {
            Doubt::OtherId => {
                format!(
                    "the session file {path} names another session in its first lines; it is used as {id}, as its name says"
                )
            }
            Doubt::NoLine | Doubt::NoHead => format!(
                "the session file {path} has lost its first line, and with it the base instructions; it is used as {id}, \
                 as its name says"
            ),
        })
    }
}

/// A session file, read back whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedSession {
    /// The path of the session file.
    pub path: PathBuf,
    /// The first `session_meta` line.
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
    /// The file cannot be read.
    #[error("the session file {path} cannot be read: {source}")]
    Io {
        /// The path of the session file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file cannot be opened for writing.
    #[error("the session file {path} cannot be written: {source}")]
    Unwritable {
        /// The path of the session file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("the session file {path} is empty")]
    Empty {
        /// The path of the session file.
        path: PathBuf,
    },
    /// The file does not begin with a `session_meta` line.
    #[error(
        "the session file {path} has lost its beginning: its first line is not `session_meta`; `pellucid sessions fsck` \
         shows what else is damaged"
    )]
    NoHead {
        /// The path of the session file.
        path: PathBuf,
    },
    /// The file has no `session_meta` line.
    #[error("{path} is not a valid session file: it has no `session_meta` line")]
    NoMeta {
        /// The path of the session file.
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

/// The value of `type` in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// The session's id, origin and instructions.
    SessionMeta,
    /// An item of the conversation.
    ResponseItem,
    /// A summary that replaces the history before it.
    Compacted,
    /// Settings of a request.
    TurnContext,
    /// An event that was shown to the user.
    EventMsg,
}

impl RecordKind {
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

    /// The value of `type` in the file.
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

/// The result of parsing one line.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once, and most lines are records")]
pub enum LineReading {
    /// A record of a known kind.
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
/// use pellucid_store::read::{RecordKind, split};
///
/// let line = br#"{"timestamp":"2026-11-15T07:25:24.929Z","type":"event_msg","payload":{"type":"x"}}"#;
/// assert_eq!(split(line), Some((RecordKind::EventMsg, br#"{"type":"x"}"#.as_slice())));
/// ```
pub fn split(line: &[u8]) -> Option<(RecordKind, &[u8])> {
    let rest = line.trim_ascii_end().strip_prefix(b"{\"timestamp\":\"")?;
    let rest = &rest[memchr(b'"', rest)?..];
    let rest = rest.strip_prefix(b"\",\"type\":\"")?;
    let (word, rest) = rest.split_at(memchr(b'"', rest)?);
    let payload = rest.strip_prefix(b"\",\"payload\":")?.strip_suffix(b"}")?;
    Some((RecordKind::of(word)?, payload))
}

/// Reads a line, in whatever order its keys are.
pub fn read_line(line: &[u8]) -> LineReading {
    if let Some((kind, payload)) = split(line)
        && let Ok(reading) = read_payload(kind, payload)
    {
        return reading;
    }
    /// A line with its keys in any order.
    #[derive(Deserialize)]
    struct AnyLine<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let Ok(any) = serde_json::from_slice::<AnyLine<'_>>(line) else {
        return LineReading::SetAside;
    };
    let kind = RecordKind::of(any.kind.as_bytes());
    kind.and_then(|kind| read_payload(kind, any.payload.get().as_bytes()).ok()).unwrap_or(LineReading::SetAside)
}

/// Reads the payload of a line.
fn read_payload(kind: RecordKind, payload: &[u8]) -> serde_json::Result<LineReading> {
    let record = match kind {
        RecordKind::SessionMeta => Record::SessionMeta(Box::new(serde_json::from_slice::<SessionMeta>(payload)?)),
        RecordKind::ResponseItem => Record::ResponseItem(serde_json::from_slice(payload)?),
        RecordKind::Compacted => Record::Compacted(serde_json::from_slice::<Compacted>(payload)?),
        RecordKind::TurnContext => Record::TurnContext(Box::new(serde_json::from_slice::<TurnContext>(payload)?)),
        RecordKind::EventMsg => match serde_json::from_slice(payload) {
            Ok(event) => Record::EventMsg(event),
            Err(_) if is_known_event(payload) => return Ok(LineReading::Passed),
            Err(error) => return Err(error),
        },
    };
    Ok(LineReading::Record(record))
}

/// Opens a session file and reads what its session is.
///
/// # Errors
/// When the file cannot be read, is blank, has lost its first line, or neither a line nor its name says which session it
/// is of.
pub fn open(path: &Path) -> Result<SessionFile, ReadError> {
    let file = open_damaged(path)?;
    match file.doubt {
        Some(Doubt::NoHead) => Err(ReadError::NoHead { path: file.path }),
        _ => Ok(file),
    }
}

/// The settings of the last turn in a file; absent if no turn in it can be read.
///
/// # Errors
/// If the file cannot be read.
pub fn last_turn(path: &Path) -> Result<Option<TurnContext>, ReadError> {
    let failed = |source| ReadError::io(path, source);
    let file = pellucid_files::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut lines = Backwards::new(file, size);
    while let Some(line) = lines.next_line().map_err(failed)? {
        if split(line.bytes).is_none_or(|(kind, _)| kind == RecordKind::TurnContext)
            && let LineReading::Record(Record::TurnContext(turn)) = read_line(line.bytes)
        {
            return Ok(Some(*turn));
        }
    }
    Ok(None)
}

/// The same for those who say what is wrong with a file: one that has lost its first line is opened, too.
///
/// # Errors
/// If the file cannot be read, is blank, or neither a `session_meta` line nor the file's name has the session's id.
pub fn open_damaged(path: &Path) -> Result<SessionFile, ReadError> {
    let failed = |source| ReadError::io(path, source);
    let named = path.file_name().and_then(|name| name.to_str()).and_then(name::session_id);
    let file = pellucid_files::open(path).map_err(failed)?;
    let mut lines = Forwards::new(file, 0, u64::MAX).map_err(failed)?;
    let (mut is_blank, mut first, mut cwd) = (true, None, None);
    // Whether the first line can be read.
    let mut begins_whole = false;
    while let Some(line) = lines.next_line().map_err(failed)? {
        if is_blank && !line.is_blank() {
            is_blank = false;
            begins_whole = read_line(line.bytes) != LineReading::SetAside;
        }
        if split(line.bytes).is_none_or(|(kind, _)| kind == RecordKind::SessionMeta)
            && let LineReading::Record(Record::SessionMeta(meta)) = read_line(line.bytes)
        {
            if named.is_none_or(|id| id.eq_ignore_ascii_case(&meta.id)) {
                let id = named.map_or_else(|| meta.id.clone(), str::to_owned);
                return Ok(SessionFile { path: path.to_owned(), meta: SessionMeta { id, ..*meta }, doubt: None });
            }
            first = first.or(Some(meta));
        }
        if cwd.is_none()
            && split(line.bytes).is_none_or(|(kind, _)| kind == RecordKind::TurnContext)
            && let LineReading::Record(Record::TurnContext(context)) = read_line(line.bytes)
        {
            cwd = Some(context.cwd);
        }
    }
    let path = path.to_owned();
    match (named, first) {
        (Some(id), Some(meta)) => {
            let meta = SessionMeta { id: id.to_owned(), ..*meta };
            Ok(SessionFile { path, meta, doubt: Some(Doubt::OtherId) })
        }
        (Some(id), None) if !is_blank => {
            let began = path.file_name().and_then(|name| name.to_str()).and_then(name::stamp);
            let meta = SessionMeta {
                id: id.to_owned(),
                forked_from_id: None,
                timestamp: began.map(|began| format!("{began}Z")).unwrap_or_default(),
                cwd: cwd.unwrap_or_default(),
                originator: String::new(),
                cli_version: String::new(),
                source: Value::Null,
                model_provider: None,
                base_instructions: None,
                dynamic_tools: None,
                git: None,
            };
            let doubt = if begins_whole { Doubt::NoHead } else { Doubt::NoLine };
            Ok(SessionFile { path, meta, doubt: Some(doubt) })
        }
        _ => Err(if is_blank { ReadError::Empty { path } } else { ReadError::NoMeta { path } }),
    }
}

/// Reads a session file whole.
///
/// # Errors
/// If the file cannot be read, is blank, or has no `session_meta` line.
pub fn read(path: &Path) -> Result<RecordedSession, ReadError> {
    let SessionFile { path, meta, .. } = open(path)?;
    let failed = |source| ReadError::io(&path, source);
    let mut lines = Forwards::new(pellucid_files::open(&path).map_err(failed)?, 0, u64::MAX).map_err(failed)?;
    let (mut records, mut set_aside) = (Vec::new(), Vec::new());
    let mut n = 0;
    while let Some(line) = lines.next_line().map_err(failed)? {
        n += 1;
        sort(&line, n, &mut records, &mut set_aside);
    }
    Ok(RecordedSession { path, meta, records, set_aside })
}

fn sort(line: &Line<'_>, n: usize, records: &mut Vec<Record>, set_aside: &mut Vec<usize>) {
    if line.is_blank() {
        return;
    }
    match read_line(line.bytes) {
        LineReading::Record(record) => records.push(record),
        LineReading::Passed => {}
        LineReading::SetAside => set_aside.push(n),
    }
}

/// The records of a text, and the numbers of the lines that cannot be parsed.
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

    /// A session of four lines with one flipped bit in the first line.
    #[test]
    fn a_flipped_bit_in_the_first_line_costs_no_more_than_that_line() {
        const ID: &str = "019a0000-0000-7000-8000-000000000001";
        let text = include_str!("../../../fuzz/corpus/rollout/plain.jsonl");
        let first = text.find('\n').unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("rollout-2026-01-02T03-04-05-{ID}.jsonl"));
        let (whole, _) = parse(text.as_bytes());
        for at in 0..=first {
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                std::fs::write(&path, &bytes).unwrap();
                let found = open(&path).unwrap_or_else(|error| panic!("byte {at}, bit {bit}: {error}"));
                assert_eq!(found.meta.id, ID, "byte {at}, bit {bit}");
                assert_eq!(
                    found.doubt.is_some(),
                    found.warning().is_some_and(|it| it.contains(path.to_str().unwrap()))
                );
                if found.doubt == Some(Doubt::NoLine) && at < first {
                    assert_eq!(
                        (found.meta.cwd.as_str(), found.meta.timestamp.as_str()),
                        ("/w", "2026-01-02T03:04:05Z")
                    );
                }
                let loaded = read(&path).unwrap();
                // Without the end of the first line the second one is a part of it.
                let n_lost = if at == first { 2 } else { 1 };
                let n_kept = whole.len() - n_lost;
                assert_eq!(loaded.records[loaded.records.len() - n_kept..], whole[n_lost..], "byte {at}, bit {bit}");
            }
        }
        std::fs::write(&path, &text[first + 1..]).unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the session file {} has lost its beginning: its first line is not `session_meta`; `pellucid sessions \
                 fsck` shows what else is damaged",
                path.display()
            )
        );
        assert_eq!(open_damaged(&path).unwrap().doubt, Some(Doubt::NoHead));
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(open(&path), Err(ReadError::Empty { .. })));
        let nameless = folder.path().join("session.jsonl");
        std::fs::write(&nameless, "{}\n").unwrap();
        assert!(matches!(open(&nameless), Err(ReadError::NoMeta { .. })));
    }
}
