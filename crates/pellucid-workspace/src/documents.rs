//! Instruction files: the project's, from its root down to the working directory, and the
//! user's own in the home folder.
//!
//! Says which files count and hands over their first bytes, together with every path that was
//! looked at and what became of it.
//!
//! - [`further`]: what these files import, and files of folders that a tool goes to
//!
//! Not here: spending the byte budget, decoding and trimming. `pellucid-engine` does that, so that
//! a report can say what it cost.

pub mod further;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Fate;
use pellucid_engine::not_utf8::NotUtf8;
use pellucid_engine::not_utf8::TextEnd;
use pellucid_files::WorkingFolder;

use crate::bounds::InstructionFolders;
use crate::bounds::Refused;
use crate::cache::Beginning;
use crate::cache::DocumentCache;
use crate::cache::Place;

const OVERRIDE_NAME: &str = "AGENTS.override.md";
const NAME: &str = "AGENTS.md";

/// The names of instruction files, before those that a configuration adds.
pub const FILE_NAMES: [&str; 2] = [OVERRIDE_NAME, NAME];

/// How project documents are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentOptions {
    /// Further file names, for folders that have none of the usual ones.
    pub fallback_names: Vec<String>,
    /// How many bytes of all files together are used; with 0 nothing is looked for.
    pub bytes_max: usize,
    /// The nearest folder with a `.git` entry, if the caller knows it.
    pub work_tree: Option<PathBuf>,
    /// The folders in which files may be, besides the folder that is searched from.
    pub bounds: InstructionFolders,
    /// Whether the user has said that the project is not to be trusted: then its files are looked for and not read.
    pub is_untrusted: bool,
}

/// The instruction files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectDocuments {
    /// The folder that holds `.git`, if there is one.
    pub root: Option<PathBuf>,
    /// The files, from the root to the working directory, at most one for each folder. Blank ones
    /// and ones past the budget are among them: whether they count depends on what comes before.
    pub documents: Vec<Document>,
    /// Every path that was looked at.
    pub candidates: Vec<Candidate>,
    /// The real paths of files that are links, by path.
    pub links: BTreeMap<String, String>,
    /// Why there are no documents at all, although there may be files.
    pub error: Option<String>,
}

/// Finds and reads the project's instruction files.
///
/// If a path cannot be examined or a file cannot be read for another reason than not being there,
/// all documents are given up and `error` says why. Files that begin where earlier ones have used
/// up the budget are exempt.
pub fn project_documents(cwd: &Path, options: &DocumentOptions, cache: &mut DocumentCache) -> ProjectDocuments {
    let mut found = ProjectDocuments::default();
    if options.bytes_max == 0 {
        return found;
    }
    if let Err(error) = gather(cwd, options, cache, &mut found) {
        found.documents.clear();
        found.error = Some(error.to_string());
    }
    found
}

/// Finds and reads the user's own instruction file: the first that is text and not blank.
///
/// The document holds the whole file.
pub fn home_document(home: &Path) -> (Option<Document>, Vec<Candidate>) {
    let mut document: Option<Document> = None;
    let mut candidates = Vec::with_capacity(2);
    for name in [OVERRIDE_NAME, NAME] {
        let file = home.join(name);
        let path = shown(file.clone());
        let fate = match &document {
            Some(winner) => passed_over(&file, &winner.path),
            None => match read_home_file(&file) {
                Ok(text) => {
                    document = Some(Document::whole(path.clone(), text));
                    Fate::Read
                }
                Err(fate) => fate,
            },
        };
        candidates.push(Candidate { path, fate });
    }
    (document, candidates)
}

/// The real path of the user's instruction file, if it is a link.
pub fn link_target(path: &str) -> Option<String> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|own| own.is_symlink());
    is_link.then(|| fs::canonicalize(path).ok().map(shown)).flatten()
}

