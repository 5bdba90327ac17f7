//! Rust source as a tree of words, strings and brackets.
//!
//! This is all that is needed to find a string in a file: comments are gone, strings are decoded, and the content of
//! brackets is grouped. It is no parser and knows no grammar beyond that.

/// A piece of source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// A string without its escapes.
    Text(String),
    /// Any other single character.
    Mark(char),
    /// The content of brackets, with the opening one.
    Group(char, Vec<Self>),
}

impl Token {
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(it) if it == word)
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }

    pub(super) fn group(&self, open: char) -> Option<&[Self]> {
        match self {
            Self::Group(it, inside) if *it == open => Some(inside),
            _ => None,
        }
    }
}

/// Deeper brackets do not occur in source that a person wrote.
const DEPTH_MAX: usize = 128;

/// Why a file is not source that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(super) struct BadSource {
    line: usize,
    what: &'static str,
}

/// Splits a source file into tokens.
pub(super) fn read(source: &str) -> Result<Vec<Token>, BadSource> {
    let mut reader = Reader { source, at: 0 };
    reader.group(None, 0)
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads up to the bracket that closes a group, or to the end.
    fn group(&mut self, close: Option<char>, depth: usize) -> Result<Vec<Token>, BadSource> {
        if depth > DEPTH_MAX {
            return Err(self.bad("too many brackets inside each other"));
        }
        let mut tokens = Vec::new();
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return if close.is_none() { Ok(tokens) } else { Err(self.bad("a bracket is not closed")) };
            };
            if first.is_whitespace() {
                self.at += first.len_utf8();
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.block_comment()?;
            } else if let Some(token) = self.string()? {
                tokens.push(token);
            } else if first == '\'' {
                self.at += character_length(rest);
            } else if is_name(first) {
                tokens.push(Token::Word(self.word().to_owned()));
            } else if let Some(end) = closing(first) {
                self.at += 1;
                tokens.push(Token::Group(first, self.group(Some(end), depth + 1)?));
            } else if matches!(first, ')' | ']' | '}') {
                if close != Some(first) {
                    return Err(self.bad("a bracket closes what is not open"));
                }
                self.at += 1;
                return Ok(tokens);
            } else {
                self.at += first.len_utf8();
                tokens.push(Token::Mark(first));
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn bad(&self, what: &'static str) -> BadSource {
        BadSource { line: 1 + self.source[..self.at].matches('\n').count(), what }
    }

    fn word(&mut self) -> &'a str {
        // `r#type` is the name `type`.
        if self.rest().starts_with("r#") {
            self.at += "r#".len();
        }
        let rest = self.rest();
        let n_bytes = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        self.at += n_bytes;
        &rest[..n_bytes]
    }

    /// Reads a string, if one begins here.
    fn string(&mut self) -> Result<Option<Token>, BadSource> {
        let rest = self.rest();
        let bare = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
        if let Some(raw) = bare.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if let Some(text) = raw[hashes..].strip_prefix('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let n_bytes = text.find(&end).ok_or_else(|| self.bad("a string is not closed"))?;
                self.at = self.source.len() - text.len() + n_bytes + end.len();
                return Ok(Some(Token::Text(text[..n_bytes].to_owned())));
            }
        }
        match bare.strip_prefix('"') {
            Some(text) => {
                let (decoded, n_bytes) = decode(text).ok_or_else(|| self.bad("a string cannot be read"))?;
                self.at = self.source.len() - text.len() + n_bytes;
                Ok(Some(Token::Text(decoded)))
            }
            None => Ok(None),
        }
    }

    fn block_comment(&mut self) -> Result<(), BadSource> {
        let mut depth = 0;
        loop {
            let rest = self.rest();
            let n_bytes = match rest.chars().next() {
                None => return Err(self.bad("a comment is not closed")),
                Some('/') if rest.starts_with("/*") => {
                    depth += 1;
                    2
                }
                Some('*') if rest.starts_with("*/") => {
                    depth -= 1;
                    2
                }
                Some(other) => other.len_utf8(),
            };
            self.at += n_bytes;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }
}

