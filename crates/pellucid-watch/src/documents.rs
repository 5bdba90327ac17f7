//! Files whose text a request may have: instruction files, rules, skills and prompts of the folder and of the home folder.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_engine::digest::Digest;
use pellucid_engine::file_version::FileVersion;

use crate::named;

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How many files that conversations name are looked for.
const N_NAMED_MAX: usize = 64;

/// How many files are read at most.
const N_FILES_MAX: usize = 512;

/// How many folders are looked into at most.
const N_FOLDERS_MAX: usize = 4096;

/// Times of folders may be as coarse as this.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

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

/// Configurations, whose values may be instructions.
const CONFIGS: [&str; 5] = [
    "config.toml",
    ".codex/config.toml",
    ".claude/settings.json",
    ".gemini/settings.json",
    ".config/opencode/opencode.json",
];

/// A file whose text a request may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path, with the hash of the content.
    pub version: FileVersion,
    /// The text of the file.
    pub text: Arc<str>,
    /// What kind of file it is.
    pub kind: DocumentKind,
}

/// What a document is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// Instructions, rules, skills and prompts, which programs put into requests by themselves.
    Instructions,
    /// A configuration, of which a request may have single values.
    Config,
    /// A file that the conversation names. A person may have typed or pasted its text.
    Named,
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
    paths: Vec<PathBuf>,
    /// The folders that `paths` depends on, with their times: a file that appears or goes away changes the time of its folder.
    folders: BTreeMap<PathBuf, Option<SystemTime>>,
    /// Files that the conversation names.
    named: BTreeSet<PathBuf>,
    /// Whether all of them were left alone for a while before they were looked into, so that their times tell of any change.
    is_settled: bool,
}

impl Documents {
    /// No documents yet.
    pub fn new(places: DocumentPlaces) -> Self {
        Self { places, ..Self::default() }
    }

    /// The documents as they are now, the longest first.
    pub fn now(&mut self) -> Vec<Document> {
        let mut documents = Vec::new();
        let mut n_bytes = 0;
        let is_same = |(folder, time): (&PathBuf, &Option<SystemTime>)| time_of(folder) == *time;
        if !self.is_settled || !self.folders.iter().all(is_same) {
            let now = SystemTime::now();
            let mut seen = BTreeMap::new();
            self.paths = self.places.paths(&mut seen);
            let is_old = |time: &SystemTime| now.duration_since(*time).is_ok_and(|age| age > SETTLED_AFTER);
            self.is_settled = seen.values().flatten().all(is_old) && seen.len() < N_FOLDERS_MAX;
            self.folders = seen;
        }
        let is_config = |path: &Path| CONFIGS.iter().any(|name| path.ends_with(name));
        let named = self.named.iter().filter(|path| !self.paths.contains(path));
        let named = named.map(|path| (path, DocumentKind::Named));
        let placed = self.paths.iter().map(|path| match is_config(path) {
            true => (path, DocumentKind::Config),
            false => (path, DocumentKind::Instructions),
        });
        for (path, kind) in placed.chain(named) {
            let Ok(metadata) = std::fs::metadata(path) else {
                self.known.remove(path);
                continue;
            };
            let stamp = (metadata.modified().ok(), metadata.len());
            let is_known = self.known.get(path).is_some_and(|(modified, len, _)| (*modified, *len) == stamp);
            if !is_known {
                let document =
                    pellucid_files::read(path, FILE_BYTES_MAX).ok().and_then(|bytes| document(path, kind, bytes));
                self.known.insert(path.clone(), (stamp.0, stamp.1, document));
            }
            let Some((_, _, Some(document))) = self.known.get(path) else {
                continue;
            };
            if n_bytes + document.text.len() <= ALL_BYTES_MAX {
                n_bytes += document.text.len();
                documents.push(Document { kind, ..document.clone() });
            }
        }
        documents.sort_by_key(|document| std::cmp::Reverse(document.text.len()));
        documents
    }
}

impl Documents {
    /// Notes the files of the working directory that a text names.
    pub fn note(&mut self, text: &str) {
        self.add_named(named::names(text, &self.places.cwd));
    }

    /// Notes the files of the working directory that an item names.
    pub fn note_item(&mut self, item: &str) {
        self.add_named(named::names_of_item(item, &self.places.cwd));
    }

    fn add_named(&mut self, names: BTreeSet<PathBuf>) {
        for name in names {
            if self.named.len() >= N_NAMED_MAX {
                return;
            }
            let path = self.places.cwd.join(name);
            if !self.paths.contains(&path) && !self.named.contains(&path) && self.places.has(&path) {
                self.named.insert(path);
            }
        }
    }
}

