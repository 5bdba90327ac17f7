//! Keys, as every part of the client receives them.
//!
//! The reader of the terminal's bytes makes these values; nothing else of the client knows escape sequences.

/// One press of a key. Releases do not reach the client; a key that repeats is pressed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key itself.
    pub code: KeyCode,
    /// The keys that were held down with it.
    pub mods: KeyMods,
}

/// The key itself, without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character as typed: with Shift the upper-case one.
    Char(char),
    /// The Enter key.
    Enter,
    /// The Escape key.
    Esc,
    /// The Tab key; with Shift it is `Tab` and `shift`.
    Tab,
    /// Deletes before the cursor.
    Backspace,
    /// Deletes after the cursor.
    Delete,
    /// The Insert key.
    Insert,
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// The up arrow.
    Up,
    /// The down arrow.
    Down,
    /// The Home key.
    Home,
    /// The End key.
    End,
    /// The Page Up key.
    PageUp,
    /// The Page Down key.
    PageDown,
    /// A function key, from 1 on.
    F(u8),
}

/// Modifier keys. For a character without Control or Alt, Shift is part of the character and `shift` is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyMods {
    /// The Control key.
    pub ctrl: bool,
    /// The Alt or Option key.
    pub alt: bool,
    /// The Shift key.
    pub shift: bool,
}

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, mods: KeyMods { ctrl: false, alt: false, shift: false } }
    }

    /// A character without modifiers.
    pub const fn char(char: char) -> Self {
        Self::plain(KeyCode::Char(char))
    }

    /// A character with Control.
    pub const fn ctrl(char: char) -> Self {
        Self { code: KeyCode::Char(char), mods: KeyMods { ctrl: true, alt: false, shift: false } }
    }

    /// A key with Alt.
    pub const fn alt(code: KeyCode) -> Self {
        Self { code, mods: KeyMods { ctrl: false, alt: true, shift: false } }
    }

    /// The character that this key types into a text, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(char) if !self.mods.ctrl && !self.mods.alt => Some(char),
            _ => None,
        }
    }
}
