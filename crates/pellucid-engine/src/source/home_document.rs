//! The user's own instruction file, trimmed, and what it imports.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use super::project_docs::BETWEEN;
use crate::documents::place;
use crate::file_chunks::FileChunks;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source = Source { name: "home_document", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let Some(document) = &ask.facts.world.home_document else {
        return SourceOutput::nothing();
    };
    let whole = String::from_utf8_lossy(&document.bytes);
    let text = whole.trim();
    if text.is_empty() {
        return SourceOutput::nothing();
    }
    let start = whole.len() - whole.trim_start().len();
    let chunks = FileChunks::of(&document.bytes, 0);
    // White space that is trimmed is not missing.
    let size = chunks.end(start + text.len()).unwrap_or(document.size);
    let mut fragments = chunks.fragments(&document.version(), size, start, text);
    let (imports, mut omissions) = place::home_imports(ask.pack, ask.facts, ask.slot);
    for file in imports {
        fragments.push(Fragment::layout(BETWEEN));
        fragments.extend(file.fragments);
    }
    omissions.extend(place::unused_imports(ask.facts, std::slice::from_ref(document), ask.slot));
    SourceOutput { omissions, ..SourceOutput::text(fragments) }
}
