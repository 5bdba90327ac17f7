//! The user's own instruction file, trimmed.

use super::Ask;
use super::Given;
use super::Source;
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
    let origin = Origin::File { path: document.path.as_str().into(), range, size: document.size };
    Given::text(vec![Fragment { origin, text: text.to_owned() }])
}
