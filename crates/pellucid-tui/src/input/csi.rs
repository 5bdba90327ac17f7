//! Sequences that begin with `ESC [`.

use super::Input;
use super::Mouse;
use super::MouseAction;
use super::SEQUENCE_BYTES_MAX;
use super::Scan;
use super::TerminalAnswer;
use crate::key::Key;
use crate::key::KeyCode;
use crate::key::KeyMods;

/// Reads a sequence from its escape character on.
pub(super) fn scan(bytes: &[u8]) -> Scan {
    let body_of = |end: usize| std::str::from_utf8(&bytes[2..end]).unwrap_or_default();
    for (at, byte) in bytes.iter().enumerate().skip(2) {
        match byte {
            b'@'..=b'~' => {
                let body = body_of(at);
                return match (body, byte) {
                    ("200", b'~') => Scan::PasteBegins(at + 1),
                    // The Linux console sends `ESC [ [ A` for its first function keys.
                    ("", b'[') => match bytes.get(at + 1) {
                        Some(key @ b'A'..=b'E') => Scan::Done(at + 2, pressed(KeyCode::F(key - b'A' + 1))),
                        Some(_) => Scan::Done(at + 1, None),
                        None => Scan::Incomplete,
                    },
                    _ => Scan::Done(at + 1, sequence(body, *byte)),
                };
            }
            b' '..=b'?' if at < SEQUENCE_BYTES_MAX => {}
            // Not a part of any sequence: what was read so far is dropped.
            _ => return Scan::Done(at, None),
        }
    }
    Scan::Incomplete
}

fn pressed(code: KeyCode) -> Option<Input> {
    Some(Input::Key(Key::plain(code)))
}

/// The key of an arrow and its neighbours, by the last letter of the sequence.
pub(super) fn letter(byte: u8) -> Option<KeyCode> {
    Some(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        _ => return None,
    })
}

/// What a whole sequence says.
fn sequence(body: &str, end: u8) -> Option<Input> {
    if let Some(body) = body.strip_prefix('?') {
        return match end {
            b'u' if !body.is_empty() => Some(Input::Answer(TerminalAnswer::KeyboardProtocol)),
            b'c' => Some(Input::Answer(TerminalAnswer::Attributes)),
            _ => None,
        };
    }
    if let Some(body) = body.strip_prefix('<') {
        return mouse(&Parameters(body), end);
    }
    if body.starts_with(['>', '=']) || body.ends_with(|last: char| (' '..='/').contains(&last)) {
        return None;
    }
    let parameters = Parameters(body);
    match end {
        b'I' => Some(Input::Focus(true)),
        b'O' => Some(Input::Focus(false)),
        b'R' => {
            let place = |at| parameters.first_of(at).and_then(|n| u16::try_from(n).ok()).map(|n| n.max(1) - 1);
            Some(Input::Answer(TerminalAnswer::Cursor { row: place(0)?, column: place(1)? }))
        }
        b'Z' => Some(Input::Key(Key { code: KeyCode::Tab, mods: KeyMods { shift: true, ..KeyMods::default() } })),
        b'u' => parameters.key(parameters.code(0)?, 1),
        b'~' if parameters.first_of(0) == Some(27) => parameters.key(Typed::from_number(parameters.first_of(2)?)?, 1),
        b'~' => parameters.key(Typed::Code(tilde(parameters.first_of(0)?)?), 1),
        b'P' | b'Q' | b'S' => parameters.key(Typed::Code(KeyCode::F(end - b'P' + 1)), 1),
        _ => parameters.key(Typed::Code(letter(end)?), 1),
    }
}

/// A report of the mouse. Releases, other buttons and movements are nothing.
fn mouse(parameters: &Parameters<'_>, end: u8) -> Option<Input> {
    let action = match (end, parameters.first_of(0)?) {
        (b'M', 0) => MouseAction::Click,
        (b'M', 64) => MouseAction::WheelUp,
        (b'M', 65) => MouseAction::WheelDown,
        _ => return None,
    };
    let row = u16::try_from(parameters.first_of(2)?).ok()?.max(1) - 1;
    Some(Input::Mouse(Mouse { action, row }))
}

