//! A note that instruction files may also be below the working directory.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::template::Shape;

const NOTE: &str = "agents/hierarchical.md";

pub(super) const SOURCE: Source =
    Source { name: "child_agents", kind: SourceKind::Text, templates: &[(NOTE, Shape::VERBATIM)], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    SourceOutput::text(ask.pack.template(NOTE).text())
}
