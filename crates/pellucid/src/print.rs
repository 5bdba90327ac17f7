//! The output of a command on standard output: texts for people, and data for programs.
//!
//! A reader who has seen enough (`| head`) is no failure: the command ends quietly, with the status that it has
//! otherwise. Not for `exec`, whose answer has to arrive.

use std::io;
use std::io::Write;

use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;

/// Prints a text for people.
pub fn out(text: &str) -> Result<(), ProgramFailure> {
    either(text, OutputFormat::People)
}

/// Prints a text for people or for programs.
pub fn either(text: &str, kind: OutputFormat) -> Result<(), ProgramFailure> {
    arrived(StandardStream::Out.write(text, kind))
}

/// Prints JSON, escaped for a terminal if standard output is one.
pub fn json(json: &[u8]) -> Result<(), ProgramFailure> {
    match std::str::from_utf8(json) {
        Ok(text) => either(text, OutputFormat::Json),
        // JSON is UTF-8, so this is something else, whose bytes count.
        Err(_) => data(json),
    }
}

/// Prints the bytes as they are, for programs.
pub fn data(bytes: &[u8]) -> Result<(), ProgramFailure> {
    arrived(StandardStream::Out.write_bytes(bytes))
}

/// Writes what is printed.
pub fn to(out: &mut dyn Write, text: &str) -> Result<(), ProgramFailure> {
    arrived(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes a piece of what is printed; the last piece has to be flushed.
pub fn bytes_to(out: &mut dyn Write, bytes: &[u8]) -> Result<(), ProgramFailure> {
    arrived(out.write_all(bytes))
}

fn arrived(written: io::Result<()>) -> Result<(), ProgramFailure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(ProgramFailure::new(format!("standard output cannot be written: {error}")))
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
        let said = to(&mut Failing(kind), "text").map_or_else(|failure| failure.text().to_owned(), |()| String::new());
        expected.assert_eq(&said);
    }

    #[test]
    fn a_reader_who_left_is_no_failure_and_a_full_disk_is_one() {
        check(io::ErrorKind::BrokenPipe, &expect![""]);
        check(io::ErrorKind::StorageFull, &expect!["standard output cannot be written: no storage space"]);
    }
}
