//! What a pack or the configuration says about instruction files, in the spellings of both.
//!
//! Nothing that is said means what the Codex CLI does.

use serde::Deserialize;

use crate::settings::word_enum;

word_enum! {
    /// Which files the budget goes to first.
    Allocation {
        /// The project's root, then what lies below it.
        RootFirst = "root-first",
        /// The folder that is worked in, then what lies above it.
        NearestFirst = "nearest-first",
        /// All, by their sizes.
        Proportional = "proportional",
    }
}

word_enum! {
    /// Where a file that is too long is cut.
    Cut {
        /// At the last byte of the budget, without a word.
        Bytes = "bytes",
        /// At the end of a line, with a note of what is missing.
        Lines = "lines",
    }
}

word_enum! {
    /// What happens when a file is not what it was when the session began.
    OnChange {
        /// Nothing.
        Ignore = "ignore",
        /// The model is told with the next turn.
        Tell = "tell",
    }
}

/// What somebody says about instruction files; what is absent is left to others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectDocs {
    /// Which files the budget goes to first.
    pub allocation: Option<Allocation>,
    /// Where a file that is too long is cut.
    pub cut: Option<Cut>,
    /// How many steps imports are followed; none with 0.
    pub imports: Option<usize>,
    /// Whether files of folders below join when a tool goes there.
    pub nested: Option<bool>,
    /// What happens when a file changes.
    pub on_change: Option<OnChange>,
}

impl ProjectDocs {
    /// This, with what somebody else says about the rest.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self {
            allocation: self.allocation.or(other.allocation),
            cut: self.cut.or(other.cut),
            imports: self.imports.or(other.imports),
            nested: self.nested.or(other.nested),
            on_change: self.on_change.or(other.on_change),
        }
    }

    /// Which files the budget goes to first.
    pub fn allocation(&self) -> Allocation {
        self.allocation.unwrap_or(Allocation::RootFirst)
    }

    /// Where a file that is too long is cut.
    pub fn cut(&self) -> Cut {
        self.cut.unwrap_or(Cut::Bytes)
    }

    /// How many steps imports are followed.
    pub fn imports(&self) -> usize {
        self.imports.unwrap_or(0)
    }

    /// Whether files of folders below join.
    pub fn is_nested(&self) -> bool {
        self.nested.unwrap_or(false)
    }

    /// Whether the model is told of changes.
    pub fn tells_changes(&self) -> bool {
        self.on_change == Some(OnChange::Tell)
    }
}
