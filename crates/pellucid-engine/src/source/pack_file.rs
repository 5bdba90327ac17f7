//! A text of the pack that the layout names: a slot with `file`.

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;

pub(super) const SOURCE: Source = Source { name: "pack_file", kind: Kind::Text, templates: &[], give };

fn give(ask: &Ask<'_>) -> Given {
    ask.file.map_or_else(Given::nothing, |file| Given::text(ask.pack.template(file).text()))
}
