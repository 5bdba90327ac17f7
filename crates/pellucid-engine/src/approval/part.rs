//! An argument list, taken apart into the simple commands that it would run.
//!
//! Two views of the same: its *parts*, which are told only where nothing can hide behind them, and the
//! commands that can be *seen* in it wherever they stand. What is to run freely is judged by the first, what
//! is to be stopped also by the second.
//!
//! Not here: the taking apart, which needs the grammar of shells (`pellucid-exec`).

use serde::Deserialize;
use serde::Serialize;

/// What an argument list would run.
///
/// Invariant: not empty. What cannot be taken apart is one part, the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandParts {
    parts: Vec<CommandPart>,
    split: Split,
    shell: Option<String>,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPart {
    /// Its words, as they stand in the script.
    pub words: Vec<String>,
    /// The commands inside, if it is a shell with a script of plain commands.
    pub inner: Vec<CommandPart>,
    /// Every command that can be seen in it, itself included, with the words that it would be given.
    pub seen: Vec<Seen>,
    /// What keeps its words from being exactly those that the program is given; absent if they are.
    pub mark: Option<ShellFeature>,
}

/// A command that can be seen somewhere in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The words, without quotes and backslashes. What a shell replaces stands as it is written.
    pub words: Vec<String>,
    /// Where a command may begin in them.
    pub begins: Begins,
}

/// Where a command may begin in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// With the first.
    First,
    /// With the first, in which a shell replaces `*`, `?` and `[…]`.
    Pattern,
    /// With any of them: nobody can tell which is the program.
    Anywhere,
}

/// How an argument list was taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// It is no shell with a script.
    NoScript,
    /// Its script is a sequence of plain commands.
    Plain,
    /// Its script is a single command with redirections, assignments or the like, which are passed over.
    Complex,
    /// Its script has more in it than can be told; it is judged as a whole.
    Opaque,
}

/// What makes a script more than commands whose words are exactly what the programs are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellFeature {
    /// `A=1` before a command.
    Assignment,
    /// `<`, `>`, a here-document or a here-string.
    Redirection,
    /// `$` or a backtick.
    Substitution,
    /// `*`, `?`, `[`.
    Glob,
    /// `{a,b}`.
    Brace,
    /// `\`.
    Backslash,
    /// `~` where a shell replaces it, `=` at the beginning.
    Expansion,
    /// `&`.
    Background,
    /// `(`, `)`, or a brace that groups.
    Group,
    /// `if`, `for`, `!` and the like.
    ControlFlow,
    /// `#`.
    Comment,
    /// A name of a program in quotes.
    QuotedName,
    /// Anything else: characters that shells read differently, quotes without an end, too long a script.
    Unclear,
}

impl ShellFeature {
    /// The mark in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assignment => "an assignment",
            Self::Redirection => "a redirection",
            Self::Substitution => "a variable or a substitution",
            Self::Glob => "a file name pattern",
            Self::Brace => "a brace expansion",
            Self::Backslash => "a backslash",
            Self::Expansion => "a tilde or the like",
            Self::Background => "an `&`",
            Self::Group => "a group",
            Self::ControlFlow => "control flow",
            Self::Comment => "a comment",
            Self::QuotedName => "a quoted program name",
            Self::Unclear => "something that cannot be read for sure",
        }
    }
}

impl Seen {
    /// A command whose first word is its program.
    pub fn command(words: Vec<String>) -> Self {
        Self { words, begins: Begins::First }
    }
}

impl CommandPart {
    /// A command that is no shell with a script, each word as the program is given it.
    pub fn new(words: Vec<String>) -> Self {
        let seen = vec![Seen::command(words.clone())];
        Self { words, inner: Vec::new(), seen, mark: None }
    }
}

impl CommandParts {
    /// An argument list that is judged as a whole, with what can be seen in it.
    pub fn whole(argv: &[String], split: Split, seen: Vec<Seen>, mark: Option<ShellFeature>) -> Self {
        let shell = argv.first().filter(|_| split != Split::NoScript).cloned();
        Self { parts: vec![CommandPart { words: argv.to_vec(), inner: Vec::new(), seen, mark }], split, shell }
    }

    /// The commands of a shell's script; absent if there are none.
    pub fn of_script(shell: &str, parts: Vec<CommandPart>, split: Split) -> Option<Self> {
        (!parts.is_empty()).then(|| Self { parts, split, shell: Some(shell.to_owned()) })
    }

    /// The commands, in the order of the script.
    pub fn iter(&self) -> impl Iterator<Item = &CommandPart> {
        self.parts.iter()
    }

    /// How they came about.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The shell that reads the script, as it is named; absent without a script.
    pub fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }

    /// Whether something that belongs to the command was passed over.
    pub fn is_complex(&self) -> bool {
        self.split == Split::Complex
    }

    /// The command, if the script is one plain command.
    pub fn only_plain(&self) -> Option<&CommandPart> {
        match (self.split, self.parts.as_slice()) {
            (Split::Plain, [part]) => Some(part),
            _ => None,
        }
    }
}
