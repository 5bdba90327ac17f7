//! The reference page and the JSON Schema, made from the table of keys.
//!
//! Not here: any fact about a key. Whatever these pages lack is missing in the table.

use std::fmt::Write as _;

use pellucid_protocol::feature::ALIASES;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::FeatureStage;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::keys::InProject;
use crate::keys::IntegerBounds;
use crate::keys::Key;
use crate::keys::Node;
use crate::keys::SECTIONS;
use crate::keys::Scope;
use crate::keys::ValueKind;
use crate::keys::root;

const INTRODUCTION: &str = "\
# Configuration

Every key of `config.toml`. This page is generated from the table of keys.

Values come from these places, from weak to strong: the machine's `/etc/codex/config.toml`, the user's
`config.toml` in the home folder, `.codex/config.toml` in each folder of a trusted project from its top down,
`-c key=value` and other flags, and the administrator's `/etc/codex/managed_config.toml`. Tables merge, everything
else is replaced. A relative path starts at the folder of the file that has it, or at the working directory for `-c`.

A profile is a table `[profiles.<name>]`, chosen with `profile` or `-p`. It may have the keys marked with **P**, and
they are stronger than the same keys at the top, whichever layer those come from.

Keys marked with **A**, and all of `profiles`, name programs, providers, addresses or files, say where keys and records
go, or widen what commands may do. In the file of a project they apply once you have accepted their values with
`pellucid trust accept`; see `docs/trust.md`.

Keys that are not listed here are ignored with a warning. Keys that say *Accepted, not used* are known, so that a file
of the Codex CLI loads without a warning, and have no effect; `pellucid doctor` lists those that your file sets.
";

/// The reference page, as Markdown.
pub fn reference_markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in SECTIONS {
        let _ = write!(page, "\n## {}\n\n| Key | Takes | Default | Meaning |\n|---|---|---|---|\n", section.title);
        for key in section.keys {
            row(&mut page, key);
        }
        if section.title == "Features" {
            features(&mut page);
        }
    }
    page
}

fn row(page: &mut String, key: &Key) {
    let mark = match key.scope {
        Scope::Profile => " **P**",
        Scope::ProfileOnly => " **P** only",
        Scope::Top => "",
    };
    let mark = match key.in_project {
        InProject::Accepted | InProject::AcceptedUnless(_) => format!("{mark} **A**"),
        InProject::Free | InProject::Never => mark.to_owned(),
    };
    let required = if key.required { " Required." } else { "" };
    let note = match key.in_project {
        InProject::Never => format!("{required} A project may not set it."),
        InProject::AcceptedUnless([narrow]) => format!("{required} `{narrow}` applies without being accepted."),
        InProject::AcceptedUnless(narrow) => {
            format!("{required} `{}` apply without being accepted.", narrow.join("`, `"))
        }
        InProject::Free | InProject::Accepted => required.to_owned(),
    };
    let aliases: String = key.aliases.iter().map(|alias| format!(" Also `{alias}`.")).collect();
    let _ = writeln!(
        page,
        "| `{}`{mark} | {} | {} | {}{note}{aliases} |",
        key.path,
        takes(&key.kind),
        key.default,
        key.meaning()
    );
}

fn takes(kind: &ValueKind) -> String {
    match kind {
        ValueKind::String => "string".to_owned(),
        ValueKind::Path => "path".to_owned(),
        ValueKind::NameOrPath => "name or path".to_owned(),
        ValueKind::Bool => "boolean".to_owned(),
        ValueKind::Float => "number".to_owned(),
        ValueKind::Integer(bounds) if bounds.max < i64::MAX => format!("integer, {} to {}", bounds.min, bounds.max),
        ValueKind::Integer(IntegerBounds { min: 0, .. }) => "integer from 0".to_owned(),
        ValueKind::Integer(_) => "integer".to_owned(),
        ValueKind::Words(words) => words.words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        ValueKind::List(words @ ValueKind::Words(_)) => format!("list of {}", takes(words)),
        ValueKind::List(item) => format!("list of {}", several(&takes(item))),
        ValueKind::Map(item) => format!("table of {}", several(&takes(item))),
        ValueKind::Either(one, other) => format!("{} or {}", takes(one), takes(other)),
    }
}

/// Several values of a kind: the first word takes the plural.
fn several(kind: &str) -> String {
    let end = kind.find([' ', ',']).unwrap_or(kind.len());
    format!("{}s{}", &kind[..end], &kind[end..])
}

