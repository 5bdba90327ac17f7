//! The JSON Schemas of what commands print with `--json`, by the name in their `schema` field, and of what is kept in
//! files and streams, whose objects have no such field.

use pellucid_protocol::context_event;
use pellucid_store::requests::entry;

/// A form of output and its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSchema {
    /// The name that `pellucid schema` takes: `diff` for `pellucid.diff/1`.
    pub name: &'static str,
    /// The command that prints the form.
    pub command: &'static str,
    /// The JSON Schema.
    pub text: &'static str,
}

/// Every form of output, by name.
pub const ALL: [OutputSchema; 19] = [
    OutputSchema {
        name: "archived",
        command: "sessions archive --older-than DAYS --json",
        text: include_str!("schemas/archived.json"),
    },
    OutputSchema { name: "bisect", command: "context bisect --json", text: include_str!("schemas/bisect.json") },
    OutputSchema { name: "cache", command: "cache --json", text: include_str!("schemas/cache.json") },
    OutputSchema { name: "capsule", command: "sessions capsule", text: include_str!("schemas/capsule.json") },
    OutputSchema { name: "certificate", command: "sessions certify", text: include_str!("schemas/certificate.json") },
    OutputSchema { name: "check", command: "context check --json", text: include_str!("schemas/check.json") },
    OutputSchema { name: "cost", command: "cost --json", text: include_str!("schemas/cost.json") },
    OutputSchema { name: "diff", command: "context diff --json", text: include_str!("schemas/diff.json") },
    OutputSchema {
        name: "diff.sessions",
        command: "context diff --json, of two sessions",
        text: include_str!("schemas/diff.sessions.json"),
    },
    OutputSchema {
        name: "forgotten",
        command: "memory forget-session --json",
        text: include_str!("schemas/forgotten.json"),
    },
    OutputSchema { name: "grep", command: "sessions grep --json", text: include_str!("schemas/grep.json") },
    OutputSchema { name: "models", command: "models list --json", text: include_str!("schemas/models.json") },
    OutputSchema { name: "packs", command: "context packs --json", text: include_str!("schemas/packs.json") },
    OutputSchema {
        name: "reconstructed",
        command: "context --from DIR --json",
        text: include_str!("schemas/reconstructed.json"),
    },
    OutputSchema { name: "redo", command: "redo --json", text: include_str!("schemas/redo.json") },
    OutputSchema { name: "seen", command: "context seen --json", text: include_str!("schemas/seen.json") },
    OutputSchema {
        name: "skills-check",
        command: "skills check --json",
        text: include_str!("schemas/skills-check.json"),
    },
    OutputSchema { name: "undo", command: "undo --json", text: include_str!("schemas/undo.json") },
    OutputSchema { name: "why", command: "context why --json", text: include_str!("schemas/why.json") },
];

/// The forms of lines that are written to files and streams.
pub const LINES: [OutputSchema; 2] = [
    OutputSchema {
        name: "context-events",
        command: "exec --json --context-events, a line about the context",
        text: context_event::SCHEMA,
    },
    OutputSchema { name: "record", command: "exec, a line of requests/ID.jsonl", text: entry::SCHEMA },
];

/// Every form, those of outputs first.
pub fn all() -> impl Iterator<Item = OutputSchema> {
    ALL.into_iter().chain(LINES)
}

/// The schema of a form: by its name, or by the value of its `schema` field.
pub fn find(name: &str) -> Option<OutputSchema> {
    let name = name.strip_prefix("pellucid.").unwrap_or(name);
    let bare = name.rsplit_once('/').map_or(name, |(bare, _)| bare);
    all().find(|schema| schema.name == bare).filter(|schema| bare == name || schema.is_version(name))
}

impl OutputSchema {
    /// Whether a name with a version is the one that the schema describes.
    fn is_version(&self, name: &str) -> bool {
        self.text.contains(&format!("\"urn:pellucid.{name}\""))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_schema_is_json_and_names_its_form() {
        for OutputSchema { name, text, .. } in ALL {
            let schema: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let form = format!("pellucid.{name}/1");
            assert_eq!(schema["properties"]["schema"]["const"], form.as_str(), "{name}");
            assert_eq!(schema["$id"], format!("urn:{form}").as_str(), "{name}");
            assert_eq!(find(&form).map(|it| it.name), Some(name));
            assert_eq!(find(name).map(|it| it.name), Some(name));
        }
        assert_eq!(find("nothing"), None);
        assert!(ALL.is_sorted_by_key(|schema| schema.name));
    }
    #[test]
    fn a_name_may_have_the_version_that_there_is() {
        for schema in all() {
            let id: Value = serde_json::from_str(schema.text).unwrap();
            let form = id["$id"].as_str().and_then(|it| it.strip_prefix("urn:")).unwrap().to_owned();
            for name in [schema.name, &form, form.strip_prefix("pellucid.").unwrap()] {
                assert_eq!(find(name), Some(schema), "{name}");
            }
            assert_eq!(find(&format!("{form}0")), None);
        }
        assert_eq!(find("nothing"), None);
    }
}
