//! Words as a program is given them: without quotes and backslashes.
//!
//! Expressions that a shell replaces (`$x`, `$(…)`) are kept as written, because their value is unknown.

/// A word without its quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub text: String,
    /// Whether a shell looks for files that match it.
    pub is_pattern: bool,
}

/// A word as a program is given it.
pub(super) fn given(word: &str) -> Given {
    let mut given = Given { text: String::with_capacity(word.len()), is_pattern: false };
    let mut quote: Option<char> = None;
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (None, '$') if matches!(chars.peek(), Some('\'')) => {
                chars.next();
                escaped(&mut chars, &mut given.text);
            }
            (None, '$') if matches!(chars.peek(), Some('"')) => {}
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), close) if open == close => quote = None,
            (None, '\\') => given.text.extend(chars.next()),
            (Some('"'), '\\') => match chars.peek() {
                Some('"' | '\\' | '$' | '`') => given.text.extend(chars.next()),
                _ => given.text.push('\\'),
            },
            (None, '*' | '?' | '[') => {
                given.is_pattern = true;
                given.text.push(char);
            }
            (_, other) => given.text.push(other),
        }
    }
    given
}

/// Decodes `$'…'` up to its end.
fn escaped(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, text: &mut String) {
    while let Some(char) = chars.next() {
        match char {
            '\'' => return,
            '\\' => match chars.next() {
                Some('x') => text.extend(number(chars, 16, 2)),
                Some('u') => text.extend(number(chars, 16, 4)),
                Some('U') => text.extend(number(chars, 16, 8)),
                Some(digit @ '0'..='7') => text.extend(number_from(digit, chars, 8, 2)),
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => return,
            },
            other => text.push(other),
        }
    }
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, n_max: usize) -> Option<char> {
    let mut value: u32 = 0;
    for _ in 0..n_max {
        let Some(digit) = chars.peek().and_then(|it| it.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        chars.next();
    }
    char::from_u32(value)
}

fn number_from(
    first: char,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    n_more: usize,
) -> Option<char> {
    let mut value = first.to_digit(radix)?;
    for _ in 0..n_more {
        let Some(digit) = chars.peek().and_then(|it| it.to_digit(radix)) else { break };
        value = value * radix + digit;
        chars.next();
    }
    char::from_u32(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_taken_off() {
        for (word, text) in [
            ("curl", "curl"),
            ("\\curl", "curl"),
            ("c'u'r\"l\"", "curl"),
            ("cu\\rl", "curl"),
            ("$'cu\\x72l'", "curl"),
            ("$'\\143url'", "curl"),
            ("$'\\u0063url'", "curl"),
            ("$\"curl\"", "curl"),
            ("\"a\\\"b\\c\"", "a\"b\\c"),
            ("'a\\b'", "a\\b"),
            ("${c}rl", "${c}rl"),
            ("''", ""),
        ] {
            assert_eq!(given(word), Given { text: text.to_owned(), is_pattern: false }, "{word}");
        }
        assert!(given("c?rl").is_pattern && given("c[u]rl").is_pattern && !given("'c*'").is_pattern);
    }
}
