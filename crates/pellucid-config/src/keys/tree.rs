//! The table of keys as a tree, to walk along a document.
//!
//! Not here: the rows (`table`).

use std::sync::LazyLock;

use super::InProject;
use super::Key;
use super::Scope;
use super::all;
use crate::value::segments;

/// The keys that may be at a place in a document.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The key of the place itself, unless the place is only a table.
    pub key: Option<&'static Key>,
    /// The named entries of a table at the place.
    pub children: Vec<(&'static str, Self)>,
    /// The entries under any other name: the placeholder, and the place.
    pub any: Option<(&'static str, Box<Self>)>,
    /// The elements of a list at the place.
    pub item: Option<Box<Self>>,
    /// The names that a table at the place must have.
    pub required: Vec<&'static str>,
    /// Whether all values here apply in a project's file only once they are accepted.
    pub is_guarded: bool,
}

impl Node {
    /// The place under a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, child)| child)
            .or_else(|| self.any.as_ref().map(|(_, child)| &**child))
    }

    /// Whether a table may be here.
    pub(crate) fn is_table(&self) -> bool {
        !self.children.is_empty() || self.any.is_some()
    }

    /// Whether any value here or below is not free for a project.
    pub(crate) fn has_guarded(&self) -> bool {
        self.is_guarded
            || self.key.is_some_and(|key| key.in_project != InProject::Free)
            || self.children.iter().any(|(_, child)| child.has_guarded())
            || self.any.as_ref().is_some_and(|(_, child)| child.has_guarded())
            || self.item.as_ref().is_some_and(|item| item.has_guarded())
    }

    fn insert(&mut self, path: &'static str, key: &'static Key) {
        let mut names: Vec<_> = segments(path).collect();
        let last = names.pop().unwrap_or_default();
        let parent = names.into_iter().fold(self, Self::step);
        if key.required {
            parent.required.push(last);
        }
        for name in key.aliases.iter().copied().chain([last]) {
            parent.step(name).key = Some(key);
        }
    }

    fn step(&mut self, name: &'static str) -> &mut Self {
        if let Some(name) = name.strip_suffix("[]") {
            return self.step(name).item.get_or_insert_default();
        }
        if name.starts_with('<') {
            return &mut self.any.get_or_insert_with(|| (name, Box::default())).1;
        }
        let index = self.children.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.children.push((name, Self::default()));
            self.children.len() - 1
        });
        &mut self.children[index].1
    }
}

/// The place of a whole document.
pub(crate) fn root() -> &'static Node {
    static ROOT: LazyLock<Node> = LazyLock::new(|| {
        let mut root = Node::default();
        let mut profile = Node::default();
        for key in all() {
            if key.scope != Scope::ProfileOnly {
                root.insert(key.path, key);
            }
            if key.in_profiles() {
                profile.insert(key.path, key);
            }
        }
        let profiles = root.step("profiles");
        profiles.any = Some(("<name>", Box::new(profile)));
        profiles.is_guarded = true;
        root
    });
    &ROOT
}
