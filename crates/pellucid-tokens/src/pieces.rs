//! Cutting a text into pieces: words, numbers, punctuation, white space. No token spans two.
//!
//! The encoding defines the pieces by a regular expression whose alternatives are tried in order.
//! Here the kind of the first character says which of them can fit, and where the expression would
//! go back and try a shorter match, a function says where it would end up.

use crate::ascii;
use crate::class::Class;

/// The pieces of a text, in order, by where they begin and how long they are; together they are the text.
#[inline]
pub fn pieces(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let rest = &text.as_bytes()[start..];
        if rest.is_empty() {
            return None;
        }
        let len = ascii::first(rest).unwrap_or_else(|| first(&text[start..]));
        at += len;
        Some((start, len))
    })
}

/// How long the first piece of a text is.
fn first(text: &str) -> usize {
    let Some((class, len)) = Class::at(text, 0) else {
        return 0;
    };
    let end = match class {
        Class::Upper | Class::Lower | Class::Letter => Some(letters(text, 0)).and_then(Letters::best),
        Class::Number => return number(text),
        // Only a mark can be both, the character before a word and a part of it.
        Class::Mark => {
            let after = letters(text, len);
            after.inner.or_else(|| letters(text, 0).inner).or(after.initials)
        }
        Class::Space if matches!(text.as_bytes()[0], b'\r' | b'\n') => None,
        Class::Space | Class::Other => letters(text, len).best(),
    };
    match end {
        Some(end) => end + contraction(&text[end..]),
        None => punctuation(text).unwrap_or_else(|| white_space(text)),
    }
}

/// The ends of a run of letters, by the kind of the last letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Letters {
    /// Letters that may follow others: tried first.
    inner: Option<usize>,
    /// Letters that may only begin a word.
    initials: Option<usize>,
}

impl Letters {
    fn best(self) -> Option<usize> {
        self.inner.or(self.initials)
    }
}

/// The end of the letters that begin at `start`: some that may begin a word, then some that may follow others.
fn letters(text: &str, start: usize) -> Letters {
    let (mut end, mut last_inner) = (start, None);
    while let Some((class, len)) = Class::at(text, end)
        && class.is_initial()
    {
        end += len;
        if class.is_inner() {
            last_inner = Some(end);
        }
    }
    let initials = (end > start).then_some(end);
    let inner = end + run(&text[end..], Class::is_inner);
    // Without a lower case letter, the last one that has no case is the end.
    Letters { inner: if inner > end { Some(inner) } else { last_inner }, initials }
}

/// The length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d`, or nothing.
fn contraction(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('\'') else {
        return 0;
    };
    let mut characters = rest.chars();
    // The long s is a lower case s when case does not matter.
    let first = characters.next().map(|first| if first == 'ſ' { ('s', 2) } else { (first.to_ascii_lowercase(), 1) });
    let second = characters.next().map(|second| second.to_ascii_lowercase());
    match (first, second) {
        (Some(('s' | 't' | 'm' | 'd', len)), _) => 1 + len,
        (Some(('r' | 'v', _)), Some('e')) | (Some(('l', _)), Some('l')) => 3,
        _ => 0,
    }
}

/// Up to three digits.
fn number(text: &str) -> usize {
    let mut end = 0;
    for _ in 0..3 {
        match Class::at(text, end) {
            Some((Class::Number, len)) => end += len,
            _ => break,
        }
    }
    end
}

/// Characters other than letters, numbers and white space, with at most one space before them and the line ends and
/// slashes after them.
fn punctuation(text: &str) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let len = run(&text[start..], |class| matches!(class, Class::Other | Class::Mark));
    let end = start + len;
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n' | b'/');
    (len > 0).then(|| end + text.as_bytes()[end..].iter().take_while(|byte| is_end(byte)).count())
}

/// White space up to its last line end; else all but its last character, which belongs to the word
/// that follows; else all of it.
fn white_space(text: &str) -> usize {
    let end = run(text, |class| class == Class::Space);
    let space = &text[..end];
    if let Some(line_end) = space.rfind(['\r', '\n']) {
        return line_end + 1;
    }
    let last = space.chars().next_back().map_or(0, char::len_utf8);
    if end == text.len() || end == last { end } else { end - last }
}

/// How many bytes the characters at the beginning have that are of certain kinds.
fn run(text: &str, is: impl Fn(Class) -> bool) -> usize {
    let mut end = 0;
    while let Some((class, len)) = Class::at(text, end)
        && is(class)
    {
        end += len;
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_short_way_leads_to_the_same_piece(text in "[ -~\\s]{0,3}[a-zA-Z0-9 .,'/\\r\\n\\té\u{3000}日]{1,12}") {
            if let Some(len) = ascii::first(text.as_bytes()) {
                prop_assert_eq!(len, first(&text), "{:?}", text);
            }
        }
    }

    #[track_caller]
    fn check_pieces(text: &str, expected: &[&str]) {
        let actual: Vec<&str> = pieces(text).map(|(start, len)| &text[start..start + len]).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn words_take_one_character_before_them() {
        check_pieces("Hello, world(x)", &["Hello", ",", " world", "(x", ")"]);
        check_pieces("camelCaseWord HTTPServer", &["camel", "Case", "Word", " HTTPServer"]);
        check_pieces("日本A語 日本AB", &["日本A語", " 日本", "AB"]);
        check_pieces("\u{301}AB", &["\u{301}", "AB"]);
    }

    #[test]
    fn contractions_belong_to_their_word() {
        check_pieces("it's WE'LL they'Ve don'ts'", &["it's", " WE'LL", " they'Ve", " don't", "s", "'"]);
        check_pieces("a'ſb", &["a'ſ", "b"]);
    }

    #[test]
    fn numbers_are_cut_after_three_digits() {
        check_pieces("1234567 x1", &["123", "456", "7", " x", "1"]);
    }

    #[test]
    fn punctuation_takes_line_ends_and_slashes() {
        check_pieces(" ...//\n\nx", &[" ...//\n\n", "x"]);
        check_pieces("{ \"a\": 1 }", &["{", " \"", "a", "\":", " ", "1", " }"]);
    }

    #[test]
    fn white_space_leaves_its_last_character_to_the_word() {
        check_pieces("a   b \n  \n  c  ", &["a", "  ", " b", " \n  \n", " ", " c", "  "]);
        check_pieces("\t\t1", &["\t", "\t", "1"]);
    }
}
