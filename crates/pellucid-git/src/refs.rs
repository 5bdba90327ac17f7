//! Finds the commit that is checked out: `HEAD`, the reference it names, and the files of references.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::Path;

use crate::repository::read_text;

/// References that each work tree has for itself.
const OWN_PREFIXES: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// How far a chain of references that name references is followed.
const CHAIN_MAX: usize = 5;

/// The branch and commit that are checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The hash of the commit.
    pub commit: String,
    /// The branch; absent if a commit was checked out by itself.
    pub branch: Option<String>,
}

/// A file of packed references that is longer is not read to its end.
const PACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A line of that file, and a file with one reference, has no more bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// At most this many references are read, and this many folders deep.
const REFERENCES_MAX: usize = 500_000;
const DEPTH_MAX: usize = 32;

/// The branch or commit that a work tree is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// The commit that it leads to.
    At(Head),
    /// A branch without a commit.
    Nothing,
}

/// The branch or commit that is checked out. Absent if it cannot be read.
pub fn checkout(git_dir: &Path, common_dir: &Path) -> Option<Checkout> {
    let mut value = parse(&read_text(&git_dir.join("HEAD"))?)?;
    let mut branch = None;
    for _ in 0..=CHAIN_MAX {
        match value {
            Value::Commit(commit) => return Some(Checkout::At(Head { commit, branch })),
            Value::Name(name) => {
                let folder = if OWN_PREFIXES.iter().any(|own| name.starts_with(own)) { git_dir } else { common_dir };
                value = match read_text(&folder.join(&name)) {
                    Some(text) => parse(&text)?,
                    None => match find_packed(common_dir, &name) {
                        Packed::Commit(commit) => Value::Commit(commit),
                        Packed::Broken => return None,
                        Packed::Missing => return Some(Checkout::Nothing),
                    },
                };
                branch = Some(short(&name));
            }
        }
    }
    None
}

/// The content of a reference.
enum Value {
    Commit(String),
    /// The name of another reference.
    Name(String),
}

fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    match text.strip_prefix("ref:") {
        Some(name) => {
            let name = name.trim();
            is_safe(name).then(|| Value::Name(name.to_owned()))
        }
        None => is_hash(text).then(|| Value::Commit(text.to_owned())),
    }
}

/// Whether a reference's name stays in the folder of references. Names come from files that are not trusted.
fn is_safe(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// Whether a text is a SHA-1 or SHA-256 hash.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A reference's name without the folder of its kind.
fn short(name: &str) -> String {
    let prefixes = ["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name).to_owned()
}

/// The entry of a name in the file of packed references.
enum Packed {
    Commit(String),
    Broken,
    Missing,
}

/// Looks in the file of packed references, which may be large and is therefore not held in memory.
fn find_packed(common_dir: &Path, name: &str) -> Packed {
    let mut found = Packed::Missing;
    each_packed(common_dir, |hash, other| {
        let is_it = other == name.as_bytes();
        if is_it {
            let hash = std::str::from_utf8(hash).ok().filter(|hash| is_hash(hash));
            found = hash.map_or(Packed::Broken, |hash| Packed::Commit(hash.to_owned()));
        }
        !is_it
    });
    found
}

/// Calls the function with each packed reference until it returns false.
fn each_packed(common_dir: &Path, mut tell: impl FnMut(&[u8], &[u8]) -> bool) {
    let Ok(file) = pellucid_files::open(&common_dir.join("packed-refs")) else { return };
    let mut lines = BufReader::new(file.take(PACKED_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if let Some((hash, name)) = split_at_space(line.trim_ascii_end())
            && !tell(hash, name)
        {
            return;
        }
    }
}

/// All references of a repository with their commits, by their whole names.
pub fn all(common_dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    each_packed(common_dir, |hash, name| {
        if let (Ok(hash), Ok(name)) = (std::str::from_utf8(hash), std::str::from_utf8(name))
            && is_hash(hash)
            && is_safe(name)
        {
            found.insert(name.to_owned(), hash.to_owned());
        }
        found.len() < REFERENCES_MAX
    });
    // References to other references, once all others are known.
    let mut names = Vec::new();
    let mut folders = vec![("refs".to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(common_dir.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let name = format!("{folder}/{name}");
            if found.len() + names.len() >= REFERENCES_MAX || !is_safe(&name) {
                continue;
            }
            if kind.is_dir() && depth < DEPTH_MAX {
                folders.push((name, depth + 1));
            } else if kind.is_file() {
                let text = pellucid_files::read_text(&entry.path(), LINE_BYTES_MAX).ok();
                match text.and_then(|text| parse(&text)) {
                    Some(Value::Commit(commit)) => drop(found.insert(name, commit)),
                    Some(Value::Name(target)) => names.push((name, target)),
                    None => {}
                }
            }
        }
    }
    for _ in 0..CHAIN_MAX {
        for (name, target) in &names {
            if let Some(commit) = found.get(target).cloned() {
                found.insert(name.clone(), commit);
            }
        }
    }
    found
}

fn split_at_space(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..at], &line[at + 1..]))
}
