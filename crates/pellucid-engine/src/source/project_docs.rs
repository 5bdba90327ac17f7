//! The project's instruction files, from its root to the working directory, within one budget: the configuration's, or the
//! layout's where that is smaller.
//!
//! Unless a pack or the configuration says otherwise the first bytes are used, whole files first. A file that is blank
//! costs nothing and is passed over. Cut or broken characters become U+FFFD, as the bytes are counted before they are
//! decoded.
//!
//! Not here: how the budget is shared out, and what files import (`documents`).

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::documents::place;
use crate::fragment::Fragment;

/// The name of the source in layouts.
pub(crate) const NAME: &str = "project_docs";

pub(super) const SOURCE: Source = Source { name: NAME, kind: SourceKind::Entries, templates: &[], give };

/// The text between two files.
pub(super) const BETWEEN: &str = "\n\n";

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let of_layout = ask.budget.map_or(usize::MAX, |budget| budget.bytes);
    let budget = ask.facts.settings.project_document_bytes_max.min(of_layout);
    let (placed, mut omissions) = place::project(ask.pack, ask.facts, ask.slot, budget);
    omissions.extend(place::unused_imports(ask.facts, &ask.facts.world.project_documents, ask.slot));
    let mut fragments = Vec::new();
    for file in placed {
        if !fragments.is_empty() {
            fragments.push(Fragment::layout(BETWEEN));
        }
        fragments.extend(file.fragments);
    }
    SourceOutput { fragments: (!fragments.is_empty()).then_some(fragments), omissions, ..SourceOutput::default() }
}
