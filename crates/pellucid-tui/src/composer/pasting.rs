//! What is pasted: line ends, labels of large texts and images, and keys that are a paste without brackets.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::composer::draft::Clip;
use crate::composer::draft::Piece;
use crate::composer::draft::PieceContent;

/// A paste with more characters than this is shown as a label.
const SHOWN_CHARS_MAX: usize = 1000;

/// So many characters in one read are taken for a paste.
const BURST_KEYS_MIN: usize = 3;

/// A line end so soon after a burst belongs to it.
const BURST_END: Duration = Duration::from_millis(120);

/// Endings of the names of images that can be attached.
const IMAGE_ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The text with line feeds as its only line ends.
pub fn line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The label of an image, by its number from 1 on.
pub fn image_label(number: usize) -> String {
    format!("[Image #{number}]")
}

/// Whether a name is that of an image that can be attached.
pub fn is_image_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| IMAGE_ENDINGS.contains(&ending.as_str()))
}

/// The path, if a pasted text may be one of an image: one line, quoted, escaped, or as a `file:` address.
pub fn path_of_image(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['\n', '\r']) {
        return None;
    }
    let quoted = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = match quoted {
        Some(path) => path.to_owned(),
        None => unescaped(text.strip_prefix("file://").unwrap_or(text)),
    };
    is_image_name(&path).then_some(path)
}

/// A path without the backslashes that a terminal puts before blanks when a file is dropped on it.
fn unescaped(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => path.extend(chars.next()),
            char => path.push(char),
        }
    }
    path
}

/// The labels that were given to large pastes. A number is not used again after its label was deleted.
#[derive(Debug, Clone, Default)]
pub struct PasteLabels {
    /// How many labels were given for a number of characters.
    given: BTreeMap<usize, usize>,
}

impl PasteLabels {
    /// What is inserted for a pasted text: the text, or a label for it.
    pub fn clip_of(&mut self, text: String) -> Clip {
        let n_chars = text.chars().count();
        if n_chars <= SHOWN_CHARS_MAX {
            return Clip::plain(text);
        }
        let given = self.given.entry(n_chars).or_default();
        *given += 1;
        let mut label = format!("[Pasted Content {n_chars} chars]");
        if *given > 1 {
            label += &format!(" #{given}");
        }
        let piece = Piece { range: 0..label.len(), stands_for: PieceContent::Paste(text) };
        Clip { text: label, pieces: vec![piece] }
    }
}

/// Recognises a paste in keys, for terminals that do not mark pastes.
///
/// Keys of one read have the same time. No key is held back: a line end inside of a burst becomes one in the text, and
/// everything before it has been inserted already.
#[derive(Debug, Clone, Default)]
pub struct Bursts {
    /// The time of the read that brought the last character.
    last: Option<Duration>,
    /// The characters of that read.
    n_keys: usize,
    /// Whether those characters are, or continue, a burst.
    is_burst: bool,
    /// Whether a character came since the last read was handled.
    has_typed: bool,
}

impl Bursts {
    /// Notes a character that was typed.
    pub fn typed(&mut self, now: Duration) {
        if self.last == Some(now) {
            self.n_keys += 1;
        } else {
            self.is_burst = self.is_in_burst(now) && self.is_near(now);
            self.n_keys = 1;
            self.last = Some(now);
        }
        self.is_burst |= self.n_keys >= BURST_KEYS_MIN;
        self.has_typed = true;
    }

    /// Notes that the keys of a read have been handled. Keys that came while the client was busy with a large paste are not late.
    /// A read without characters leaves the end of a burst where it was.
    pub fn handled(&mut self, now: Duration) {
        if std::mem::take(&mut self.has_typed) {
            self.last = self.last.map(|last| last.max(now));
        }
    }

    fn is_near(&self, now: Duration) -> bool {
        self.last.is_some_and(|last| now.saturating_sub(last) <= Duration::from_millis(8))
    }

    /// Whether a key at this time belongs to a burst.
    pub fn is_in_burst(&self, now: Duration) -> bool {
        self.is_burst && self.last.is_some_and(|last| now.saturating_sub(last) <= BURST_END)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_paste_gets_a_label_and_its_number_is_used_once() {
        let mut labels = PasteLabels::default();
        let long = "x".repeat(1001);
        assert_eq!(labels.clip_of("x".repeat(1000)).pieces, Vec::new());
        let shown: Vec<_> = (0..3).map(|_| labels.clip_of(long.clone()).text).collect();
        assert_eq!(
            shown,
            ["[Pasted Content 1001 chars]", "[Pasted Content 1001 chars] #2", "[Pasted Content 1001 chars] #3"]
        );
        assert_eq!(labels.clip_of("é".repeat(1002)).text, "[Pasted Content 1002 chars]");
        assert_eq!(labels.clip_of(long.clone()).expanded(), long);
    }

    #[test]
    fn a_path_of_an_image_is_found_however_the_terminal_writes_it() {
        for (text, path) in [
            ("/tmp/a.png", Some("/tmp/a.png")),
            (" /tmp/a.PNG\n", Some("/tmp/a.PNG")),
            ("'/tmp/my a.jpg'", Some("/tmp/my a.jpg")),
            (r"/tmp/my\ a.jpeg", Some("/tmp/my a.jpeg")),
            ("file:///tmp/a.webp", Some("/tmp/a.webp")),
            ("/tmp/a.txt", None),
            ("one\n/tmp/a.png", None),
            ("png", None),
        ] {
            assert_eq!(path_of_image(text).as_deref(), path, "{text:?}");
        }
    }

    #[test]
    fn keys_of_one_read_are_a_burst_and_slow_keys_are_not() {
        let at = Duration::from_millis;
        let mut bursts = Bursts::default();
        for _ in 0..3 {
            bursts.typed(at(100));
        }
        assert!(bursts.is_in_burst(at(100)) && bursts.is_in_burst(at(220)) && !bursts.is_in_burst(at(221)));
        bursts.typed(at(300));
        assert!(!bursts.is_in_burst(at(300)));
        for ms in [310, 320, 330, 340] {
            bursts.typed(at(ms));
            bursts.handled(at(ms + 1));
            assert!(!bursts.is_in_burst(at(ms)));
        }
    }

    #[test]
    fn a_slow_client_does_not_end_a_burst() {
        let at = Duration::from_millis;
        let mut bursts = Bursts::default();
        for _ in 0..3 {
            bursts.typed(at(100));
        }
        bursts.handled(at(900));
        assert!(bursts.is_in_burst(at(901)));
        bursts.typed(at(902));
        bursts.handled(at(1500));
        assert!(bursts.is_in_burst(at(1501)), "the burst continues after every read");
        assert!(!bursts.is_in_burst(at(1700)));
        bursts.handled(at(1700));
        assert!(!bursts.is_in_burst(at(1701)), "a read without characters does not continue the burst");
    }
}
