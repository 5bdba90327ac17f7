//! Keys as people write them in the configuration: `ctrl-left`, `alt-b`, `f2`, `?`.

use std::fmt;

use crate::key::Key;
use crate::key::KeyCode;
use crate::key::KeyMods;

/// Keys with a name, each as it is written.
const NAMED: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("page-up", KeyCode::PageUp),
    ("page-down", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("minus", KeyCode::Char('-')),
];

/// Reads a key from its spelling.
///
/// # Errors
///
/// The reason why the text is no key.
pub fn parse_key(text: &str) -> Result<Key, String> {
    let mut mods = KeyMods::default();
    let mut rest = text;
    let code = loop {
        if let Some(code) = code_of(rest) {
            break code;
        }
        let (first, after) = rest.split_once('-').ok_or_else(|| format!("`{rest}` is not the name of a key"))?;
        match first {
            "ctrl" => mods.ctrl = true,
            "alt" => mods.alt = true,
            "shift" => mods.shift = true,
            _ => return Err(format!("`{first}` is neither ctrl, alt nor shift")),
        }
        rest = after;
    };
    if mods.shift && matches!(code, KeyCode::Char(char) if char != ' ') && !mods.ctrl && !mods.alt {
        return Err("write the character that Shift makes".to_owned());
    }
    Ok(Key { code, mods })
}

fn code_of(text: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMED.iter().find(|(name, _)| *name == text) {
        return Some(*code);
    }
    if let Some(number) = text.strip_prefix('f')
        && let Ok(number @ 1..=24) = number.parse::<u8>()
    {
        return Some(KeyCode::F(number));
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) => Some(KeyCode::Char(char)),
        _ => None,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_held, name) in [(self.mods.ctrl, "ctrl-"), (self.mods.alt, "alt-"), (self.mods.shift, "shift-")] {
            if is_held {
                f.write_str(name)?;
            }
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(char)) => write!(f, "{char}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read() {
        for text in [
            "a",
            "ctrl-a",
            "ctrl-alt-h",
            "shift-enter",
            "alt-page-up",
            "f12",
            "space",
            "shift-space",
            "minus",
            "?",
            "ctrl-_",
        ] {
            assert_eq!(parse_key(text).map(|key| key.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_names_no_key_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "`` is not the name of a key"),
            ("ctrl-", "`` is not the name of a key"),
            ("enterr", "`enterr` is not the name of a key"),
            ("shift-a", "write the character that Shift makes"),
            ("f99", "`f99` is not the name of a key"),
        ] {
            assert_eq!(parse_key(text), Err(why.to_owned()), "{text}");
        }
    }
}
