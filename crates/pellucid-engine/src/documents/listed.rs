//! Instruction files as the report lists them: with a hash, so that a change is seen, and with what hides in them.
//!
//! Such files load before a project is trusted, as nothing in them runs. Their text is sent to the model, so the user
//! must be able to see all of it.
//!
//! Not here: which files count (`pellucid-workspace`), and what of them fits (`source`).

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use crate::digest::Digest;
use crate::facts::Facts;
use crate::file_version::FileVersion;
use crate::hidden;
use crate::hidden::Hidden;

/// An instruction file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// The path of the file.
    pub path: String,
    /// The path that the file leads to, if it is a link.
    pub target: Option<String>,
    /// The number of bytes of the file.
    pub size: u64,
    /// How many of them were read and looked through: all, or as many as the budget could use.
    pub n_read: u64,
    /// The SHA-256 of the whole file, or of what was read of one that is too long to be hashed.
    pub hash: Digest,
    /// The characters in the sent text that a person does not see.
    pub hidden: Vec<Hidden>,
    /// The history has its text, word for word, from an earlier time that the session was open.
    pub is_in_history: bool,
}

/// Every instruction file among the facts, the user's own first.
pub fn instruction_files(facts: &Facts) -> Vec<InstructionFile> {
    let reported = |Read { path, size, bytes, sha256 }: Read<'_>| InstructionFile {
        path: path.to_owned(),
        target: facts.world.links.get(path).cloned(),
        size,
        n_read: bytes.len() as u64,
        hash: sha256.unwrap_or_else(|| Digest::of([bytes])),
        hidden: hidden::find(bytes),
        is_in_history: false,
    };
    read(facts).map(reported).collect()
}

/// The same, with those marked whose text a message of the history has. Messages are taken one by one, and none once
/// every file is found, because a history can be long.
pub fn instruction_files_after(facts: &Facts, messages: impl IntoIterator<Item = Item>) -> Vec<InstructionFile> {
    let mut files = instruction_files(facts);
    let texts: Vec<_> = read(facts).map(|file| String::from_utf8_lossy(file.bytes)).collect();
    let mut unfound: Vec<_> = files.iter_mut().zip(&texts).filter(|(_, text)| !text.trim().is_empty()).collect();
    let mut messages = messages.into_iter();
    while !unfound.is_empty()
        && let Some(message) = messages.next()
    {
        unfound.retain_mut(|(file, text)| {
            file.is_in_history = has_text(&message, text.trim());
            !file.is_in_history
        });
    }
    files
}

fn has_text(item: &Item, wanted: &str) -> bool {
    let Item::Message { content, .. } = item else {
        return false;
    };
    content.iter().any(|part| matches!(part, ContentPart::InputText { text } if text.contains(wanted)))
}

/// The instruction files with something in them that a person does not see, and what.
pub fn with_hidden(facts: &Facts) -> impl Iterator<Item = (&str, Vec<Hidden>)> {
    read(facts).map(|file| (file.path, hidden::find(file.bytes))).filter(|(_, hidden)| !hidden.is_empty())
}

/// The parts of a file that were read.
struct Read<'f> {
    path: &'f str,
    size: u64,
    bytes: &'f [u8],
    sha256: Option<Digest>,
}

/// Every instruction file among the facts, with its hash.
pub(crate) fn versions(facts: &Facts) -> impl Iterator<Item = FileVersion> {
    read(facts).map(|file| FileVersion::new(file.path, file.sha256))
}

fn read(facts: &Facts) -> impl Iterator<Item = Read<'_>> {
    let imported = facts.world.imports.iter().filter_map(|imported| imported.outcome.as_ref().ok());
    let documents = facts.world.home_document.iter().chain(&facts.world.project_documents);
    let documents = documents.chain(imported).chain(&facts.world.nested_documents);
    let documents = documents.map(|it| Read { path: &it.path, size: it.size, bytes: &it.bytes, sha256: it.sha256 });
    let bootstrap = facts.system.files.read.iter().filter_map(|file| {
        let content = file.content.as_deref()?;
        let (path, bytes) = (file.text_path(), content.as_bytes());
        Some(Read { path, size: content.len() as u64, bytes, sha256: file.sha256 })
    });
    documents.chain(bootstrap)
}
