//! Reading the files of the configuration, none of them without end.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

/// How long a file may be. What people write by hand is far shorter.
const BYTES_MAX: u64 = 16 << 20;

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is not UTF-8, or is longer than anybody writes.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        let message = format!("it is longer than {} MiB", BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read_text(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 16 MiB");
    }
}
