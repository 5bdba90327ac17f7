//! The slots of a loaded pack with their texts, for people who want to read or change them.

use std::sync::Arc;

use super::Pack;
use super::slots;
use super::unknown_files;
use crate::file_version::FileVersion;
use crate::template::Trim;

/// A slot and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotText {
    /// The name of the slot.
    pub name: String,
    /// The file of the slot in a pack.
    pub file: String,
    /// The purpose of the text.
    pub about: String,
    /// The placeholders that the text may have.
    pub places: Vec<String>,
    /// How the end of the file is trimmed.
    pub trim: Trim,
    /// The place of the same text in the Codex CLI's sources; empty if the Codex CLI lacks it.
    pub upstream: String,
    /// The text, where the pack has one.
    pub text: Option<Arc<str>>,
    /// The file it was read from.
    pub origin: Option<FileVersion>,
    /// Whether that is the user's.
    pub is_users: bool,
}

impl Pack {
    /// Every slot by name, with or without a text.
    pub fn slot_texts(&self) -> Vec<SlotText> {
        let mut all: Vec<SlotText> = slots::SLOTS.iter().map(|slot| self.known_slot(slot)).collect();
        for file in self.templates.keys().chain(self.program_files()) {
            if !all.iter().any(|slot| slot.file == *file) {
                all.push(self.laid_out(file));
            }
        }
        all.push(self.models_slot());
        for (name, tool) in self.tools.iter(&self.shelf) {
            for description in tool.descriptions(name) {
                let places = slots::tool_places(&description.slot);
                let upstream = slots::TOOLS.iter().find(|row| row.tool == name);
                all.push(SlotText {
                    file: format!("{}.md", description.slot),
                    about: about_description(&description.slot),
                    places: places.iter().map(|&place| place.to_owned()).collect(),
                    trim: Trim::Keep,
                    upstream: upstream.map_or_else(String::new, |row| format!("{}, {}", row.file, row.item)),
                    text: description.text.map(Into::into),
                    origin: description.text.map(|_| description.file.clone()),
                    is_users: description.text.is_some() && self.is_users(description.file),
                    name: description.slot,
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// A slot by its name or its file.
    ///
    /// # Errors
    /// The name that was probably meant, where there is one.
    pub fn slot_text(&self, name: &str) -> Result<SlotText, Option<String>> {
        let all = self.slot_texts();
        let names: Vec<String> = all.iter().map(|slot| slot.name.clone()).collect();
        let found = all.into_iter().find(|slot| slot.name == name || slot.file == name);
        found.ok_or_else(|| unknown_files::nearest(name, &names))
    }

    fn known_slot(&self, slot: &slots::KnownSlot) -> SlotText {
        let file = slot.file();
        let found = self.shelf.get(&file);
        SlotText {
            name: slot.name.to_owned(),
            about: slot.about.to_owned(),
            places: slot.places.iter().map(|&place| place.to_owned()).collect(),
            trim: slot.trim,
            upstream: slot.upstream.place(),
            text: found.map(|found| found.text.clone()),
            origin: found.map(|found| found.shown.clone()),
            is_users: found.is_some_and(|found| found.is_users),
            file,
        }
    }

    /// A template that only the layout names.
    fn laid_out(&self, file: &str) -> SlotText {
        let found = self.shelf.get(file);
        SlotText {
            name: file.rsplit_once('.').map_or(file, |(name, _)| name).to_owned(),
            file: file.to_owned(),
            about: "named by the layout".to_owned(),
            places: Vec::new(),
            trim: Trim::Keep,
            upstream: String::new(),
            text: found.map(|found| found.text.clone()),
            origin: found.map(|found| found.shown.clone()),
            is_users: found.is_some_and(|found| found.is_users),
        }
    }

    fn models_slot(&self) -> SlotText {
        let found = self.shelf.get(slots::MODELS);
        SlotText {
            name: "models".to_owned(),
            file: slots::MODELS.to_owned(),
            about: "texts for particular models".to_owned(),
            places: vec!["{{ personality }}".to_owned()],
            trim: Trim::Keep,
            upstream: slots::MODELS_UPSTREAM.to_owned(),
            text: found.map(|found| found.text.clone()),
            origin: found.map(|found| found.shown.clone()),
            is_users: found.is_some_and(|found| found.is_users),
        }
    }

    fn is_users(&self, shown: &FileVersion) -> bool {
        self.shelf.users().any(|(_, file)| file.shown == *shown)
    }
}

fn about_description(slot: &str) -> String {
    let path = slot.trim_start_matches("tools/");
    match path.split_once('.') {
        Some((tool, parameter)) => format!("the parameter `{parameter}` of the tool `{tool}`"),
        None => format!("the tool `{path}`"),
    }
}
