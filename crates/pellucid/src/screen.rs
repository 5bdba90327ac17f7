//! The one place that writes to standard output and standard error.
//!
//! On a terminal, everything that a person would not see or that would command the terminal is written out
//! (`pellucid_engine::visible`), whatever its source: files, models, tools, names. Our own terminal commands are
//! written as marks that no text can forge ([`painted`], [`line_start`]). In JSON the same characters are escaped as
//! JSON does it, so that the value is the same. Pipes and files get the text unchanged.
//!
//! `clippy.toml` of this crate keeps other files from writing past it.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io;
use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_engine::visible;
use pellucid_engine::visible::visible;
use pellucid_engine::visible::visible_json;
use pellucid_engine::visible::visible_name;

use crate::fit;

/// For whom something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people; on a terminal hidden characters are made visible.
    People,
    /// JSON, one value or several. A terminal gets the same values.
    Json,
}

impl OutputFormat {
    /// The kind for a command with or without `--json`.
    pub fn of(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::People }
    }
}

/// The stream that text is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardStream {
    /// Standard output, for results.
    Out,
    /// Standard error, for messages.
    Error,
}

impl StandardStream {
    /// Whether the stream is a terminal.
    #[expect(clippy::disallowed_methods, reason = "this is the file that may")]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// How many columns a line may have: what `COLUMNS` says, else the width of the terminal, else 80.
    pub fn columns(self) -> usize {
        let given = std::env::var("COLUMNS").ok().and_then(|it| it.trim().parse().ok()).filter(|it| *it > 0);
        given.or_else(|| self.terminal_columns()).unwrap_or(COLUMNS).clamp(COLUMNS_MIN, COLUMNS_MAX)
    }

    /// How many columns a line may have on a terminal; elsewhere lines may be as long as they like.
    pub fn columns_of_terminal(self) -> usize {
        if self.is_terminal() { self.columns() } else { usize::MAX }
    }

    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "this is the file that may")]
    fn terminal_columns(self) -> Option<usize> {
        let size = match self {
            Self::Out => rustix::termios::tcgetwinsize(io::stdout()),
            Self::Error => rustix::termios::tcgetwinsize(io::stderr()),
        };
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    #[cfg(not(unix))]
    fn terminal_columns(self) -> Option<usize> {
        None
    }

    /// Writes a text and sees that it arrives.
    ///
    /// # Errors
    /// As the system says.
    pub fn write(self, text: &str, kind: OutputFormat) -> io::Result<()> {
        match kind {
            OutputFormat::Json if self.is_terminal() => self.write_bytes(visible_json(text).as_bytes()),
            OutputFormat::Json => self.write_bytes(text.as_bytes()),
            OutputFormat::People => self.write_bytes(shown(text, self.is_terminal()).as_bytes()),
        }
    }

    /// Writes a text for people; on a terminal no line is wider than it.
    ///
    /// # Errors
    /// As the system says.
    pub fn write_report(self, text: &str) -> io::Result<()> {
        match self.is_terminal() {
            true => self.write_bytes(folded(text, self.columns()).as_bytes()),
            false => self.write(text, OutputFormat::People),
        }
    }

    /// Writes exactly these bytes, or holds them while rows are drawn on the terminal.
    ///
    /// # Errors
    /// As the system says.
    pub fn write_bytes(self, bytes: &[u8]) -> io::Result<()> {
        if let Some(held) = HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            held.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_at_once(bytes)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the file that may")]
    fn write_at_once(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Out => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Self::Error => io::stderr().write_all(bytes),
        }
    }
}

/// What was to be written while rows are drawn on the terminal; absent while none are.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Holds what other parts of the program write to the terminal, so that it does not come between rows that are drawn there.
#[derive(Debug)]
pub struct HeldOutput(());

impl HeldOutput {
    /// Holds everything from now on.
    pub fn begin() -> Self {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
        Self(())
    }

    /// The whole lines that were held so far.
    pub fn take(&self) -> Vec<u8> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = held.as_mut() else { return Vec::new() };
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.drain(..end).collect()
    }

    /// Writes bytes past what is held.
    ///
    /// # Errors
    /// As the system says.
    pub fn draw(&self, bytes: &[u8]) -> io::Result<()> {
        StandardStream::Error.write_at_once(bytes)
    }
}

impl Drop for HeldOutput {
    fn drop(&mut self) {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The terminal may be gone, and then there is nowhere to write to.
        let _ = StandardStream::Error.write_at_once(&held.unwrap_or_default());
    }
}

/// The width of lines where nothing says another.
const COLUMNS: usize = 80;

