//! How commit messages name the agent.

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;
use crate::fragment::Fragment;
use crate::template::Place;
use crate::template::Shape;

const TRAILER: &str = "git/commit_trailer.md";

/// The name that is used when the configuration has none.
const ATTRIBUTION: &str = "Pellucid <noreply@pellucid.dev>";

pub(super) const SOURCE: Source = Source {
    name: "commit_trailer",
    kind: Kind::Text,
    templates: &[(TRAILER, Shape::with(&[Place::must("{trailer}")]))],
    give,
};

fn give(ask: &Ask<'_>) -> Given {
    let attribution = ask.facts.settings.commit_attribution.as_deref().unwrap_or(ATTRIBUTION).trim();
    if attribution.is_empty() {
        return Given::nothing();
    }
    let trailer = Fragment::fact("commit_attribution", format!("Co-authored-by: {attribution}"));
    Given::text(ask.pack.template(TRAILER).render(&[("{trailer}", vec![trailer])]))
}
