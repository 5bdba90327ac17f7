//! An argument list, taken apart into the simple commands that it would run.
//!
//! Not here: the taking apart, which needs the grammar of shells (`pellucid-exec`).

/// What an argument list would run.
///
/// Invariant: not empty. What cannot be taken apart is one part, the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    parts: Vec<Part>,
    split: Split,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Its words, as they stand in the script.
    pub words: Vec<String>,
    /// The commands inside, if it is a shell with a script of plain commands.
    pub inner: Vec<Vec<String>>,
}

/// How an argument list was taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Part {
    /// A command that is no shell with a script.
    pub fn new(words: Vec<String>) -> Self {
        Self { words, inner: Vec::new() }
    }
}

impl Parts {
    /// An argument list that is judged as a whole.
    pub fn whole(argv: &[String], split: Split) -> Self {
        Self { parts: vec![Part::new(argv.to_vec())], split }
    }

    /// The commands of a script; absent if there are none.
    pub fn of_script(parts: Vec<Part>, split: Split) -> Option<Self> {
        (!parts.is_empty()).then_some(Self { parts, split })
    }

    /// The commands, in the order of the script.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    /// How they came about.
    pub fn split(&self) -> Split {
        self.split
    }

    /// Whether something that belongs to the command was passed over.
    pub fn is_complex(&self) -> bool {
        self.split == Split::Complex
    }

    /// The command, if the script is one plain command.
    pub fn only_plain(&self) -> Option<&Part> {
        match (self.split, self.parts.as_slice()) {
            (Split::Plain, [part]) => Some(part),
            _ => None,
        }
    }
}
