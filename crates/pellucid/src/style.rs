//! Colours, and the one place that writes notes for a person to standard error.

use std::io::IsTerminal;

use crate::args::Color;

/// Paints text for standard error, or does not.
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
            Color::Auto => std::io::stderr().is_terminal() && wants_colours(),
        };
        Self { is_on }
    }

    /// No colours.
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

    pub fn magenta(self, text: &str) -> String {
        self.wrap("3;35", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Tells a person something on standard error.
#[expect(clippy::print_stderr, reason = "this is how the program speaks to people")]
pub fn note(text: &str) {
    eprintln!("note: {text}");
}

/// A line on standard error.
#[expect(clippy::print_stderr, reason = "this is how the program speaks to people")]
pub fn line(text: &str) {
    eprintln!("{text}");
}

/// A piece of a line on standard error.
#[expect(clippy::print_stderr, reason = "this is how the program speaks to people")]
pub fn part(text: &str) {
    eprint!("{text}");
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

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
