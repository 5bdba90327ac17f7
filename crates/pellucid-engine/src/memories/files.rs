//! The second phase: the files that it begins with, and what its agent is asked.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::fragment::Fragment;
use crate::pack::Pack;

pub(super) const PROMPT: &str = "memory/consolidation.md";

/// All extracts in one file.
pub const RAW_MEMORIES: &str = "raw_memories.md";

/// The folder with a file for each session.
pub const SUMMARIES: &str = "rollout_summaries";

/// The files that the agent writes. They are deleted when no extracts are left.
pub const MERGED: [&str; 2] = ["MEMORY.md", "memory_summary.md"];

/// A folder of the agent, which goes with them.
pub const SKILLS: &str = "skills";

/// How many characters of a slug are in the name of a file.
const SLUG_CHARS_MAX: usize = 20;

/// How many characters of a project's name are in the name of its folder.
const PROJECT_CHARS_MAX: usize = 32;

/// How many digits of the hash of a project's path are in the name of its folder.
const PROJECT_HASH_CHARS: usize = 16;

/// An extract as files show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownExtract<'a> {
    /// The id of the past session.
    pub session: &'a str,
    /// When the session had last changed, in words.
    pub updated_at: &'a str,
    /// The working directory of the session.
    pub cwd: &'a str,
    /// Facts that are worth keeping for other tasks.
    pub raw_memory: &'a str,
    /// A summary of the session.
    pub rollout_summary: &'a str,
    /// A few words for the name of a file.
    pub rollout_slug: Option<&'a str>,
}

/// The file with all extracts, the newest first.
pub fn raw_memories(extracts: &[ShownExtract<'_>]) -> String {
    if extracts.is_empty() {
        return "# Raw Memories\n\nNothing is kept of any session.\n".to_owned();
    }
    let mut text = "# Raw Memories\n\nWhat is kept of each session, the newest first:\n\n".to_owned();
    for it in extracts {
        text += &format!("## Thread `{}`\n", it.session);
        text += &format!("updated_at: {}\ncwd: {}\n\n{}\n\n", it.updated_at, line(it.cwd), it.raw_memory.trim());
    }
    text
}

/// The files of the folder with summaries, by name.
pub fn summaries(extracts: &[ShownExtract<'_>]) -> BTreeMap<String, String> {
    let text = |it: &ShownExtract<'_>| {
        let (session, updated_at, cwd, summary) = (it.session, it.updated_at, line(it.cwd), it.rollout_summary);
        format!("thread_id: {session}\nupdated_at: {updated_at}\ncwd: {cwd}\n\n{summary}\n")
    };
    extracts.iter().map(|it| (format!("{}.md", stem(it)), text(it))).collect()
}

/// The names in the folder of summaries that belong to sessions that are no longer kept.
pub fn stale<'a>(names: &'a [String], kept: &BTreeMap<String, String>) -> BTreeSet<&'a str> {
    names.iter().map(String::as_str).filter(|name| name.ends_with(".md") && !kept.contains_key(*name)).collect()
}

/// The name of a session's file without its ending: the id, and a slug of plain letters and digits.
fn stem(it: &ShownExtract<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let slug: String = it.rollout_slug.unwrap_or_default().chars().take(SLUG_CHARS_MAX).map(plain).collect();
    let (id, slug) = (it.session.chars().map(in_name).collect::<String>(), slug.trim_end_matches('_'));
    if slug.is_empty() { id } else { format!("{id}-{slug}") }
}

/// The name of the folder with the memories of a project: its last name for people, and a hash of its whole path.
pub fn project_folder(root: &str) -> String {
    let last = root.rsplit('/').find(|name| !name.is_empty()).unwrap_or("root");
    let plain: String = last.chars().take(PROJECT_CHARS_MAX).map(in_name).collect();
    let hash = Digest::of([root.as_bytes()]).to_string();
    format!("{plain}-{}", &hash[..PROJECT_HASH_CHARS])
}

/// Whether a file of the folder with summaries belongs to a session.
pub fn is_summary_of(name: &str, session: &str) -> bool {
    let id: String = session.chars().map(in_name).collect();
    let rest = name.strip_prefix(&id).and_then(|rest| rest.strip_suffix(".md"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// A character of an id, as a name of a file may have it: an id is read from a file and could be a path.
fn in_name(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
}

/// A text on one line: the name of a folder must not look like another field.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The prompt for the agent that merges the extracts in a folder.
pub fn prompt(pack: &Pack, folder: &str) -> Vec<Fragment> {
    pack.template(PROMPT).render(&[("{{ memory_root }}", vec![Fragment::fact("memory folder", folder)])])
}

#[cfg(test)]
#[path = "files/tests.rs"]
mod tests;
