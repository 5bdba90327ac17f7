//! The files that a session's requests are made from: as they were for the last request, and as they are now.

use std::sync::Arc;

use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::file_states::FileStates;

use crate::frames::SharedFrames;

/// The files of a session, by hash.
#[derive(Debug, Clone, Default)]
pub(super) struct FilesSeen {
    /// As they were for the last request; absent before the first, and where its record does not name them.
    before: Option<Arc<FileStates>>,
    /// The same for the request before that one, which is the last if that one is not sent.
    earlier: Option<Arc<FileStates>>,
    /// As they were when they were read last.
    now: Arc<FileStates>,
}

impl FilesSeen {
    /// The files of a session whose last request is recorded.
    pub(super) fn after(before: Option<FileStates>) -> Self {
        Self { before: before.map(Arc::new), ..Self::default() }
    }

    /// Which files differ from those of the last request.
    pub(super) fn changed(&self) -> Vec<ChangedFile> {
        match &self.before {
            Some(before) if !Arc::ptr_eq(before, &self.now) => before.changed(&self.now),
            _ => Vec::new(),
        }
    }

    /// The same for a request that is made now. The next request is compared with it.
    pub(super) fn take_changed(&mut self) -> Vec<ChangedFile> {
        let changed = self.changed();
        self.earlier = self.before.replace(self.now.clone());
        changed
    }

    /// Forgets the last request, because it was not sent.
    pub(super) fn take_back(&mut self) {
        self.before = self.earlier.take();
    }

    /// The states that are known, the newest first.
    pub(super) fn known(&self) -> Vec<&FileStates> {
        std::iter::once(&self.now).chain(&self.before).map(AsRef::as_ref).collect()
    }

    /// Takes over the files as they were read just now.
    pub(super) fn read(&mut self, now: FileStates, shared: &SharedFrames) -> &Arc<FileStates> {
        if *self.now != now {
            self.now = shared.files(now);
        }
        &self.now
    }
}
