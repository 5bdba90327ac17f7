//! Folders for tests, drawn as text.
//!
//! One entry for each line: `a/b.md: text` is a file (with `\n` for a line break), `a/b -> c` a
//! symbolic link, `a/b/` a folder.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub struct Fixture {
    folder: TempDir,
    root: PathBuf,
}

impl Fixture {
    pub fn new(entries: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let fixture = Self { folder, root };
        for entry in entries.lines().map(str::trim).filter(|l| !l.is_empty()) {
            fixture.add(entry);
        }
        fixture
    }

    /// The root, canonical.
    pub fn root(&self) -> &Path {
        debug_assert!(self.folder.path().exists());
        &self.root
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file together with the folders it needs.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A text with the root shown as `$`.
    pub fn shown(&self, text: impl AsRef<str>) -> String {
        text.as_ref().replace(self.root.to_str().unwrap(), "$")
    }

    fn add(&self, entry: &str) {
        if let Some((path, target)) = entry.split_once(" -> ") {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        } else if let Some(path) = entry.strip_suffix('/') {
            fs::create_dir_all(self.path(path)).unwrap();
        } else {
            let (path, text) = entry.split_once(':').unwrap();
            let text = text.strip_prefix(' ').unwrap_or(text);
            self.write(path, text.replace("\\n", "\n").replace("\\t", "\t").as_bytes());
        }
    }
}