fn read_home_file(path: &Path) -> Result<String, Fate> {
    let metadata = fs::metadata(path).map_err(|error| missing(&error))?;
    if !metadata.is_file() {
        return Err(Fate::NotAFile);
    }
    let bytes = pellucid_files::read(path, pellucid_files::TEXT_BYTES_MAX).map_err(|error| missing(&error))?;
    // The whole file is left out, as the Codex CLI does it.
    if let Some(NotUtf8 { first, count }) = NotUtf8::find(&bytes, TextEnd::OfFile) {
        let error = format!("it is not UTF-8: the first of {count} such bytes is at offset {first}");
        return Err(Fate::Unreadable { error });
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.trim().is_empty() { Err(Fate::Blank) } else { Ok(text) }
}

/// Why the search or the reading was given up.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
struct DocumentError {
    path: String,
    source: io::Error,
}

/// The file that is used for its folder.
struct Claim {
    /// The index of its name among the candidates.
    candidate: usize,
    place: Place,
}

fn gather(
    cwd: &Path,
    options: &DocumentOptions,
    cache: &mut DocumentCache,
    found: &mut ProjectDocuments,
) -> Result<(), DocumentError> {
    let here = WorkingFolder::find();
    let is_here = here.is(cwd);
    let canonical =
        if is_here { Cow::Borrowed(cwd) } else { fs::canonicalize(cwd).map_or(Cow::Borrowed(cwd), Cow::Owned) };
    let mut folders = match options.work_tree.as_deref().filter(|_| is_here) {
        Some(root) => folders_below(root, &canonical),
        None => project_folders(&canonical, &here)?,
    };
    // Folders that links led to on the way belong to the project: the user chose them by starting here.
    let mut bounds = options.bounds.clone();
    if let Some(root) = folders.first() {
        found.root = Some(root.to_path_buf());
        bounds = bounds.with(root);
    } else {
        folders.push(cwd);
        bounds = bounds.with(&canonical);
    }
    let names = names(&options.fallback_names);

    // All folders are searched before the first file is read: an error in the search costs every
    // document, wherever it happens.
    let mut claims = Vec::new();
    for folder in &folders {
        claims.extend(claim(folder, &names, &here, &mut found.candidates)?);
    }

    if options.is_untrusted {
        for claim in claims {
            found.candidates[claim.candidate].fate = Fate::Untrusted;
        }
        return Ok(());
    }
    for Claim { candidate, place } in claims {
        let read = cache.read(&place, options.bytes_max, &bounds).and_then(|beginning| {
            if !is_blank(&beginning.bytes) {
                bounds.check_text(&place.path, &beginning.bytes, beginning.sha256)?;
            }
            Ok(beginning)
        });
        match read {
            Ok(beginning) => {
                found.links.extend(beginning.target.map(|target| (place.path.clone(), shown(target))));
                let fate = if is_blank(&beginning.bytes) { Fate::Blank } else { Fate::Read };
                found.candidates[candidate].fate = fate;
                let Beginning { bytes, size, sha256, .. } = beginning;
                found.documents.push(Document { path: place.path, bytes, size, sha256 });
            }
            Err(Refused::Outside { target }) => {
                found.candidates[candidate].fate = Fate::Outside { target: shown(target) };
            }
            Err(Refused::NotAccepted { is_changed }) => {
                found.candidates[candidate].fate = Fate::NotAccepted { is_changed };
            }
            Err(Refused::Io(source)) => {
                found.candidates[candidate].fate = Fate::Unreadable { error: source.to_string() };
                let matters =
                    source.kind() != io::ErrorKind::NotFound && !is_used_up(options.bytes_max, &found.documents);
                if matters {
                    let path = place.path;
                    return Err(DocumentError { path, source });
                }
            }
        }
    }
    Ok(())
}

/// The folders of the project, its root first: the nearest folder with a `.git` entry and the folders between. Empty
/// without such a folder. The root of the file system is not checked.
fn project_folders<'a>(canonical: &'a Path, here: &WorkingFolder) -> Result<Vec<&'a Path>, DocumentError> {
    for folder in canonical.ancestors().filter(|folder| folder.parent().is_some()) {
        let marker = folder.join(".git");
        match fs::metadata(here.reach(folder).join(".git")) {
            Ok(_) => return Ok(folders_below(folder, canonical)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DocumentError { path: shown(marker), source }),
        }
    }
    Ok(Vec::new())
}

/// The folders from a root to a folder in it, both among them. None if it is not in it, or if the
/// root is that of the file system.
fn folders_below<'a>(root: &Path, folder: &'a Path) -> Vec<&'a Path> {
    let n_bytes = root.as_os_str().len();
    if root.parent().is_none() || !folder.starts_with(root) {
        return Vec::new();
    }
    let mut folders: Vec<&Path> = folder.ancestors().take_while(|it| it.as_os_str().len() >= n_bytes).collect();
    folders.reverse();
    folders
}

/// The names to look for, in order.
pub(crate) fn names(fallback_names: &[String]) -> Vec<&str> {
    let mut names = vec![OVERRIDE_NAME, NAME];
    for name in fallback_names {
        let name = name.trim();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Finds the file that is used for a folder: the first name that is a file or a link, wherever the link leads.
fn claim(
    folder: &Path,
    names: &[&str],
    here: &WorkingFolder,
    candidates: &mut Vec<Candidate>,
) -> Result<Option<Claim>, DocumentError> {
    let mut claim: Option<Claim> = None;
    let near = here.reach(folder);
    for name in names {
        let (path, reach) = (shown(folder.join(name)), near.join(name));
        if let Some(winner) = &claim {
            let fate = passed_over(&reach, &candidates[winner.candidate].path);
            candidates.push(Candidate { path, fate });
            continue;
        }
        let own = fs::symlink_metadata(&reach);
        let fate = match &own {
            Ok(own) if is_eligible(own) => Fate::Read,
            Ok(_) => Fate::NotAFile,
            Err(error) => missing(error),
        };
        candidates.push(Candidate { path: path.clone(), fate });
        match own {
            Ok(own) if is_eligible(&own) => {
                let candidate = candidates.len() - 1;
                let place = Place { path, reach, own };
                claim = Some(Claim { candidate, place });
            }
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(DocumentError { path, source });
            }
            _ => {}
        }
    }
    Ok(claim)
}

fn is_eligible(own: &Metadata) -> bool {
    own.is_file() || own.is_symlink()
}

/// The fate of a file in a folder where another name comes first. Its errors are not reported.
fn passed_over(reach: &Path, winner: &str) -> Fate {
    match fs::symlink_metadata(reach) {
        Ok(own) if is_eligible(&own) => Fate::Shadowed { by: winner.to_owned() },
        Ok(_) => Fate::NotAFile,
        Err(error) => missing(&error),
    }
}

fn missing(error: &io::Error) -> Fate {
    match error.kind() {
        io::ErrorKind::NotFound => Fate::Absent,
        _ => Fate::Unreadable { error: error.to_string() },
    }
}

/// Whether these documents leave nothing of the budget. Blank ones are free, and a cut may make
/// the difference: half a wide space is not blank.
fn is_used_up(bytes_max: usize, documents: &[Document]) -> bool {
    let mut left = bytes_max;
    for document in documents {
        let used = document.bytes.len().min(left);
        if !is_blank(&document.bytes[..used]) {
            left -= used;
        }
    }
    left == 0
}

fn is_blank(bytes: &[u8]) -> bool {
    !bytes.iter().any(u8::is_ascii_graphic) && String::from_utf8_lossy(bytes).trim().is_empty()
}

fn shown(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap_or_else(|name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
