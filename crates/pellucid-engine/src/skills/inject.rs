//! A skill's text as a message: the whole file, with its name and path.

use super::Skill;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::transcript::Draft;
use crate::transcript::DraftPart;

/// The message that brings a skill into the conversation. `text` is its `SKILL.md` with its current content.
pub fn message(skill: &Skill, text: String) -> Draft {
    let size = text.len() as u64;
    let body = Origin::File { path: FileVersion::of(&skill.path, text.as_bytes()), range: 0..size, size };
    let fragments = vec![
        Fragment::layout("<skill>\n<name>"),
        Fragment::fact("skill name", skill.name.as_str()),
        Fragment::layout("</name>\n<path>"),
        Fragment::fact("skill path", skill.path.as_str()),
        Fragment::layout("</path>\n"),
        Fragment { origin: body, text },
        Fragment::layout("\n</skill>"),
    ];
    Draft { part: "skill".into(), role: "user", parts: vec![DraftPart::Text(fragments)] }
}
