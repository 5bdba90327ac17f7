//! The stored session that a command is about. Every command that takes a session takes one of these groups of arguments, so
//! all of them take an id, the beginning of an id, a name, and `--last`.

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

/// A stored session, for a command that also works without one.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct SessionIfAny {
    /// The session's id, the beginning of its id, or its name.
    #[arg(conflicts_with = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}

impl SessionIfAny {
    /// The session, if the arguments name one.
    pub fn given(&self) -> Option<SessionRef> {
        (self.last || self.session.is_some()).then(|| self.or_last())
    }

    /// The session that the arguments name, or the last one.
    pub fn or_last(&self) -> SessionRef {
        SessionRef { session: self.session.clone(), last: self.session.is_none() }
    }
}

/// One or more stored sessions.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct SessionList {
    /// The sessions: their ids, beginnings of ids, or names.
    #[arg(required_unless_present = "last", conflicts_with = "last", value_name = "SESSION")]
    pub sessions: Vec<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}
