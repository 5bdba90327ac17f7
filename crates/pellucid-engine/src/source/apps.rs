//! The text about connected apps.

use pellucid_protocol::mcp::APPS_SERVER;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;
use crate::template::Shape;
use crate::template::TemplatePlace;

const SECTION: &str = "apps/section.md";

pub(super) const SOURCE: Source = Source {
    name: "apps",
    kind: SourceKind::Text,
    templates: &[(SECTION, Shape::with(&[TemplatePlace::may("{apps_server}")]))],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let values = [("{apps_server}", vec![Fragment::fact("apps server", APPS_SERVER)])];
    SourceOutput::text(ask.pack.template(SECTION).render(&values))
}
