//! Custom prompts: texts of the user's own, sent as `/prompts:NAME ARGS`.
//!
//! A prompt has named places (`$FILE`, filled by `FILE=path`) or positional ones (`$1` to `$9` and `$ARGUMENTS`).
//! `$$` is kept unchanged, so that a dollar sign can precede a name.
//!
//! Not here: reading the files (`pellucid-workspace`), and showing them in a list to choose from.

mod arguments;

use pellucid_protocol::input::ByteRange;
use pellucid_protocol::input::TextElement;

use self::arguments::Arguments;
use self::arguments::Output;

/// The prefix of the command for a custom prompt.
const COMMAND: &str = "/prompts:";

/// The place for all positional arguments.
const ALL: &str = "ARGUMENTS";

/// A prompt file of the user, called by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomPrompt {
    /// The name, which is that of the file without `.md`.
    pub name: String,
    /// The path of the file.
    pub path: String,
    /// The text with its placeholders.
    pub content: String,
    /// The description at the head of the file.
    pub description: Option<String>,
    /// A hint about its arguments, for people.
    pub argument_hint: Option<String>,
}

/// The effect of choosing a prompt from a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// The command is inserted into the input field.
    Insert {
        /// The text of the command.
        text: String,
        /// The byte offset of the cursor in `text`.
        cursor: usize,
    },
    /// The prompt is sent at once, because it has no placeholders.
    Submit {
        /// The text that is sent.
        text: String,
    },
}

/// A prompt with its places filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The text with its placeholders filled.
    pub text: String,
    /// Spans of the text that represent a pasted text or an image, moved from the arguments to their new positions.
    pub elements: Vec<TextElement>,
}

/// Why a command is not a prompt with its places filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// An argument has no `=`.
    #[error(
        "Could not parse {command}: expected key=value but found '{token}'. Wrap values in double quotes if they contain spaces."
    )]
    NoAssignment {
        /// The command that the user typed.
        command: String,
        /// The argument without `=`.
        token: String,
    },
    /// An argument has nothing before its `=`.
    #[error("Could not parse {command}: expected a name before '=' in '{token}'.")]
    NoKey {
        /// The command that the user typed.
        command: String,
        /// The argument without a name before `=`.
        token: String,
    },
    /// Places are left without a value.
    #[error("Missing required args for {command}: {}. Provide as key=value (quote values with spaces).", .missing.join(", "))]
    Missing {
        /// The command that the user typed.
        command: String,
        /// The names of the placeholders without a value.
        missing: Vec<String>,
    },
}

impl CustomPrompt {
    /// Reads a prompt's file.
    pub fn parse(name: &str, path: &str, text: &str) -> Self {
        let head = Head::parse(text).unwrap_or_default();
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            content: text[head.len..].to_owned(),
            description: head.description,
            argument_hint: head.argument_hint,
        }
    }

    /// The command that sends it.
    pub fn command(&self) -> String {
        format!("{COMMAND}{}", self.name)
    }

    /// The named placeholders, in order, each once.
    pub fn argument_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for place in named_places(&self.content) {
            if place.name != ALL && !names.contains(&place.name) {
                names.push(place.name);
            }
        }
        names
    }

    /// The effect of choosing this prompt from a list.
    pub fn choose(&self) -> Chosen {
        let mut text = self.command();
        let names = self.argument_names();
        if let Some(first) = names.first() {
            let cursor = text.len() + 1 + first.len() + "=\"".len();
            for name in &names {
                text += &format!(" {name}=\"\"");
            }
            return Chosen::Insert { text, cursor };
        }
        if has_positions(&self.content) {
            text.push(' ');
            return Chosen::Insert { cursor: text.len(), text };
        }
        Chosen::Submit { text: self.content.clone() }
    }

    fn fill(&self, arguments: &Arguments<'_>) -> Result<Expansion, ExpandError> {
        let names = self.argument_names();
        if names.is_empty() {
            return Ok(fill_positions(&self.content, arguments));
        }
        let command = self.command();
        let mut values: Vec<(&str, &str)> = Vec::new();
        for word in &arguments.words {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| ExpandError::NoAssignment { command: command.clone(), token: arguments.shown(word) })?;
            if key.is_empty() {
                return Err(ExpandError::NoKey { command, token: arguments.shown(word) });
            }
            values.retain(|(known, _)| *known != key);
            values.push((key, value));
        }
        let has_value = |name: &&str| values.iter().any(|(key, _)| key == name);
        let missing: Vec<String> = names.into_iter().filter(|name| !has_value(name)).map(ToOwned::to_owned).collect();
        if !missing.is_empty() {
            return Err(ExpandError::Missing { command, missing });
        }
        Ok(fill_names(&self.content, &values, arguments))
    }
}

