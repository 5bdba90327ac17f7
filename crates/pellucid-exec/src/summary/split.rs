//! The commands of a plain script, for display.
//!
//! Plain is what consists of words and `&&`, `||`, `|`, `;` and line ends. Everything else, such as
//! redirections, variables, substitutions and control flow, is not plain, and then there is no
//! answer. Words keep their backslashes; quotes around them are taken off.
//!
//! Nothing that matters for safety may rely on this.

/// Words that begin something other than a command.
const RESERVED: [&str; 20] = [
    "!", "[", "[[", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "select", "then", "until", "while",
];

/// The commands of a script in their order; none if the script is not plain or has no command.
pub(super) fn commands(script: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = Vec::new();
    let mut command: Vec<Word> = Vec::new();
    // Whether a command has to come before the script may end.
    let mut is_open = false;
    let mut rest = script;
    loop {
        rest = skip_blanks(rest);
        let Some(next) = rest.chars().next() else { break };
        let (n_bytes, separator) = match next {
            '\n' => (1, Separator::LineEnd),
            ';' if rest.starts_with(";;") => return None,
            ';' => (1, Separator::Semicolon),
            '&' if rest.starts_with("&&") => (2, Separator::Joining),
            '|' if rest.starts_with("||") => (2, Separator::Joining),
            '|' if !rest.starts_with("|&") => (1, Separator::Joining),
            '#' => return None,
            _ => {
                let (word, more) = Word::read(rest)?;
                command.push(word);
                rest = more;
                continue;
            }
        };
        rest = &rest[n_bytes..];
        match (command.is_empty(), separator) {
            (true, Separator::LineEnd) => continue,
            (true, _) => return None,
            (false, separator) => is_open = separator == Separator::Joining,
        }
        commands.push(words_of(std::mem::take(&mut command))?);
    }
    if command.is_empty() {
        return (!is_open && !commands.is_empty()).then_some(commands);
    }
    commands.push(words_of(command)?);
    Some(commands)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Joining,
    Semicolon,
    LineEnd,
}

struct Word {
    text: String,
    is_bare: bool,
}

fn words_of(command: Vec<Word>) -> Option<Vec<String>> {
    let name = command.first()?;
    let is_assignment = name.text.split_once('=').is_some_and(|(before, _)| {
        !before.is_empty() && before.chars().all(|char| char == '_' || char == '+' || char.is_ascii_alphanumeric())
    });
    if !name.is_bare || is_assignment || RESERVED.contains(&name.text.as_str()) {
        return None;
    }
    Some(command.into_iter().map(|word| word.text).collect())
}

/// Skips blanks; a continued line counts as a blank.
fn skip_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\r']);
        match text.strip_prefix("\\\n") {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

impl Word {
    /// Reads the word that the text begins with.
    fn read(text: &str) -> Option<(Self, &str)> {
        let mut word = Self { text: String::new(), is_bare: true };
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let n_bytes = match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' => break,
                '(' | ')' | '<' | '>' | '$' | '`' => return None,
                '\'' => {
                    word.is_bare = false;
                    let quoted = rest[1..].split_once('\'')?.0;
                    word.text.push_str(quoted);
                    quoted.len() + 2
                }
                '"' => {
                    word.is_bare = false;
                    let quoted = double_quoted(&rest[1..])?;
                    word.text.push_str(quoted);
                    quoted.len() + 2
                }
                '\\' if rest.starts_with("\\\n") => break,
                '\\' => {
                    let n_bytes = 1 + rest[1..].chars().next()?.len_utf8();
                    word.text.push_str(&rest[..n_bytes]);
                    n_bytes
                }
                other => {
                    word.text.push(other);
                    other.len_utf8()
                }
            };
            rest = &rest[n_bytes..];
        }
        // A lone `&` or `|&` begins no word, and neither does it end one.
        (rest.len() < text.len()).then_some((word, rest))
    }
}

/// The text before the closing quote, if a shell replaces nothing in it.
fn double_quoted(text: &str) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some(&text[..at]),
            '\\' => {
                chars.next()?;
            }
            '$' | '`' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_commands(script: &str, expected: Option<&[&[&str]]>) {
        let commands = commands(script);
        let commands: Option<Vec<Vec<&str>>> =
            commands.as_ref().map(|all| all.iter().map(|one| one.iter().map(String::as_str).collect()).collect());
        assert_eq!(commands, expected.map(|all| all.iter().map(|one| one.to_vec()).collect()), "{script}");
    }

    #[test]
    fn words_lose_quotes_and_keep_backslashes() {
        check_commands(
            r#"rg foo\ bar 'a b' "c \" d" -g"*.py" ''"#,
            Some(&[&["rg", r"foo\ bar", "a b", r#"c \" d"#, "-g*.py", ""]]),
        );
    }

    #[test]
    fn commands_are_joined_in_four_ways() {
        check_commands("a&&b || c|d;e\n\nf;\n", Some(&[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]));
        check_commands("a &&\nb \\\n c", Some(&[&["a"], &["b", "c"]]));
    }

    #[test]
    fn what_is_not_plain_has_no_commands() {
        for script in [
            "",
            "  ",
            "# c",
            "a # c",
            "a &",
            "a & b",
            "a |& b",
            "a ;; b",
            "a &&",
            "| a",
            "a | | b",
            "; a",
            "a > b",
            "a 2>&1",
            "a < b",
            "a $b",
            "a \"$b\"",
            "a `b`",
            "a $(b)",
            "(a)",
            "{ a; }",
            "if a; then b; fi",
            "[ a ] && b",
            "! a",
            "A=1",
            "A=1 b",
            "'a'",
            "a'b'",
            "\"a\" b",
            "a 'b",
            "a \"b",
            "a \\",
            "a <<< b",
        ] {
            check_commands(script, None);
        }
    }
}
