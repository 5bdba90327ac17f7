//! The texts of sources that a layout has for options that a source leaves out.

use serde::Deserialize;

/// What sources say unless their options say something else. `[source_texts]` of `pack.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceTexts {
    /// The heading of a section of files.
    pub file_set_header: String,
    /// The line for a missing file, with `{{path}}`.
    pub missing: String,
    /// The heading above the documents of a repository, in the first version.
    pub repo_docs_title: String,
    /// The text around the documents of a repository, with `{{content}}`.
    pub repo_docs_wrapper: String,
}

/// The keys of `[source_texts]`; what is absent is as in the pack beneath.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SourceTextKeys {
    file_set_header: Option<String>,
    missing: Option<String>,
    repo_docs_title: Option<String>,
    repo_docs_wrapper: Option<String>,
}

impl SourceTextKeys {
    /// The keys over the texts of the pack beneath.
    ///
    /// # Errors
    /// A text without the place for its name or its content.
    pub(crate) fn over(&self, beneath: SourceTexts) -> Result<SourceTexts, String> {
        let text = |own: &Option<String>, beneath: String| own.clone().unwrap_or(beneath);
        for (key, own, place) in
            [("missing", &self.missing, "{{path}}"), ("repo_docs_wrapper", &self.repo_docs_wrapper, "{{content}}")]
        {
            if own.as_ref().is_some_and(|own| !own.contains(place)) {
                return Err(format!("`{key}` of [source_texts] needs `{place}`, otherwise that would be lost"));
            }
        }
        Ok(SourceTexts {
            file_set_header: text(&self.file_set_header, beneath.file_set_header),
            missing: text(&self.missing, beneath.missing),
            repo_docs_title: text(&self.repo_docs_title, beneath.repo_docs_title),
            repo_docs_wrapper: text(&self.repo_docs_wrapper, beneath.repo_docs_wrapper),
        })
    }
}
