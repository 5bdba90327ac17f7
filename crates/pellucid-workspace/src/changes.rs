//! Finds instruction files that changed between two states, by hash.
//!
//! Not here: the message to the model about it, and reading the files (`documents`).

use std::collections::BTreeMap;

/// The hashes of a set of documents, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentHashes {
    sha256: BTreeMap<String, String>,
}

/// A document that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// The path of the file.
    pub path: String,
    /// The SHA-256 of what was read before; absent if there was nothing.
    pub old: Option<String>,
    /// The SHA-256 of the current content; absent if the file is gone.
    pub new: Option<String>,
}

impl DocumentHashes {
    /// A state made of paths and hexadecimal hashes, such as a session recorded it.
    pub fn new(documents: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { sha256: documents.into_iter().collect() }
    }

    /// The hash of a document.
    pub fn sha256(&self, path: &str) -> Option<&str> {
        self.sha256.get(path).map(String::as_str)
    }

    /// The changes from this state to a later one, by path.
    pub fn changed(&self, later: &DocumentHashes) -> Vec<DocumentChange> {
        let paths: std::collections::BTreeSet<_> = self.sha256.keys().chain(later.sha256.keys()).collect();
        paths
            .into_iter()
            .map(|path| DocumentChange {
                path: path.clone(),
                old: self.sha256.get(path).cloned(),
                new: later.sha256.get(path).cloned(),
            })
            .filter(|change| change.old != change.new)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::Expect;
    use expect_test::expect;

    fn snapshot(documents: &str) -> DocumentHashes {
        DocumentHashes::new(documents.split_whitespace().map(|document| {
            let (path, hash) = document.split_once('=').unwrap();
            (path.to_owned(), hash.to_owned())
        }))
    }

    fn check(before: &str, after: &str, expected: &Expect) {
        let lines: Vec<_> = snapshot(before)
            .changed(&snapshot(after))
            .into_iter()
            .map(|c| format!("{} {} {}", c.path, c.old.unwrap_or("-".into()), c.new.unwrap_or("-".into())))
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn same_state() {
        check("a=1 b=2", "b=2 a=1", &expect![[""]]);
    }

    #[test]
    fn changed_added_and_removed() {
        check(
            "a=1 b=2 c=3",
            "a=1 b=9 d=4",
            &expect![[r#"
            b 2 9
            c 3 -
            d - 4"#]],
        );
    }
}
