//! Folders for tests, drawn as text.
//!
//! One entry for each line: `a/b.md: text` is a file (with `\n` for a line break), `a/b -> c` a
//! symbolic link, `a/b/` a folder.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

/// A folder that is removed at the end of the test.
#[derive(Debug)]
pub struct Fixture {
    folder: TempDir,
    root: PathBuf,
}

impl Fixture {
    /// Makes the entries.
    ///
    /// # Panics
    /// When a line is not an entry, or cannot be made.
    pub fn new(entries: &str) -> Self {
        let folder = TempDir::new().expect("a fixture can be made");
        let root = folder.path().canonicalize().expect("a fixture can be made");
        let fixture = Self { folder, root };
        for entry in entries.lines().map(str::trim).filter(|l| !l.is_empty()) {
            fixture.add(entry);
        }
        fixture
    }

    /// The canonical path of the folder.
    pub fn root(&self) -> &Path {
        debug_assert!(self.folder.path().exists());
        &self.root
    }

    /// The path of an entry.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file together with the folders it needs.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a fixture can be made")).expect("a fixture can be made");
        fs::write(path, bytes).expect("a fixture can be made");
    }

    /// A text with the root shown as `$`.
    ///
    /// # Panics
    /// When the root's path is not UTF-8.
    pub fn shown(&self, text: impl AsRef<str>) -> String {
        text.as_ref().replace(self.root.to_str().expect("a fixture can be made"), "$")
    }

    fn add(&self, entry: &str) {
        if let Some((path, target)) = entry.split_once(" -> ") {
            let path = self.path(path);
            fs::create_dir_all(path.parent().expect("a fixture can be made")).expect("a fixture can be made");
            std::os::unix::fs::symlink(target, path).expect("a fixture can be made");
        } else if let Some(path) = entry.strip_suffix('/') {
            fs::create_dir_all(self.path(path)).expect("a fixture can be made");
        } else {
            let (path, text) = entry.split_once(':').expect("a fixture can be made");
            let text = text.strip_prefix(' ').unwrap_or(text);
            self.write(path, text.replace("\\n", "\n").replace("\\t", "\t").as_bytes());
        }
    }
}
