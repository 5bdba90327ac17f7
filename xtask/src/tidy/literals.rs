//! The string literals of a Rust file's product code: not those in comments, attributes and tests.
//!
//! A scanner, not a parser: it knows strings, characters, comments and brackets, which is all that is needed to find
//! where a literal begins and whether it is inside a `#[cfg(test)]` item.
//!
//! Not here: what a literal may say (`prompt_homes`).

/// A literal with its escapes resolved; the parts of one `concat!` count as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// The line where the literal begins, counted from 1.
    pub line: usize,
    pub text: String,
}

/// Finds the literals of `source` in order.
pub fn literals(source: &str) -> Vec<Literal> {
    let mut scanner = Scanner { source, at: 0, found: Vec::new() };
    scanner.scan();
    scanner.found
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    found: Vec<Literal>,
}

/// The token at the scanner's place.
enum Token {
    Literal(Literal),
    /// `#[…]` or `#![…]`, without its brackets.
    Attribute(String),
    /// `concat!` and the bracket that opens it.
    Concat,
    /// Any other single character.
    Other(char),
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(token) = self.next() {
            match token {
                Token::Literal(literal) => self.found.push(literal),
                Token::Attribute(text) if is_test(&text) => self.skip_item(),
                Token::Concat => self.concat(),
                Token::Attribute(_) | Token::Other(_) => {}
            }
        }
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = &self.source[self.at..];
            let first = rest.chars().next()?;
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.skip_block_comment();
            } else if rest.starts_with("#[") || rest.starts_with("#![") {
                return Some(self.attribute());
            } else if let Some(n_hashes) = raw_string_hashes(rest) {
                return Some(Token::Literal(self.raw_string(n_hashes)));
            } else if first == '"' {
                return Some(Token::Literal(self.string()));
            } else if first == '\'' {
                self.at += character_length(rest);
            } else if first.is_alphanumeric() || first == '_' {
                return Some(self.word());
            } else {
                self.at += first.len_utf8();
                return Some(Token::Other(first));
            }
        }
    }

    fn word(&mut self) -> Token {
        let rest = &self.source[self.at..];
        let n_bytes = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(n_bytes);
        // `b"…"` and `c"…"`: the prefix is skipped, the string comes next.
        self.at += n_bytes;
        if word == "concat" && after.starts_with("!(") {
            self.at += "!(".len();
            return Token::Concat;
        }
        Token::Other('w')
    }

    fn attribute(&mut self) -> Token {
        let start = self.at;
        self.at += self.source[self.at..].find('[').map_or(1, |it| it + 1);
        let mut n_open = 1;
        while n_open > 0 {
            match self.next() {
                Some(Token::Other('[')) => n_open += 1,
                Some(Token::Other(']')) => n_open -= 1,
                Some(_) => {}
                None => break,
            }
        }
        Token::Attribute(self.source[start..self.at].to_string())
    }

    /// Skips the item after an attribute: up to its `;` or the end of its braces.
    fn skip_item(&mut self) {
        let mut n_open = 0usize;
        while let Some(token) = self.next() {
            match token {
                Token::Other('{' | '(' | '[') => n_open += 1,
                Token::Concat => n_open += 1,
                Token::Other(')' | ']') => n_open = n_open.saturating_sub(1),
                Token::Other('}') => {
                    n_open = n_open.saturating_sub(1);
                    if n_open == 0 {
                        return;
                    }
                }
                Token::Other(';') if n_open == 0 => return,
                _ => {}
            }
        }
    }

    fn concat(&mut self) {
        let mut whole: Option<Literal> = None;
        let mut n_open = 1;
        while n_open > 0 {
            match self.next() {
                Some(Token::Literal(part)) => match &mut whole {
                    Some(whole) => whole.text.push_str(&part.text),
                    None => whole = Some(part),
                },
                Some(Token::Other('(')) | Some(Token::Concat) => n_open += 1,
                Some(Token::Other(')')) => n_open -= 1,
                Some(_) => {}
                None => break,
            }
        }
        self.found.extend(whole);
    }

    fn skip_block_comment(&mut self) {
        let mut n_open = 0;
        loop {
            let rest = &self.source[self.at..];
            if rest.starts_with("/*") {
                n_open += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                n_open -= 1;
                self.at += 2;
                if n_open == 0 {
                    return;
                }
            } else {
                match rest.chars().next() {
                    Some(c) => self.at += c.len_utf8(),
                    None => return,
                }
            }
        }
    }

    fn string(&mut self) -> Literal {
        let line = self.line();
        let mut text = String::new();
        let mut chars = self.source[self.at + 1..].char_indices();
        let mut n_bytes = self.source.len() - self.at - 1;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    n_bytes = at + 1;
                    break;
                }
                '\\' => match chars.next() {
                    // A line that ends in a backslash continues after the next line's indent.
                    Some((_, '\n')) => {
                        let indent = chars.as_str();
                        let n = indent.len() - indent.trim_start().len();
                        for _ in 0..indent[..n].chars().count() {
                            chars.next();
                        }
                    }
                    Some((_, 'n' | 't' | 'r')) => text.push(' '),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        self.at += 1 + n_bytes;
        Literal { line, text }
    }

    fn raw_string(&mut self, n_hashes: usize) -> Literal {
        let line = self.line();
        let rest = &self.source[self.at..];
        let start = rest.find('"').map_or(rest.len(), |it| it + 1);
        let end_mark = format!("\"{}", "#".repeat(n_hashes));
        let n_bytes = rest[start..].find(&end_mark);
        let text = &rest[start..n_bytes.map_or(rest.len(), |it| start + it)];
        let literal = Literal { line, text: text.to_string() };
        self.at += n_bytes.map_or(rest.len(), |it| start + it + end_mark.len());
        literal
    }

    fn line(&self) -> usize {
        1 + self.source[..self.at].matches('\n').count()
    }
}

