//! The stored session that a command is about: one group of arguments for all commands that only look at a session.

use clap::Args as ClapArgs;

/// A stored session, by its id, the beginning of its id, its name, or as the last one.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct SessionRef {
    /// The session's id, the beginning of its id, or its name.
    #[arg(required_unless_present = "last", conflicts_with = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}

/// A stored session, with a word behind it that belongs to the command: with `--last` a single word is that word.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct SessionThenWord {
    /// The session's id, the beginning of its id, or its name.
    #[arg(required_unless_present = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}

impl SessionThenWord {
    /// The session, and the word behind it.
    pub fn split(&self, word: Option<&String>) -> (SessionRef, Option<String>) {
        if self.last {
            return (SessionRef { session: None, last: true }, word.or(self.session.as_ref()).cloned());
        }
        (SessionRef { session: self.session.clone(), last: false }, word.cloned())
    }
}
