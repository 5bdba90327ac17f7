//! The default of a key, as a value: what a configuration has when no file sets the key.
//!
//! The row is the only place of a default. `load` asks for it while the program is compiled, so a key that is not in the
//! table, or a default of another kind, does not compile.

use pellucid_protocol::settings::is_same_word;

use super::Key;
use super::SECTIONS;

impl Key {
    /// The value that the text of the default begins with: a piece of code, or a whole number. The rest of the text may
    /// say when the default is another. A text that begins otherwise describes a value that is found elsewhere.
    ///
    /// ```
    /// use pellucid_config::keys;
    ///
    /// assert_eq!(keys::find("compaction.auto").unwrap().default_value(), Some("true"));
    /// assert_eq!(keys::find("approval_policy").unwrap().default_value(), Some("on-request"));
    /// assert_eq!(keys::find("model").unwrap().default_value(), None);
    /// ```
    pub const fn default_value(&self) -> Option<&'static str> {
        let bytes = self.default.as_bytes();
        let (start, is_code) = match bytes {
            [b'`', ..] => (1, true),
            [b'0'..=b'9', ..] => (0, false),
            _ => return None,
        };
        let mut end = start;
        while end < bytes.len() && if is_code { bytes[end] != b'`' } else { bytes[end].is_ascii_digit() } {
            end += 1;
        }
        Some(self.default.split_at(end).0.split_at(start).1)
    }
}

/// The default of a switch.
pub(crate) const fn flag(path: &str) -> bool {
    match text(path).as_bytes() {
        b"true" => true,
        b"false" => false,
        _ => panic!("the default of this key is no boolean"),
    }
}

/// The default of a whole number.
pub(crate) const fn number(path: &str) -> u32 {
    match u32::from_str_radix(text(path), 10) {
        Ok(number) => number,
        Err(_) => panic!("the default of this key is no whole number"),
    }
}

/// The default of a text or word.
pub(crate) const fn text(path: &str) -> &'static str {
    match row(path).default_value() {
        Some(value) => value,
        None => panic!("the table of keys only describes the default of this key"),
    }
}

const fn row(path: &str) -> &'static Key {
    let mut at = 0;
    while at < SECTIONS.len() {
        let keys = SECTIONS[at].keys;
        let mut row = 0;
        while row < keys.len() {
            if is_same_word(keys[row].path, path) {
                return &keys[row];
            }
            row += 1;
        }
        at += 1;
    }
    panic!("this key is not in the table of keys")
}

/// The switch that a reader finds at a path, or the default of its row.
macro_rules! flag_or_default {
    ($reader:expr, $path:literal) => {
        $reader.flag($path).unwrap_or(const { crate::keys::default::flag($path) })
    };
}

/// The count that a reader finds at a path, or the default of its row.
macro_rules! count_or_default {
    ($reader:expr, $path:literal) => {
        $reader.count($path).unwrap_or(const { crate::keys::default::number($path) as usize })
    };
}

/// The whole number that a reader finds at a path, or the default of its row.
macro_rules! integer_or_default {
    ($reader:expr, $path:literal) => {
        $reader.integer($path).unwrap_or(const { crate::keys::default::number($path) as i64 })
    };
}

/// The text that a reader finds at a path, or the default of its row.
macro_rules! text_or_default {
    ($reader:expr, $path:literal) => {
        $reader.text($path).unwrap_or_else(|| const { crate::keys::default::text($path) }.to_owned())
    };
}

/// The word that a reader finds at a path, or the default of its row.
macro_rules! word_or_default {
    ($reader:expr, $path:literal, $words:ident) => {
        $reader.word($path, $words::from_word).unwrap_or(const { $words::named(crate::keys::default::text($path)) })
    };
}

pub(crate) use count_or_default;
pub(crate) use flag_or_default;
pub(crate) use integer_or_default;
pub(crate) use text_or_default;
pub(crate) use word_or_default;
