//! The words of a text that count for a search: in lower case, without accents, without words that are too common, each as
//! its stem.
//!
//! Words end where Unicode's rules for word boundaries end them: `_` joins (`create_event` is one word), and so do `'`, `.`
//! and `:` between letters. Letters with accents and the usual signs of European texts become ASCII first. All other
//! letters stay as they are.

use super::stem::stem;

/// Words that are too common to be searched for, as the Natural Language Toolkit lists them for English.
const COMMON: &str = " i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he \
    him his himself she she's her hers herself it it's its itself they them their theirs themselves what which who whom this \
    that that'll these those am is are was were be been being have has had having do does did doing a an the and but if or \
    because as until while of at by for with about against between into through during before after above below to from up \
    down in out on off over under again further then once here there when where why how all any both each few more most \
    other some such no nor not only own same so than too very s t can will just don don't should should've now d ll m o re \
    ve y ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn \
    mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't ";

/// ASCII for the letters from U+00C0 on, in lower case.
const LATIN: [&str; 192] = [
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", "d", "n", "o", "o", "o", "o", "o",
    "x", "o", "u", "u", "u", "u", "y", "th", "ss", "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i",
    "i", "i", "i", "d", "n", "o", "o", "o", "o", "o", "/", "o", "u", "u", "u", "u", "y", "th", "y", "a", "a", "a", "a",
    "a", "a", "c", "c", "c", "c", "c", "c", "c", "c", "d", "d", "d", "d", "e", "e", "e", "e", "e", "e", "e", "e", "e",
    "e", "g", "g", "g", "g", "g", "g", "g", "g", "h", "h", "h", "h", "i", "i", "i", "i", "i", "i", "i", "i", "i", "i",
    "ij", "ij", "j", "j", "k", "k", "k", "l", "l", "l", "l", "l", "l", "l", "l", "l", "l", "n", "n", "n", "n", "n",
    "n", "'n", "ng", "ng", "o", "o", "o", "o", "o", "o", "oe", "oe", "r", "r", "r", "r", "r", "r", "s", "s", "s", "s",
    "s", "s", "s", "s", "t", "t", "t", "t", "t", "t", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "w",
    "w", "y", "y", "y", "z", "z", "z", "z", "z", "z", "s",
];

/// The words of a text that count, in their order.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = plain(text);
    let mut words = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_joined) {
        rest = &rest[start..];
        let end = word_end(rest);
        let word = &rest[..end];
        if word.chars().any(char::is_alphanumeric) && !is_common(word) {
            words.push(stem(word));
        }
        rest = &rest[end..];
    }
    words
}

/// A text in lower case, with ASCII for what can be written in ASCII.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{c0}'..='\u{17f}' => plain.push_str(LATIN[letter as usize - 0xc0]),
            '\u{a0}' => plain.push(' '),
            '\u{b5}' => plain.push('u'),
            '\u{2018}' | '\u{2019}' | '\u{201b}' => plain.push('\''),
            '\u{2026}' => plain.push_str("..."),
            _ => plain.extend(letter.to_lowercase()),
        }
    }
    plain
}

/// Whether a character belongs to words.
fn is_joined(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// Where the word at the beginning of a text ends.
fn word_end(text: &str) -> usize {
    let mut end = 0;
    loop {
        end += text[end..].find(|letter| !is_joined(letter)).unwrap_or(text.len() - end);
        let mut after = text[end..].chars();
        let (joint, next) = (after.next(), after.next());
        let before = text[..end].chars().next_back();
        if !joins(before, joint, next) {
            return end;
        }
        end += joint.map_or(0, char::len_utf8);
    }
}

/// Whether a sign between two characters makes one word of them.
fn joins(before: Option<char>, joint: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(joint), Some(after)) = (before, joint, after) else { return false };
    let both = |is: fn(char) -> bool| is(before) && is(after);
    match joint {
        ':' => both(char::is_alphabetic),
        ',' | ';' => both(|it| it.is_ascii_digit()),
        '.' | '\'' => both(char::is_alphabetic) || both(|it| it.is_ascii_digit()),
        _ => false,
    }
}

fn is_common(word: &str) -> bool {
    COMMON.split(' ').any(|common| common == word)
}
