//! Makes a pack with the texts of the Codex CLI, from the user's checkout of that project.
//!
//! The engine's table of slots has the place of each text. Every text is looked for, and a missing text is reported
//! with the place where it was looked for; a text is never guessed.
//!
//! Not here: writing the pack, and deciding what to do when something is missing.

mod literals;
mod tokens;
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::pack::slots;
use pellucid_engine::pack::slots::Upstream;

use crate::skills::bundled;

use self::tokens::Token;
use self::tools::FoundTool;

/// The release whose sources the table of slots describes.
pub const VERSION: &str = "0.104.0";

/// The tag of that release.
pub const TAG: &str = "rust-v0.104.0";

/// The address of the project's sources.
pub const URL: &str = "https://github.com/openai/codex";

/// The pack that an imported one extends.
pub const BASE: &str = "codex";

/// Larger files are refused.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The texts that were found in a checkout.
#[derive(Debug, Default)]
pub struct Import {
    /// The texts, as files of a pack.
    pub files: PackFiles,
    /// The skills that the project brings along.
    pub skills: bundled::BundledFiles,
    /// The slots that have a text, with where it came from.
    pub found: Vec<ImportedSlot>,
    /// The texts that were not found.
    pub missing: Vec<Missing>,
    /// The release that the checkout says it is.
    pub version: Option<String>,
}

impl Import {
    /// The bytes of something that was found.
    pub fn bytes(&self, found: &ImportedSlot) -> &[u8] {
        let skill = || self.skills.get(found.file.strip_prefix(bundled::FOLDER)?.strip_prefix('/')?);
        self.files.get(&found.file).map(String::as_bytes).or_else(|| skill().map(Vec::as_slice)).unwrap_or_default()
    }
}

/// A slot with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSlot {
    /// The name of the slot.
    pub slot: String,
    /// The file of the slot in the pack.
    pub file: String,
    /// The place of the text in the checkout.
    pub from: String,
}

/// A slot without a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{slot}: {from}: {why}")]
pub struct Missing {
    /// The name of the slot.
    pub slot: String,
    /// The place where it was looked for.
    pub from: String,
    /// The text that was looked for, or the error.
    pub why: String,
}

/// Why a folder is not a checkout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The folder is not a checkout.
    #[error("{} is not a checkout of the Codex CLI: it has no folder {}", root.display(), SOURCES)]
    NoCheckout {
        /// The path of the folder.
        root: PathBuf,
    },
}

/// The folder that a checkout has.
const SOURCES: &str = "codex-rs";

/// Looks for every text in the checkout at `root`.
///
/// # Errors
/// If there is no checkout. Texts that are missing are part of the result.
pub fn import(root: &Path) -> Result<Import, ImportError> {
    if !root.join(SOURCES).is_dir() {
        return Err(ImportError::NoCheckout { root: root.to_owned() });
    }
    let mut importer = Importer { root, sources: BTreeMap::new(), import: Import::default() };
    importer.import.version = importer.text("codex-rs/Cargo.toml").ok().as_deref().and_then(version);
    for slot in slots::SLOTS {
        if slot.upstream != Upstream::Nowhere {
            let text = importer.upstream(&slot.upstream);
            importer.put(slot.name, slot.file(), slot.upstream.place(), text);
        }
    }
    let models = importer.text(slots::MODELS_UPSTREAM);
    importer.put("models", slots::MODELS.to_owned(), slots::MODELS_UPSTREAM.to_owned(), models);
    importer.tools();
    importer.skills();
    Ok(importer.import)
}

struct Importer<'a> {
    root: &'a Path,
    /// Rust files that were read.
    sources: BTreeMap<&'static str, Result<Vec<Token>, String>>,
    import: Import,
}

