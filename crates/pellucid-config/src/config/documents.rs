//! Settings of instruction files.

use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::OnChange;
use pellucid_protocol::project_docs::ProjectDocs;

use crate::keys::default::count_or_default;
use crate::reader::Reader;

/// How instruction files of projects are read.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentSettings {
    /// How many bytes of instruction files are used in all.
    pub max_bytes: usize,
    /// File names that are tried where the usual ones are missing.
    pub fallback_filenames: Vec<String>,
    /// Further settings for instruction files.
    pub rules: ProjectDocs,
}

impl DocumentSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        let mut fallback_filenames: Vec<String> = Vec::new();
        for name in reader.texts("project_doc_fallback_filenames").unwrap_or_default() {
            let name = name.trim();
            if !name.is_empty() && !fallback_filenames.iter().any(|known| known == name) {
                fallback_filenames.push(name.to_owned());
            }
        }
        Self {
            max_bytes: count_or_default!(reader, "project_doc_max_bytes"),
            fallback_filenames,
            rules: ProjectDocs {
                allocation: reader.word("project_docs.allocation", Allocation::from_word),
                cut: reader.word("project_docs.cut", Cut::from_word),
                imports: reader.count("project_docs.imports"),
                nested: reader.flag("project_docs.nested"),
                on_change: reader.word("project_docs.on_change", OnChange::from_word),
            },
        }
    }
}
