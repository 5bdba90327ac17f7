//! Which rule a person is offered to save, and the text for the model after the rule was saved.
//!
//! A prefix that the model asks for is offered unless it would allow almost any command. A prefix that the model did
//! not ask for is the whole command, so it needs no such check.

use crate::approval::rules::quoted;

/// Prefixes that would allow almost any command. Longer prefixes that begin like these are fine.
const BANNED: &[&[&str]] = &[
    &["python3"],
    &["python3", "-"],
    &["python3", "-c"],
    &["python"],
    &["python", "-"],
    &["python", "-c"],
    &["py"],
    &["py", "-3"],
    &["pythonw"],
    &["pyw"],
    &["pypy"],
    &["pypy3"],
    &["git"],
    &["bash"],
    &["bash", "-lc"],
    &["sh"],
    &["sh", "-c"],
    &["sh", "-lc"],
    &["zsh"],
    &["zsh", "-lc"],
    &["/bin/zsh"],
    &["/bin/zsh", "-lc"],
    &["/bin/bash"],
    &["/bin/bash", "-lc"],
    &["pwsh"],
    &["pwsh", "-Command"],
    &["pwsh", "-c"],
    &["powershell"],
    &["powershell", "-Command"],
    &["powershell", "-c"],
    &["powershell.exe"],
    &["powershell.exe", "-Command"],
    &["powershell.exe", "-c"],
    &["env"],
    &["sudo"],
    &["node"],
    &["node", "-e"],
    &["perl"],
    &["perl", "-e"],
    &["ruby"],
    &["ruby", "-e"],
    &["php"],
    &["php", "-r"],
    &["lua"],
    &["lua", "-e"],
    &["osascript"],
];

/// Whether a prefix would allow almost any command.
pub fn is_banned(prefix: &[String]) -> bool {
    BANNED.iter().any(|banned| banned.len() == prefix.len() && banned.iter().zip(prefix).all(|(a, b)| a == b))
}

/// The line of a rules file that allows a prefix, without a line break.
pub fn allow_line(prefix: &[String]) -> String {
    format!("prefix_rule(pattern={}, decision=\"allow\")", list(prefix))
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::approval::rules::testing::words;

    #[test]
    fn only_exact_prefixes_are_banned() {
        for line in ["git", "python3 -c", "sh -lc", "powershell.exe -c", "osascript", "/bin/bash"] {
            assert!(is_banned(&words(line)), "{line}");
        }
        for line in ["git pull", "python3 -c x", "zsh -c", "/bin/sh", "bash -c", "ls", "Git"] {
            assert!(!is_banned(&words(line)), "{line}");
        }
        assert!(!is_banned(&[]));
        assert_eq!(BANNED.len(), 46);
    }

    #[test]
    fn words_are_quoted() {
        let prefix = ["echo".to_owned(), "a \"b\"\n".to_owned()];
        expect![[r#"prefix_rule(pattern=["echo", "a \"b\"\n"], decision="allow")"#]].assert_eq(&allow_line(&prefix));
    }
}
