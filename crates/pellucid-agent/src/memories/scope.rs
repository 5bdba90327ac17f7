//! The scope of memories: whose sessions are read and remembered, and the folder of the merged files.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::config::MemoryScope;
use pellucid_engine::memories::FOLDER;
use pellucid_engine::memories::PROJECTS;
use pellucid_engine::memories::files;
use pellucid_engine::memories::job;

/// The memories that a session reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoriesOf {
    /// The name of the scope in the database: the top folder of the project, or a word for all projects.
    pub key: String,
    /// The folder of the merged files.
    pub folder: PathBuf,
    /// The top folder of the project; absent if the memories are those of all projects.
    pub project: Option<String>,
}

impl MemoriesOf {
    /// The memories of the configured scope.
    pub fn configured(config: &Config) -> Self {
        match config.tools.memories.scope {
            MemoryScope::All => Self::all(&config.folders.home),
            MemoryScope::Project => {
                Self::project(&config.folders.home, &real(&config.folders.project_root).to_string_lossy())
            }
        }
    }

    /// The memories of all projects, which the Codex CLI shares.
    pub(super) fn all(home: &Path) -> Self {
        Self { key: job::ALL.to_owned(), folder: home.join(FOLDER), project: None }
    }

    /// The memories of one project.
    pub(super) fn project(home: &Path, root: &str) -> Self {
        let folder = home.join(PROJECTS).join(files::project_folder(root));
        Self { key: root.to_owned(), folder, project: Some(root.to_owned()) }
    }

    /// The memories with this key in the database.
    pub(super) fn keyed(home: &Path, key: &str) -> Self {
        if key == job::ALL { Self::all(home) } else { Self::project(home, key) }
    }

    /// Whether a session of this project is remembered.
    pub(super) fn has(&self, project: &str) -> bool {
        self.project.as_deref().is_none_or(|own| own == project)
    }
}

/// The top folder of the project in which a past session worked.
pub(super) fn project_of(config: &Config, cwd: &str) -> String {
    real(&config.layers().project_root_of(&real(Path::new(cwd)))).to_string_lossy().into_owned()
}

/// A path without links, if it leads anywhere.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
