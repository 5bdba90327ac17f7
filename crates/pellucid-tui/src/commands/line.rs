//! How a line that was typed is read: a message, a shell command, a command of the client or a custom prompt.
//!
//! A command for a prompt of an MCP server is a message: the session asks the server.

use crate::commands::CommandRow;
use crate::composer::popup::PromptEntry;

/// The prefix of custom prompts.
const PROMPTS: &str = "prompts:";

/// The prefix of prompts of MCP servers.
pub const SERVERS: &str = "mcp:";

/// What a typed line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedLine<'a> {
    /// Words for the model.
    Message,
    /// A command for the user's shell; empty if only the mark was typed.
    Shell(&'a str),
    /// A command of the client, with the words behind it.
    Command {
        /// The name of the command in the table.
        name: &'static str,
        /// What follows the name, trimmed.
        words: &'a str,
    },
    /// A custom prompt, with its arguments.
    Prompt {
        /// The name of the prompt.
        name: &'a str,
        /// What follows the name, trimmed.
        words: &'a str,
    },
    /// No command has this name.
    Unknown(&'a str),
}

/// Reads a line, given the commands that are offered and the names of custom prompts.
///
/// A text that begins with a blank, and one whose first word has a second slash (a path), is a message. So is a command
/// that takes no words and is followed by some.
pub fn read<'a>(text: &'a str, offered: &[CommandRow], prompts: &[PromptEntry]) -> TypedLine<'a> {
    if let Some(shell) = text.strip_prefix('!') {
        return TypedLine::Shell(shell.trim());
    }
    let Some(rest) = text.strip_prefix('/') else {
        return TypedLine::Message;
    };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let words = words.trim();
    if name.is_empty() || name.contains('/') {
        return TypedLine::Message;
    }
    if let Some(prompt) = name.strip_prefix(PROMPTS)
        && prompts.iter().any(|known| known.command == name)
    {
        return TypedLine::Prompt { name: prompt, words };
    }
    if name.strip_prefix(SERVERS).is_some_and(|prompt| prompt.contains(':')) {
        return TypedLine::Message;
    }
    match offered.iter().find(|row| row.name == name.to_lowercase()) {
        Some(row) if !words.is_empty() && !row.takes_words => TypedLine::Message,
        Some(row) => TypedLine::Command { name: row.name, words },
        None => TypedLine::Unknown(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn a_line_is_read_as_one_thing() {
        let prompts = [PromptEntry { command: "prompts:fix".to_owned(), description: String::new(), inserted: None }];
        for (text, expected) in [
            ("hello", TypedLine::Message),
            ("", TypedLine::Message),
            (" /model", TypedLine::Message),
            ("/usr/bin/x runs", TypedLine::Message),
            ("/", TypedLine::Message),
            ("!ls -l", TypedLine::Shell("ls -l")),
            ("!", TypedLine::Shell("")),
            ("/model", TypedLine::Command { name: "model", words: "" }),
            ("/Model ", TypedLine::Command { name: "model", words: "" }),
            ("/model is good", TypedLine::Message),
            ("/rename a b", TypedLine::Command { name: "rename", words: "a b" }),
            ("/review\nall of it", TypedLine::Command { name: "review", words: "all of it" }),
            ("/prompts:fix A=1", TypedLine::Prompt { name: "fix", words: "A=1" }),
            ("/prompts:gone", TypedLine::Unknown("prompts:gone")),
            ("/mcp:docs:fix A=1", TypedLine::Message),
            ("/mcp:docs", TypedLine::Unknown("mcp:docs")),
            ("/fly", TypedLine::Unknown("fly")),
        ] {
            assert_eq!(read(text, COMMANDS, &prompts), expected, "{text:?}");
        }
    }
}
