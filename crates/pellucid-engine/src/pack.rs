//! Packs: how model input is put together, as data.
//!
//! A pack is `pack.toml` (the layout) and the files it names. It is checked whole when it is
//! loaded: unknown sources, gates, roles and variables are refused with file, line and the known names, and so are keys
//! that could have no effect. After that, assembly cannot fail.
//!
//! A user's pack extends a built-in one: its files replace those of the built-in pack, and parts that its layout
//! leaves out come from the built-in layout.
//!
//! Not here: reading a pack from disk. Files arrive as a map from name to text.

mod builtin;
mod computing;
mod layout;
mod layout_check;
mod layout_file;
mod models;
mod role;
mod shelf;
mod slot_text;
pub mod slots;
mod tool_file;
mod tool_files;
mod trial;
mod unknown_files;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use layout::BudgetKeep;
pub use layout::CompactionRules;
pub use layout::CompactionStrategy;
pub use layout::Depth;
pub use layout::GivenToolForm;
pub use layout::GivenToolRules;
pub use layout::HistoryEnd;
pub use layout::Layout;
pub use layout::ModelTexts;
pub use layout::SameName;
pub use layout::Section;
pub use layout::SkillRules;
pub use layout::Slot;
pub use layout::SlotPart;
pub use layout::SlotTarget;
pub use layout::SourceBudget;
pub use layout::ToolSlot;
pub use layout::ToolsOnly;
pub use models::LevelText;
pub use models::ModelEntry;
pub use role::ROLES;
pub use role::SlotRole;
pub use shelf::PackFile;
pub use slot_text::SlotText;
pub use tool_file::Parameter;
pub use tool_file::ParameterType;
pub use tool_file::ToolFile;
pub use tool_file::ToolKind;
pub use unknown_files::UnknownFile;

use self::computing::Programs;
use self::layout_file::LayoutFile;
use self::models::ModelEntries;
use self::shelf::Shelf;
use self::tool_files::ToolFiles;
use crate::compaction;
use crate::computed::EXTENSION;
use crate::digest::Digest;
use crate::documents;
use crate::file_version::FileVersion;
use crate::memories;
use crate::memory::texts;
use crate::notice;
use crate::presets;
use crate::review;
use crate::skills;
use crate::source;
use crate::template;
use crate::template::Shape;
use crate::template::Template;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::tool_list;
use crate::turn;
use crate::update;
use crate::user_message;
use crate::window;

/// The places of a template that wraps a whole slot.
const SLOT_PLACES: &[TemplatePlace] = &[TemplatePlace::must("{{ text }}"), TemplatePlace::may("{{ directory }}")];

/// The places of a section that is a plain text.
const SECTION_PLACES: &[TemplatePlace] = &[TemplatePlace::may(Section::RECALLED)];

/// The layout's file in a pack.
pub const LAYOUT: &str = "pack.toml";

/// The pack beneath one that does not say what it comes from.
pub const DEFAULT_BASE: &str = "codex";

/// A pack whose files were read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// The name of the pack.
    pub name: String,
    /// The layout that `pack.toml` describes.
    pub layout: Layout,
    templates: BTreeMap<String, Template>,
    programs: Programs,
    tools: ToolFiles,
    models: Option<ModelEntries>,
    shelf: Shelf,
}

/// Files of a pack: name relative to the pack, and text.
pub type PackFiles = BTreeMap<String, String>;

