//! Reading a session file back, whatever state it is in.
//!
//! Lines that are torn or of an unknown kind are set aside and counted; the rest is used.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;

use crate::record::Record;
use crate::record::SessionMeta;

/// A session file, read back.
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
    #[error("the session file {path} cannot be read")]
    Io {
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

/// Reads a session file.
///
/// # Errors
/// When the file cannot be read, is blank, or does not say which session it is of.
pub fn read(path: &Path) -> Result<Loaded, ReadError> {
    let bytes = fs::read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty { path: path.to_owned() });
    }
    let (records, set_aside) = parse(&bytes);
    let meta = records.iter().find_map(|record| match record {
        Record::SessionMeta(meta) => Some(meta.as_ref().clone()),
        _ => None,
    });
    let meta = meta.ok_or_else(|| ReadError::NoMeta { path: path.to_owned() })?;
    Ok(Loaded { path: path.to_owned(), meta, records, set_aside })
}

/// The records of a file, and the numbers of the lines that are none.
pub fn parse(bytes: &[u8]) -> (Vec<Record>, Vec<usize>) {
    let mut records = Vec::new();
    let mut set_aside = Vec::new();
    for (n, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Line>(line) {
            Ok(line) => records.push(line.record),
            Err(_) => set_aside.push(n + 1),
        }
    }
    (records, set_aside)
}

/// A line as it is read; when it was written does not matter.
#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    record: Record,
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
}
