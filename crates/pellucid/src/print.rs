//! The output of a command on standard output: texts for people, and data for programs.
//!
//! A reader who has seen enough (`| head`) is no failure: the command ends quietly, with the status that it has
//! otherwise. Not for `exec`, whose answer has to arrive.

use std::io;
use std::io::BufWriter;
use std::io::Write;

use serde::Serialize;

use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;

/// Prints a text for people, with lines that fit the terminal.
pub fn out(text: &str) -> Result<(), ProgramFailure> {
    arrived(StandardStream::Out.write_report(text))
}

/// Prints a text for people or for programs, with the lines that it has.
pub fn either(text: &str, kind: OutputFormat) -> Result<(), ProgramFailure> {
    arrived(StandardStream::Out.write(text, kind))
}

/// Prints a report, for people with lines that fit the terminal.
pub fn report(text: &str, kind: OutputFormat) -> Result<(), ProgramFailure> {
    match kind {
        OutputFormat::People => out(text),
        OutputFormat::Json => either(text, kind),
    }
}

/// Prints JSON, escaped for a terminal if standard output is one.
pub fn json(json: &[u8]) -> Result<(), ProgramFailure> {
    match std::str::from_utf8(json) {
        Ok(text) => either(text, OutputFormat::Json),
        // JSON is UTF-8, so this is something else, whose bytes count.
        Err(_) => data(json),
    }
}

/// Prints a value as JSON on a line. A pipe or file receives it piece by piece, as the whole text may be long.
pub fn json_line(value: &impl Serialize) -> Result<(), ProgramFailure> {
    if StandardStream::Out.is_terminal() {
        let text = serde_json::to_string(value).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        return either(&(text + "\n"), OutputFormat::Json);
    }
    let mut out = BufWriter::with_capacity(PIECE_BYTES, Pieces);
    let written = serde_json::to_writer(&mut out, value).map_err(io::Error::from);
    arrived(written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// How much of a long text is written at once.
const PIECE_BYTES: usize = 64 << 10;

/// Writes pieces of a long text to standard output.
struct Pieces;

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        StandardStream::Out.write_bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