/// How long the character or the mark of a lifetime is that begins here.
fn character_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => chars.find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Decodes a string after its first quote; says also how many bytes it has, the last quote included.
fn decode(text: &str) -> Option<(String, usize)> {
    let mut decoded = String::new();
    let mut rest = text;
    loop {
        let at = rest.find(['"', '\\'])?;
        decoded.push_str(&rest[..at]);
        let found = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        if found == b'"' {
            return Some((decoded, text.len() - rest.len()));
        }
        let escape = rest.chars().next()?;
        rest = &rest[escape.len_utf8()..];
        match escape {
            'n' => decoded.push('\n'),
            'r' => decoded.push('\r'),
            't' => decoded.push('\t'),
            '0' => decoded.push('\0'),
            '\\' | '"' | '\'' => decoded.push(escape),
            // The string continues after the indent of the next line.
            '\n' => rest = rest.trim_start_matches([' ', '\t', '\n', '\r']),
            'x' => {
                decoded.push(char::from(u8::from_str_radix(rest.get(..2)?, 16).ok()?));
                rest = &rest[2..];
            }
            'u' => {
                let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
                decoded.push(char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?);
                rest = after;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_texts(source: &str, expected: &[&str]) {
        fn collect(tokens: &[Token], texts: &mut Vec<String>) {
            for token in tokens {
                match token {
                    Token::Text(text) => texts.push(text.clone()),
                    Token::Group(_, inside) => collect(inside, texts),
                    Token::Word(_) | Token::Mark(_) => {}
                }
            }
        }
        let mut texts = Vec::new();
        collect(&read(source).unwrap(), &mut texts);
        assert_eq!(texts, expected);
    }

    #[track_caller]
    fn check_bad(source: &str, expected: &str) {
        assert_eq!(read(source).unwrap_err().to_string(), expected);
    }

    #[test]
    fn every_escape_is_decoded() {
        check_texts(r#" "a\n\t\\\"\'\0\x41\u{e9}\u{1_F600}é" "#, &["a\n\t\\\"'\0Aé\u{1F600}é"]);
    }

    #[test]
    fn a_line_that_goes_on_loses_the_indent() {
        check_texts("\"one \\\n      two\\\n\n   three\"", &["one twothree"]);
    }

    #[test]
    fn raw_strings_are_kept_as_they_are() {
        check_texts(
            "r\"a\\n\" r#\"with \"quotes\"\nand lines\"# br##\"x\"#y\"## b\"bytes\"",
            &["a\\n", "with \"quotes\"\nand lines", "x\"#y", "bytes"],
        );
    }

    #[test]
    fn comments_characters_and_lifetimes_are_no_strings() {
        check_texts(
            "// \"no\"\n/* \"no\" /* \"no\" */ */ fn f<'a>(x: &'a str) { ('\"', '\\'', '\\u{22}', 'é', r#type, \"yes\") }",
            &["yes"],
        );
    }

    #[test]
    fn brackets_hang_together() {
        assert_eq!(
            read("f(a)[1]").unwrap(),
            [
                Token::Word("f".to_owned()),
                Token::Group('(', vec![Token::Word("a".to_owned())]),
                Token::Group('[', vec![Token::Word("1".to_owned())]),
            ]
        );
    }

    #[test]
    fn what_is_broken_is_refused_with_its_line() {
        check_bad("fn f() {\n  (\n}", "line 3: a bracket closes what is not open");
        check_bad("\n\"open", "line 2: a string cannot be read");
        check_bad("\"\\q\"", "line 1: a string cannot be read");
        check_bad("r#\"open\"", "line 1: a string is not closed");
        check_bad("/* open", "line 1: a comment is not closed");
        check_bad("{", "line 1: a bracket is not closed");
        check_bad(&"(".repeat(100_000), "line 1: too many brackets inside each other");
    }
}
