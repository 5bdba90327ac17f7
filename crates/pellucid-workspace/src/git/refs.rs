//! Which commit is checked out: `HEAD`, the reference it names, and where references lie.

use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;

use super::read_text;

/// References that each work tree has for itself.
const OWN_PREFIXES: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// How far a chain of references that name references is followed.
const CHAIN_MAX: usize = 5;

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The hash of the commit.
    pub commit: String,
    /// The branch; absent if a commit was checked out by itself.
    pub branch: Option<String>,
}

pub fn head(git_dir: &Path, common_dir: &Path) -> Option<Head> {
    let mut value = parse(&read_text(&git_dir.join("HEAD"))?)?;
    let mut branch = None;
    for _ in 0..=CHAIN_MAX {
        match value {
            Value::Commit(commit) => return Some(Head { commit, branch }),
            Value::Name(name) => {
                let folder = if OWN_PREFIXES.iter().any(|own| name.starts_with(own)) { git_dir } else { common_dir };
                value = match read_text(&folder.join(&name)) {
                    Some(text) => parse(&text)?,
                    None => Value::Commit(find_packed(common_dir, &name)?),
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
    /// Another reference.
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

/// Whether a reference's name stays in the folder of references. Names come from a file that
/// anybody may have written.
fn is_safe(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// SHA-1 or SHA-256.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A reference's name without the folder of its kind.
fn short(name: &str) -> String {
    let prefixes = ["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name).to_owned()
}

/// Looks in the file of packed references, which may be large and is therefore not held in memory.
fn find_packed(common_dir: &Path, name: &str) -> Option<String> {
    let file = File::open(common_dir.join("packed-refs")).ok()?;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let Some((hash, rest)) = split_at_space(line.trim_ascii_end()) else {
            continue;
        };
        if rest == name.as_bytes() {
            let hash = std::str::from_utf8(hash).ok()?;
            return is_hash(hash).then(|| hash.to_owned());
        }
    }
}

fn split_at_space(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..at], &line[at + 1..]))
}
