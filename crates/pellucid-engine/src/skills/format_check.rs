//! Checks a `SKILL.md` against the format of Agent Skills, as its validator `skills-ref` does.
//!
//! Stricter than reading ([`super::front_matter`]): a skill with faults still works here, but may not with other agents. One
//! difference: names are compared as they are written, without Unicode normalisation.

use std::fmt;

use yaml_serde::Mapping;
use yaml_serde::Value;

use super::front_matter;
use super::front_matter::DESCRIPTION_CHARS_MAX;
use super::front_matter::NAME_CHARS_MAX;

/// How many characters the field `compatibility` may have.
const COMPATIBILITY_CHARS_MAX: usize = 500;

/// The fields that a head may have.
const FIELDS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];

/// What is wrong with a skill's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatFault {
    /// The file has no head between two `---` lines.
    NoHead,
    /// The head is not a mapping in YAML.
    NotYaml {
        /// The error of the parser, on one line.
        error: String,
    },
    /// The format does not have a field of this name.
    UnknownField {
        /// The name of the field.
        field: String,
    },
    /// A field is missing or empty.
    Missing {
        /// The name of the field.
        field: &'static str,
    },
    /// A field has a value of another type.
    WrongType {
        /// The name of the field.
        field: &'static str,
        /// The type that the field must have.
        wanted: &'static str,
    },
    /// A field has too many characters.
    TooLong {
        /// The name of the field.
        field: &'static str,
        /// How many characters the field has.
        chars: usize,
        /// How many characters the field may have.
        max: usize,
    },
    /// The name has a character that is neither a lower-case letter nor a digit nor a hyphen.
    NameCharacter {
        /// The first such character.
        character: char,
    },
    /// The name begins or ends with a hyphen, or has two in a row.
    NameHyphen,
    /// The folder of the skill is called otherwise.
    OtherFolder {
        /// The name of the skill.
        name: String,
        /// The name of the folder.
        folder: String,
    },
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHead => f.write_str("the file does not begin with a head between two `---` lines"),
            Self::NotYaml { error } => write!(f, "the head is not a mapping in YAML: {error}"),
            Self::UnknownField { field } => {
                write!(f, "the format has no field `{field}`; put it under `metadata`")
            }
            Self::Missing { field } => write!(f, "`{field}` is missing or empty"),
            Self::WrongType { field, wanted } => write!(f, "`{field}` must be {wanted}"),
            Self::TooLong { field, chars, max } => {
                write!(f, "`{field}` has {chars} characters, and may have {max}")
            }
            Self::NameCharacter { character } => {
                let shown = character.escape_default();
                write!(f, "`name` has `{shown}`; lower-case letters, digits and hyphens are allowed")
            }
            Self::NameHyphen => f.write_str("`name` begins or ends with a hyphen, or has two in a row"),
            Self::OtherFolder { name, folder } => {
                write!(f, "the folder is called `{folder}`, and must be called like the skill, `{name}`")
            }
        }
    }
}

/// What is wrong with a `SKILL.md` in a folder of this name, in the order of the format's fields.
pub fn faults(text: &str, folder: &str) -> Vec<FormatFault> {
    let Some(head) = front_matter::head(text) else { return vec![FormatFault::NoHead] };
    let head: Mapping = match yaml_serde::from_str(head) {
        Ok(head) => head,
        Err(error) => return vec![FormatFault::NotYaml { error: front_matter::one_line(&error.to_string()) }],
    };
    let mut faults: Vec<FormatFault> = head
        .keys()
        .map(|key| key.as_str().map_or_else(|| format!("{key:?}"), str::to_owned))
        .filter(|key| !FIELDS.contains(&key.as_str()))
        .map(|field| FormatFault::UnknownField { field })
        .collect();
    if let Some(name) = text_of(&head, "name", NAME_CHARS_MAX, &mut faults) {
        check_name(&name, folder, &mut faults);
    }
    text_of(&head, "description", DESCRIPTION_CHARS_MAX, &mut faults);
    match head.get("compatibility") {
        None => {}
        Some(Value::String(text)) => check_length("compatibility", text, COMPATIBILITY_CHARS_MAX, &mut faults),
        Some(_) => faults.push(FormatFault::WrongType { field: "compatibility", wanted: "a text" }),
    }
    let is_list_of_texts = |value: &Value| match value {
        Value::String(_) => true,
        Value::Sequence(tools) => tools.iter().all(|tool| tool.as_str().is_some()),
        _ => false,
    };
    if head.get("allowed-tools").is_some_and(|tools| !is_list_of_texts(tools)) {
        faults.push(FormatFault::WrongType { field: "allowed-tools", wanted: "a text or a list of texts" });
    }
    faults
}

