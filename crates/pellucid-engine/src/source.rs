//! Sources: who can give text to a slot.
//!
//! Sources that cannot be data are named functions, one file each, listed in `SOURCES`. A source reads facts and the
//! pack's templates, and returns fragments with their origins. Without a result the slot is absent; with an empty
//! text the slot is present and empty.
//!
//! To add one: write its file, list it below, say in `about` what it gives, name it in a layout.

mod about;
mod apps;
mod base_instructions;
mod child_agents;
mod collaboration;
mod commit_trailer;
mod developer_instructions;
mod environment;
mod home_document;
mod host;
mod injected;
mod js_repl;
mod memory_summary;
mod pack_file;
mod permissions;
mod personality;
mod project_docs;
mod skills_list;
mod system_prompt;

use std::sync::Arc;

pub use about::about;
pub use base_instructions::lacks_tones;
pub use base_instructions::offers_tones;
pub use injected::OwnSections;
pub use injected::own_sections;
pub(crate) use project_docs::NAME as PROJECT_DOCS;

use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::pack::Layout;
use crate::pack::Pack;
use crate::pack::SourceBudget;
use crate::template::Shape;

/// Something that gives text to slots.
#[derive(Debug)]
pub struct Source {
    /// The name of the source in layouts.
    pub name: &'static str,
    /// The kind of its result.
    pub kind: SourceKind,
    /// The templates of the source, with their placeholders.
    pub templates: &'static [(&'static str, Shape)],
    /// Computes the text of the slot.
    pub give: fn(&SourceInput<'_>) -> SourceOutput,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The kind of a source's result, and which code applies its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// One text, which assembly cuts.
    Text,
    /// Entries in one text. The source shares its budget out among them, so that a list is not cut through.
    Entries,
    /// Messages with roles, for target `messages`. Assembly cuts them, the last ones first.
    Messages,
}

/// The input of a source.
#[derive(Debug, Clone, Copy)]
pub struct SourceInput<'a> {
    /// The facts of the turn.
    pub facts: &'a Facts,
    /// The pack with the templates.
    pub pack: &'a Pack,
    /// The id of the slot that is filled.
    pub slot: &'a Arc<str>,
    /// How much may be given. Only sources with entries look at it; the texts of others are cut afterwards.
    pub budget: Option<SourceBudget>,
    /// The facts before, when the slot is sent again because something changed.
    pub before: Option<&'a Facts>,
    /// A file of the pack that the layout names here.
    pub file: Option<&'a str>,
}

/// The result of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOutput {
    /// The text; absent when there is nothing to say.
    pub fragments: Option<Vec<Fragment>>,
    /// Separate messages, for a slot of target `messages`.
    pub messages: Vec<GivenMessage>,
    /// The content that was cut or left out.
    pub omissions: Vec<Omission>,
}

/// A message that a source gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenMessage {
    /// The role: `user` or `assistant`.
    pub role: &'static str,
    /// The text of the message.
    pub fragments: Vec<Fragment>,
}

impl SourceOutput {
    /// A result without any text.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A result with this text only.
    pub fn text(fragments: Vec<Fragment>) -> Self {
        Self { fragments: Some(fragments), ..Self::default() }
    }
}

/// Sources that any layout may have.
static SOURCES: &[Source] = &[
    base_instructions::SOURCE,
    permissions::SOURCE,
    developer_instructions::SOURCE,
    memory_summary::SOURCE,
    collaboration::SOURCE,
    personality::SOURCE,
    apps::SOURCE,
    commit_trailer::SOURCE,
    home_document::SOURCE,
    project_docs::SOURCE,
    js_repl::SOURCE,
    skills_list::SOURCE,
    child_agents::SOURCE,
    environment::SOURCE,
    system_prompt::SOURCE,
    injected::SECTIONS,
    injected::ITEMS,
    injected::PREAMBLE,
    host::SOURCE,
];

/// Finds a source by its name.
pub fn find(name: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.name == name)
}

/// The source of a slot that is a file of the pack.
pub(crate) fn pack_file() -> &'static Source {
    static SOURCE: Source = pack_file::SOURCE;
    &SOURCE
}

/// The names of all sources.
pub fn names() -> Vec<String> {
    SOURCES.iter().map(|source| source.name.to_owned()).collect()
}

/// The templates that the sources of a layout use.
pub fn templates(layout: &Layout) -> impl Iterator<Item = (&'static str, &'static Shape)> {
    let parts = layout.slots.iter().flat_map(|slot| &slot.parts);
    parts.flat_map(|part| part.source.templates).map(|(file, shape)| (*file, shape))
}
