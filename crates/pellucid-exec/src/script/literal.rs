//! Scripts whose words are exactly what the programs are given, read a second time and without the grammar.
//!
//! Commands that leave the sandbox without approval rely on this: only characters that mean themselves in every shell
//! that we know count as literal, and the commands must be those that the grammar found. The text is read in one
//! pass, without backtracking.

use pellucid_engine::approval::part::ShellFeature;

/// Words that begin something other than a command, or change how it runs.
const RESERVED: &[&str] = &[
    "!",
    "[[",
    "{",
    "}",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "for",
    "foreach",
    "function",
    "if",
    "in",
    "select",
    "then",
    "time",
    "until",
    "while",
    "repeat",
    "nocorrect",
    "noglob",
    "-",
];

/// A command and what keeps its words from being literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub words: Vec<String>,
    pub mark: Option<ShellFeature>,
}

/// The commands of a script in their order, or the first thing in it that is more than commands.
pub(super) fn commands(script: &str) -> Result<Vec<Command>, ShellFeature> {
    let mut reader = Reader::default();
    let mut rest = script;
    while let Some(next) = rest.chars().next() {
        rest = match next {
            ' ' | '\t' => {
                reader.end_word();
                &rest[1..]
            }
            '\n' | ';' => reader.end_command(&rest[1..])?,
            '&' if rest.starts_with("&&") => reader.end_command(&rest[2..])?,
            '|' if rest.starts_with("||") => reader.end_command(&rest[2..])?,
            '|' if !rest.starts_with("|&") => reader.end_command(&rest[1..])?,
            '&' | '|' => return Err(ShellFeature::Background),
            '\'' | '"' => reader.quoted(&rest[1..], next)?,
            other => {
                reader.bare(other)?;
                &rest[other.len_utf8()..]
            }
        };
    }
    reader.end_command("")?;
    Ok(reader.commands)
}

#[derive(Default)]
struct Reader {
    commands: Vec<Command>,
    words: Vec<String>,
    /// The word that is being read, if one is.
    word: Option<String>,
    /// The first reason in the words of the command why it is not literal.
    mark: Option<ShellFeature>,
    /// Whether the command's name has quotes.
    is_name_quoted: bool,
}

impl Reader {
    fn bare(&mut self, char: char) -> Result<(), ShellFeature> {
        let before = self.word.as_deref().and_then(|word| word.chars().next_back());
        let mark = match char {
            '$' | '`' => return Err(ShellFeature::Substitution),
            '<' | '>' => return Err(ShellFeature::Redirection),
            '(' | ')' => return Err(ShellFeature::Group),
            '#' if before.is_none() => return Err(ShellFeature::Comment),
            // Only `a{b,c}` and `{a..b}` are replaced; `@{u}` is not.
            ',' | '.' if self.has_open_brace(char, before) => Some(ShellFeature::Brace),
            'a'..='z' | 'A'..='Z' | '0'..='9' => None,
            '_' | '-' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '{' | '}' | ']' | '#' => None,
            '*' | '?' | '[' => Some(ShellFeature::Glob),
            '\\' => Some(ShellFeature::Backslash),
            '~' | '=' | '^' if before.is_none() => Some(ShellFeature::Expansion),
            '~' if matches!(before, Some('=' | ':')) => Some(ShellFeature::Expansion),
            '~' | '=' | '^' => None,
            '!' => Some(ShellFeature::ControlFlow),
            other if other.is_alphanumeric() => None,
            _ => Some(ShellFeature::Unclear),
        };
        self.mark = self.mark.or(mark);
        self.word.get_or_insert_default().push(char);
        Ok(())
    }

    fn has_open_brace(&self, char: char, before: Option<char>) -> bool {
        let is_open = self.word.as_ref().is_some_and(|word| word.contains('{'));
        is_open && (char == ',' || before == Some('.'))
    }

