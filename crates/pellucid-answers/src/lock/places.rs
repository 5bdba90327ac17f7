//! What of a request depends on the machine: folders, the shell, the system, the session.
//!
//! Only rows that state such facts are changed. A file that happens to have the path of the project in its text keeps it,
//! because the text is the same on every machine.

use std::borrow::Cow;
use std::path::Path;

use pellucid_engine::fragment::Origin;

use crate::inspected::InspectedRow;

/// Facts that are the machine's or the session's as a whole.
const MACHINE: [&str; 6] = ["shell", "session", "session file", "time zone", "runtime", "apps server"];

/// Folders of this machine, with the placeholder of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockPlaces {
    /// Folders of the project, as they may be named; all mean its root.
    pub roots: Vec<String>,
    /// Folders of the user, as they may be named.
    pub homes: Vec<String>,
    /// Whether files of the user are part of the lock.
    pub has_user_files: bool,
}

impl LockPlaces {
    /// The name of a source in the lock; absent for a file of the user that is left out.
    pub(super) fn name(&self, source: &str) -> Option<String> {
        let below = |folder: &String| {
            let rest = Path::new(source).strip_prefix(folder).ok()?;
            let names: Vec<Cow<'_, str>> = rest.iter().map(|name| name.to_string_lossy()).collect();
            Some(names.join("/"))
        };
        if let Some(name) = self.roots.iter().find_map(below) {
            return Some(name);
        }
        match self.homes.iter().find_map(below) {
            Some(name) => self.has_user_files.then(|| format!("~/{name}")),
            None => Some(source.to_owned()),
        }
    }

    /// The name of a value of the configuration in the lock, and the file and line that has it: reports call it
    /// `KEY in FILE:LINE`, and a line above it must not change its name.
    pub(super) fn value(&self, place: &str) -> (Option<String>, Option<(String, usize)>) {
        let found = place.rsplit_once(" in ").and_then(|(key, at)| {
            let (file, line) = at.rsplit_once(':')?;
            Some((key.to_owned(), (self.name(file)?, line.parse().ok()?)))
        });
        match found {
            Some((key, at)) => (Some(key), Some(at)),
            None => (self.name(place), None),
        }
    }

    /// A text for people in which paths begin at the project's root.
    pub(super) fn shown(&self, text: &str) -> String {
        let mut roots: Vec<&String> = self.roots.iter().collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        let below = roots.iter().fold(text.to_owned(), |text, root| text.replace(&format!("{root}/"), ""));
        self.without_folders(&below)
    }

    /// The bytes of a row without facts of the machine.
    pub(super) fn bytes<'r>(&self, row: &'r InspectedRow) -> Cow<'r, [u8]> {
        let Some(content) = &row.content else {
            return Cow::Borrowed(&[]);
        };
        match &content.whence {
            Origin::Fact { name } if MACHINE.contains(&name.as_ref()) => Cow::Owned(format!("<{name}>").into_bytes()),
            Origin::Fact { .. } | Origin::Skill { .. } | Origin::Layout => {
                let text = String::from_utf8_lossy(&content.wire);
                let changed = self.without_folders(&text);
                if changed == text { Cow::Borrowed(&content.wire) } else { Cow::Owned(changed.into_bytes()) }
            }
            _ => Cow::Borrowed(&content.wire),
        }
    }

    /// A text in which the folders of the machine are placeholders.
    pub(super) fn without_folders(&self, text: &str) -> String {
        let roots = self.roots.iter().map(|folder| (folder, "<project>"));
        let homes = self.homes.iter().map(|folder| (folder, "<home>"));
        let mut folders: Vec<(String, &str)> = Vec::new();
        for (folder, placeholder) in roots.chain(homes) {
            let escaped = serde_json::Value::from(folder.as_str()).to_string();
            folders.push((escaped[1..escaped.len() - 1].to_owned(), placeholder));
            folders.push((folder.clone(), placeholder));
        }
        // A folder inside of another is replaced first.
        folders.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        folders.iter().fold(text.to_owned(), |text, (folder, placeholder)| replaced(&text, folder, placeholder))
    }
}

/// A text in which a folder is a placeholder, where the name of the folder ends there.
fn replaced(text: &str, folder: &str, placeholder: &str) -> String {
    if folder.is_empty() || folder == "/" {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, from) = rest.split_at(at);
        let behind = &from[folder.len()..];
        let is_longer = behind.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
        result += before;
        result += if is_longer { folder } else { placeholder };
        rest = behind;
    }
    result + rest
}
