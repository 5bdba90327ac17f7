//! The outputs of tools that a session's requests have only in part: how long each was, and how much of it is sent.
//!
//! Several limits may cut an output: what is kept of a command, what a tool answers with, what is recorded. The whole output is
//! in a file, so the report compares the two ends and does not depend on which limit it was.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::read;
use pellucid_store::record::Record;
use pellucid_tools::outputs::Outputs;
use serde::Serialize;

use crate::start;
use crate::stored;
use crate::style::counted;
use crate::style::number;

/// An output of which the model sees only a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutOutput {
    /// The id of the call.
    pub call: String,
    /// How many bytes the output had, as far as it is kept.
    pub bytes: u64,
    /// Whether all of the output is kept.
    pub is_whole: bool,
    /// How many bytes of text the model is sent for the call, with the lines around the output.
    pub sent: u64,
}

/// The cut outputs of a stored session, the longest first. None for a session without a file.
pub fn of(session: &str) -> Vec<CutOutput> {
    start::find_home().ok().and_then(|home| read_from(&home, session)).unwrap_or_default()
}

/// The same for a session whose files are in this folder.
pub fn read_from(home: &Path, session: &str) -> Option<Vec<CutOutput>> {
    let kept = Outputs::of(home, session).list().ok().filter(|kept| !kept.is_empty())?;
    let (_, path) = stored::session(home, session).ok()?;
    let loaded = read::read(&path).ok()?;
    let sent: BTreeMap<String, u64> = loaded.records.iter().filter_map(answer).collect();
    let cut = kept.into_iter().filter_map(|kept| {
        let sent = *sent.get(&kept.call)?;
        let is_cut = sent < kept.bytes || !kept.is_whole;
        is_cut.then_some(CutOutput { call: kept.call, bytes: kept.bytes, is_whole: kept.is_whole, sent })
    });
    let mut cut: Vec<CutOutput> = cut.collect();
    cut.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.call.cmp(&other.call)));
    Some(cut)
}

/// The call that a record answers, and the length of the answer.
fn answer(record: &Record) -> Option<(String, u64)> {
    let Record::ResponseItem(item) = record else { return None };
    let (call, bytes) = match item {
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) } => (call_id, text.len()),
        Item::FunctionCallOutput { call_id, output: ToolOutput::Parts(parts) } => {
            let text = |part: &ContentPart| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => text.len(),
                ContentPart::InputImage { .. } => 0,
            };
            (call_id, parts.iter().map(text).sum())
        }
        Item::CustomToolCallOutput { call_id, output } => (call_id, output.len()),
        _ => return None,
    };
    Some((call.clone(), bytes as u64))
}

/// The same on one line; absent if nothing is cut.
pub fn line(cut: &[CutOutput], session: &str) -> Option<String> {
    let longest = cut.first()?;
    let size = |n: u64| number(usize::try_from(n).unwrap_or(usize::MAX));
    let or_more = if longest.is_whole { "" } else { " or more" };
    Some(format!(
        "the model sees {} only in part; of {}, {} of {}{or_more} bytes (`pellucid sessions output {session} {}`)",
        counted(cut.len(), "output"),
        longest.call,
        size(longest.sent),
        size(longest.bytes),
        longest.call
    ))
}
