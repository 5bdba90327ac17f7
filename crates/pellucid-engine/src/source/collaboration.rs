//! The instructions of the way of working together, where it has any.

use super::Ask;
use super::Given;
use super::Source;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source = Source { name: "collaboration", templates: &[], give };

fn give(ask: &Ask<'_>) -> Given {
    match ask.facts.collaboration_mode.settings.developer_instructions.as_deref() {
        Some(text) if !text.is_empty() => Given::text(vec![Fragment::provided("collaboration mode", text)]),
        _ => Given::nothing(),
    }
}
