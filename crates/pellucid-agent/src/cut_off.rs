//! What had arrived of messages that were interrupted, kept beside the session file, whose format has no place for it.

use std::path::Path;

use jiff::Timestamp;
use pellucid_engine::cut;
use pellucid_protocol::id::TurnId;
use pellucid_store::side::SideFile;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The name of the list beside the session file.
pub(crate) const CUT_OFF: &str = "cut_off";

/// How many texts are kept; the oldest are dropped.
const TEXTS_MAX: usize = 20;

/// How many bytes of each are kept, from the beginning.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// What had arrived of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// The id of the turn that was interrupted.
    pub turn: String,
    /// When it was interrupted.
    pub time: String,
    /// The text that had arrived, cut at a limit.
    pub text: String,
}

/// What is kept of a session, the oldest first.
pub fn read(home: &Path, session: &str) -> Vec<CutOff> {
    kept(&SideFile::open(home, session))
}

fn kept(side: &SideFile) -> Vec<CutOff> {
    let texts = side.get(CUT_OFF).and_then(Value::as_array);
    let text = |value: &Value| serde_json::from_value(value.clone()).ok();
    texts.into_iter().flatten().filter_map(text).collect()
}

/// The list with one more text.
pub(crate) fn with(side: &SideFile, turn: &TurnId, text: &str) -> Value {
    let mut texts = kept(side);
    texts.push(CutOff {
        turn: turn.to_string(),
        time: Timestamp::now().to_string(),
        text: cut::first(text, TEXT_BYTES_MAX).to_owned(),
    });
    let surplus = texts.len().saturating_sub(TEXTS_MAX);
    serde_json::to_value(texts.split_off(surplus)).unwrap_or_default()
}
