//! A note that instruction files may also be below the working directory.

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;
use crate::template::Shape;

const NOTE: &str = "agents/hierarchical.md";

pub(super) const SOURCE: Source =
    Source { name: "child_agents", kind: Kind::Text, templates: &[(NOTE, Shape::VERBATIM)], give };

fn give(ask: &Ask<'_>) -> Given {
    Given::text(ask.pack.template(NOTE).text())
}
