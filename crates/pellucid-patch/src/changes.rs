//! The change that a verified patch makes to each file, as events and approvals show it.
//!
//! Several hunks for one file are shown as one change, from what is on the disk to what will be.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_protocol::change::FileChange;

use crate::diff::unified;
use crate::verify::Before;
use crate::verify::Entry;
use crate::verify::Now;
use crate::verify::Origin;
use crate::verify::VerifiedPatch;

/// Context around a change when it is shown alone.
const N_CONTEXT_LINES: usize = 1;

impl VerifiedPatch {
    /// The changes by absolute path, spelt as the patch writes it; a moved file is under the path that it had. Texts
    /// are held whenever code outside of this crate has verified the patch, so all of them can be shown.
    pub fn changes(&self) -> BTreeMap<PathBuf, FileChange> {
        let as_written = |(path, change): (PathBuf, FileChange)| {
            let change = match change {
                FileChange::Update { unified_diff, move_path } => {
                    FileChange::Update { unified_diff, move_path: move_path.map(|path| self.written(&path)) }
                }
                other => other,
            };
            (self.written(&path), change)
        };
        self.changes_by_entry().into_iter().map(as_written).collect()
    }

    /// The changes by the paths of the entries.
    fn changes_by_entry(&self) -> BTreeMap<PathBuf, FileChange> {
        let mut changes = BTreeMap::new();
        for (path, entry) in &self.entries {
            match (&entry.before, &entry.now) {
                (Before::Text { text, .. }, Now::Nothing(_)) => {
                    let content = text.held().map(|text| text.to_string()).unwrap_or_default();
                    changes.entry(path.clone()).or_insert(FileChange::Delete { content });
                }
                (Before::Unread, Now::Nothing(_)) => {
                    changes.entry(path.clone()).or_insert(FileChange::Delete { content: String::new() });
                }
                (Before::Nothing | Before::Free, Now::Nothing(_)) => {}
                (_, Now::Text { text, origin }) => {
                    if let Ok(text) = text.flat() {
                        let (key, change) = self.text_change(path, &text, origin);
                        changes.insert(key, change);
                    }
                }
            }
        }
        changes
    }

    /// The text of each path after the patch, `None` where nothing is.
    pub fn texts(&self) -> BTreeMap<PathBuf, Option<String>> {
        let now = |entry: &Entry| match &entry.now {
            Now::Nothing(_) => None,
            Now::Text { text, .. } => text.flat().ok().map(Arc::unwrap_or_clone),
        };
        self.entries.iter().map(|(path, entry)| (path.clone(), now(entry))).collect()
    }

    fn text_change(&self, path: &PathBuf, text: &str, origin: &Origin) -> (PathBuf, FileChange) {
        let add = || (path.clone(), FileChange::Add { content: text.to_owned() });
        let Origin::File(source) = origin else {
            return add();
        };
        let Some(entry) = self.entries.get(source) else {
            return add();
        };
        let Before::Text { text: old, .. } = &entry.before else {
            return add();
        };
        let Ok(old) = old.held() else {
            return add();
        };
        let is_moved = source != path;
        if is_moved && matches!(entry.now, Now::Text { .. }) {
            // Something else is where it was, and has that path for itself.
            return add();
        }
        let unified_diff = unified(&old, text, N_CONTEXT_LINES);
        (source.clone(), FileChange::Update { unified_diff, move_path: is_moved.then(|| path.clone()) })
    }
}
