//! The instruction files that the model has received, by hash, with their places in the conversation.
//!
//! A session stores this beside its file, so that a resumed session knows which files changed since. Files whose text
//! leaves the conversation, because turns are removed or summarised, are no longer known.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

/// The instruction files that the model has received.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownDocuments {
    /// Files by path, with the SHA-256 of the text that was sent last.
    pub files: BTreeMap<String, String>,
    /// Files that joined when a tool went to their folder, with their place in the conversation.
    pub joined: BTreeMap<String, Joined>,
    /// The files that were known before each message about changes, with the index of that message.
    changes: Vec<(usize, BTreeMap<String, String>)>,
}

/// A file that joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The SHA-256 of the text that was sent.
    pub sha256: String,
    /// How many items the conversation had before.
    pub at: usize,
}

impl KnownDocuments {
    /// The files that a first context says.
    pub fn at_start(files: BTreeMap<String, String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Whether a file has nothing new to say: it joined before, or another one said the same.
    pub fn has(&self, path: &str, sha256: &str) -> bool {
        self.joined.contains_key(path) || self.has_content(sha256)
    }

    fn has_content(&self, sha256: &str) -> bool {
        self.files.values().chain(self.joined.values().map(|joined| &joined.sha256)).any(|it| it == sha256)
    }

    /// Notes that a file joined a conversation of so many items.
    pub fn join(&mut self, path: &str, sha256: &str, at: usize) {
        self.joined.insert(path.to_owned(), Joined { sha256: sha256.to_owned(), at });
        self.files.insert(path.to_owned(), sha256.to_owned());
    }

    /// Notes that the model received these files in an item at index `at`.
    pub fn tell(&mut self, files: BTreeMap<String, String>, at: usize) {
        self.joined.retain(|path, _| files.contains_key(path));
        for (path, joined) in &mut self.joined {
            joined.sha256.clone_from(&files[path]);
        }
        let before = std::mem::replace(&mut self.files, files);
        self.changes.push((at, before));
    }

    /// Notes that only so many items are left.
    pub fn roll_back(&mut self, n_items: usize) {
        while let Some((_, before)) = self.changes.pop_if(|(at, _)| *at >= n_items) {
            self.files = before;
        }
        let gone: Vec<String> =
            self.joined.iter().filter(|(_, joined)| joined.at >= n_items).map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.joined.remove(&path);
            self.files.remove(&path);
        }
    }

    /// Notes that a summary replaced the conversation. The context with the files of the chain is sent again with it;
    /// files that joined are not, until a tool works there again.
    pub fn compact(&mut self) {
        self.changes.clear();
        for path in std::mem::take(&mut self.joined).into_keys() {
            self.files.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect()
    }

    #[test]
    fn a_file_joins_once_for_what_it_says() {
        let mut known = KnownDocuments::at_start(files(&[("/p/A", "1")]));
        assert!(!known.has("/p/a/A", "2"));
        known.join("/p/a/A", "2", 5);
        assert!(known.has("/p/a/A", "3"), "a change is sent with a turn");
        assert!(known.has("/p/b/A", "2"), "another says the same");
        assert!(known.has("/p/c/A", "1"), "the chain says the same");
    }

    #[test]
    fn what_is_taken_back_is_not_known() {
        let mut known = KnownDocuments::at_start(files(&[("/p/A", "1")]));
        known.tell(files(&[("/p/A", "2")]), 4);
        known.join("/p/a/A", "9", 6);
        known.roll_back(6);
        assert_eq!((known.files.clone(), known.joined.len()), (files(&[("/p/A", "2")]), 0));
        known.roll_back(4);
        assert_eq!(known.files, files(&[("/p/A", "1")]));
    }

    #[test]
    fn a_summary_says_the_chain_anew_and_nothing_else() {
        let mut known = KnownDocuments::at_start(files(&[("/p/A", "1")]));
        known.join("/p/a/A", "9", 6);
        known.compact();
        assert!(!known.has("/p/a/A", "9"));
        assert_eq!(known.files, files(&[("/p/A", "1")]));
    }
}
