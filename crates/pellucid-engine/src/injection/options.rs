//! The options that a source of a layout may have. Lists of callers are not checked.

use serde_json::Value;

use super::item::Version;
use super::source;

const COMMON: &[&str] = &["type", "enabled", "version"];

const FILE_SET: &[&str] = &[
    "files",
    "section_header",
    "total_max_bytes",
    "marker",
    "order",
    "prompt_modes",
    "root_key",
    "substitute_variables",
    "include_missing",
];

const FILE_SET_2: &[&str] = &[
    "total_max_bytes",
    "files",
    "section_header",
    "marker",
    "order",
    "prompt_modes",
    "root_key",
    "substitute_variables",
    "include_missing",
    "preset",
    "unit",
    "max",
    "total_max",
    "min_remaining",
    "head_ratio",
    "tail_ratio",
    "marker_template",
    "marker_counts",
    "missing_template",
    "empty_section",
];

const REPO_DOCS: &[&str] = &["filenames", "max_total_bytes", "marker", "wrapper_template", "order", "prompt_modes"];

const REPO_DOCS_2: &[&str] = &[
    "candidates",
    "fallback_names",
    "root_markers",
    "max_total_bytes",
    "marker",
    "wrapper_template",
    "order",
    "prompt_modes",
    "separator",
    "heading",
    "title",
    "truncation",
    "prepend",
    "prepend_separator",
    "append",
    "when_empty",
];

/// Checks the options of a source of a layout.
pub(crate) fn check(spec: &Value) -> Result<(), String> {
    let Some(fields) = spec.as_object() else {
        return Err("a source is a table".to_owned());
    };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let own = match (kind, Version::of(fields)) {
        ("file_set", Version::One) => FILE_SET,
        ("file_set", Version::Two) => FILE_SET_2,
        ("repo_docs", Version::One) => REPO_DOCS,
        ("repo_docs", Version::Two) => REPO_DOCS_2,
        ("provided", _) => &["context_key"],
        _ => &["entries"],
    };
    let is_known = |key: &str| COMMON.contains(&key) || own.contains(&key);
    if let Some(key) = fields.keys().find(|key| !is_known(key)) {
        let known: Vec<String> = COMMON.iter().chain(own).map(|known| format!("`{known}`")).collect();
        return Err(format!("unknown option `{key}` of `{kind}`; known: {}", known.join(", ")));
    }
    source::usable(spec)
}
