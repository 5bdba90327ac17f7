//! The project's instruction files, from its root to the working directory, within one budget.
//!
//! The first bytes are used, whole files first. A file that is blank costs nothing and is passed
//! over. Cut or broken characters become U+FFFD, as the bytes are counted before they are decoded.

use super::Ask;
use super::Given;
use super::Source;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;

pub(super) const SOURCE: Source = Source { name: "project_docs", templates: &[], give };

/// What stands between two files.
const BETWEEN: &str = "\n\n";

fn give(ask: &Ask<'_>) -> Given {
    let mut left = ask.facts.project_document_bytes_max;
    let mut fragments = Vec::new();
    let mut omissions = Vec::new();
    let mut omit = |what: &str, why| omissions.push(Omission { slot: ask.slot.clone(), what: what.to_owned(), why });
    for document in &ask.facts.project_documents {
        if left == 0 {
            omit(&document.path, Why::OverBudget { of: document.size });
            continue;
        }
        let kept = &document.bytes[..document.bytes.len().min(left)];
        let text = String::from_utf8_lossy(kept);
        if text.trim().is_empty() {
            omit(&document.path, Why::Blank);
            continue;
        }
        left -= kept.len();
        let (kept_bytes, of) = (kept.len() as u64, document.size);
        if kept_bytes < of {
            omit(&document.path, Why::Cut { kept: kept_bytes, of });
        }
        if !fragments.is_empty() {
            fragments.push(Fragment::layout(BETWEEN));
        }
        let origin = Origin::File { path: document.path.as_str().into(), range: 0..kept_bytes, size: of };
        fragments.push(Fragment { origin, text: text.into_owned() });
    }
    Given { fragments: (!fragments.is_empty()).then_some(fragments), omissions, ..Given::default() }
}