impl DocumentPlaces {
    /// Whether a path is a regular file in the working directory, and no link on the way leads out of it.
    fn has(&self, path: &Path) -> bool {
        let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
        let is_inside = || Some(path.canonicalize().ok()?.starts_with(self.cwd.canonicalize().ok()?));
        is_file && is_inside() == Some(true)
    }
}

fn document(path: &Path, kind: DocumentKind, bytes: Vec<u8>) -> Option<Document> {
    let sha256 = Digest::of([bytes.as_slice()]);
    let text = String::from_utf8(bytes).ok()?;
    let version = FileVersion::new(&path.to_string_lossy(), Some(sha256));
    Some(Document { version, text: text.into(), kind })
}

impl DocumentPlaces {
    /// Every path that may be a document. A path that leads to the same file as another counts once. The folders that were
    /// looked into are noted with their times.
    fn paths(&self, seen: &mut SeenFolders) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for folder in self.cwd.ancestors() {
            look(folder, &NAMES, &FOLDERS, &mut paths, seen);
            look(folder, &CONFIGS[1..4], &[], &mut paths, seen);
        }
        if let Some(home) = &self.home {
            look(home, &AT_HOME, &FOLDERS, &mut paths, seen);
            look(home, &CONFIGS[1..], &[], &mut paths, seen);
        }
        for home in &self.program_homes {
            look(home, &NAMES[..5], &["skills", "prompts", "rules"], &mut paths, seen);
            look(home, &CONFIGS[..1], &[], &mut paths, seen);
        }
        paths.sort();
        paths.dedup();
        paths.truncate(N_FILES_MAX);
        paths
    }
}

/// Folders that were looked into, with their times.
type SeenFolders = BTreeMap<PathBuf, Option<SystemTime>>;

/// When an entry was added to a folder or removed last; absent if there is no such folder.
fn time_of(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).ok()?.modified().ok()
}

/// Notes a folder, and those on the way to a path below it, as far as they exist.
fn note(base: &Path, below: &str, seen: &mut SeenFolders) {
    let mut folder = base.to_owned();
    for part in Path::new(below).components() {
        if !seen.contains_key(&folder) {
            let time = time_of(&folder);
            // A folder that is missing changes the time of the one above it when it appears.
            if time.is_none() && folder != base {
                return;
            }
            seen.insert(folder.clone(), time);
        }
        folder.push(part);
    }
}

/// Looks for files and folders of a folder.
fn look(base: &Path, files: &[&str], folders: &[&str], paths: &mut Vec<PathBuf>, seen: &mut SeenFolders) {
    for name in files {
        note(base, name, seen);
        let path = base.join(name);
        if path.is_file() {
            paths.push(path);
        }
    }
    for name in folders {
        note(base, name, seen);
        below(&base.join(name), 0, paths, seen);
    }
}

/// The text files of a folder and of those in it.
fn below(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>, seen: &mut SeenFolders) {
    const DEPTH_MAX: usize = 3;
    if seen.len() >= N_FOLDERS_MAX {
        return;
    }
    let time = time_of(folder);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    seen.insert(folder.to_owned(), time);
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(N_FILES_MAX).collect();
    found.sort();
    for path in found {
        let is_text = path.extension().is_some_and(|it| it == "md" || it == "mdc" || it == "toml");
        if path.is_dir() && depth < DEPTH_MAX {
            below(&path, depth + 1, paths, seen);
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
        // A folder that was not there, below one that was.
        files.write("w/a/.claude/rules/new.md", "a new rule\n");
        files.write("w/.claude/skills/x/more/deep.md", "deeper\n");
        let found = texts(&mut documents);
        assert!(["a new rule", "deeper"].iter().all(|text| found.contains(&(*text).to_owned())), "{found:?}");
        assert_eq!(texts(&mut documents), found);
        // Files that are named, as long as they are in the folder.
        files.write("w/a/src/main.rs", "fn main() {}\n");
        files.write("w/outside.rs", "outside\n");
        std::os::unix::fs::symlink(files.path("w/outside.rs"), files.path("w/a/link.rs")).unwrap();
        documents.note("look at @src/main.rs, link.rs, ../outside.rs and missing.rs");
        documents.note_item(r#"{"content":"notes.md:3"}"#);
        let found: Vec<String> = texts(&mut documents).into_iter().filter(|text| !found.contains(text)).collect();
        assert_eq!(found, ["fn main() {}", "no"]);
    }
}
