//! Data that is the same for all sessions: packs, the model catalogue, and frames of requests.
//!
//! A user may change files while the server runs. A user's pack is therefore read for every session, and the catalogue
//! when its file has changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::SystemTime;

use pellucid_engine::pack::Pack;
use pellucid_model::Catalogue;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackFilesError;
use pellucid_workspace::pack_files::PackPlace;

use crate::frames::SharedFrames;
use crate::gather;

/// Caches of packs, of the model catalogue and of frames, shared by all sessions.
#[derive(Debug, Default)]
pub struct Shelf {
    packs: Mutex<Vec<Arc<Pack>>>,
    catalogue: Mutex<Option<(Stamp, Arc<Catalogue>)>>,
    frames: SharedFrames,
}

/// The modification time and size of a file, by which a change of the file is noticed.
type Stamp = Option<(SystemTime, u64)>;

impl Shelf {
    /// The pack of this name, or in this folder.
    ///
    /// # Errors
    /// If the pack cannot be used.
    pub fn pack(&self, name: &str, home: &Path) -> Result<Arc<Pack>, PackFilesError> {
        if !matches!(pack_files::find(name, home)?, PackPlace::BuiltIn(_)) {
            return pack_files::load(name, home).map(Arc::new);
        }
        let known = held(&self.packs).iter().find(|pack| pack.name == name).cloned();
        if let Some(pack) = known {
            return Ok(pack);
        }
        let pack = Arc::new(pack_files::load(name, home)?);
        held(&self.packs).push(pack.clone());
        Ok(pack)
    }

    /// The frames that sessions hold together.
    pub(crate) fn frames(&self) -> &SharedFrames {
        &self.frames
    }

    /// The model catalogue, read again if its file has changed.
    pub fn catalogue(&self, home: &Path) -> Arc<Catalogue> {
        let metadata = std::fs::metadata(gather::models_file(home)).ok();
        let stamp: Stamp = metadata.and_then(|it| Some((it.modified().ok()?, it.len())));
        let mut kept = held(&self.catalogue);
        match &*kept {
            Some((known, catalogue)) if *known == stamp => catalogue.clone(),
            _ => {
                let catalogue = Arc::new(gather::catalogue(home));
                *kept = Some((stamp, catalogue.clone()));
                catalogue
            }
        }
    }
}

/// Locks, even if another holder of the lock panicked.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