impl Importer<'_> {
    fn put(&mut self, slot: &str, file: String, from: String, text: Result<String, String>) {
        let slot = slot.to_owned();
        match text {
            Ok(text) => {
                self.import.files.insert(file.clone(), text);
                self.import.found.push(ImportedSlot { slot, file, from });
            }
            Err(why) => self.import.missing.push(Missing { slot, from, why }),
        }
    }

    fn upstream(&mut self, upstream: &Upstream) -> Result<String, String> {
        match upstream {
            Upstream::Nowhere => Err("it has no place there".to_owned()),
            Upstream::File(file) => self.text(file),
            Upstream::Literal(literal) => literals::find(self.source(literal.file)?, literal),
            Upstream::Grammar { file, item } => {
                let tool = tools::read(self.source(file)?, item, &[])?;
                tool.grammar.ok_or_else(|| "the tool has no grammar".to_owned())?
            }
        }
    }

    /// The descriptions that the base pack has, tool by tool.
    fn tools(&mut self) {
        let pack = Pack::builtin(BASE).expect("the base pack is built in");
        let described: Vec<_> = pack.slot_texts().into_iter().filter(|slot| slot.text.is_some()).collect();
        for row in slots::TOOLS {
            let found = self.source(row.file).and_then(|source| tools::read(source, row.item, row.renames));
            let own = format!("tools/{}", row.tool);
            for slot in described.iter().filter(|slot| slot.file.ends_with(".md")) {
                let Some(path) = slot.name.strip_prefix(&own) else {
                    continue;
                };
                let Some(path) = path.strip_prefix('.').or_else(|| path.is_empty().then_some("")) else {
                    continue;
                };
                match row.elsewhere.iter().find(|(it, _)| *it == path) {
                    Some((_, upstream)) => {
                        let text = self.upstream(upstream);
                        self.put(&slot.name, slot.file.clone(), upstream.place(), text);
                    }
                    None => {
                        let text = description(&found, path);
                        self.put(&slot.name, slot.file.clone(), format!("{}, {}", row.file, row.item), text);
                    }
                }
            }
        }
    }

    /// The skills that the project brings along, with everything that belongs to them.
    fn skills(&mut self) {
        let from = slots::SKILLS_UPSTREAM;
        let missing = |why: String| Missing { slot: bundled::FOLDER.to_owned(), from: from.to_owned(), why };
        let files = match bundled::read(&self.root.join(from)) {
            Ok(files) => files,
            Err(error) => return self.import.missing.push(missing(error.to_string())),
        };
        if !files.keys().any(|name| name.ends_with("/SKILL.md")) {
            return self.import.missing.push(missing("there is no folder with a SKILL.md in it".to_owned()));
        }
        self.import.found.extend(files.keys().map(|name| {
            let file = format!("{}/{name}", bundled::FOLDER);
            ImportedSlot { slot: file.clone(), file, from: format!("{from}/{name}") }
        }));
        self.import.skills = files;
    }

    /// A Rust file as tokens.
    fn source(&mut self, file: &'static str) -> Result<&[Token], String> {
        if !self.sources.contains_key(file) {
            let tokens = self.text(file).and_then(|text| tokens::read(&text).map_err(|error| error.to_string()));
            self.sources.insert(file, tokens);
        }
        self.sources[file].as_deref().map_err(Clone::clone)
    }

    /// The text of a file. Lines that end as on Windows are made to end as in the release.
    fn text(&self, file: &str) -> Result<String, String> {
        let path = self.root.join(file);
        let size = fs::metadata(&path).map_err(|error| error.to_string())?.len();
        if size > FILE_BYTES_MAX {
            return Err(format!("the file has {size} bytes, which is more than {FILE_BYTES_MAX}"));
        }
        let bytes = pellucid_files::read(&path, FILE_BYTES_MAX).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())?;
        Ok(text.replace("\r\n", "\n"))
    }
}

fn description(found: &Result<FoundTool, String>, path: &str) -> Result<String, String> {
    let tool = found.as_ref().map_err(Clone::clone)?;
    let missing = || match path {
        "" => Err("the tool has no description".to_owned()),
        path => Err(format!("there is no description of its parameter `{path}`")),
    };
    tool.descriptions.get(path).cloned().unwrap_or_else(missing)
}

/// The version of a workspace, from its manifest.
/// The release that the checkout at `root` says it is; absent if the folder is not a checkout.
pub fn version_of(root: &Path) -> Option<String> {
    version(&pellucid_files::read_text(&root.join("codex-rs/Cargo.toml"), FILE_BYTES_MAX).ok()?)
}

/// Whether the import reads a file of the project, by its path in a checkout.
pub fn reads(path: &Path) -> bool {
    path.starts_with(SOURCES) || ["LICENSE", "NOTICE"].map(Path::new).contains(&path)
}

fn version(manifest: &str) -> Option<String> {
    let package = manifest.split("[workspace.package]").nth(1)?;
    let line = package.lines().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("version"))?;
    Some(line.split_once('=')?.1.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests;
