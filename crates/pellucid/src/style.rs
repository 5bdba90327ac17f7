//! Colours, and notes for a person on standard error.
//!
//! If standard error cannot be written (a full disk, a closed pipe), notes are dropped and the work continues:
//! nothing depends on them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;

use tracing::Subscriber;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::FormatEvent;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::registry::LookupSpan;

use crate::args::exec::Color;
use crate::screen;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;

/// Paints text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Decides by the option, the terminal and the usual variables.
    pub fn new(color: Color) -> Self {
        let is_on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => StandardStream::Error.is_terminal() && wants_colours(),
        };
        Self { is_on }
    }

    /// Paints text for standard output, if that is a terminal which wants colours.
    pub fn out() -> Self {
        Self { is_on: StandardStream::Out.is_terminal() && wants_colours() }
    }

    /// A painter that adds no colours.
    pub fn plain() -> Self {
        Self { is_on: false }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub fn blue(self, text: &str) -> String {
        self.wrap("34", text)
    }

    pub fn magenta(self, text: &str) -> String {
        self.wrap("3;35", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.is_on { screen::painted(code, text) } else { text.to_owned() }
    }
}

fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Prints a line for people on standard error.
pub fn note(text: &str) {
    part(&format!("note: {text}\n"));
}

/// The lines that were printed; absent while a line may be repeated.
static PRINTED: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);

/// From now on a line on standard error is printed once, for commands that do the same work many times.
pub fn print_each_line_once() {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The lines that are kept instead of being printed, while the terminal belongs to the client.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Keeps lines for standard error while it lives.
#[derive(Debug)]
pub struct KeptLines(());

/// From now on lines for standard error are kept, until the value is dropped.
pub fn keep_lines() -> KeptLines {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    KeptLines(())
}

impl KeptLines {
    /// The lines that were kept so far.
    pub fn take(&self) -> Vec<String> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Drop for KeptLines {
    fn drop(&mut self) {
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A line on standard error.
pub fn line(text: &str) {
    if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        kept.push(text.strip_prefix("warning: ").unwrap_or(text).to_owned());
        return;
    }
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.as_mut().is_none_or(|printed| printed.insert(text.to_owned())) {
        part(&format!("{text}\n"));
    }
}

/// A piece of a line on standard error.
pub fn part(text: &str) {
    const MESSAGES: [&str; 4] = ["error: ", "warning: ", "note: ", "hint: "];
    let _ = match MESSAGES.iter().any(|word| text.starts_with(word)) {
        true => StandardStream::Error.write_report(text),
        false => StandardStream::Error.write(text, OutputFormat::People),
    };
}

/// Lines of the log as errors for people, without time, level and place.
#[derive(Debug, Clone, Copy)]
pub struct ErrorLine;

impl<S, N> FormatEvent<S, N> for ErrorLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        writer.write_str("error: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// A count with its word: `1 session`, `2 sessions`.
pub fn counted(count: usize, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {word}{ending}", thousands(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// A number with separators between thousands.
pub fn thousands(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// The same for sizes of files.
pub fn number_of(bytes: u64) -> String {
    thousands(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// A number with its thousands set apart.
pub fn number(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::counted;
    use super::thousands;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(
            [counted(0, "text"), counted(1, "text"), counted(1200, "text")],
            ["0 texts", "1 text", "1,200 texts"]
        );
    }
}
