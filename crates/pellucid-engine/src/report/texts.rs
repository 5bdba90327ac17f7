//! The text of runs of a request's bytes.
//!
//! A request is JSON, so the texts in it are escaped. Here a run of its bytes is read back: inside of strings the
//! escapes are undone, outside of them the notation is unchanged. Every byte of the request is read once and belongs
//! to one run.
//!
//! Images travel as data URLs. No model reads those as text, so the text has their number of bytes instead.

/// The beginning of a data URL of an image.
pub(super) const IMAGE: &[u8] = b"data:image/";

/// A run of bytes, read back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunText {
    /// The text with escapes undone.
    pub text: String,
    /// The number of bytes of images.
    pub image_bytes: usize,
}

/// Reads runs of a JSON text one after the other.
#[derive(Debug)]
pub struct Texts<'a> {
    rest: &'a [u8],
    place: TextPlace,
}

/// Where a byte of a JSON text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextPlace {
    /// Outside of strings.
    #[default]
    Notation,
    /// Inside of a string.
    String,
    /// Inside of a string that is an image.
    Image,
}

/// Takes the text of a run.
trait TextSink {
    fn take(&mut self, bytes: &[u8]);
}

impl TextSink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Lets the text go, if only the place behind it is wanted.
struct Passed;

impl TextSink for Passed {
    fn take(&mut self, _: &[u8]) {}
}

impl<'a> Texts<'a> {
    /// Starts at the first byte of a JSON text.
    pub fn new(json: &'a [u8]) -> Self {
        Self::at(json, TextPlace::Notation)
    }

    /// Starts within a JSON text, at this place.
    pub fn at(rest: &'a [u8], place: TextPlace) -> Self {
        Self { rest, place }
    }

    /// The place of the next byte.
    pub fn place(&self) -> TextPlace {
        self.place
    }

    /// Passes over the next run of so many bytes.
    pub fn pass_run(&mut self, len: usize) {
        let (mut run, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        while !run.is_empty() {
            run = self.step(run, &mut Passed);
        }
    }

    /// Reads the next run of so many bytes, or what is left if that is less.
    pub fn next_run(&mut self, len: usize) -> RunText {
        let (mut run, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        let mut text = Vec::with_capacity(run.len());
        let mut image_bytes = 0;
        while !run.is_empty() {
            let (is_image, before) = (self.place == TextPlace::Image, run.len());
            run = self.step(run, &mut text);
            if is_image {
                image_bytes += before - run.len();
            }
        }
        RunText { text: String::from_utf8_lossy(&text).into_owned(), image_bytes }
    }

    /// Reads the beginning of a run, and gives what follows it.
    fn step<'r>(&mut self, run: &'r [u8], text: &mut impl TextSink) -> &'r [u8] {
        match self.place {
            TextPlace::Notation => self.notation(run, text),
            TextPlace::String => self.string(run, text),
            TextPlace::Image => {
                let end = run.iter().position(|byte| *byte == b'"').unwrap_or(run.len());
                if end < run.len() {
                    self.place = TextPlace::String;
                }
                &run[end..]
            }
        }
    }

    fn notation<'r>(&mut self, run: &'r [u8], text: &mut impl TextSink) -> &'r [u8] {
        let Some(quote) = run.iter().position(|byte| *byte == b'"') else {
            text.take(run);
            return &[];
        };
        let (before, after) = run.split_at(quote + 1);
        text.take(before);
        // A string and its opening quote may belong to different runs.
        let ahead = if after.is_empty() { self.rest } else { after };
        self.place = if ahead.starts_with(IMAGE) { TextPlace::Image } else { TextPlace::String };
        after
    }

    fn string<'r>(&mut self, run: &'r [u8], text: &mut impl TextSink) -> &'r [u8] {
        let plain = run.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(run.len());
        let (before, after) = run.split_at(plain);
        text.take(before);
        match after {
            [] => after,
            [b'"', after @ ..] => {
                text.take(b"\"");
                self.place = TextPlace::Notation;
                after
            }
            _ => escape(after, text),
        }
    }
}

/// The text of a whole request, with its escapes undone; images are left out.
pub fn text_of(json: &[u8]) -> String {
    Texts::new(json).next_run(json.len()).text
}

/// The bytes of a request at which bytes of its text begin. The offsets in the text ascend; an offset behind the text
/// gives the end of the request.
pub fn bytes_at(json: &[u8], offsets: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(offsets.len());
    let mut wanted = offsets.iter().copied().peekable();
    let mut texts = Texts { rest: &[], place: TextPlace::Notation };
    let (mut run, mut text, mut end) = (json, Vec::new(), 0);
    while !run.is_empty() {
        text.clear();
        let (before, was_string) = (run, texts.place == TextPlace::String);
        run = texts.step(run, &mut text);
        let (start, taken) = (json.len() - before.len(), before.len() - run.len());
        let plain = match was_string {
            true => before[..taken].iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(taken),
            false => taken,
        };
        while let Some(offset) = wanted.next_if(|offset| *offset < end + text.len()) {
            found.push(start + (offset - end).min(plain));
        }
        end += text.len();
    }
    found.resize(offsets.len(), json.len());
    found
}

