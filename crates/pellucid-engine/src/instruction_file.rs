//! Instruction files as the report lists them: with a hash, so that a change is seen, and with what hides in them.
//!
//! Such files load before a project is trusted, as nothing in them runs. What they say is told to the model, so a
//! person has to be able to see what that is.
//!
//! Not here: which files count (`pellucid-workspace`), and what of them fits (`source`).

use crate::digest::Digest;
use crate::facts::Document;
use crate::facts::Facts;
use crate::hidden;
use crate::hidden::Hidden;

/// An instruction file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it lies.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// How many of them were read, hashed and looked through: all, or as many as the budget could use.
    pub n_read: u64,
    /// Their SHA-256.
    pub hash: Digest,
    /// What a person does not see in them.
    pub hidden: Vec<Hidden>,
}

impl InstructionFile {
    fn of(path: &str, size: u64, bytes: &[u8]) -> Self {
        let hash = Digest::of([bytes]);
        Self { path: path.to_owned(), size, n_read: bytes.len() as u64, hash, hidden: hidden::find(bytes) }
    }

    fn of_document(document: &Document) -> Self {
        Self::of(&document.path, document.size, &document.bytes)
    }
}

/// Every instruction file among the facts, the user's own first.
pub fn instruction_files(facts: &Facts) -> Vec<InstructionFile> {
    let imported = facts.imports.iter().filter_map(|imported| imported.outcome.as_ref().ok());
    let documents = facts.home_document.iter().chain(&facts.project_documents);
    let documents = documents.chain(imported).chain(&facts.nested_documents);
    let bootstrap = facts.assistant.iter().flat_map(|it| &it.bootstrap).filter_map(|file| {
        let content = file.content.as_deref()?;
        Some(InstructionFile::of(&file.path, content.len() as u64, content.as_bytes()))
    });
    documents.map(InstructionFile::of_document).chain(bootstrap).collect()
}
