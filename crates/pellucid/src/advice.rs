//! Advice for an option that does not exist, and for a word that is almost a command.

use clap::CommandFactory;
use clap::error::ContextKind;
use clap::error::ContextValue;
use clap::error::ErrorKind;

use crate::args::Args;

/// Help for the approval options that `exec` does not have: `exec` never prompts.
const NEVER_ASKS: &str =
    "`exec` never asks for approval: commands that need it are refused (`pellucid approvals explain COMMAND`)";

/// Help for a session that is missing.
const SESSION: &str = "name a session by its id, the beginning of its id or its name, or take the last one with --last";

/// One sentence of advice for a person who typed an option that does not exist; absent where clap's message says all.
pub fn of(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
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

/// How many letters a word may differ from a command that is meant.
const DISTANCE_MAX: usize = 2;

/// Advice for a first message that is a single word and was probably meant as a command; absent for a message.
pub fn of_word(word: &str) -> Option<String> {
    if word.contains(char::is_whitespace) {
        return None;
    }
    let advice = match word {
        "tui" => "`pellucid` without a command begins a conversation in the terminal".to_owned(),
        "update" => "Pellucid does not update itself; install the new version in place of this one".to_owned(),
        "cloud" => "there are no tasks in the cloud; `pellucid exec PROMPT` runs a turn here".to_owned(),
        _ => {
            let near = nearest(word)?;
            format!("did you mean `pellucid {near}`? To say the word to the model: pellucid exec {word}")
        }
    };
    Some(advice)
}

/// The command whose name is nearest to a word, if one is near.
fn nearest(word: &str) -> Option<String> {
    let commands = Args::command();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let measured = names.map(|name| (strsim::damerau_levenshtein(name, word), name));
    let near = measured.filter(|(distance, name)| *distance <= DISTANCE_MAX && *distance * 2 < name.len());
    near.min().map(|(_, name)| name.to_owned())
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
    fn check_word(word: &str, expected: &Expect) {
        expected.assert_eq(&of_word(word).unwrap_or_default());
    }

    #[test]
    fn a_misspelt_command_is_no_message() {
        check_word(
            "sesions",
            &expect!["did you mean `pellucid sessions`? To say the word to the model: pellucid exec sesions"],
        );
        check_word("hello", &expect![""]);
        check_word("fix the bug", &expect![""]);
    }

    #[test]
    fn commands_of_the_codex_cli_that_are_not_here_have_an_answer() {
        check_word("update", &expect!["Pellucid does not update itself; install the new version in place of this one"]);
    }
}
