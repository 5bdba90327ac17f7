//! The messages about instruction files that join a conversation or change during it.
//!
//! Both are messages at the end: the items before them do not change.

use super::CHANGED;
use super::CHANGED_ABOVE;
use super::CHANGED_FILE;
use super::NESTED;
use super::REMOVED_FILE;
use super::place;
use crate::facts::Document;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::pack::Pack;
use crate::transcript::Draft;

/// The hash that is shown for a file that did not exist.
const NOTHING: &str = "none";

/// A file that is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// The SHA-256 of what it said; absent if it was not there.
    pub old: Option<&'a str>,
    /// The SHA-256 of what it says; absent if it is gone.
    pub new: Option<&'a str>,
}

/// The place of the new texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewText {
    /// In the message itself.
    Here,
    /// In the context, which was just said whole.
    Above,
}

/// The message about a file in a folder that a tool worked in.
pub fn joined(pack: &Pack, facts: &Facts, document: &Document, sha256: &str) -> Draft {
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let fragments = pack.template(NESTED).render(&[
        ("{{ directory }}", vec![Fragment::fact("folder", folder)]),
        ("{{ path }}", vec![Fragment::fact("path", document.path.as_str())]),
        ("{{ new }}", vec![Fragment::fact("hash", sha256)]),
        ("{{ text }}", place::alone(pack, facts, document)),
    ]);
    Draft::text("nested_instructions", "user", fragments)
}

/// The message about files that changed, if any did. Files that joined are not in the context, so their text is
/// always in the message.
pub fn changed(pack: &Pack, facts: &Facts, changes: &[Changed<'_>], text: NewText) -> Option<Draft> {
    if changes.is_empty() {
        return None;
    }
    let (project, _) = place::project(pack, facts, &"".into(), place::budget(pack, facts));
    let (imports, _) = place::home_imports(pack, facts, &"".into());
    let mut inside: Vec<Fragment> = Vec::new();
    for change in changes {
        if !inside.is_empty() {
            inside.push(Fragment::layout("\n\n"));
        }
        let hash = |hash: Option<&str>| vec![Fragment::fact("hash", hash.unwrap_or(NOTHING))];
        let own = project.iter().chain(&imports).find(|placed| placed.path == change.path);
        let others = facts.world.home_document.iter().chain(&facts.world.nested_documents);
        let mut others = others.filter(|document| document.path == change.path);
        let fragments = own.map(|placed| placed.fragments.clone());
        let fragments = fragments.or_else(|| others.next().map(|document| place::alone(pack, facts, document)));
        let has_joined = facts.world.nested_documents.iter().any(|document| document.path == change.path);
        let file = match (change.new, text) {
            (None, _) => REMOVED_FILE,
            (Some(_), NewText::Above) if !has_joined => CHANGED_ABOVE,
            (Some(_), _) => CHANGED_FILE,
        };
        inside.extend(pack.template(file).render(&[
            ("{{ path }}", vec![Fragment::fact("path", change.path)]),
            ("{{ old }}", hash(change.old)),
            ("{{ new }}", hash(change.new)),
            ("{{ text }}", fragments.unwrap_or_default()),
        ]));
    }
    let directory = vec![Fragment::fact("cwd", facts.settings.cwd.as_str())];
    let fragments = pack.template(CHANGED).render(&[("{{ text }}", inside), ("{{ directory }}", directory)]);
    Some(Draft::text("changed_instructions", "user", fragments))
}
