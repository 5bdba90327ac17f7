//! The user's own instruction file, trimmed, and what it imports.

use super::Ask;
use super::Given;
use super::Source;
use super::project_docs::BETWEEN;
use crate::documents::place;
use crate::fragment::Fragment;
use crate::fragment::Origin;

pub(super) const SOURCE: Source = Source { name: "home_document", templates: &[], give };

fn give(ask: &Ask<'_>) -> Given {
    let Some(document) = &ask.facts.home_document else {
        return Given::nothing();
    };
    let whole = String::from_utf8_lossy(&document.bytes);
    let text = whole.trim();
    if text.is_empty() {
        return Given::nothing();
    }
    let start = (whole.len() - whole.trim_start().len()) as u64;
    let range = start..start + text.len() as u64;
    // White space that is trimmed is not missing.
    let size = range.end;
    let origin = Origin::File { path: document.path.as_str().into(), range, size };
    let mut fragments = vec![Fragment { origin, text: text.to_owned() }];
    let (imports, mut omissions) = place::home_imports(ask.pack, ask.facts, ask.slot);
    for file in imports {
        fragments.push(Fragment::layout(BETWEEN));
        fragments.extend(file.fragments);
    }
    omissions.extend(place::unused_imports(ask.facts, std::slice::from_ref(document), ask.slot));
    Given { omissions, ..Given::text(fragments) }
}
