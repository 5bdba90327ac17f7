//! Roles of slots: what the program needs to find in a layout, whatever the slot is called.

use crate::pack::Layout;
use crate::pack::Slot;

/// The purpose of a slot, where the program acts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotRole {
    /// The base instructions of the request.
    Base,
    /// The sandbox and approval rules.
    Permissions,
    /// The way of working together.
    Collaboration,
    /// The working directory, shell and date.
    Environment,
    /// The tone of the answers, which a person may choose.
    Personality,
    /// The user's and the project's instruction files.
    UserInstructions,
}

/// Every role with its name in layouts and what the program does with a slot that has it.
pub const ROLES: &[(SlotRole, &str, &str)] = &[
    (
        SlotRole::Base,
        "base",
        "its text is sent again, inside `model_switch.md`, when another model takes over (update `model_switch`)",
    ),
    (
        SlotRole::Permissions,
        "permissions",
        "its message is sent again when the sandbox or the approval policy changes (update `permissions`)",
    ),
    (
        SlotRole::Collaboration,
        "collaboration",
        "its message is sent again when the collaboration mode changes (update `collaboration`)",
    ),
    (
        SlotRole::Environment,
        "environment",
        "its message is sent again when the working directory or the network rules change (update `environment`)",
    ),
    (SlotRole::Personality, "personality", "its message is sent again when the tone changes (update `personality`)"),
    (
        SlotRole::UserInstructions,
        "user_instructions",
        "its text, without the template, goes into the session file; instruction files that are not read are reported under its id",
    ),
];

impl SlotRole {
    /// The name in layouts.
    pub fn as_str(self) -> &'static str {
        ROLES.iter().find(|(role, ..)| *role == self).map_or("", |(_, name, _)| name)
    }

    /// Reads the name in layouts.
    pub fn parse(name: &str) -> Option<Self> {
        ROLES.iter().find(|(_, known, _)| *known == name).map(|(role, ..)| *role)
    }

    /// The names of all roles.
    pub fn names() -> Vec<String> {
        ROLES.iter().map(|(_, name, _)| (*name).to_owned()).collect()
    }
}

impl Layout {
    /// Whether some slot has this source.
    pub fn has_source(&self, name: &str) -> bool {
        self.slots.iter().flat_map(|slot| &slot.parts).any(|part| part.source.name == name)
    }

    /// Whether some slot has this file of the pack.
    pub fn has_file(&self, name: &str) -> bool {
        self.slots.iter().flat_map(|slot| &slot.parts).any(|part| part.file.as_deref() == Some(name))
    }

    /// The slot that has a role.
    pub fn slot_with(&self, role: SlotRole) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.role == Some(role))
    }
}
