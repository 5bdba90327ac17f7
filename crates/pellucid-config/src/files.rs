//! Reading the files of the configuration: regular ones, and none of them without end.

use std::io;
use std::path::Path;

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is no regular file, is not UTF-8, or is longer than anybody writes.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    pellucid_files::read_text(path, pellucid_files::TEXT_BYTES_MAX)
}
