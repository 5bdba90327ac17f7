//! `/copy`: the last answer, one of its blocks of code, the last command or its output, as bytes in the clipboard.
//!
//! The terminal puts the text into the clipboard (OSC 52), so this works over SSH too. What is copied is the source: no line
//! is wrapped, and nothing is indented.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pulldown_cmark::Event as Markdown;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

use super::App;
use super::Effect;
use super::menus::MenuPurpose;
use super::menus::known;
use crate::cells::TranscriptCell;
use crate::cells::command::CommandCell;

/// More bytes than these are not sent: terminals drop sequences of more than 100,000 bytes.
const BYTES_MAX: usize = 74_994;

/// Something that can be copied.
#[derive(Debug, PartialEq, Eq)]
struct Copyable {
    /// The word behind `/copy`; empty for the last answer.
    word: String,
    /// What it is, for people.
    name: String,
    text: String,
}

impl App {
    /// Copies what the words behind `/copy` name.
    pub(super) fn copy(&mut self, words: &str, effects: &mut Vec<Effect>) {
        let all = self.copyable();
        if words == "list" && !all.is_empty() {
            let about = |it: &Copyable| it.text.lines().next().unwrap_or_default().to_owned();
            let entries = all.iter().map(|it| known(&it.word, &it.name, &about(it))).collect();
            self.open_menu(MenuPurpose::Copy, "What is to be copied?", entries);
            return;
        }
        let Some(found) = all.iter().find(|it| it.word == words) else {
            let names: Vec<&str> = all.iter().map(|it| it.word.as_str()).filter(|word| !word.is_empty()).collect();
            let why = match (words, names.as_slice()) {
                ("" | "list", []) => "there is no answer to copy yet".to_owned(),
                ("", _) => "there is no answer to copy yet; /copy list shows what there is".to_owned(),
                (words, []) => format!("there is no {words} to copy; /copy copies the last answer"),
                (words, names) => format!("there is no {words} to copy; /copy takes {}", names.join(", ")),
            };
            self.say_error(&why);
            return;
        };
        if found.text.len() > BYTES_MAX {
            let n = found.text.len();
            self.say_error(&format!("{} has {n} bytes; terminals take at most {BYTES_MAX}", found.name));
            return;
        }
        if self.settings.manner.is_spoken {
            self.say_error("a client for a screen reader writes nothing but text, so it cannot copy");
            return;
        }
        effects.push(Effect::Write(sequence(&found.text, self.settings.manner.is_in_tmux)));
        let condition = match self.settings.manner.is_in_tmux {
            true => "if the terminal allows it and tmux has `set-clipboard on`",
            false => "if the terminal allows it",
        };
        self.say_note(&format!("{} is in the clipboard, {condition}", found.name));
    }

    /// Everything that can be copied: the last answer first, then its blocks of code, then the last command.
    fn copyable(&self) -> Vec<Copyable> {
        let mut all = Vec::new();
        let cells = || self.transcript.cells().iter().rev();
        let answer = cells().find_map(|cell| match cell {
            TranscriptCell::Reply(cell) => Some(cell.markdown.as_str()),
            _ => None,
        });
        if let Some(answer) = answer {
            let name = "the last answer".to_owned();
            all.push(Copyable { word: String::new(), name, text: answer.to_owned() });
            all.extend(code_blocks(answer).into_iter().zip(1..).map(|(text, number)| Copyable {
                word: number.to_string(),
                name: format!("block {number} of the last answer"),
                text,
            }));
        }
        let command = cells().find_map(|cell| match cell {
            TranscriptCell::Command(cell) => Some(cell),
            _ => None,
        });
        let part = |word: &str, name: &str, text: &str| Copyable {
            word: word.to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
        };
        all.extend(command.map(|it| part("command", "the last command", it.script())));
        let output = command.map(CommandCell::output).filter(|output| !output.is_empty());
        all.extend(output.map(|output| part("output", "the output of the last command", output)));
        all
    }
}

/// The blocks of code of a Markdown text, without fences and indents.
fn code_blocks(markdown: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new(markdown) {
        match (event, &mut open) {
            (Markdown::Start(Tag::CodeBlock(_)), _) => open = Some(String::new()),
            (Markdown::Text(text), Some(block)) => block.push_str(&text),
            (Markdown::End(TagEnd::CodeBlock), _) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// The bytes that put a text into the clipboard. tmux passes sequences of programs on only in an envelope, and keeps those
/// without one for itself; which of both it does is configured there, so it gets both.
fn sequence(text: &str, is_in_tmux: bool) -> Vec<u8> {
    let plain = format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text));
    let envelope = is_in_tmux.then(|| format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")));
    format!("{plain}{}", envelope.unwrap_or_default()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_code_are_copied_without_fences_and_indents() {
        let markdown = "A\n\n```sh\nls  -l\n\techo\n```\n\n1. In a list:\n\n   ~~~\n   two\n     three\n   ~~~\n\nText\n\n    four\n";
        assert_eq!(code_blocks(markdown), ["ls  -l\n\techo\n", "two\n  three\n", "four\n"]);
        assert_eq!(code_blocks("none `here`"), [""; 0]);
    }

    #[test]
    fn tmux_gets_the_sequence_with_and_without_an_envelope() {
        assert_eq!(sequence("hi\n", false), b"\x1b]52;c;aGkK\x07");
        assert_eq!(sequence("hi\n", true), b"\x1b]52;c;aGkK\x07\x1bPtmux;\x1b\x1b]52;c;aGkK\x07\x1b\\");
    }
}