    /// Reads up to the closing quote and gives back what follows it.
    fn quoted<'s>(&mut self, rest: &'s str, quote: char) -> Result<&'s str, ShellFeature> {
        let (text, after) = rest.split_once(quote).ok_or(ShellFeature::Unclear)?;
        if quote == '"' {
            if text.contains(['$', '`']) {
                return Err(ShellFeature::Substitution);
            }
            if text.contains('\\') {
                return Err(ShellFeature::Backslash);
            }
        }
        self.is_name_quoted |= self.words.is_empty();
        self.word.get_or_insert_default().push_str(text);
        Ok(after)
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command<'s>(&mut self, after: &'s str) -> Result<&'s str, ShellFeature> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let Some(name) = words.first() else {
            return Ok(after);
        };
        if is_assignment(name) {
            return Err(ShellFeature::Assignment);
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(ShellFeature::ControlFlow);
        }
        if std::mem::take(&mut self.is_name_quoted) {
            return Err(ShellFeature::QuotedName);
        }
        self.commands.push(Command { words, mark: self.mark.take() });
        Ok(after)
    }
}

/// Whether a word is an assignment: `A=1`, `A+=1`, `A[1]=1`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| name.starts_with(|it: char| it == '_' || it.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_commands(script: &str, expected: &str) {
        let found = match commands(script) {
            Err(mark) => format!("{mark:?}"),
            Ok(commands) => {
                let text = |it: &Command| match it.mark {
                    Some(mark) => format!("{:?} {mark:?}", it.words),
                    None => format!("{:?}", it.words),
                };
                commands.iter().map(text).collect::<Vec<_>>().join(" ")
            }
        };
        assert_eq!(found, expected, "{script}");
    }

    #[test]
    fn words_that_mean_themselves_are_literal() {
        check_commands("npm test", r#"["npm", "test"]"#);
        check_commands("a 'b c'\"d e\" && f|g || h; i\nj", r#"["a", "b cd e"] ["f"] ["g"] ["h"] ["i"] ["j"]"#);
        check_commands(
            "git diff HEAD~1 HEAD^ @{u} a..b --x=y",
            r#"["git", "diff", "HEAD~1", "HEAD^", "@{u}", "a..b", "--x=y"]"#,
        );
        check_commands("rg '*' \"?\" '$x' '\\'", r#"["rg", "*", "?", "$x", "\\"]"#);
        check_commands("echo '' é", r#"["echo", "", "é"]"#);
    }

    #[test]
    fn what_a_shell_replaces_is_marked() {
        check_commands("ls *.c && pwd", r#"["ls", "*.c"] Glob ["pwd"]"#);
        check_commands("ls a?", r#"["ls", "a?"] Glob"#);
        check_commands("ls [ab]", r#"["ls", "[ab]"] Glob"#);
        check_commands("ls {a,b}", r#"["ls", "{a,b}"] Brace"#);
        check_commands("ls {1..3}", r#"["ls", "{1..3}"] Brace"#);
        check_commands("ls a\\ b", r#"["ls", "a\\", "b"] Backslash"#);
        check_commands("ls ~/x", r#"["ls", "~/x"] Expansion"#);
        check_commands("ls a=~/x", r#"["ls", "a=~/x"] Expansion"#);
        check_commands("ls =cat", r#"["ls", "=cat"] Expansion"#);
        check_commands("ls a\rb", r#"["ls", "a\rb"] Unclear"#);
        check_commands("ls a\u{a0}b", "[\"ls\", \"a\\u{a0}b\"] Unclear");
    }

    #[test]
    fn what_is_more_than_commands_is_named() {
        for (script, mark) in [
            ("A=1 npm test", "Assignment"),
            ("PATH=x:$PATH npm test", "Substitution"),
            ("a[0]=1 npm test", "Assignment"),
            ("npm test > x", "Redirection"),
            ("npm test <<EOF\nEOF", "Redirection"),
            ("npm test <<< x", "Redirection"),
            ("npm test $(x)", "Substitution"),
            ("npm test `x`", "Substitution"),
            ("npm test \"$x\"", "Substitution"),
            ("npm test $'a'", "Substitution"),
            ("npm test \"a\\\"b\"", "Backslash"),
            ("npm test &", "Background"),
            ("npm test |& x", "Background"),
            ("(npm test)", "Group"),
            ("f() { x; }", "Group"),
            ("{ npm test; }", "ControlFlow"),
            ("! npm test", "ControlFlow"),
            ("if npm test; then x; fi", "ControlFlow"),
            ("time npm test", "ControlFlow"),
            ("npm test # x", "Comment"),
            ("'npm' test", "QuotedName"),
            ("npm 'test", "Unclear"),
        ] {
            check_commands(script, mark);
        }
    }
}
