//! From what the model sent to a piece of JavaScript and the time that it has.
//!
//! The input is the source itself. Its first line may be a pragma. Models wrap code in JSON, quotes or
//! fences all the same; such input would be valid JavaScript that does nothing, so it is refused.

use std::time::Duration;

use serde_json::Value;

/// How the first line begins, if it is a pragma.
const PRAGMA: &str = "// codex-js-repl:";

/// A piece of JavaScript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub code: String,
    /// How long it may take, if that is said.
    pub timeout: Option<Duration>,
}

/// Why an input is not a piece. The text is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InputError {
    #[error("js_repl expects raw JavaScript source and got none; the first line may be `{PRAGMA} ...`")]
    Blank,
    #[error("js_repl pragma expects space-separated key=value pairs (supported keys: timeout_ms); got `{0}`")]
    NoPair(String),
    #[error("js_repl pragma only supports timeout_ms; got `{0}`")]
    UnknownKey(String),
    #[error("js_repl pragma specifies timeout_ms more than once")]
    Twice,
    #[error("js_repl pragma timeout_ms must be an integer; got `{0}`")]
    NoInteger(String),
    #[error("js_repl pragma must be followed by JavaScript source on subsequent lines")]
    NoCode,
    #[error("js_repl expects raw JavaScript source, not markdown code fences; send the same again without them")]
    Fenced,
    #[error("js_repl expects raw JavaScript source, not JSON and not quoted code; send the code itself")]
    Wrapped,
}

impl Piece {
    /// Parses the raw input of a call.
    pub(super) fn parse(input: &str) -> Result<Self, InputError> {
        if input.trim().is_empty() {
            return Err(InputError::Blank);
        }
        let (first, rest) = input.split_once('\n').unwrap_or((input, ""));
        let (code, timeout) = match first.trim_start().strip_prefix(PRAGMA) {
            None => (input, None),
            Some(pragma) => {
                let timeout = timeout(pragma)?;
                if rest.trim().is_empty() {
                    return Err(InputError::NoCode);
                }
                (rest, timeout)
            }
        };
        if code.trim_start().starts_with("```") {
            return Err(InputError::Fenced);
        }
        if matches!(serde_json::from_str(code), Ok(Value::Object(_) | Value::String(_))) {
            return Err(InputError::Wrapped);
        }
        Ok(Self { code: code.to_owned(), timeout })
    }
}

fn timeout(pragma: &str) -> Result<Option<Duration>, InputError> {
    let mut timeout = None;
    for word in pragma.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| InputError::NoPair(word.to_owned()))?;
        if key != "timeout_ms" {
            return Err(InputError::UnknownKey(key.to_owned()));
        }
        if timeout.is_some() {
            return Err(InputError::Twice);
        }
        let n_ms = value.parse().map_err(|_no_number| InputError::NoInteger(value.to_owned()))?;
        timeout = Some(Duration::from_millis(n_ms));
    }
    Ok(timeout)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_input(input: &str, expected: &Expect) {
        let shown = match Piece::parse(input) {
            Ok(Piece { code, timeout }) => format!("{code:?} for {timeout:?}"),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn source_is_taken_as_it_is() {
        check_input(" let x = 1\n", &expect![[r#"" let x = 1\n" for None"#]]);
        check_input("[1]", &expect![[r#""[1]" for None"#]]);
        check_input("5", &expect![[r#""5" for None"#]]);
        check_input("// a comment\nx", &expect![[r#""// a comment\nx" for None"#]]);
        check_input("{ let x }", &expect![[r#""{ let x }" for None"#]]);
    }

    #[test]
    fn a_pragma_gives_the_time() {
        check_input("// codex-js-repl: timeout_ms=15000\nx\ny", &expect![[r#""x\ny" for Some(15s)"#]]);
        check_input("  // codex-js-repl: timeout_ms=1 \r\nx", &expect![[r#""x" for Some(1ms)"#]]);
        check_input("// codex-js-repl: \nx", &expect![[r#""x" for None"#]]);
    }

    #[test]
    fn a_wrong_pragma_is_said() {
        check_input(
            "// codex-js-repl: timeout_ms",
            &expect![
                "js_repl pragma expects space-separated key=value pairs (supported keys: timeout_ms); got `timeout_ms`"
            ],
        );
        check_input(
            "// codex-js-repl: timeout_ms=1 timeout_ms=2\nx",
            &expect!["js_repl pragma specifies timeout_ms more than once"],
        );
        check_input(
            "// codex-js-repl: timeout_ms=-5\nx",
            &expect!["js_repl pragma timeout_ms must be an integer; got `-5`"],
        );
        check_input("// codex-js-repl: k=1\nx", &expect!["js_repl pragma only supports timeout_ms; got `k`"]);
        check_input(
            "// codex-js-repl: timeout_ms=5\n  ",
            &expect!["js_repl pragma must be followed by JavaScript source on subsequent lines"],
        );
    }

    #[test]
    fn what_is_not_source_is_refused() {
        check_input(
            " \n",
            &expect![
                "js_repl expects raw JavaScript source and got none; the first line may be `// codex-js-repl: ...`"
            ],
        );
        check_input(
            "```js\n1\n```",
            &expect![
                "js_repl expects raw JavaScript source, not markdown code fences; send the same again without them"
            ],
        );
        let wrapped =
            expect!["js_repl expects raw JavaScript source, not JSON and not quoted code; send the code itself"];
        check_input(r#"{"code":"1"}"#, &wrapped);
        check_input(r#" "x" "#, &wrapped);
        check_input("// codex-js-repl: timeout_ms=5\n{}", &wrapped);
    }
}
