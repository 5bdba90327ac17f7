//! The head of a `SKILL.md`: a name and what the skill is for, in YAML between two `---` lines.
//!
//! Most heads have one `key: value` on each line. Those are read here, because a YAML parser takes
//! longer to set up than they take to read, and a list of skills is needed before the first
//! request. Whatever else a head may be is left to the parser; a test holds that both agree.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// How many characters a name may have.
pub const NAME_CHARS_MAX: usize = 64;

/// How many characters a description may have, the short one too.
pub const DESCRIPTION_CHARS_MAX: usize = 1024;

const DELIMITER: &str = "---";

/// The head of a skill's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The name, on one line.
    pub name: String,
    /// The description, on one line.
    pub description: String,
    /// The same in fewer words.
    pub short_description: Option<String>,
    /// The tools that the skill asks for: the entries of a list, or a text as it is.
    pub allowed_tools: Vec<String>,
}

/// Why a file is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The file cannot be read, or is not UTF-8.
    #[error("failed to read file: {error}")]
    Unreadable {
        /// The error of the operating system.
        error: String,
    },
    /// The file does not begin with a head.
    #[error("missing YAML frontmatter delimited by ---")]
    NoFrontMatter,
    /// The head is not YAML, or lacks a key.
    #[error("invalid YAML: {error}")]
    InvalidYaml {
        /// The error of the parser.
        error: String,
    },
    /// A field is missing or blank.
    #[error("missing field `{field}`")]
    MissingField {
        /// The name of the field.
        field: &'static str,
    },
    /// A field says too much.
    #[error("invalid {field}: exceeds maximum length of {max} characters")]
    TooLong {
        /// The name of the field.
        field: &'static str,
        /// The maximum number of characters.
        max: usize,
    },
}

/// Reads the head of a `SKILL.md`.
///
/// # Errors
/// Why the file is no skill.
pub fn parse(text: &str) -> Result<FrontMatter, SkillError> {
    let head = head(text).ok_or(SkillError::NoFrontMatter)?;
    let raw = match plain_head(head) {
        Some(raw) => raw,
        None => yaml_head(head)?,
    };
    let name = one_line(&raw.name);
    let description = one_line(&raw.description);
    let short_description = raw.metadata.short_description.as_deref().map(one_line).filter(|text| !text.is_empty());
    check("name", &name, NAME_CHARS_MAX)?;
    check("description", &description, DESCRIPTION_CHARS_MAX)?;
    if let Some(short) = &short_description {
        check("metadata.short-description", short, DESCRIPTION_CHARS_MAX)?;
    }
    let allowed_tools = match raw.allowed_tools {
        RawTools::Text(text) => vec![text],
        RawTools::List(tools) => tools,
        RawTools::Other(_) => Vec::new(),
    };
    let allowed_tools = allowed_tools.iter().map(|tool| one_line(tool)).filter(|tool| !tool.is_empty()).collect();
    Ok(FrontMatter { name, description, short_description, allowed_tools })
}

/// A text with every run of white space made one space.
pub(super) fn one_line(text: &str) -> String {
    if is_one_line(text) {
        return text.to_owned();
    }
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Whether a text is words of ASCII with one space between them already.
fn is_one_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_space = |byte: Option<&u8>| byte == Some(&b' ');
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && !bytes.windows(2).any(|pair| pair == b"  ")
        && !is_space(bytes.first())
        && !is_space(bytes.last())
}

/// The lines between the first line and the next `---`, if there are any.
pub(super) fn head(text: &str) -> Option<&str> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim() == DELIMITER)?;
    let start = first.len();
    let mut end = start;
    for line in lines {
        if line.trim() == DELIMITER {
            return (end > start).then(|| &text[start..end]);
        }
        end += line.len();
    }
    None
}