fn features(page: &mut String) {
    page.push_str(
        "\nThe features, each a key in `[features]`:\n\n| Feature | Stage | Default | Also |\n|---|---|---|---|\n",
    );
    for feature in Feature::ALL {
        let aliases: Vec<_> =
            ALIASES.iter().filter(|(_, meant)| meant == feature).map(|(alias, _)| format!("`{alias}`")).collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} |",
            feature.key(),
            feature.stage().as_str(),
            on_linux(*feature),
            aliases.join(", ")
        );
    }
}

/// Whether a feature is on by default on Linux, so that the pages are the same wherever they are made.
fn on_linux(feature: Feature) -> bool {
    feature.default_on() || feature == Feature::UnifiedExec
}

/// A JSON Schema of the file. It is stricter than the program, because it refuses unknown keys.
pub fn json_schema() -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Pellucid configuration",
    });
    if let (Value::Object(schema), Value::Object(table)) = (&mut schema, table(root())) {
        schema.extend(table);
    }
    schema
}

fn table(node: &Node) -> Value {
    let properties: Map<_, _> = node.children.iter().map(|(name, child)| ((*name).to_owned(), place(child))).collect();
    let mut schema = json!({ "type": "object" });
    match &node.any {
        Some((_, any)) if any.key.is_some_and(|key| key.path == "features.<key>") => {
            schema["properties"] = feature_properties().into();
            schema["additionalProperties"] = false.into();
        }
        any => {
            if !properties.is_empty() {
                schema["properties"] = properties.into();
            }
            schema["additionalProperties"] = any.as_ref().map_or(Value::Bool(false), |(_, any)| place(any));
        }
    }
    if !node.required.is_empty() {
        schema["required"] = node.required.clone().into();
    }
    schema
}

fn place(node: &Node) -> Value {
    if let Some(item) = &node.item {
        return json!({ "type": "array", "items": place(item) });
    }
    match (node.key, node.is_table()) {
        (None, _) => table(node),
        (Some(key), true) => json!({ "description": key.meaning(), "anyOf": [kind(&key.kind), table(node)] }),
        (Some(key), false) => {
            let mut schema = json!({ "description": key.meaning() });
            if let (Value::Object(schema), Value::Object(kind)) = (&mut schema, kind(&key.kind)) {
                schema.extend(kind);
            }
            schema
        }
    }
}

fn kind(kind: &ValueKind) -> Value {
    match kind {
        ValueKind::String | ValueKind::Path | ValueKind::NameOrPath => json!({ "type": "string" }),
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Float => json!({ "type": "number" }),
        ValueKind::Integer(bounds) => {
            let mut schema = json!({ "type": "integer" });
            if bounds.min > i64::MIN {
                schema["minimum"] = bounds.min.into();
            }
            if bounds.max < i64::MAX {
                schema["maximum"] = bounds.max.into();
            }
            schema
        }
        ValueKind::Words(words) => {
            let aliases = words.aliases.iter().map(|(alias, _)| *alias);
            let words: Vec<_> = words.words.iter().copied().chain(aliases).collect();
            json!({ "type": "string", "enum": words })
        }
        ValueKind::List(item) => json!({ "type": "array", "items": self::kind(item) }),
        ValueKind::Map(item) => json!({ "type": "object", "additionalProperties": self::kind(item) }),
        ValueKind::Either(one, other) => json!({ "anyOf": [self::kind(one), self::kind(other)] }),
    }
}

fn feature_properties() -> Map<String, Value> {
    let features = Feature::ALL.iter().map(|feature| (feature.key(), *feature));
    features
        .chain(ALIASES.iter().copied())
        .map(|(key, feature)| {
            let mut schema = json!({ "type": "boolean" });
            let is_old =
                key != feature.key() || matches!(feature.stage(), FeatureStage::Deprecated | FeatureStage::Removed);
            if is_old {
                schema["deprecated"] = true.into();
            }
            (key.to_owned(), schema)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compares a page in `docs` with the generated text; `UPDATE_EXPECT=1` writes it.
    #[track_caller]
    fn check_page(name: &str, generated: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(&path, generated).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == generated,
            "docs/{name} is not what the table of keys says; run the tests with UPDATE_EXPECT=1"
        );
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        check_page("config.md", &reference_markdown());
    }

    #[test]
    fn the_schema_is_up_to_date() {
        let mut schema = serde_json::to_string_pretty(&json_schema()).unwrap();
        schema.push('\n');
        check_page("config.schema.json", &schema);
    }

    #[test]
    fn every_key_says_what_it_is_for() {
        for key in crate::keys::all() {
            assert!(key.doc.ends_with('.'), "{} has no sentence", key.path);
            assert!(!key.doc.contains('|') && !key.default.contains('|'), "{} breaks its table", key.path);
        }
    }
}
