//! How the client behaves at this terminal, by the configuration and the environment.

/// How the client behaves at this terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner {
    /// Whether a screen reader reads the terminal, so that nothing is drawn.
    pub is_spoken: bool,
    /// Whether the terminal reports the mouse.
    pub has_mouse: bool,
    /// How many frames a second events may ask for. Keys are drawn at once.
    pub frame_rate: u32,
    /// Whether the mark of a turn that runs changes every half second.
    pub has_animations: bool,
    /// Whether the composer has the keys of vim at the start.
    pub has_vim: bool,
    /// Two letters that end inserting with the keys of vim.
    pub vim_escape: Option<String>,
    /// Whether tmux is between the client and the terminal.
    pub is_in_tmux: bool,
    /// The parts of the window's title; no title is set if there are none.
    pub title: Vec<TitlePart>,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            is_spoken: false,
            has_mouse: false,
            frame_rate: 60,
            has_animations: true,
            has_vim: false,
            vim_escape: None,
            is_in_tmux: false,
            title: vec![TitlePart::State, TitlePart::Name],
        }
    }
}

/// A part of the window's title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitlePart {
    /// What the client does: nothing, working, or waiting for the person.
    State,
    /// The name of the session, or the folder if the session has none.
    Name,
    /// The folder of the session.
    Folder,
    /// The branch that is checked out.
    Branch,
    /// The model of the session.
    Model,
}

impl TitlePart {
    /// The part of a word in the configuration. Words of other programs for the same parts are known too.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "state" | "status" | "activity" | "spinner" => Self::State,
            "name" | "thread" => Self::Name,
            "folder" | "project" | "current-dir" => Self::Folder,
            "branch" | "git-branch" => Self::Branch,
            "model" => Self::Model,
            _ => return None,
        })
    }
}
