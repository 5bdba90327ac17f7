//! The text about connected apps.

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;
use crate::fragment::Fragment;
use crate::template::Place;
use crate::template::Shape;

const SECTION: &str = "apps/section.md";

/// The MCP server behind connected apps.
const APPS_SERVER: &str = "codex_apps";

pub(super) const SOURCE: Source = Source {
    name: "apps",
    kind: Kind::Text,
    templates: &[(SECTION, Shape::with(&[Place::may("{apps_server}")]))],
    give,
};

fn give(ask: &Ask<'_>) -> Given {
    let values = [("{apps_server}", vec![Fragment::fact("apps server", APPS_SERVER)])];
    Given::text(ask.pack.template(SECTION).render(&values))
}