impl Pack {
    /// The names of the built-in packs.
    pub fn builtin_names() -> Vec<&'static str> {
        builtin::names()
    }

    /// Loads a built-in pack.
    pub fn builtin(name: &str) -> Option<Self> {
        let files = builtin::files(name)?;
        let loaded = stacked(&files).and_then(|(shelf, layout)| Self::from_shelf(shelf, layout));
        Some(loaded.expect("built-in packs are loaded by a test"))
    }

    /// The files of a built-in pack, for those who make their own from it.
    pub fn builtin_files(name: &str) -> Option<PackFiles> {
        builtin::files(name)
    }

    /// Loads a pack that has all of its files, or says which built-in one has the others.
    ///
    /// # Errors
    /// Whatever is wrong in it, with file, line and what would be right.
    pub fn load(files: &PackFiles) -> Result<Self, PackError> {
        let (shelf, layout) = stacked(files)?;
        let pack = Self::from_shelf(shelf, layout)?;
        pack.tools.check(&pack.shelf)?;
        Ok(pack)
    }

    /// Loads a user's pack over the built-in one that it says it comes from. Without `pack.toml`
    /// its files are texts over those of the default pack.
    ///
    /// # Errors
    /// Whatever is wrong in it, with file, line and what would be right.
    pub fn load_user(files: &PackFiles, folder: &str) -> Result<Self, PackError> {
        let shown = format!("{}/{LAYOUT}", folder.trim_end_matches('/'));
        let own = files.get(LAYOUT).map(|text| LayoutFile::parse(&shown, text)).transpose()?;
        let base = match &own {
            Some(own) => own.base(),
            None => Some((DEFAULT_BASE, 1)),
        };
        let (mut shelf, beneath) = match base {
            Some((name, line)) => {
                let (shelf, beneath) = stacked(&builtin_files(&shown, name, line)?)?;
                (shelf, Some(beneath))
            }
            None => (Shelf::default(), None),
        };
        shelf.put_over(files, folder);
        let layout = match (own, beneath) {
            (Some(own), beneath) => own.layout(beneath.as_ref())?,
            (None, Some(beneath)) => {
                let name = folder.trim_end_matches('/').rsplit(['/', '\\']).next().filter(|name| !name.is_empty());
                Layout { name: name.unwrap_or(folder).to_owned(), ..beneath }
            }
            (None, None) => return Err(PackError::MissingFile { file: shown }),
        };
        Self::from_shelf(shelf, layout)
    }

    /// Loads a user's pack and returns every error in it: a refused file is left out, and the rest is checked again.
    /// The pack is absent if nothing of it is left.
    pub fn check_user(files: &PackFiles, folder: &str) -> (Option<Self>, Vec<PackError>) {
        let mut files = files.clone();
        let (mut errors, mut left_out) = (Vec::new(), Vec::new());
        loop {
            let error = match Self::load_user(&files, folder) {
                Ok(pack) => {
                    errors.extend(pack.trial());
                    return (Some(pack), errors);
                }
                Err(error) => error,
            };
            // A file that is missing because it was left out is no further error.
            if matches!(&error, PackError::MissingFile { file } if left_out.contains(file)) {
                return (None, errors);
            }
            let name = error.file().strip_prefix(folder.trim_end_matches('/')).map(|name| name.trim_start_matches('/'));
            let name = name.filter(|name| files.remove(*name).is_some()).map(str::to_owned);
            errors.push(error);
            match name {
                Some(name) => left_out.push(name),
                None => return (None, errors),
            }
        }
    }

    fn from_shelf(shelf: Shelf, layout: Layout) -> Result<Self, PackError> {
        let mut templates = BTreeMap::new();
        let mut load = |name: &str, shape: &Shape| -> Result<(), PackError> {
            let missing = || PackError::MissingFile { file: name.to_owned() };
            let file = shelf.get(name).ok_or_else(missing)?;
            templates.insert(name.to_owned(), Template::parse(&file.shown, shape, &file.text)?);
            Ok(())
        };
        for (file, shape) in source::templates(&layout).chain(core_templates()) {
            load(file, shape)?;
        }
        let files = layout.slots.iter().flat_map(|slot| &slot.parts).filter_map(|part| part.file.as_deref());
        for file in files.filter(|file| !file.ends_with(EXTENSION)) {
            load(file, &Shape { trim: Trim::Newline, places: &[] })?;
        }
        for section in layout.sections.iter().filter(|section| !section.file.ends_with(EXTENSION)) {
            load(&section.file, &Shape { trim: Trim::Newline, places: SECTION_PLACES })?;
        }
        let programs = Programs::load(&shelf, &layout)?;
        for file in layout.slots.iter().filter_map(|slot| slot.template.as_deref()) {
            load(file, &Shape::with(SLOT_PLACES))?;
        }
        for texts in &layout.models {
            for file in texts.files() {
                load(file, &Shape::VERBATIM)?;
            }
        }
        for (file, shape) in wanted_elsewhere(&layout) {
            let file = file.as_str();
            // Any layout may need these files, so a built-in pack that has them is the fallback.
            let own = shelf.get(file).map(|file| (file.shown.clone(), file.text.clone()));
            let stand_in = || builtin::any_file(file).map(|text| (file.into(), text.into()));
            let missing = || PackError::MissingFile { file: file.to_owned() };
            let (shown, text): (FileVersion, Arc<str>) = own.or_else(stand_in).ok_or_else(missing)?;
            templates.insert(file.to_owned(), Template::parse(&shown, &shape, &text)?);
        }
        let tools = ToolFiles::load(&shelf, layout.tools.iter().map(|tool| tool.file.as_ref()))?;
        for slot in slots::SLOTS.iter().filter(|slot| !slot.places.is_empty()) {
            let name = slot.file();
            if let (Some(file), false) = (shelf.get(&name), templates.contains_key(&name)) {
                template::check_places(&file.shown, slot.places, &file.text)?;
            }
        }
        let models = shelf.get(slots::MODELS).map(ModelEntries::parse).transpose()?;
        Ok(Self { name: layout.name.clone(), layout, templates, programs, tools, models, shelf })
    }

    /// The files of the pack on disk, each with its hash.
    pub fn files_on_disk(&self) -> impl Iterator<Item = &FileVersion> {
        self.shelf.users().map(|(_, file)| &file.shown)
    }

    /// The hash of the names and texts of all files, the same wherever the pack is.
    pub fn digest(&self) -> Digest {
        let mut pieces: Vec<u8> = Vec::new();
        for (name, file) in self.shelf.all() {
            for text in [name, &*file.text] {
                pieces.extend_from_slice(&(text.len() as u64).to_be_bytes());
                pieces.extend_from_slice(text.as_bytes());
            }
        }
        Digest::of([pieces.as_slice()])
    }

    /// A template that a source or the layout named when the pack was loaded.
    ///
    /// # Panics
    /// If the file was not declared when the pack was loaded.
    pub fn template(&self, file: &str) -> &Template {
        self.templates.get(file).unwrap_or_else(|| panic!("template {file} is declared where it is used"))
    }

    /// A tool's file that the layout named.
    ///
    /// # Panics
    /// If the layout does not name it.
    pub fn tool_file(&self, file: &str) -> &ToolFile {
        self.tools.get(&self.shelf, file).unwrap_or_else(|| panic!("tool {file} is named by the layout"))
    }

    /// The entry of the pack's `models.json` that has just this name.
    pub fn model_entry(&self, slug: &str) -> Option<&ModelEntry> {
        self.models.as_ref()?.named(slug)
    }

    /// The texts that the pack has for a particular model: those of the longest name that begins the model's name.
    pub fn model_texts(&self, slug: &str) -> Option<OwnTexts<'_>> {
        let laid_out = self.layout.models.iter().max_by_key(|texts| texts.longest_prefix(slug));
        let laid_out = laid_out.filter(|texts| texts.longest_prefix(slug).is_some());
        match (self.models.as_ref().and_then(|models| models.find(slug)), laid_out) {
            (Some(entry), Some(texts)) if texts.longest_prefix(slug) > Some(entry.slug.len()) => {
                Some(OwnTexts::Files(texts))
            }
            (Some(entry), _) => Some(OwnTexts::Entry(entry)),
            (None, Some(texts)) => Some(OwnTexts::Files(texts)),
            (None, None) => None,
        }
    }
}

