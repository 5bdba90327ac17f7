//! A temporary folder that is removed with its owner.
//!
//! Not here: `CONFORMANCE_TMP`, where the harness makes the folders of its runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

static N_MADE: AtomicU32 = AtomicU32::new(0);

/// An empty folder in the temporary directory, removed on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let n = N_MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("pellucid-xtask-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("could not make {}", path.display()))?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder inside.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).with_context(|| format!("could not make {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays in the temporary directory does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_removed_with_its_contents() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_path_buf();
        fs::write(scratch.folder("a").unwrap().join("b"), "c").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
