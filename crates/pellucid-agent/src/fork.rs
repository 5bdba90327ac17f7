//! Where a session is cut for a copy.
//!
//! A place is counted in messages of the person, without those of turns that were removed; or it is the end of the turn that
//! sent a request.

use pellucid_engine::boundary;
use pellucid_protocol::event::EventMessage;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;

/// Where the messages of a person begin in a session file, and where the file ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOffsets {
    /// The offsets of the messages.
    pub messages: Vec<u64>,
    /// The offset behind the last line.
    pub end: u64,
}

impl MessageOffsets {
    /// Finds the places of a session file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(file: &SessionFile) -> Result<Self, ReadError> {
        let failed = |source| ReadError::io(&file.path, source);
        let mut lines =
            pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, 0, u64::MAX)).map_err(failed)?;
        let mut places = Self { messages: Vec::new(), end: 0 };
        while let Some(line) = lines.next_line().map_err(failed)? {
            places.end = line.end;
            match read_line(line.bytes) {
                LineReading::Record(Record::ResponseItem(item)) if boundary::begins_user_turn(&item) => {
                    places.messages.push(line.start);
                }
                LineReading::Record(Record::EventMsg(EventMessage::ThreadRolledBack { num_turns })) => {
                    places.messages.truncate(places.messages.len().saturating_sub(num_turns));
                }
                _ => {}
            }
        }
        Ok(places)
    }

    /// The number of bytes of a copy with so many messages; absent when the file has fewer messages.
    pub fn keeping(&self, n_messages: usize) -> Option<u64> {
        if n_messages == self.messages.len() {
            return Some(self.end);
        }
        self.messages.get(n_messages).copied()
    }
}

/// The offset behind the turn that is running at an offset of a session file: behind the line that ends the turn, or behind
/// the last line.
///
/// # Errors
/// The file cannot be read.
pub fn end_of_turn(file: &SessionFile, at: u64) -> Result<u64, ReadError> {
    let failed = |source| ReadError::io(&file.path, source);
    let mut lines =
        pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, at, u64::MAX)).map_err(failed)?;
    let mut end = at;
    while let Some(line) = lines.next_line().map_err(failed)? {
        end = line.end;
        let event = match read_line(line.bytes) {
            LineReading::Record(Record::EventMsg(event)) => event,
            _ => continue,
        };
        if matches!(event, EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }) {
            break;
        }
    }
    Ok(end)
}
