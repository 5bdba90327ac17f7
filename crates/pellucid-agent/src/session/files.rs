//! The files that a session's requests are made from: as they were for the last request, and as they are now.

use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::file_states::FileKind;
use pellucid_engine::file_states::FileStates;

use super::*;

/// The files of a session, by hash.
#[derive(Debug, Default)]
pub(super) struct FilesSeen {
    /// As they were for the last request; absent before the first, and where its record does not say it.
    before: Option<Arc<FileStates>>,
    /// The same for the request before that one, which is the last if that one does not go out.
    earlier: Option<Arc<FileStates>>,
    /// As they were when they were read last.
    now: Arc<FileStates>,
}

impl FilesSeen {
    /// Those of a session that continues behind a request.
    pub(super) fn after(before: Option<FileStates>) -> Self {
        Self { before: before.map(Arc::new), ..Self::default() }
    }

    /// Which files are not what they were for the last request.
    pub(super) fn changed(&self) -> Vec<ChangedFile> {
        match &self.before {
            Some(before) if !Arc::ptr_eq(before, &self.now) => before.changed(&self.now),
            _ => Vec::new(),
        }
    }

    /// The same for a request that is made now. The next one is compared with it.
    pub(super) fn take_changed(&mut self) -> Vec<ChangedFile> {
        let changed = self.changed();
        self.earlier = self.before.replace(self.now.clone());
        changed
    }

    /// Forgets the last request, because it did not go out.
    pub(super) fn take_back(&mut self) {
        self.before = self.earlier.take();
    }
}

impl Session {
    /// Notes which files the next request is made from.
    pub(super) fn look_at_files(&mut self) {
        let mut now = FileStates::of(&self.setup.gathered.facts, &self.setup.pack);
        match self.standing.as_ref().map(Standing::files_read) {
            None => {}
            Some(Some(files)) => files.iter().for_each(|file| now.add(FileKind::Standing, file)),
            // What is not due is not read, and not gone either.
            Some(None) => {
                now.carry(FileKind::Standing, &self.files.now);
                self.files.before.iter().for_each(|before| now.carry(FileKind::Standing, before));
            }
        }
        if *self.files.now != now {
            self.files.now = Arc::new(now);
        }
        self.log.sent_from_start().files_are(&self.files.now);
    }
}
