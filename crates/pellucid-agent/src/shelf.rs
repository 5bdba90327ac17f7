//! Data that is the same for all sessions: packs, the model catalogue, configurations, and frames of requests.
//!
//! A user may change files while the server runs. A user's pack is therefore read for every session, and the catalogue
//! when its file has changed.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::SystemTime;

use pellucid_config::Config;
use pellucid_engine::pack::Pack;
use pellucid_model::Catalogue;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackFilesError;
use pellucid_workspace::pack_files::PackPlace;

use crate::frames::SharedFrames;
use crate::gather;

/// How many configurations are remembered.
const N_CONFIGS_MAX: usize = 8;

/// Caches of packs, of the model catalogue and of frames, shared by all sessions.
#[derive(Debug, Default)]
pub struct Shelf {
    packs: Mutex<Vec<Arc<Pack>>>,
    catalogue: Mutex<Option<(Stamp, Arc<Catalogue>)>>,
    frames: SharedFrames,
    /// The configurations that sessions were opened with last, all different.
    configs: Mutex<VecDeque<Arc<Config>>>,
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

    /// The same configuration in the memory of a known one. Sessions mostly differ by nothing, or by their folder.
    pub(crate) fn config(&self, config: Config) -> Arc<Config> {
        let mut known = held(&self.configs);
        if let Some(known) = known.iter().find(|known| ***known == config) {
            return known.clone();
        }
        if known.len() == N_CONFIGS_MAX {
            known.pop_front();
        }
        let config = Arc::new(config);
        known.push_back(config.clone());
        config
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
