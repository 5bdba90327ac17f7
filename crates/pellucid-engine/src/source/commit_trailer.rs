//! How commit messages name the agent.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;
use crate::template::Shape;
use crate::template::TemplatePlace;

const TRAILER: &str = "git/commit_trailer.md";

/// The name that is used when the configuration has none.
const ATTRIBUTION: &str = "Pellucid <noreply@pellucid.dev>";

pub(super) const SOURCE: Source = Source {
    name: "commit_trailer",
    kind: SourceKind::Text,
    templates: &[(TRAILER, Shape::with(&[TemplatePlace::must("{trailer}")]))],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let attribution = ask.facts.settings.commit_attribution.as_deref().unwrap_or(ATTRIBUTION).trim();
    if attribution.is_empty() {
        return SourceOutput::nothing();
    }
    let trailer = Fragment::fact("commit_attribution", format!("Co-authored-by: {attribution}"));
    SourceOutput::text(ask.pack.template(TRAILER).render(&[("{trailer}", vec![trailer])]))
}