/// Narrower and wider terminals get lines of these widths.
const COLUMNS_MIN: usize = 40;
const COLUMNS_MAX: usize = 200;

/// How far the stops of a tab are from each other.
const TAB_CELLS: usize = 8;

/// Marks begin with this character, which Unicode reserves for use inside of programs.
const MARK_BEGIN: char = '\u{fdd0}';
const MARK_END: char = '\u{fdd1}';

/// The code of a mark that begins a link, before its address, or ends one.
const LINK: &str = "]";

/// The prefix of this process's marks. It has a random part, so a text that was written before the process started
/// cannot contain it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let secret = std::hash::RandomState::new().hash_one("mark");
    format!("{MARK_BEGIN}{secret:016x}:")
});

/// A text in a colour, by the number that terminals know it by.
pub fn painted(code: &str, text: &str) -> String {
    let mark = MARK.as_str();
    format!("{mark}{code}{MARK_END}{text}{mark}0{MARK_END}")
}

/// A text that a terminal links to a file; elsewhere the text alone.
pub fn linked(path: &Path, text: &str) -> String {
    if !path.is_absolute() || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return text.to_owned();
    }
    let mark = MARK.as_str();
    format!("{mark}{LINK}{}{MARK_END}{text}{mark}{LINK}{MARK_END}", file_address(path))
}

/// The address of a file: every byte that could end the address or command the terminal is escaped.
fn file_address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => address += &format!("%{byte:02X}"),
        }
    }
    address
}

/// Goes back to the beginning of the line.
pub fn line_start() -> String {
    format!("{}<{MARK_END}", MARK.as_str())
}

/// A name on a line with other words: on a terminal, line breaks in it are made visible.
pub fn name(name: &str) -> Cow<'_, str> {
    let mark = MARK.as_str();
    if !name.contains(['\n', '\t']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("{mark}({MARK_END}{name}{mark}){MARK_END}"))
}

/// A text with its marks carried out and, for a terminal, everything visible.
fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    let plain = |text| if is_terminal { visible(text) } else { Cow::Borrowed(text) };
    let mark = MARK.as_str();
    if !text.contains(MARK_BEGIN) {
        return plain(text);
    }
    let mut pieces = text.split(mark);
    let mut out = plain(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let (code, rest) = piece.split_once(MARK_END).unwrap_or(("", piece));
        match code {
            "<" => out.push('\r'),
            "(" if is_terminal => {
                out += &visible_name(rest);
                continue;
            }
            "(" | ")" => {}
            code if code.starts_with(LINK) => {
                if is_terminal {
                    out += &format!("\x1b]8;;{}\x1b\\", &code[LINK.len()..]);
                }
            }
            code => {
                out.push_str("\x1b[");
                out.push_str(code);
                out.push('m');
            }
        }
        out += &plain(rest);
    }
    Cow::Owned(out)
}

/// A text as a terminal gets it, with lines broken between words where they are longer than this many columns, and the rest
/// indented. A word that is longer than a line is broken itself.
///
/// Marks are carried out and hidden characters made visible first: only then is it known how wide a line is, and a line
/// break that is put in is not one that a name brought along.
fn folded(text: &str, columns: usize) -> String {
    let shown = shown(text, true);
    let lines =
        shown.split('\n').map(|line| if cells(line) <= columns { line.to_owned() } else { fold(line, columns) });
    lines.collect::<Vec<_>>().join("\n")
}

fn fold(line: &str, columns: usize) -> String {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let indent = (leading + 2).min(columns / 2);
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let width = cells(word.trim_end_matches(' '));
        if width > 0 && used > indent && used + width > columns {
            new_line(&mut out, &mut used, indent);
        }
        for (piece, cells) in pieces(word, used) {
            // A space at the end of a full line is of no use.
            if piece == " " && used >= columns {
                continue;
            }
            if used + cells > columns {
                new_line(&mut out, &mut used, indent);
            }
            out += piece;
            used += cells;
        }
    }
    out
}

fn new_line(out: &mut String, used: &mut usize, indent: usize) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
    *out += &" ".repeat(indent);
    *used = indent;
}

/// How many cells a text takes that a terminal gets: our own commands take none, and a tab reaches up to the next stop.
fn cells(text: &str) -> usize {
    pieces(text, 0).map(|(_, cells)| cells).sum()
}

/// The characters and commands of a text that a terminal gets, each with the cells that it takes.
fn pieces(text: &str, start: usize) -> impl Iterator<Item = (&str, usize)> {
    let (mut rest, mut column) = (text, start);
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (len, cells) = match first {
            '\u{1b}' => (command_len(rest), 0),
            '\t' => (1, TAB_CELLS - column % TAB_CELLS),
            first => (first.len_utf8(), fit::width(&rest[..first.len_utf8()])),
        };
        column += cells;
        let (piece, behind) = rest.split_at(len);
        rest = behind;
        Some((piece, cells))
    })
}

