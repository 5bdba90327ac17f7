//! From the terminal's bytes to keys, pastes, focus reports and answers.
//!
//! The reader takes bytes as they arrive, split anywhere. A sequence that is not complete waits; [`InputReader::wait`] says
//! how long, and [`InputReader::time_out`] ends the wait. Nothing here reads a clock or the terminal.

mod csi;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::key::Key;
use crate::key::KeyCode;
use crate::key::KeyMods;

/// One thing that arrived from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed, or repeats.
    Key(Key),
    /// Text was pasted, with its line ends as the terminal sent them.
    Paste(String),
    /// The terminal's window got the focus, or lost it.
    Focus(bool),
    /// The mouse was used, where the terminal reports it.
    Mouse(Mouse),
    /// The terminal answered a question.
    Answer(TerminalAnswer),
}

/// A report of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What was done.
    pub action: MouseAction,
    /// The row, counted from 0 at the top.
    pub row: u16,
}

/// What was done with the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseAction {
    /// The wheel was turned up.
    WheelUp,
    /// The wheel was turned down.
    WheelDown,
    /// The first button was pressed.
    Click,
}

/// An answer of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalAnswer {
    /// The place of the cursor, counted from 0.
    Cursor {
        /// The row from the top.
        row: u16,
        /// The column from the left.
        column: u16,
    },
    /// The keyboard protocol is known.
    KeyboardProtocol,
    /// The device attributes, which every terminal has.
    Attributes,
    /// The colour of text, as red, green and blue.
    Foreground(u8, u8, u8),
    /// The colour behind text, as red, green and blue.
    Background(u8, u8, u8),
}

/// How long an escape character waits for the rest of a sequence.
const ESCAPE_WAIT: Duration = Duration::from_millis(25);

/// How long a sequence waits whose beginning cannot be a key.
const SEQUENCE_WAIT: Duration = Duration::from_secs(1);

/// How long a paste waits for its end.
const PASTE_WAIT: Duration = Duration::from_secs(3);

/// Longer sequences are none that a terminal sends.
const SEQUENCE_BYTES_MAX: usize = 256;

const PASTE_END: &[u8] = b"\x1b[201~";

/// Reads the terminal's bytes.
#[derive(Debug, Default)]
pub struct InputReader {
    /// Bytes of a sequence or a character that is not complete.
    pending: Vec<u8>,
    /// The bytes of a paste that has not ended.
    paste: Option<Vec<u8>>,
    /// What was taken for a key because the rest came too late.
    cut: Option<Cut>,
}

/// The beginning of a sequence that was taken for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Escape,
    EscapeBracket,
}

/// How much of the bytes is one thing.
enum Scan {
    /// So many bytes, which are this, or nothing.
    Done(usize, Option<Input>),
    /// So many bytes, after which a paste begins.
    PasteBegins(usize),
    /// More bytes are needed.
    Incomplete,
}

impl InputReader {
    /// Takes bytes and appends what they are to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Input>) {
        let mut bytes = bytes;
        if let Some(cut) = self.cut.take() {
            bytes = late_focus(cut, bytes, out);
        }
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            if self.paste.is_some() {
                match self.take_paste(at, out) {
                    Some(after) => at = after,
                    None => return,
                }
            }
            let rest = &self.pending[at..];
            if rest.is_empty() {
                break;
            }
            match scan(rest) {
                Scan::Done(n, input) => {
                    out.extend(input);
                    at += n;
                }
                Scan::PasteBegins(n) => {
                    self.paste = Some(Vec::new());
                    at += n;
                }
                Scan::Incomplete => break,
            }
        }
        self.pending.drain(..at);
    }

    /// Moves pending bytes from `at` into the paste. Returns where the bytes after it begin; absent if it has not ended.
    fn take_paste(&mut self, at: usize, out: &mut Vec<Input>) -> Option<usize> {
        let paste = self.paste.as_mut()?;
        // The end may lie across two reads, so the last bytes of the paste count again.
        let from = paste.len().saturating_sub(PASTE_END.len() - 1);
        paste.extend_from_slice(&self.pending[at..]);
        let end = paste[from..].windows(PASTE_END.len()).position(|it| it == PASTE_END).map(|it| it + from);
        let Some(end) = end else {
            self.pending.clear();
            return None;
        };
        let after = paste.len() - (end + PASTE_END.len());
        paste.truncate(end);
        let text = String::from_utf8_lossy(paste).into_owned();
        self.paste = None;
        out.push(Input::Paste(text));
        Some(self.pending.len() - after)
    }

    /// How long to wait for more bytes before [`InputReader::time_out`]; absent if nothing waits.
    pub fn wait(&self) -> Option<Duration> {
        if self.paste.is_some() {
            return Some(PASTE_WAIT);
        }
        match self.pending.as_slice() {
            [] => None,
            [0x1b] | [0x1b, b'[' | b'O' | b']'] | [0x1b, 0x1b] => Some(ESCAPE_WAIT),
            _ => Some(SEQUENCE_WAIT),
        }
    }

    /// Takes what waits for what it is: an escape for the key, an unfinished paste for the whole, the rest for nothing.
    pub fn time_out(&mut self, out: &mut Vec<Input>) {
        if let Some(paste) = self.paste.take() {
            out.push(Input::Paste(String::from_utf8_lossy(&paste).into_owned()));
        }
        let pending = std::mem::take(&mut self.pending);
        match pending.as_slice() {
            [0x1b] => {
                self.cut = Some(Cut::Escape);
                out.push(Input::Key(Key::plain(KeyCode::Esc)));
            }
            [0x1b, 0x1b] => out.extend([Input::Key(Key::plain(KeyCode::Esc)), Input::Key(Key::plain(KeyCode::Esc))]),
            [0x1b, b'['] => {
                self.cut = Some(Cut::EscapeBracket);
                out.push(Input::Key(Key::alt(KeyCode::Char('['))));
            }
            [0x1b, byte @ (b'O' | b']')] => out.push(Input::Key(Key::alt(KeyCode::Char(char::from(*byte))))),
            _ => {}
        }
    }
}

