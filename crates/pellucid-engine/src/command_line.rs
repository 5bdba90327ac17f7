//! A command as one line that a shell would read in the same way.

/// Program and arguments, quoted where needed. A command that no shell can express is shown unquoted.
pub fn joined(command: &[String]) -> String {
    shlex::try_join(command.iter().map(String::as_str)).unwrap_or_else(|_| command.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_needed() {
        let command = ["bash", "-c", "echo 'a b'"].map(str::to_owned);
        assert_eq!(joined(&command), r#"bash -c "echo 'a b'""#);
        assert_eq!(joined(&["a".to_owned(), "\0 b".to_owned()]), "a \0 b");
    }
}
