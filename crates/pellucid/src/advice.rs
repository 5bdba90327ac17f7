//! Advice for a command or an option that does not exist.

use clap::error::ContextKind;
use clap::error::ContextValue;
use clap::error::ErrorKind;
use pellucid_engine::command_line::joined;

/// Help for the approval options that `exec` does not have: `exec` never prompts.
const NEVER_ASKS: &str =
    "`exec` never asks for approval: commands that need it are refused (`pellucid approvals explain COMMAND`)";

/// Help for a session that is missing.
const SESSION: &str = "name a session by its id, the beginning of its id or its name, or take the last one with --last";

/// One sentence of advice for a person who typed an option or command that does not exist; absent where clap's
/// message says all.
pub fn of(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = std::env::args().nth(1);
            let word = text(ContextKind::InvalidSubcommand).filter(|word| typed.as_deref() == Some(word))?;
            command(word, error.get(ContextKind::SuggestedSubcommand).is_some())
        }
        ErrorKind::UnknownArgument => option(text(ContextKind::InvalidArg)?),
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) if missing.iter().any(|it| it.starts_with("<SESSION")) => {
                Some(SESSION.to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Of a first word that is no command.
fn command(word: &str, has_suggestion: bool) -> Option<String> {
    Some(match word {
        "tui" => "there is no terminal interface yet; `pellucid exec PROMPT` runs one turn".to_owned(),
        "mcp-server" => "Pellucid cannot be used as an MCP server yet; `pellucid app-server` serves sessions to other \
                         programs"
            .to_owned(),
        "update" => "Pellucid does not update itself; install the new version in place of this one".to_owned(),
        "cloud" => "there are no tasks in the cloud; `pellucid exec PROMPT` runs a turn here".to_owned(),
        _ if has_suggestion => return None,
        prompt => {
            let prompt = joined(&[prompt.to_owned()]);
            format!("there is no terminal interface yet; to give the model a prompt: pellucid exec {prompt}")
        }
    })
}

/// Of an option that a command does not have.
fn option(word: &str) -> Option<String> {
    let is_approval = ["-a", "--ask-for-approval"].contains(&word);
    is_approval.then(|| NEVER_ASKS.to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_command(word: &str, has_suggestion: bool, expected: &Expect) {
        expected.assert_eq(&command(word, has_suggestion).unwrap_or_default());
    }

    #[test]
    fn a_prompt_is_shown_where_it_belongs() {
        check_command(
            "fix the bug",
            false,
            &expect!["there is no terminal interface yet; to give the model a prompt: pellucid exec 'fix the bug'"],
        );
        check_command(
            "don't",
            false,
            &expect![[r#"there is no terminal interface yet; to give the model a prompt: pellucid exec "don't""#]],
        );
    }

    #[test]
    fn commands_of_the_codex_cli_that_are_not_here_have_an_answer() {
        check_command(
            "update",
            true,
            &expect!["Pellucid does not update itself; install the new version in place of this one"],
        );
        check_command("sesions", true, &expect![""]);
    }
}