/// The key of a sequence that ends with `~`.
fn tilde(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(number - 11).ok()?),
        23 | 24 => KeyCode::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// What a key types or is.
#[derive(Debug, Clone, Copy)]
enum Typed {
    Code(KeyCode),
    /// A character, and the one that it is with Shift, if the terminal says.
    Char(char, Option<char>),
}

impl Typed {
    /// The key of a number of the keyboard protocol.
    fn from_number(number: u32) -> Option<Self> {
        Some(Self::Code(match number {
            9 => KeyCode::Tab,
            13 | 57414 => KeyCode::Enter,
            27 => KeyCode::Esc,
            8 | 127 => KeyCode::Backspace,
            57399..=57408 => return Some(Self::Char(char::from_digit(number - 57399, 10)?, None)),
            57409..=57413 | 57415 => {
                let at = usize::try_from(number - 57409).ok()?;
                return Some(Self::Char(['.', '/', '*', '-', '+', ' ', '='][at], None));
            }
            57417 => KeyCode::Left,
            57418 => KeyCode::Right,
            57419 => KeyCode::Up,
            57420 => KeyCode::Down,
            57421 => KeyCode::PageUp,
            57422 => KeyCode::PageDown,
            57423 => KeyCode::Home,
            57424 => KeyCode::End,
            57425 => KeyCode::Insert,
            57426 => KeyCode::Delete,
            57376..=57398 => KeyCode::F(u8::try_from(number - 57376 + 13).ok()?),
            // Keys without an effect of their own: modifiers, locks, media.
            57344..=63743 => return None,
            _ => return char::from_u32(number).filter(|char| !char.is_control()).map(|it| Self::Char(it, None)),
        }))
    }
}

/// Numbers between semicolons, each with further ones between colons.
#[derive(Debug, Clone, Copy)]
struct Parameters<'a>(&'a str);

impl Parameters<'_> {
    fn part(&self, at: usize, sub: usize) -> Option<u32> {
        self.0.split(';').nth(at)?.split(':').nth(sub)?.parse().ok()
    }

    fn first_of(&self, at: usize) -> Option<u32> {
        self.part(at, 0)
    }

    /// The key, with the character that it is with Shift.
    fn code(&self, at: usize) -> Option<Typed> {
        let typed = Typed::from_number(self.first_of(at)?)?;
        Some(match typed {
            Typed::Char(char, _) => Typed::Char(char, self.part(at, 1).and_then(char::from_u32)),
            code => code,
        })
    }

    /// The key with the modifiers at a place; absent for a release.
    fn key(&self, typed: Typed, at: usize) -> Option<Input> {
        const RELEASE: u32 = 3;
        if self.part(at, 1) == Some(RELEASE) {
            return None;
        }
        let bits = self.first_of(at).unwrap_or(1).saturating_sub(1);
        let has = |bit: u32| bits & bit != 0;
        let mut mods = KeyMods { shift: has(1), alt: has(2), ctrl: has(4) };
        let code = match typed {
            Typed::Code(code) => code,
            // Caps Lock (64) types capitals without Shift.
            Typed::Char(char, shifted) if !mods.ctrl && !mods.alt => {
                let is_capital = mods.shift != has(64);
                mods.shift = false;
                let upper = || char.to_uppercase().next().filter(|_| char.is_alphabetic());
                KeyCode::Char(if mods_shifted(has(1), is_capital, char) {
                    shifted.or_else(upper).unwrap_or(char)
                } else {
                    char
                })
            }
            Typed::Char(char, _) => KeyCode::Char(char.to_lowercase().next().unwrap_or(char)),
        };
        Some(Input::Key(Key { code, mods }))
    }
}

/// Whether the character of the upper level is typed: Caps Lock is for letters only.
fn mods_shifted(has_shift: bool, is_capital: bool, char: char) -> bool {
    if char.is_alphabetic() { is_capital } else { has_shift }
}