/// How many bytes one of our own commands has: a colour, or the beginning or end of a link.
fn command_len(text: &str) -> usize {
    let end =
        if text.starts_with("\x1b]") { text.find("\x1b\\").map(|at| at + 2) } else { text.find('m').map(|at| at + 1) };
    end.unwrap_or(1)
}

/// A writer for people, for those who want one.
#[derive(Debug)]
pub struct Writer {
    side: StandardStream,
    is_terminal: bool,
    stream: visible::VisibleStream,
}

impl Writer {
    /// A writer for one stream.
    pub fn new(side: StandardStream) -> Self {
        Self { side, is_terminal: side.is_terminal(), stream: visible::VisibleStream::default() }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            let shown = self.stream.push(bytes);
            self.side.write_bytes(shown.as_bytes())?;
        } else {
            self.side.write_bytes(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.side.write_bytes(self.stream.finish().as_bytes())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Output that cannot be written is lost, like all output after it.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(folded("one two three\nfour\n", 9), "one two\n  three\nfour\n");
        assert_eq!(folded("  a bbbb cccc", 8), "  a bbbb\n    cccc");
        assert_eq!(folded("a-word-that-is-too-long b", 9), "a-word-th\n  at-is-t\n  oo-long\n  b");
        assert_eq!(
            folded("\u{540d}\u{540d}\u{540d} \u{540d}\u{540d}", 8),
            "\u{540d}\u{540d}\u{540d}\n  \u{540d}\u{540d}"
        );
        assert_eq!(folded("a\tb\tc d", 12), "a\tb\n  \tc d");
        assert_eq!(folded("one \u{1b}[8m two", 9), "one\n  \\u{1b}[\n  8m two");
        let link = linked(Path::new("/a/b"), "long-name");
        let seen = folded(&format!("{link} and {link}"), 12).replace("\x1b]8;;file:///a/b\x1b\\", "<");
        assert!(
            ["<long-name>\n  and\n  <long-name>", "long-name\n  and\n  long-name"]
                .contains(&seen.replace("\x1b]8;;\x1b\\", ">").as_str()),
            "{seen:?}"
        );
        assert_eq!(folded(&format!("{} is a name", name("a\nb c")), 9), "a\\nb c is\n  a name");
        let painted = format!("one {} three", painted("31", "two"));
        assert_eq!(folded(&painted, 9), "one \x1b[31mtwo\x1b[0m\n  three");
        assert_eq!(folded(&painted, 13), shown(&painted, true));
    }

    #[track_caller]
    fn check_shown(text: &str, terminal: &str, pipe: &str) {
        assert_eq!(shown(text, true), terminal);
        assert_eq!(shown(text, false), pipe);
    }

    #[test]
    fn terminals_see_what_pipes_get() {
        check_shown("plain\n", "plain\n", "plain\n");
        check_shown("a\u{1b}[31m\u{202e}", "a\\u{1b}[31m\\u{202e}", "a\u{1b}[31m\u{202e}");
    }

    #[test]
    fn our_own_colours_stay_and_those_of_a_text_do_not() {
        let text = painted("31", "a\u{1b}[0mb") + &line_start();
        check_shown(&text, "\u{1b}[31ma\\u{1b}[0mb\u{1b}[0m\r", "\u{1b}[31ma\u{1b}[0mb\u{1b}[0m\r");
    }

    #[test]
    fn links_are_for_terminals_and_their_addresses_command_nothing() {
        let address = file_address(Path::new("/a b/\u{1b}\\é.md"));
        assert_eq!(address, "file:///a%20b/%1B%5C%C3%A9.md");
        let mark = MARK.as_str();
        let text = format!("{mark}{LINK}{address}{MARK_END}x{mark}{LINK}{MARK_END}y");
        check_shown(&text, "\u{1b}]8;;file:///a%20b/%1B%5C%C3%A9.md\u{1b}\\x\u{1b}]8;;\u{1b}\\y", "xy");
    }

    #[test]
    fn names_make_no_lines_of_their_own() {
        check_shown(&format!("{}: read\n", name("a\nb")), "a\\nb: read\n", "a\nb: read\n");
    }

    #[test]
    fn a_mark_of_somebody_else_is_no_mark() {
        let forged = format!("{MARK_BEGIN}0000000000000000:8{MARK_END}x{MARK_BEGIN}");
        assert!(!shown(&forged, true).contains('\u{1b}'));
        assert_eq!(shown(&forged, false), forged);
    }
}
