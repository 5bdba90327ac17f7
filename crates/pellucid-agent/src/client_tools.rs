//! The tools of the program that drives a session, when it names none for a session that is resumed or forked.
//!
//! With the feature `sqlite` they come from the index, which keeps those that the session was begun with. Otherwise, and
//! where the index keeps none, they come from the first of the session file's heads that has some: a fork has a head for
//! each session that it descends from.

use std::path::Path;

use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_store::index::first_tools;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;
use serde_json::Value;

/// Whether the index keeps the tools that sessions were begun with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    /// It does: the feature `sqlite` is on.
    Yes,
    /// The session file alone counts.
    No,
}

/// The tools that a session was begun with.
pub fn recalled(home: &Path, file: &SessionFile, indexed: Indexed) -> Vec<DynamicTool> {
    let kept = match indexed {
        Indexed::Yes => first_tools::find(home, &file.meta.id).unwrap_or_else(|error| {
            tracing::warn!(%error, session = %file.meta.id, "the tools of the client are read from the session file");
            None
        }),
        Indexed::No => None,
    };
    let tools = kept.or_else(|| in_file(file)).unwrap_or_default();
    tools.into_iter().filter_map(|tool| serde_json::from_value(tool).ok()).collect()
}

/// The tools of the first head that has some.
fn in_file(file: &SessionFile) -> Option<Vec<Value>> {
    let meta = &file.meta;
    if meta.dynamic_tools.is_some() || meta.forked_from_id.is_none() {
        return meta.dynamic_tools.clone();
    }
    let opened = pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, 0, u64::MAX));
    let mut lines = opened.ok()?;
    while let Ok(Some(line)) = lines.next_line()
        && let LineReading::Record(Record::SessionMeta(meta)) = read_line(line.bytes)
    {
        if meta.dynamic_tools.is_some() {
            return meta.dynamic_tools;
        }
    }
    None
}

/// Keeps the tools that a session was begun with in the index.
pub fn keep(home: &Path, id: &str, tools: &[Value]) {
    if let Err(error) = first_tools::keep(home, id, tools) {
        tracing::warn!(%error, session = %id, "the tools of the client are kept in the session file only");
    }
}