fn check(field: &'static str, value: &str, max: usize) -> Result<(), SkillError> {
    if value.is_empty() {
        return Err(SkillError::MissingField { field });
    }
    // Bytes are at least as many as characters, so that most values need no counting.
    if value.len() > max && value.chars().count() > max {
        return Err(SkillError::TooLong { field, max });
    }
    Ok(())
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(expecting = "a mapping")]
struct RawHead {
    name: String,
    description: String,
    #[serde(default)]
    metadata: RawMetadata,
    #[serde(default, rename = "allowed-tools")]
    allowed_tools: RawTools,
}

/// A list of tools: a text, a list, or anything else, which counts as none.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum RawTools {
    Text(String),
    List(Vec<String>),
    Other(IgnoredAny),
}

impl Default for RawTools {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(expecting = "a mapping")]
struct RawMetadata {
    #[serde(default, rename = "short-description")]
    short_description: Option<String>,
}

fn yaml_head(head: &str) -> Result<RawHead, SkillError> {
    yaml_serde::from_str(head).map_err(|error| SkillError::InvalidYaml { error: error.to_string() })
}

/// Reads a head that has a plain or simply quoted value on each line. Absent means that the parser
/// has to look, not that something is wrong.
fn plain_head(head: &str) -> Option<RawHead> {
    let (mut name, mut description) = (None, None);
    for line in head.lines() {
        let (key, value) = line.split_once(':')?;
        let value = value.strip_prefix(' ')?;
        let value = plain_value(value.trim_matches(' '))?;
        let field = match key {
            "name" => &mut name,
            "description" => &mut description,
            "metadata" | "allowed-tools" => return None,
            _ if is_plain_key(key) => continue,
            _ => return None,
        };
        if field.replace(value).is_some() {
            return None;
        }
    }
    let (name, description) = (name?.to_owned(), description?.to_owned());
    Some(RawHead { name, description, metadata: RawMetadata::default(), allowed_tools: RawTools::default() })
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.len() < 64
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn plain_value(value: &str) -> Option<&str> {
    let bytes = value.as_bytes();
    if !bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) && !value.chars().all(is_printable) {
        return None;
    }
    let first = value.chars().next()?;
    if matches!(first, '"' | '\'') {
        let inside = value.get(1..)?.strip_suffix(first)?;
        return (!inside.contains([first, '\\'])).then_some(inside);
    }
    let is_plain = (first.is_alphanumeric() || matches!(first, '(' | '/' | '.' | '_' | '$'))
        && !bytes.windows(2).any(|pair| pair == b": " || pair == b" #")
        && !value.ends_with(':');
    is_plain.then_some(value)
}

