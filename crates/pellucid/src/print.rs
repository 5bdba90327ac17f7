//! What a command prints on standard output.
//!
//! A reader who has seen enough (`| head`) is no failure: the command ends quietly, with the status that it has
//! otherwise. Not for `exec`, whose answer has to arrive.

use std::io;
use std::io::Write;

use crate::start::Failure;

/// Prints the text.
pub fn out(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Prints the bytes as they are.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    to(&mut io::stdout().lock(), bytes)
}

/// Writes what is printed.
pub fn to(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Failure> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("Error: standard output cannot be written: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// Fails with one kind of error.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(kind: io::ErrorKind, expected: &Expect) {
        let said = to(&mut Failing(kind), b"text").map_or_else(|failure| failure.text().to_owned(), |()| String::new());
        expected.assert_eq(&said);
    }

    #[test]
    fn a_reader_who_left_is_no_failure_and_a_full_disk_is_one() {
        check(io::ErrorKind::BrokenPipe, &expect![""]);
        check(io::ErrorKind::StorageFull, &expect!["Error: standard output cannot be written: no storage space"]);
    }
}
