//! Settings for instruction files, in the spellings of packs and of the configuration.
//!
//! Without any setting, Pellucid does what the Codex CLI does.

use serde::Deserialize;

use crate::settings::word_enum;

word_enum! {
    /// Which instruction files get the budget first.
    Allocation {
        /// The project's root, then the folders below it.
        RootFirst = "root-first",
        /// The working directory, then the folders above it.
        NearestFirst = "nearest-first",
        /// All files, in proportion to their sizes.
        Proportional = "proportional",
    }
}

word_enum! {
    /// Where an instruction file that is too long is cut.
    Cut {
        /// At the last byte of the budget, without a note.
        Bytes = "bytes",
        /// At the end of a line, with a note of what is missing.
        Lines = "lines",
    }
}

word_enum! {
    /// What happens when an instruction file changes during a session.
    OnChange {
        /// The change is ignored.
        Ignore = "ignore",
        /// The next turn informs the model.
        Tell = "tell",
    }
}

/// Settings for instruction files; an absent one is left to a weaker source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectDocs {
    /// Which files get the budget first.
    pub allocation: Option<Allocation>,
    /// Where a file that is too long is cut.
    pub cut: Option<Cut>,
    /// How many levels of imports are followed; 0 follows none.
    pub imports: Option<usize>,
    /// Whether files of subfolders are added when a tool works there.
    pub nested: Option<bool>,
    /// What happens when a file changes.
    pub on_change: Option<OnChange>,
}

impl ProjectDocs {
    /// These settings, with those of `other` for the absent ones.
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

    /// Which files get the budget first.
    pub fn allocation(&self) -> Allocation {
        self.allocation.unwrap_or(Allocation::RootFirst)
    }

    /// Where a file that is too long is cut.
    pub fn cut(&self) -> Cut {
        self.cut.unwrap_or(Cut::Bytes)
    }

    /// How many levels of imports are followed.
    pub fn imports(&self) -> usize {
        self.imports.unwrap_or(0)
    }

    /// Whether files of subfolders are added.
    pub fn is_nested(&self) -> bool {
        self.nested.unwrap_or(false)
    }

    /// Whether the model is informed of changes.
    pub fn tells_changes(&self) -> bool {
        self.on_change == Some(OnChange::Tell)
    }
}
