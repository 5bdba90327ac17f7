//! The files of some folders, and which of them match a query best.
//!
//! Files named in ignore files are left out, hidden files are not. The number of files and of results is bounded.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use ignore::WalkBuilder;
use nucleo_matcher::Config;
use nucleo_matcher::Matcher;
use nucleo_matcher::Utf32Str;
use nucleo_matcher::pattern::CaseMatching;
use nucleo_matcher::pattern::Normalization;
use nucleo_matcher::pattern::Pattern;

use crate::types::notification::FuzzyFileSearchResult;

/// How many files a search returns.
const RESULTS_MAX: usize = 50;

/// How many files a search looks at.
const FILES_MAX: usize = 1_000_000;

/// After how many files a search checks whether it was cancelled.
const STEPS: usize = 256;

/// Cancels a search from another task.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Cancels the search.
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the search was cancelled.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether both handles cancel the same search.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A folder to search.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// The absolute path of the folder.
    pub path: PathBuf,
    /// The client's name for the folder.
    pub shown: String,
}

/// The files of some folders.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<File>,
    roots: Vec<String>,
}

#[derive(Debug)]
struct File {
    /// The index of the file's folder among the roots.
    root: usize,
    /// The file's path, relative to its folder.
    path: String,
}

impl Files {
    /// Lists the files of the folders, until the search is cancelled.
    pub(super) fn walk(roots: &[Root], stop: &Stop) -> Self {
        let mut found = Self { files: Vec::new(), roots: roots.iter().map(|root| root.shown.clone()).collect() };
        for (index, root) in roots.iter().enumerate() {
            // If one root contains another, a file belongs to the inner root; a root that is named twice counts once.
            let is_of_another = |path: &Path| {
                let mut others = roots.iter().enumerate().filter(|(other, _)| *other != index);
                others.any(|(other, inner)| {
                    let is_inner = inner.path != root.path && inner.path.starts_with(&root.path);
                    let is_again = inner.path == root.path && other < index;
                    (is_inner || is_again) && path.starts_with(&inner.path)
                })
            };
            let walk = WalkBuilder::new(&root.path).hidden(false).follow_links(true).require_git(false).build();
            for (n_seen, entry) in walk.enumerate() {
                if n_seen % STEPS == 0 && stop.is_set() || found.files.len() >= FILES_MAX {
                    return found;
                }
                // A folder that cannot be listed is skipped.
                let Ok(entry) = entry else { continue };
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                let Ok(path) = entry.path().strip_prefix(&root.path) else { continue };
                if is_file && !path.as_os_str().is_empty() && !is_of_another(entry.path()) {
                    found.files.push(File { root: index, path: path.to_string_lossy().into_owned() });
                }
            }
        }
        found
    }

    /// The files that match best, the best first; files that match equally well are ordered by path.
    pub(super) fn best(&self, query: &str, stop: &Stop) -> Vec<FuzzyFileSearchResult> {
        if query.trim().is_empty() {
            return Vec::new();
        }
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut characters = Vec::new();
        let mut fitting: Vec<(u32, &File)> = Vec::new();
        for (n_seen, file) in self.files.iter().enumerate() {
            if n_seen % STEPS == 0 && stop.is_set() {
                return Vec::new();
            }
            let path = Utf32Str::new(&file.path, &mut characters);
            if let Some(score) = pattern.score(path, &mut matcher) {
                fitting.push((score, file));
            }
        }
        fitting.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.path.cmp(&b.path)));
        fitting.truncate(RESULTS_MAX);
        let result = |(score, file): (u32, &File)| {
            let mut indices = Vec::new();
            pattern.indices(Utf32Str::new(&file.path, &mut characters), &mut matcher, &mut indices);
            indices.sort_unstable();
            indices.dedup();
            let name = Path::new(&file.path).file_name().unwrap_or_default();
            FuzzyFileSearchResult {
                root: self.roots[file.root].clone(),
                path: file.path.clone(),
                file_name: name.to_string_lossy().into_owned(),
                score,
                indices: Some(indices),
            }
        };
        fitting.into_iter().map(result).collect()
    }
}