/// The number of hashes if a raw string begins here.
fn raw_string_hashes(rest: &str) -> Option<usize> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let n_hashes = after.len() - after.trim_start_matches('#').len();
    after[n_hashes..].starts_with('"').then_some(n_hashes)
}

/// The length of the character or lifetime that begins here.
fn character_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 1)
        }
        Some((_, _)) => match chars.next() {
            Some((at, '\'')) => at + 1,
            // A lifetime: its name is an ordinary word.
            _ => 1,
        },
        None => 1,
    }
}

fn is_test(attribute: &str) -> bool {
    let bare: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    bare == "#[test]" || bare.starts_with("#[cfg(test)") || bare.starts_with("#[cfg(all(test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_literals(source: &str, expected: &[(usize, &str)]) {
        let found = literals(source);
        let found: Vec<_> = found.iter().map(|it| (it.line, it.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_kind_of_string_is_read() {
        check_literals(
            r##"let a = "one \"two\" \
                   three\nfour";
let b = r"raw \ text"; let c = br#"with "quotes""#; let d = b"bytes"; let e = "";
"##,
            &[(1, "one \"two\" three four"), (3, "raw \\ text"), (3, "with \"quotes\""), (3, "bytes"), (3, "")],
        );
    }

    #[test]
    fn comments_attributes_and_characters_hold_none() {
        check_literals(
            r#"// "line"
/// "doc"
/* "block" /* "nested" */ "still" */
#[error("attribute [with brackets] in it")]
fn f<'a>(x: &'a str) -> char { '"'; '\''; '\u{22}'; "yes"; 'é' }
"#,
            &[(5, "yes")],
        );
    }

    #[test]
    fn tests_hold_none() {
        check_literals(
            r#"
#[cfg(test)]
use a::{b, c};
const A: &str = "one";
#[cfg(test)]
mod tests {
    #[test]
    fn f() { if x { "no" } else { "}" } }
}
#[test]
fn g() { "no" }
#[cfg(test)]
mod long;
const B: &str = "two";
"#,
            &[(4, "one"), (14, "two")],
        );
    }

    #[test]
    fn the_parts_of_a_concat_are_one() {
        check_literals(
            r#"const A: &str = concat!("one ", (2), " three"); f("four")"#,
            &[(1, "one  three"), (1, "four")],
        );
    }

    #[test]
    fn an_unfinished_file_is_no_trouble() {
        for source in ["\"open", "r#\"open", "/* open", "#[open", "'", "concat!(", "\"\\"] {
            literals(source);
        }
    }
}
