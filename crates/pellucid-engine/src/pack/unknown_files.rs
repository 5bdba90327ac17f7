//! Files of a user's pack that nothing would ever read, and what was probably meant.

use std::fmt;

use super::LAYOUT;
use super::Pack;
use super::slots;
use crate::file_version::FileVersion;

/// A file that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFile {
    /// The path of the file, with its hash.
    pub file: FileVersion,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: no slot has this name, so nothing reads the file", self.file)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => write!(f, "; `pellucid pack show` lists the slots"),
        }
    }
}

impl Pack {
    /// Files of the user's that nothing reads.
    pub fn unknown_files(&self) -> Vec<UnknownFile> {
        if self.shelf.users().next().is_none() {
            return Vec::new();
        }
        let known = self.known_files();
        let unknown = self.shelf.users().filter(|(name, _)| !known.iter().any(|it| it == name) && !is_paper(name));
        unknown.map(|(name, file)| UnknownFile { file: file.shown.clone(), nearest: nearest(name, &known) }).collect()
    }

    /// The names of all files that a pack with this layout may have.
    fn known_files(&self) -> Vec<String> {
        let mut known: Vec<String> = slots::SLOTS.iter().map(slots::KnownSlot::file).collect();
        known.extend([LAYOUT, slots::MODELS, slots::MANIFEST].map(str::to_owned));
        known.extend(self.templates.keys().cloned());
        known.extend(self.program_files().cloned());
        for (name, tool) in self.tools.iter(&self.shelf) {
            known.push(format!("tools/{name}.toml"));
            known.extend(tool.grammar_file.clone());
            known.extend(tool.descriptions(name).into_iter().map(|it| format!("{}.md", it.slot)));
        }
        // Tools that this layout leaves out may come back with another.
        known.extend(slots::TOOLS.iter().map(|tool| format!("tools/{}.toml", tool.tool)));
        known
    }
}

/// Whether a file is for people and not for the program.
fn is_paper(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["README", "LICENSE", "NOTICE", "CHANGELOG"].iter().any(|paper| upper.starts_with(paper)) && !name.contains('/')
}

/// The known name that is most like this one, if it is like it at all.
pub(super) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let distance = |known: &String| strsim::osa_distance(name, known);
    let best = known.iter().min_by_key(|known| distance(known))?;
    (distance(best) <= (name.len() / 3).max(2)).then(|| best.clone())
}
