//! Reads configuration files: regular files only, up to a size limit.

use std::io;
use std::path::Path;

/// The text of a file.
///
/// # Errors
/// When the file cannot be read, is not a regular file, is not UTF-8, or exceeds the size limit.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    pellucid_files::read_text(path, pellucid_files::TEXT_BYTES_MAX)
}
