//! Files whose text a request may have: instruction files, rules, skills and prompts of the folder and of the home folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use pellucid_engine::digest::Digest;
use pellucid_engine::file_version::FileVersion;

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How many files are read at most.
const N_FILES_MAX: usize = 512;

/// How many bytes are held at most.
const ALL_BYTES_MAX: usize = 16 << 20;

/// Files that programs look for in a folder and the folders above it.
const NAMES: [&str; 13] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "CONTEXT.md",
    ".cursorrules",
    ".windsurfrules",
    ".github/copilot-instructions.md",
    ".claude/CLAUDE.md",
    ".codex/AGENTS.md",
    ".gemini/GEMINI.md",
    ".pi/AGENTS.md",
];

/// Folders of a project or of the home folder that hold such files, one below the other.
const FOLDERS: [&str; 14] = [
    ".agents/skills",
    ".claude/agents",
    ".claude/commands",
    ".claude/rules",
    ".claude/skills",
    ".codex/prompts",
    ".codex/skills",
    ".cursor/rules",
    ".gemini/commands",
    ".opencode/agent",
    ".opencode/command",
    ".pi/agent/skills",
    ".config/opencode/agent",
    ".config/opencode/command",
];

/// Further files of the home folder.
const AT_HOME: [&str; 6] = [
    ".codex/AGENTS.md",
    ".claude/CLAUDE.md",
    ".gemini/GEMINI.md",
    ".config/opencode/AGENTS.md",
    ".pi/agent/AGENTS.md",
    ".agents/AGENTS.md",
];

/// A file whose text a request may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path, with the hash of the content.
    pub version: FileVersion,
    /// The text of the file.
    pub text: Arc<str>,
}

/// Where documents are looked for.
#[derive(Debug, Clone, Default)]
pub struct DocumentPlaces {
    /// The working directory of the program.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Home folders of programs, as variables such as `CODEX_HOME` name them.
    pub program_homes: Vec<PathBuf>,
}

/// Documents that were read, read again only when they change.
#[derive(Debug, Default)]
pub struct Documents {
    places: DocumentPlaces,
    known: BTreeMap<PathBuf, (Option<SystemTime>, u64, Option<Document>)>,
}

impl Documents {
    /// No documents yet.
    pub fn new(places: DocumentPlaces) -> Self {
        Self { places, known: BTreeMap::new() }
    }

    /// The documents as they are now, the longest first.
    pub fn now(&mut self) -> Vec<Document> {
        let mut documents = Vec::new();
        let mut n_bytes = 0;
        for path in self.places.paths() {
            let Ok(metadata) = std::fs::metadata(&path) else {
                self.known.remove(&path);
                continue;
            };
            let stamp = (metadata.modified().ok(), metadata.len());
            let is_known = self.known.get(&path).is_some_and(|(modified, len, _)| (*modified, *len) == stamp);
            if !is_known {
                let document =
                    pellucid_files::read(&path, FILE_BYTES_MAX).ok().and_then(|bytes| document(&path, bytes));
                self.known.insert(path.clone(), (stamp.0, stamp.1, document));
            }
            let Some((_, _, Some(document))) = self.known.get(&path) else {
                continue;
            };
            if n_bytes + document.text.len() <= ALL_BYTES_MAX {
                n_bytes += document.text.len();
                documents.push(document.clone());
            }
        }
        documents.sort_by_key(|document| std::cmp::Reverse(document.text.len()));
        documents
    }
}

fn document(path: &Path, bytes: Vec<u8>) -> Option<Document> {
    let sha256 = Digest::of([bytes.as_slice()]);
    let text = String::from_utf8(bytes).ok()?;
    let version = FileVersion::new(&path.to_string_lossy(), Some(sha256));
    Some(Document { version, text: text.into() })
}

impl DocumentPlaces {
    /// Every path that may be a document. A path that leads to the same file as another counts once.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for folder in self.cwd.ancestors() {
            paths.extend(NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()));
            for inner in FOLDERS {
                below(&folder.join(inner), 0, &mut paths);
            }
        }
        if let Some(home) = &self.home {
            paths.extend(AT_HOME.iter().map(|name| home.join(name)).filter(|path| path.is_file()));
            for inner in FOLDERS {
                below(&home.join(inner), 0, &mut paths);
            }
        }
        for home in &self.program_homes {
            paths.extend(NAMES.iter().take(5).map(|name| home.join(name)).filter(|path| path.is_file()));
            for inner in ["skills", "prompts", "rules"] {
                below(&home.join(inner), 0, &mut paths);
            }
        }
        paths.sort();
        paths.dedup();
        paths.truncate(N_FILES_MAX);
        paths
    }
}

/// The text files of a folder and of those in it.
fn below(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    const DEPTH_MAX: usize = 3;
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(N_FILES_MAX).collect();
    found.sort();
    for path in found {
        let is_text = path.extension().is_some_and(|it| it == "md" || it == "mdc" || it == "toml");
        if path.is_dir() && depth < DEPTH_MAX {
            below(&path, depth + 1, paths);
        } else if is_text && path.is_file() && paths.len() < N_FILES_MAX {
            paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;

    #[test]
    fn documents_are_found_above_the_folder_and_at_home_and_read_again_when_they_change() {
        let files = Workspace::new(
            "//- w/AGENTS.md\nroot rules\n//- w/a/CLAUDE.md\nshort\n//- w/a/notes.md\nno\n//- h/.codex/AGENTS.md\nthe longest of all\n\
             //- w/.claude/skills/x/SKILL.md\nskill\n//- c/AGENTS.md\ncodex home\n",
        );
        let places = DocumentPlaces {
            cwd: files.path("w/a"),
            home: Some(files.path("h")),
            program_homes: vec![files.path("c")],
        };
        let mut documents = Documents::new(places);
        let texts = |documents: &mut Documents| -> Vec<String> {
            documents.now().iter().map(|it| it.text.trim_end().to_owned()).collect()
        };
        let mut found = texts(&mut documents);
        assert_eq!(found[0], "the longest of all");
        found.sort();
        assert_eq!(found, ["codex home", "root rules", "short", "skill", "the longest of all"]);
        files.write("w/AGENTS.md", "other rules now\n");
        std::fs::remove_file(files.path("w/a/CLAUDE.md")).unwrap();
        let found = texts(&mut documents);
        assert!(found.contains(&"other rules now".to_owned()) && !found.contains(&"short".to_owned()), "{found:?}");
    }
}