/// Fills the prompt that a text is the command for. Absent if the text is not such a command, or names a prompt that
/// does not exist.
///
/// # Errors
/// If the prompt has named places and the arguments do not fill them.
pub fn expand(
    prompts: &[CustomPrompt],
    text: &str,
    elements: &[TextElement],
) -> Result<Option<Expansion>, ExpandError> {
    let Some(rest) = text.strip_prefix(COMMAND) else {
        return Ok(None);
    };
    let (name, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        return Ok(None);
    };
    let start = text.len() - rest.len();
    prompt.fill(&Arguments::parse(text, start, elements)).map(Some)
}

/// The head of a prompt's file.
#[derive(Debug, Default)]
struct Head {
    description: Option<String>,
    argument_hint: Option<String>,
    /// How many bytes it has; what follows is the prompt.
    len: usize,
}

impl Head {
    /// Absent if the file has none, or one that does not end.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().filter(|line| line.trim() == "---")?;
        let mut head = Self { len: first.len(), ..Self::default() };
        for line in lines {
            head.len += line.len();
            let line = line.trim();
            if line == "---" {
                return Some(head);
            }
            if line.starts_with('#') {
                continue;
            }
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = Some(unquoted(value.trim()).to_owned());
            match key.trim().to_ascii_lowercase().as_str() {
                "description" => head.description = value,
                "argument-hint" | "argument_hint" => head.argument_hint = value,
                _ => {}
            }
        }
        None
    }
}

/// A value without the one pair of quotes around it.
fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// A place with a name.
struct NamedPlace<'t> {
    name: &'t str,
    /// The bytes of the placeholder, with the `$`.
    range: ByteRange,
}

/// The placeholders of the form `$NAME`, including `$ARGUMENTS`. A name after `$$` is not a placeholder.
fn named_places(content: &str) -> impl Iterator<Item = NamedPlace<'_>> {
    let bytes = content.as_bytes();
    content.match_indices('$').filter_map(move |(start, _)| {
        let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        let len = bytes[start + 1..].iter().take_while(|byte| is_name(byte)).count();
        let name = &content[start + 1..start + 1 + len];
        let is_place = name.starts_with(|c: char| c.is_ascii_uppercase()) && (start == 0 || bytes[start - 1] != b'$');
        is_place.then_some(NamedPlace { name, range: ByteRange { start, end: start + 1 + len } })
    })
}

fn has_positions(content: &str) -> bool {
    content.contains("$ARGUMENTS") || content.as_bytes().windows(2).any(|it| it[0] == b'$' && position(it[1]).is_some())
}

/// The index of the argument for a digit.
fn position(byte: u8) -> Option<usize> {
    matches!(byte, b'1'..=b'9').then(|| usize::from(byte - b'1'))
}

fn fill_names(content: &str, values: &[(&str, &str)], arguments: &Arguments<'_>) -> Expansion {
    let mut output = Output::new(arguments);
    let mut at = 0;
    for NamedPlace { name, range } in named_places(content) {
        if let Some((_, value)) = values.iter().find(|(key, _)| *key == name) {
            output.text(&content[at..range.start]);
            output.argument(value);
            at = range.end;
        }
    }
    output.text(&content[at..]);
    output.finish()
}

fn fill_positions(content: &str, arguments: &Arguments<'_>) -> Expansion {
    let mut output = Output::new(arguments);
    let mut rest = content;
    while let Some(dollar) = rest.find('$') {
        output.text(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            output.text("$$");
            rest = after;
        } else if let Some(n) = rest.bytes().next().and_then(position) {
            output.argument(arguments.words.get(n).map_or("", String::as_str));
            rest = &rest[1..];
        } else if let Some(after) = rest.strip_prefix(ALL) {
            output.argument(&arguments.words.join(" "));
            rest = after;
        } else {
            output.text("$");
        }
    }
    output.text(rest);
    output.finish()
}

#[cfg(test)]
mod tests;
