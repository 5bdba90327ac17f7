//! The files that `@` lists, each with whether the model has the text that the file has now.
//!
//! What the model was shown is asked for once while the list is open, because the answer needs the whole session.

use std::collections::BTreeMap;

use super::App;
use super::Effect;
use crate::composer::popup::FoundFile;
use crate::host::HostCall;
use crate::look::report::LookCall;

impl App {
    /// Takes the files that were found.
    pub(super) fn files_found(&mut self, query: &str, files: Vec<String>, effects: &mut Vec<Effect>) {
        let look = &mut self.session.look;
        if look.seen.is_none() && self.session.configured.is_some() {
            effects.push(Effect::Ask(HostCall::Look(LookCall::SeenFiles)));
        }
        let seen = look.seen.get_or_insert_default();
        let found = |path: String| FoundFile { seen: seen.get(&path).cloned().unwrap_or_default(), path };
        self.composer.files_found(query, files.into_iter().map(found).collect());
    }

    /// Takes what the model was shown of files.
    pub(super) fn files_seen(&mut self, seen: BTreeMap<String, String>) {
        self.composer.files_seen(&seen);
        self.session.look.seen = Some(seen);
    }

    /// Forgets what the model was shown when no list is open: it is asked for again with the next list.
    pub(super) fn forget_seen_files(&mut self) {
        if self.composer.popup().is_none() {
            self.session.look.seen = None;
        }
    }
}