/// The texts that a pack has for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnTexts<'a> {
    /// Files that the layout names.
    Files(&'a ModelTexts),
    /// An entry of the pack's `models.json`.
    Entry(&'a ModelEntry),
}

/// Templates that what a layout or the configuration switches on uses.
fn wanted_elsewhere(layout: &Layout) -> Vec<(String, Shape)> {
    let reinject = layout.reinject.iter().flat_map(|layout| layout.chosen().templates());
    let memory = layout.memory.iter().flat_map(|_| texts::TEMPLATES);
    let window = (layout.compaction.strategy == CompactionStrategy::Window).then_some(window::summary::TEMPLATES);
    let always = documents::TEMPLATES.iter().chain(memories::TEMPLATES).chain(window.into_iter().flatten());
    reinject.chain(memory.chain(always).map(|(file, shape)| ((*file).to_owned(), *shape))).collect()
}

/// The files of a pack with those of the built-in packs beneath it, and its layout over theirs.
fn stacked(files: &PackFiles) -> Result<(Shelf, Layout), PackError> {
    let text = files.get(LAYOUT).ok_or_else(|| PackError::MissingFile { file: LAYOUT.to_owned() })?;
    let own = LayoutFile::parse(LAYOUT, text)?;
    let (mut shelf, beneath) = match own.base() {
        Some((name, line)) => {
            let (shelf, beneath) = stacked(&builtin_files(LAYOUT, name, line)?)?;
            (shelf, Some(beneath))
        }
        None => (Shelf::default(), None),
    };
    shelf.put_builtin(files);
    Ok((shelf, own.layout(beneath.as_ref())?))
}

/// The files of the built-in pack that a line of a layout names.
fn builtin_files(file: &str, name: &str, line: usize) -> Result<PackFiles, PackError> {
    builtin::files(name).ok_or_else(|| {
        let known = builtin::names().into_iter().map(str::to_owned).collect();
        PackError::UnknownName { file: file.to_owned(), line, kind: "pack", name: name.to_owned(), known }
    })
}

/// Templates that every pack has, because code outside of slots uses them.
fn core_templates() -> impl Iterator<Item = (&'static str, &'static Shape)> {
    let all = [
        user_message::TEMPLATES,
        turn::TEMPLATES,
        notice::TEMPLATES,
        tool_list::TEMPLATES,
        update::TEMPLATES,
        compaction::TEMPLATES,
        skills::variables::TEMPLATES,
        presets::TEMPLATES,
        review::TEMPLATES,
    ];
    all.into_iter().flatten().map(|(file, shape)| (*file, shape))
}

/// Why a pack cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The layout names a file that does not exist.
    #[error("{file}: the pack has no such file")]
    MissingFile {
        /// The name of the file.
        file: String,
    },
    /// A file does not parse, or has a key or value that means nothing.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The error of the parser.
        message: String,
    },
    /// A name that nothing in the engine has.
    #[error("{file}:{line}: unknown {kind} `{name}`; known: {}", quoted(known))]
    UnknownName {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The kind of the name: source, gate, role.
        kind: &'static str,
        /// The name that is not known.
        name: String,
        /// The names of that kind that exist.
        known: Vec<String>,
    },
    /// A variable that a template cannot have.
    #[error("{file}:{line}: unknown variable `{place}`; known here: {}", quoted(known))]
    UnknownPlace {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The placeholder that is not known.
        place: String,
        /// The placeholders that the file may have.
        known: Vec<String>,
    },
    /// A variable that a template must have.
    #[error("{file}: variable `{place}` is missing, its content would be lost")]
    MissingPlace {
        /// The name of the file.
        file: String,
        /// The placeholder that the file lacks.
        place: String,
    },
}

impl PackError {
    /// The file that it is about.
    pub fn file(&self) -> &str {
        match self {
            Self::MissingFile { file }
            | Self::Syntax { file, .. }
            | Self::UnknownName { file, .. }
            | Self::UnknownPlace { file, .. }
            | Self::MissingPlace { file, .. } => file,
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Line and column of a byte, both from one.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn syntax_error(file: &str, text: &str, error: &toml::de::Error) -> PackError {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    PackError::Syntax { file: file.to_owned(), line, column, message: error.message().trim().to_owned() }
}

#[cfg(test)]
mod tests;