/// Whether a character may be in YAML on one line and has no special meaning.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~')
        || (c >= '\u{a0}' && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_skill(text: &str, expected: &Expect) {
        let actual = match parse(text) {
            Ok(FrontMatter { name, description, short_description, allowed_tools }) => {
                let short = short_description.map(|short| format!(" | {short}")).unwrap_or_default();
                let tools = if allowed_tools.is_empty() { String::new() } else { format!(" {allowed_tools:?}") };
                format!("{name} | {description}{short}{tools}")
            }
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn a_head_gives_name_and_description_on_one_line_each() {
        check_skill("---\nname: lint\ndescription: Finds faults.\n---\nBody", &expect!["lint | Finds faults."]);
        check_skill("---\r\nname: lint\r\ndescription: \"a: b\"\r\n---\r\n", &expect!["lint | a: b"]);
        check_skill(
            " --- \nname: '  two   words '\ndescription: |\n  Two lines\n  of   text.\nmetadata:\n  short-description: In  short.\n--- ",
            &expect!["two words | Two lines of text. | In short."],
        );
        check_skill(
            "---\nname: a\ndescription: b\nlicense: MIT\nallowed-tools: [x]\n---",
            &expect![[r#"a | b ["x"]"#]],
        );
        check_skill("---\nname: a\ndescription: b\nallowed-tools: x y\n---", &expect![[r#"a | b ["x y"]"#]]);
        check_skill("---\nname: a\ndescription: b\nallowed-tools: 7\n---", &expect!["a | b"]);
        check_skill("---\nname: 12\ndescription: true\nmetadata:\n---", &expect!["12 | true"]);
        check_skill("---\nname: a\ndescription: b\nmetadata:\n  short-description: ' '\n---", &expect!["a | b"]);
    }

    #[test]
    fn without_a_closed_head_there_is_no_skill() {
        let error = expect!["error: missing YAML frontmatter delimited by ---"];
        check_skill("", &error);
        check_skill("# Just text\n", &error);
        check_skill("---\n---\nname: a\n", &error);
        check_skill("---\nname: a\ndescription: b\n", &error);
        check_skill("\n---\nname: a\ndescription: b\n---\n", &error);
        check_skill("\u{feff}---\nname: a\ndescription: b\n---\n", &error);
    }

    #[test]
    fn a_head_that_is_not_yaml_says_why() {
        check_skill(
            "---\nname: [oops\n---\n",
            &expect!["error: invalid YAML: name: invalid type: sequence, expected a string at line 1 column 7"],
        );
        check_skill("---\ndescription: Lost.\n---\n", &expect!["error: invalid YAML: missing field `name`"]);
        check_skill("---\nname: a\n---\n", &expect!["error: invalid YAML: missing field `description`"]);
        check_skill(
            "---\nname: a\ndescription: b: c\n---\n",
            &expect!["error: invalid YAML: mapping values are not allowed in this context at line 2 column 15"],
        );
        check_skill("---\n- a\n---\n", &expect!["error: invalid YAML: invalid type: sequence, expected a mapping"]);
    }

    #[test]
    fn fields_are_neither_blank_nor_too_long() {
        let skill = |name: &str, description: &str, rest: &str| {
            format!("---\nname: {name}\ndescription: {description}\n{rest}---\n")
        };
        check_skill(&skill("' '", "b", ""), &expect!["error: missing field `name`"]);
        check_skill(&skill("a", "\"\"", ""), &expect!["error: missing field `description`"]);
        check_skill(
            &skill(&"n".repeat(65), "b", ""),
            &expect!["error: invalid name: exceeds maximum length of 64 characters"],
        );
        check_skill(
            &skill("a", &"d".repeat(1025), ""),
            &expect!["error: invalid description: exceeds maximum length of 1024 characters"],
        );
        let short = format!("metadata:\n  short-description: {}\n", "s".repeat(1025));
        check_skill(
            &skill("a", "b", &short),
            &expect!["error: invalid metadata.short-description: exceeds maximum length of 1024 characters"],
        );
        // Characters count, not bytes.
        assert!(parse(&skill(&"é".repeat(64), &"日".repeat(1024), "")).is_ok());
        assert!(parse(&skill(&"é".repeat(65), "b", "")).is_err());
    }

    fn any_line() -> impl Strategy<Value = String> {
        let key = prop_oneof![Just("name"), Just("description"), Just("license"), Just("metadata"), Just("a b")];
        let value = prop_oneof![
            "[a-c:#'\" \\-\\\\{}\\[\\],&*!|>%@`~.?$é\u{2028}\u{85}\t0-2]{0,12}",
            "\"[a-c:#' é]{0,8}\"",
            "'[a-c:#\" é]{0,8}'",
        ];
        let gap = prop_oneof![Just(": "), Just(":  "), Just(":"), Just(" : ")];
        (key, gap, value).prop_map(|(key, gap, value)| format!("{key}{gap}{value}"))
    }

    proptest! {
        #[test]
        fn what_is_read_here_is_what_the_parser_reads(
            lines in prop::collection::vec(any_line(), 1..5),
            ending in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let head = lines.iter().map(|line| format!("{line}{ending}")).collect::<String>();
            if let Some(plain) = plain_head(&head) {
                prop_assert_eq!(Ok(plain), yaml_head(&head));
            }
        }

        #[test]
        fn one_value_is_read_as_the_parser_reads_it(value in any::<String>()) {
            let head = format!("name: {value}\ndescription: x\n");
            if let Some(plain) = plain_head(&head) {
                prop_assert_eq!(Ok(plain), yaml_head(&head));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
            let _ = parse(&format!("---\n{text}\n---\n"));
        }
    }
}
