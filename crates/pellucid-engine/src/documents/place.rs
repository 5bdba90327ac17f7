//! Instruction files as text: those of the chain with what they import, each within its share of the budget.

use std::sync::Arc;

use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::ProjectDocs;

use super::CUT;
use super::IMPORTED;
use super::imports::ImportFault;
use super::imports::Imported;
use crate::cut::shares::Share;
use crate::cut::shares::Want;
use crate::cut::shares::shares;
use crate::facts::Document;
use crate::facts::Facts;
use crate::file_chunks::of_file;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::pack::Pack;
use crate::source::PROJECT_DOCS;

/// The rules for instruction files: those of the configuration, then those of the pack.
pub(crate) fn rules(pack: &Pack, facts: &Facts) -> ProjectDocs {
    facts.settings.project_docs.over(pack.layout.project_docs)
}

/// How many bytes of the project's files are used: what the configuration says, or what the layout says where that is less.
pub(crate) fn budget(pack: &Pack, facts: &Facts) -> usize {
    let mut parts = pack.layout.slots.iter().flat_map(|slot| &slot.parts);
    let part = parts.find(|part| part.source.name == PROJECT_DOCS);
    let of_layout = part.and_then(|part| part.budget).map_or(usize::MAX, |budget| budget.bytes);
    facts.settings.project_document_bytes_max.min(of_layout)
}

/// A file that is used, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub path: String,
    pub fragments: Vec<Fragment>,
}

/// The project's files within their budget, and what is left out of them.
pub(crate) fn project(pack: &Pack, facts: &Facts, slot: &Arc<str>, budget: usize) -> (Vec<Placed>, Vec<Omission>) {
    let mut entries = Vec::new();
    for (group, document) in facts.world.project_documents.iter().enumerate() {
        entries.push(Entry { document, by: None, group });
        entries.extend(imported_by(facts, &document.path, group));
    }
    place(&entries, budget, pack, facts, slot)
}

/// The imports of the user's file. Each import has the whole budget of the project's files.
pub(crate) fn home_imports(pack: &Pack, facts: &Facts, slot: &Arc<str>) -> (Vec<Placed>, Vec<Omission>) {
    let home = facts.world.home_document.iter();
    let entries: Vec<Entry<'_>> = home.flat_map(|home| imported_by(facts, &home.path, 0)).collect();
    place(&entries, usize::MAX, pack, facts, slot)
}

/// One file by itself, uncut.
pub(crate) fn alone(pack: &Pack, facts: &Facts, document: &Document) -> Vec<Fragment> {
    let entry = Entry { document, by: None, group: 0 };
    let (placed, _) = place(&[entry], usize::MAX, pack, facts, &"".into());
    placed.into_iter().flat_map(|placed| placed.fragments).collect()
}

struct Entry<'a> {
    document: &'a Document,
    by: Option<&'a Imported>,
    group: usize,
}

fn imported_by<'a>(facts: &'a Facts, root: &'a str, group: usize) -> impl Iterator<Item = Entry<'a>> {
    let imports = facts.world.imports.iter().filter(move |imported| imported.root == root);
    imports.filter_map(move |imported| {
        let document = imported.outcome.as_ref().ok()?;
        Some(Entry { document, by: Some(imported), group })
    })
}

fn place(
    entries: &[Entry<'_>],
    budget: usize,
    pack: &Pack,
    facts: &Facts,
    slot: &Arc<str>,
) -> (Vec<Placed>, Vec<Omission>) {
    let rules = rules(pack, facts);
    let wants: Vec<Want<'_>> = entries
        .iter()
        .map(|entry| Want { bytes: &entry.document.bytes, size: entry.document.size, group: entry.group })
        .collect();
    let shares = shares(&wants, budget, rules.allocation(), rules.cut());
    let (mut placed, mut omissions) = (Vec::new(), Vec::new());
    for (entry, share) in entries.iter().zip(shares) {
        let (path, of) = (&entry.document.path, entry.document.size);
        let mut omit = |why| omissions.push(Omission { slot: slot.clone(), what: path.clone(), why });
        let kept = match share {
            Share::Blank => {
                omit(Why::Blank);
                continue;
            }
            Share::Kept(kept) => kept,
        };
        let kept_bytes = kept as u64;
        if kept == 0 {
            omit(Why::OverBudget { of });
        } else if kept_bytes < of {
            omit(Why::Cut { kept: kept_bytes, of });
        }
        let mut fragments = Vec::new();
        if kept > 0 {
            fragments.extend(of_file(&entry.document.version(), &entry.document.bytes[..kept], 0, of));
        }
        if kept_bytes < of && rules.cut() == Cut::Lines {
            if fragments.last().is_some_and(|fragment| !fragment.text.ends_with('\n')) {
                fragments.push(Fragment::layout("\n"));
            }
            fragments.extend(note(pack, path, of - kept_bytes, of));
        }
        if let Some(imported) = entry.by.filter(|_| !fragments.is_empty()) {
            fragments = pack.template(IMPORTED).render(&[
                ("{{ path }}", vec![Fragment::fact("path", path.as_str())]),
                ("{{ by }}", vec![Fragment::fact("path", imported.by.as_str())]),
                ("{{ text }}", fragments),
            ]);
        }
        if !fragments.is_empty() {
            placed.push(Placed { path: path.clone(), fragments });
        }
    }
    (placed, omissions)
}

/// The note where a file was cut.
fn note(pack: &Pack, path: &str, missing: u64, size: u64) -> Vec<Fragment> {
    pack.template(CUT).render(&[
        ("{{ path }}", vec![Fragment::fact("path", path)]),
        ("{{ missing }}", vec![Fragment::fact("missing bytes", missing.to_string())]),
        ("{{ size }}", vec![Fragment::fact("file size", size.to_string())]),
    ])
}

/// Imports of these files that are not used, and why.
pub(crate) fn unused_imports(facts: &Facts, roots: &[Document], slot: &Arc<str>) -> Vec<Omission> {
    let is_meant = |imported: &&Imported| roots.iter().any(|root| root.path == imported.root);
    let unused = facts.world.imports.iter().filter(is_meant).filter_map(|imported| {
        let fault = imported.outcome.as_ref().err()?;
        let why = match fault {
            ImportFault::Missing => Why::Missing,
            ImportFault::Duplicate => Why::Duplicate,
            ImportFault::NotAccepted { is_changed } => Why::NotAccepted { is_changed: *is_changed },
            fault => Why::Unusable { error: fault.to_string() },
        };
        let what = format!("{} (imported in {}:{})", imported.path, imported.by, imported.line);
        Some(Omission { slot: slot.clone(), what, why })
    });
    unused.collect()
}
