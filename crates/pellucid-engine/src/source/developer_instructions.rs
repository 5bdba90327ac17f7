//! Instructions that the configuration gives as they are. An empty text is still said.

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source = Source { name: "developer_instructions", kind: Kind::Text, templates: &[], give };

fn give(ask: &Ask<'_>) -> Given {
    match &ask.facts.settings.developer_instructions {
        Some(given) => Given::text(vec![Fragment::provided(&given.place, given.text.as_str())]),
        None => Given::nothing(),
    }
}
