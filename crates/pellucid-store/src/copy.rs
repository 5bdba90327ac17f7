//! Copying a session file, or the beginning of it, into another.
//!
//! Lines get a new time and otherwise stay as they are, to the byte. What is torn or foreign is
//! left out, and so are events that the new file does not keep.

use std::io;
use std::path::Path;

use crate::detail::is_kept_payload;
use crate::lines::Forwards;
use crate::read::LineReading;
use crate::read::RecordKind;
use crate::read::read_line;
use crate::read::split;
use crate::record::Record;
use crate::recorder::Recorder;

/// Copies the first bytes of a file, which end with a line. The recorder must have its file.
///
/// # Errors
/// When the file cannot be read.
pub fn copy(from: &Path, upto: u64, to: &mut Recorder) -> io::Result<()> {
    let mut lines = Forwards::new(pellucid_files::open(from)?, 0, upto)?;
    while let Some(line) = lines.next_line()? {
        if line.is_blank() {
            continue;
        }
        let reading = read_line(line.bytes);
        match (reading, split(line.bytes)) {
            (LineReading::SetAside, _) => {}
            (_, Some((RecordKind::EventMsg, payload))) if !is_kept_payload(payload, to.detail()) => {}
            (_, Some((kind, payload))) => to.copy(kind, payload),
            (LineReading::Record(Record::EventMsg(event)), None) => to.event(&event),
            (LineReading::Record(record), None) => to.record(record),
            (LineReading::Passed, None) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