/// Undoes the escape that the run begins with and gives what follows it.
fn escape<'r>(run: &'r [u8], text: &mut impl TextSink) -> &'r [u8] {
    let mut short = |byte: u8, rest: &'r [u8]| {
        text.take(&[byte]);
        rest
    };
    match run {
        [_, b'n', rest @ ..] => short(b'\n', rest),
        [_, b't', rest @ ..] => short(b'\t', rest),
        [_, b'r', rest @ ..] => short(b'\r', rest),
        [_, b'b', rest @ ..] => short(8, rest),
        [_, b'f', rest @ ..] => short(12, rest),
        [_, b'u', digits @ ..] if digits.len() >= 4 => {
            let (digits, rest) = digits.split_at(4);
            let (character, rest) = unicode(digits, rest);
            text.take(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest
        }
        [_, byte, rest @ ..] => short(*byte, rest),
        _ => &[],
    }
}

/// The character of four hexadecimal digits, or of two groups of them where one is a half.
fn unicode<'r>(digits: &[u8], rest: &'r [u8]) -> (char, &'r [u8]) {
    let unit = |digits: &[u8]| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let first = unit(digits).unwrap_or(0xFFFD);
    if let [b'\\', b'u', second @ ..] = rest
        && let Some((second, after)) = second.split_at_checked(4)
        && let Some(second) = unit(second)
        && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
        && character.len_utf16() == 2
    {
        return (character, after);
    }
    (char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads runs of these lengths and checks their texts.
    #[track_caller]
    fn check_runs(json: &str, runs: &[(&str, &str)]) {
        assert_eq!(runs.iter().map(|(bytes, _)| *bytes).collect::<String>(), json, "the runs are the whole");
        let mut texts = Texts::new(json.as_bytes());
        for (bytes, expected) in runs {
            assert_eq!(texts.next_run(bytes.len()).text, *expected);
        }
        assert_eq!(texts.next_run(1), RunText::default());
    }

    #[test]
    fn escapes_are_undone_inside_of_strings_alone() {
        check_runs(
            r#"{"a\nb":"say \"hi\"\\","n":1}"#,
            &[(r#"{"a\nb":"#, "{\"a\nb\":"), (r#""say \"hi\""#, r#""say "hi""#), (r#"\\","n":1}"#, r#"\","n":1}"#)],
        );
        check_runs(r#"["\u00e9\ud83d\ude42\ud83d!"]"#, &[(r#"["\u00e9\ud83d\ude42\ud83d!"]"#, "[\"é🙂\u{fffd}!\"]")]);
    }

    #[test]
    fn an_image_is_passed_over_and_its_bytes_are_said() {
        let json = r#"{"image_url":"data:image/png;base64,AAAA","text":"x"}"#;
        let mut texts = Texts::new(json.as_bytes());
        let (head, tail) = (r#"{"image_url":""#.len(), r#"","text":"x"}"#.len());
        assert_eq!(texts.next_run(head), RunText { text: r#"{"image_url":""#.into(), image_bytes: 0 });
        let image = json.len() - head - tail;
        assert_eq!(texts.next_run(image), RunText { text: String::new(), image_bytes: image });
        assert_eq!(texts.next_run(tail), RunText { text: r#"","text":"x"}"#.into(), image_bytes: 0 });
    }

    proptest! {
        #[test]
        fn a_string_is_read_back_whatever_it_holds(text in any::<String>()) {
            prop_assume!(!text.starts_with("data:image/"));
            let json = serde_json::to_vec(&text).unwrap();
            let run = Texts::new(&json).next_run(json.len());
            prop_assert_eq!(run.text, format!("\"{text}\""));
        }

        #[test]
        fn every_byte_of_a_text_has_its_byte_in_the_request(texts in prop::collection::vec(any::<String>(), 1..4)) {
            let json = serde_json::to_vec(&texts).unwrap();
            let text = text_of(&json);
            let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let bytes = bytes_at(&json, &offsets);
            for (n, at) in offsets.iter().enumerate() {
                let mut from = Texts::new(&json);
                let before = from.next_run(bytes[n]).text;
                prop_assert_eq!(before.len(), *at);
                let end = bytes.get(n + 1).copied().unwrap_or(json.len());
                let next = offsets.get(n + 1).copied().unwrap_or(text.len());
                prop_assert_eq!(from.next_run(end - bytes[n]).text, &text[*at..next]);
            }
            prop_assert_eq!(bytes_at(&json, &[text.len()]), [json.len()]);
        }

        #[test]
        fn any_bytes_in_any_runs_are_read(bytes in any::<Vec<u8>>(), lens in prop::collection::vec(0_usize..9, 0..40)) {
            let (mut texts, mut passed) = (Texts::new(&bytes), Texts::new(&bytes));
            for len in lens {
                texts.next_run(len);
                passed.pass_run(len);
                prop_assert_eq!((texts.place(), texts.rest), (passed.place(), passed.rest));
            }
        }
    }
}
