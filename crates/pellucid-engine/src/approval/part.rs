//! An argument list, taken apart into the simple commands that it would run.
//!
//! There are two views of an argument list: its *parts*, which are listed only if nothing can hide behind them, and the
//! commands that can be *seen* anywhere in it. To let a command run, parts are judged; to stop a command, both are.
//!
//! Not here: the taking apart, which needs the grammar of shells (`pellucid-exec`).

use serde::Deserialize;
use serde::Serialize;

/// The commands that an argument list would run.
///
/// Invariant: not empty. A list that cannot be taken apart is one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandParts {
    parts: Vec<CommandPart>,
    split: Split,
    shell: Option<String>,
}

/// A command with its arguments, without anything that a shell would split further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPart {
    /// The words, as the script spells them.
    pub words: Vec<String>,
    /// The commands inside, if the command is a shell with a script of plain commands.
    pub inner: Vec<CommandPart>,
    /// Every command that can be seen in this one, itself included, with the words that it would be given.
    pub seen: Vec<Seen>,
    /// What keeps the words from being exactly those that the program is given; absent if they are.
    pub mark: Option<ShellFeature>,
}

/// A command that can be seen somewhere in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The words, without quotes and backslashes. Text that a shell replaces is kept as written.
    pub words: Vec<String>,
    /// Which of the words may be the program.
    pub begins: Begins,
}

/// Which word of a list may be the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// The first word is the program.
    First,
    /// The first word is the program, and a shell replaces `*`, `?` and `[…]` in it.
    Pattern,
    /// Any word may be the program.
    Anywhere,
}

/// How an argument list was taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The command is not a shell with a script.
    NoScript,
    /// The script is a sequence of plain commands.
    Plain,
    /// The script is a single command with redirections, assignments or the like, which are left out of its words.
    Complex,
    /// The script has features that cannot be taken apart safely; it is judged as a whole.
    Opaque,
}

/// A feature of shells that makes a script more than commands whose words are exactly what the programs are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellFeature {
    /// `A=1` before a command.
    Assignment,
    /// `<`, `>`, a here-document or a here-string.
    Redirection,
    /// `$` or a backtick.
    Substitution,
    /// `*`, `?` or `[`, which match file names.
    Glob,
    /// `{a,b}`, which becomes several words.
    Brace,
    /// `\` before a character.
    Backslash,
    /// `~` where a shell replaces it, `=` at the beginning.
    Expansion,
    /// `&` after a command.
    Background,
    /// `(`, `)`, or a brace that groups.
    Group,
    /// `if`, `for`, `!` and the like.
    ControlFlow,
    /// `#` and what follows.
    Comment,
    /// The name of a program in quotes.
    QuotedName,
    /// Anything else: characters that shells read differently, quotes without an end, too long a script.
    Unclear,
}

impl ShellFeature {
    /// The feature in words, for people.
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

    /// The parts, in the order of the script.
    pub fn iter(&self) -> impl Iterator<Item = &CommandPart> {
        self.parts.iter()
    }

    /// How the argument list was taken apart.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The shell that reads the script, as it is named; absent without a script.
    pub fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }

    /// Whether redirections, assignments or the like were left out.
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
