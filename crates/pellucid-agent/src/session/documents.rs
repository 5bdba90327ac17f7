//! What a session says of instruction files after its first context, where it is asked to.

use pellucid_engine::documents::change;
use pellucid_engine::documents::change::Changed;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Fate;
use pellucid_engine::not_utf8;
use pellucid_protocol::call::ToolCall;

use super::*;
use crate::documents;
use crate::documents::Joining;
use crate::gather::instructions_slot;
use crate::gather::left_out;

impl Session {
    /// Reads instruction files again, if the model is told of changes.
    pub(super) fn refresh_documents(&mut self) {
        if let Some(documents) = &mut self.documents {
            documents.refresh(&self.setup.sources, &mut self.setup.gathered.facts);
        }
    }

    /// Tells of instruction files that are not what the model was told.
    pub(super) fn tell_changed_documents(&mut self, text: NewText) {
        let Some(documents) = &mut self.documents else {
            return;
        };
        let facts = &self.setup.gathered.facts;
        let (changes, now) = documents.changes(facts);
        let changed: Vec<Changed<'_>> = changes
            .iter()
            .map(|it| Changed { path: &it.path, old: it.old.as_deref(), new: it.new.as_deref() })
            .collect();
        let draft = change::changed(&self.setup.pack, facts, &changed, text);
        if draft.is_some() {
            documents.known.tell(now, self.transcript.n_items());
        }
        keep(&mut self.setup.side, documents::SIDE, documents.kept());
        let given: Vec<String> = changes.into_iter().filter(|it| it.new.is_some()).map(|it| it.path).collect();
        if let Some(draft) = draft {
            self.record_draft(&draft);
            for path in given {
                self.note_not_utf8(&draft.part, &path);
            }
        }
    }

    /// Notes where a call goes.
    pub(crate) fn touch(&mut self, call: &ToolCall) {
        if let Some(documents) = &mut self.documents {
            documents.touch(call);
        }
    }

    /// Records the instruction files of folders that calls went to.
    pub(crate) fn record_joining_documents(&mut self) {
        let Joining { documents: joining, outside } =
            self.documents.as_mut().map(Documents::joining).unwrap_or_default();
        let slot = instructions_slot(Some(&self.setup.pack.layout));
        for (path, target) in outside {
            let candidate = Candidate { path, fate: Fate::Outside { target } };
            for omission in left_out(std::slice::from_ref(&candidate), &slot) {
                self.note_omission(omission);
            }
        }
        if joining.is_empty() {
            return;
        }
        for (document, sha256) in joining {
            let draft = change::joined(&self.setup.pack, &self.setup.gathered.facts, &document, &sha256);
            let at = self.transcript.n_items();
            self.record_draft(&draft);
            if let Some(documents) = &mut self.documents {
                documents.known.join(&document.path, &sha256, at);
            }
            if self.setup.context_events.are_wanted() {
                let (bytes, tokens) = (document.bytes.len(), tokens_of_bytes(document.bytes.len()));
                self.told.push(EventMessage::ContextDocument { path: document.path.clone(), sha256, bytes, tokens });
            }
            let path = document.path.clone();
            self.setup.gathered.facts.nested_documents.push(document);
            self.note_not_utf8(&draft.part, &path);
        }
        self.keep_documents();
        self.look_at_files();
    }

    /// Notes what the model does not see as it is in the file that a message gives it.
    fn note_not_utf8(&mut self, slot: &str, path: &str) {
        if let Some(omission) = not_utf8::omission(&self.setup.gathered.facts, slot, path) {
            self.note_omission(omission);
        }
    }

    /// Notes that items were taken away from the end.
    pub(super) fn roll_back_documents(&mut self) {
        let n_items = self.transcript.n_items();
        if let Some(documents) = &mut self.documents {
            documents.known.roll_back(n_items);
            self.forget_documents();
        }
    }

    /// Notes that a summary took the place of the history.
    pub(super) fn compact_documents(&mut self) {
        if let Some(documents) = &mut self.documents {
            documents.known.compact();
            self.forget_documents();
        }
    }

    /// Forgets files that are no longer in the conversation.
    fn forget_documents(&mut self) {
        if let Some(documents) = &self.documents {
            let joined = &documents.known.joined;
            self.setup.gathered.facts.nested_documents.retain(|document| joined.contains_key(&document.path));
        }
        self.keep_documents();
    }

    fn keep_documents(&mut self) {
        if let Some(documents) = &self.documents {
            keep(&mut self.setup.side, documents::SIDE, documents.kept());
        }
    }
}