/// The text of a field that must be there.
fn text_of(head: &Mapping, field: &'static str, max: usize, faults: &mut Vec<FormatFault>) -> Option<String> {
    match head.get(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => {
            check_length(field, text.trim(), max, faults);
            Some(text.trim().to_owned())
        }
        None | Some(Value::String(_) | Value::Null) => {
            faults.push(FormatFault::Missing { field });
            None
        }
        Some(_) => {
            faults.push(FormatFault::WrongType { field, wanted: "a text" });
            None
        }
    }
}

fn check_length(field: &'static str, text: &str, max: usize, faults: &mut Vec<FormatFault>) {
    let chars = text.chars().count();
    if chars > max {
        faults.push(FormatFault::TooLong { field, chars, max });
    }
}

fn check_name(name: &str, folder: &str, faults: &mut Vec<FormatFault>) {
    let is_allowed = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '-';
    if let Some(character) = name.chars().find(|c| !is_allowed(*c)) {
        faults.push(FormatFault::NameCharacter { character });
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        faults.push(FormatFault::NameHyphen);
    }
    if name != folder {
        faults.push(FormatFault::OtherFolder { name: name.to_owned(), folder: folder.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_faults(head: &str, folder: &str, expected: &Expect) {
        let faults = faults(&format!("---\n{head}\n---\nBody.\n"), folder);
        expected.assert_eq(&faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn every_field_of_the_format_is_allowed() {
        let head = "name: pdf-2\ndescription: Reads.\nlicense: MIT\nallowed-tools: [Bash, Read]\n\
                    metadata:\n  short-description: x\ncompatibility: any";
        check_faults(head, "pdf-2", &expect![""]);
        check_faults("name: größe\ndescription: d\nallowed-tools: Bash Read", "größe", &expect![""]);
    }

    #[test]
    fn every_fault_is_named() {
        check_faults(
            "name: -Pdf--x\nversion: 1\ndescription: ''\nallowed-tools: [1]\ncompatibility: 3",
            "pdf",
            &expect![[r#"
                the format has no field `version`; put it under `metadata`
                `name` has `P`; lower-case letters, digits and hyphens are allowed
                `name` begins or ends with a hyphen, or has two in a row
                the folder is called `pdf`, and must be called like the skill, `-Pdf--x`
                `description` is missing or empty
                `compatibility` must be a text
                `allowed-tools` must be a text or a list of texts"#]],
        );
        check_faults(
            "description: [a]",
            "x",
            &expect![[r#"
            `name` is missing or empty
            `description` must be a text"#]],
        );
        let (name, description) = ("n".repeat(65), "d".repeat(1025));
        let long = format!("name: {name}\ndescription: {description}\ncompatibility: {}", "c".repeat(501));
        check_faults(
            &long,
            &name,
            &expect![[r#"
            `name` has 65 characters, and may have 64
            `description` has 1025 characters, and may have 1024
            `compatibility` has 501 characters, and may have 500"#]],
        );
        check_faults(
            "- a",
            "x",
            &expect![[r#"the head is not a mapping in YAML: invalid type: sequence, expected a YAML mapping"#]],
        );
        assert_eq!(faults("no head", "x"), [FormatFault::NoHead]);
    }
}