/// A focus report whose beginning was taken for a key must not be typed as text.
fn late_focus<'a>(cut: Cut, bytes: &'a [u8], out: &mut Vec<Input>) -> &'a [u8] {
    let (report, rest) = match (cut, bytes) {
        (Cut::Escape, [b'[', report @ (b'I' | b'O'), rest @ ..]) => (report, rest),
        (Cut::EscapeBracket, [report @ (b'I' | b'O'), rest @ ..]) => (report, rest),
        _ => return bytes,
    };
    out.push(Input::Focus(*report == b'I'));
    rest
}

/// Finds the first thing in bytes, of which there is at least one.
fn scan(bytes: &[u8]) -> Scan {
    match bytes {
        [0x1b] => Scan::Incomplete,
        [0x1b, b'[', ..] => csi::scan(bytes),
        [0x1b, b'O', rest @ ..] => ss3(rest),
        [0x1b, b']', ..] => osc(bytes),
        [0x1b, 0x1b] => Scan::Incomplete,
        [0x1b, 0x1b, ..] => Scan::Done(1, Some(Input::Key(Key::plain(KeyCode::Esc)))),
        // Ctrl-C and Ctrl-D end things, and must not be lost because Esc was pressed just before.
        [0x1b, 0x03 | 0x04, ..] => Scan::Done(1, Some(Input::Key(Key::plain(KeyCode::Esc)))),
        [0x1b, rest @ ..] => match scan(rest) {
            Scan::Done(n, Some(Input::Key(key))) => {
                let mods = KeyMods { alt: true, ..key.mods };
                Scan::Done(n + 1, Some(Input::Key(Key { mods, ..key })))
            }
            Scan::Done(n, other) => Scan::Done(n + 1, other),
            other => other,
        },
        [byte, ..] if *byte < 0x20 || *byte == 0x7f => Scan::Done(1, Some(Input::Key(control(*byte)))),
        _ => character(bytes),
    }
}

/// The key of a control character.
fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::plain(KeyCode::Enter),
        b'\t' => Key::plain(KeyCode::Tab),
        0x7f => Key::plain(KeyCode::Backspace),
        0 => Key::ctrl(' '),
        1..=26 => Key::ctrl(char::from(byte + b'a' - 1)),
        _ => Key::ctrl(char::from(byte + b'@')),
    }
}

/// A character in UTF-8.
fn character(bytes: &[u8]) -> Scan {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Scan::Done(1, None),
    };
    let there = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(text) => {
            let key = text.chars().next().filter(|char| !char.is_control()).map(Key::char);
            Scan::Done(length, key.map(Input::Key))
        }
        Err(error) if error.error_len().is_none() && bytes.len() < length => Scan::Incomplete,
        Err(_) => Scan::Done(1, None),
    }
}

/// Keys that older terminals send after `ESC O`.
fn ss3(rest: &[u8]) -> Scan {
    let Some(byte) = rest.first() else {
        return Scan::Incomplete;
    };
    let code = match byte {
        b'M' => Some(KeyCode::Enter),
        b'P'..=b'S' => Some(KeyCode::F(byte - b'P' + 1)),
        _ => csi::letter(*byte),
    };
    match code {
        Some(code) => Scan::Done(3, Some(Input::Key(Key::plain(code)))),
        None => Scan::Done(2, Some(Input::Key(Key::alt(KeyCode::Char('O'))))),
    }
}

/// A string of the terminal: answers about colours.
fn osc(bytes: &[u8]) -> Scan {
    let end = bytes.iter().enumerate().skip(2).find_map(|(at, byte)| match byte {
        0x07 => Some((at, at + 1)),
        0x1b if bytes.get(at + 1) == Some(&b'\\') => Some((at, at + 2)),
        // Another sequence begins, so this one is broken; or the end lies in the next read.
        0x1b if bytes.len() > at + 1 => Some((2, at)),
        _ => None,
    });
    match end {
        Some((end, after)) => Scan::Done(after, std::str::from_utf8(&bytes[2..end]).ok().and_then(color)),
        None if bytes.len() > SEQUENCE_BYTES_MAX => Scan::Done(bytes.len(), None),
        None => Scan::Incomplete,
    }
}

/// The answer `10;rgb:RRRR/GGGG/BBBB`, with one to four digits for each part.
fn color(text: &str) -> Option<Input> {
    let (number, value) = text.split_once(';')?;
    let value = value.strip_prefix("rgb:").or_else(|| value.strip_prefix("rgba:"))?;
    let mut parts = value.split('/').map(|part| {
        let digits = u32::try_from(part.len()).ok().filter(|n| (1..=4).contains(n))?;
        let most = 16_u32.pow(digits) - 1;
        u8::try_from(u32::from_str_radix(part, 16).ok()? * 255 / most).ok()
    });
    let (r, g, b) = (parts.next()??, parts.next()??, parts.next()??);
    match number {
        "10" => Some(Input::Answer(TerminalAnswer::Foreground(r, g, b))),
        "11" => Some(Input::Answer(TerminalAnswer::Background(r, g, b))),
        _ => None,
    }
}
