//! The tools of connected apps that searches of a session found, from its file. What a summary took the place of counts too.

use std::path::Path;

use pellucid_engine::apps::FoundBefore;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;

/// The names of the tools, in the order in which they were found. A file that cannot be read has none; opening the session
/// reports that.
pub(crate) fn recalled(path: &Path) -> Vec<String> {
    let mut found = FoundBefore::default();
    let opened = pellucid_files::open(path).and_then(|file| Forwards::new(file, 0, u64::MAX));
    let Ok(mut lines) = opened else { return Vec::new() };
    while let Ok(Some(line)) = lines.next_line() {
        if let LineReading::Record(Record::ResponseItem(item)) = read_line(line.bytes) {
            found.look_at(&item);
        }
    }
    found.into_names()
}
