//! The lock file as text: a fixed order, one form for each value, line feeds.

use std::fmt::Write;

use serde::Deserialize;

use super::ContextLock;
use super::LOCK_FORMAT;
use super::LockChoices;
use super::LockPolicy;
use super::LockedPack;
use super::LockedPart;
use super::LockedSource;
use super::LockedTool;
use super::policy;
use super::policy::PolicyFile;

/// Why a text is not a lock that this version reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// A later version wrote the lock.
    #[error("the lock has format {0}, and this version reads format {LOCK_FORMAT}")]
    Later(u64),
    /// The text is not a lock.
    #[error("the lock cannot be read: {why}")]
    Malformed {
        /// The line of the mistake, from 1.
        line: Option<usize>,
        /// What is wrong there.
        why: String,
    },
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockText {
    #[serde(rename = "format")]
    _format: u64,
    made_with: String,
    pack: PackText,
    wire: String,
    model: String,
    digest: String,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    prompt_mode: String,
    #[serde(default)]
    mcp: McpText,
    #[serde(default)]
    with_user: bool,
    #[serde(default)]
    part: Vec<PartText>,
    #[serde(default)]
    source: Vec<SourceText>,
    #[serde(default)]
    tool: Vec<ToolText>,
    #[serde(default)]
    policy: PolicyFile,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum McpText {
    #[default]
    Off,
    Connect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackText {
    name: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartText {
    name: String,
    bytes: usize,
    tokens: usize,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    path: String,
    status: String,
    bytes: u64,
    #[serde(default)]
    sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolText {
    name: String,
    bytes: usize,
    sha256: String,
}

impl ContextLock {
    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// When the text is not a lock of a format that this version reads.
    pub fn parse(text: &str) -> Result<(Self, LockPolicy), LockError> {
        let malformed = |error: &toml::de::Error| LockError::Malformed {
            line: error.span().map(|span| line_of(text, span.start)),
            why: error.message().to_owned(),
        };
        // The format comes first: what a later version writes besides is unknown here.
        let FormatOnly { format } = toml::from_str(text).map_err(|error| malformed(&error))?;
        if format > LOCK_FORMAT {
            return Err(LockError::Later(format));
        }
        let it: LockText = toml::from_str(text).map_err(|error| malformed(&error))?;
        let (pack, folder) = (LockedPack { name: it.pack.name, sha256: it.pack.sha256 }, it.folder);
        if folder.split('/').any(|name| name == "..") || folder.starts_with(['/', '\\']) {
            let why = format!("`folder` leaves the project: `{folder}`");
            return Err(LockError::Malformed { line: place_of(text, "", "folder"), why });
        }
        let parts = it.part.into_iter().map(|PartText { name, bytes, tokens, sha256 }| LockedPart {
            name,
            bytes,
            tokens,
            sha256,
        });
        let sources = it.source.into_iter().map(|SourceText { path, status, bytes, sha256 }| LockedSource {
            path,
            status,
            bytes,
            sha256,
        });
        let tools = it.tool.into_iter().map(|ToolText { name, bytes, sha256 }| LockedTool { name, bytes, sha256 });
        let lock = Self {
            made_with: it.made_with,
            pack,
            wire: it.wire,
            model: it.model,
            digest: it.digest,
            choices: LockChoices {
                folder,
                prompt_mode: it.prompt_mode,
                has_mcp_tools: it.mcp == McpText::Connect,
                has_user_files: it.with_user,
            },
            parts: parts.collect(),
            sources: sources.collect(),
            tools: tools.collect(),
        };
        Ok((lock, LockPolicy::of(&it.policy, policy::section(text))))
    }

    /// The text of the lock file with this policy.
    pub fn print(&self, policy: &LockPolicy) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: &str| {
            let _never = writeln!(text, "{key} = {value}");
        };
        line("format", &LOCK_FORMAT.to_string());
        line("made_with", &quoted(&self.made_with));
        let LockedPack { name, sha256 } = &self.pack;
        line("pack", &format!("{{ name = {}, sha256 = {} }}", quoted(name), quoted(sha256)));
        line("wire", &quoted(&self.wire));
        line("model", &quoted(&self.model));
        line("digest", &quoted(&self.digest));
        let choices = &self.choices;
        if !choices.folder.is_empty() {
            line("folder", &quoted(&choices.folder));
        }
        if !choices.prompt_mode.is_empty() {
            line("prompt_mode", &quoted(&choices.prompt_mode));
        }
        if choices.has_mcp_tools {
            line("mcp", "\"connect\"");
        }
        if choices.has_user_files {
            line("with_user", "true");
        }
        for part in &self.parts {
            let LockedPart { name, bytes, tokens, sha256 } = part;
            let (name, sha256) = (quoted(name), quoted(sha256));
            text += &format!("\n[[part]]\nname = {name}\nbytes = {bytes}\ntokens = {tokens}\nsha256 = {sha256}\n");
        }
        for LockedSource { path, status, bytes, sha256 } in &self.sources {
            let (path, status) = (quoted(path), quoted(status));
            text += &format!("\n[[source]]\npath = {path}\nstatus = {status}\nbytes = {bytes}\n");
            if let Some(sha256) = sha256 {
                text += &format!("sha256 = {}\n", quoted(sha256));
            }
        }
        for LockedTool { name, bytes, sha256 } in &self.tools {
            let (name, sha256) = (quoted(name), quoted(sha256));
            text += &format!("\n[[tool]]\nname = {name}\nbytes = {bytes}\nsha256 = {sha256}\n");
        }
        text + "\n" + policy.text()
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\r' => quoted += "\\r",
            control if control.is_control() => quoted += &format!("\\u{:04X}", u32::from(control)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}

/// The line of a lock file that a finding is about, from 1: a key above all tables for an empty `table`, else the entry of
/// this name in the tables of this kind.
pub(super) fn place_of(text: &str, table: &str, name: &str) -> Option<usize> {
    if table.is_empty() {
        let is_key = |line: &&str| line.split('=').next().is_some_and(|key| key.trim() == name);
        let above = text.lines().take_while(|line| !line.trim_start().starts_with('['));
        return above.enumerate().find(|(_, line)| is_key(line)).map(|(n, _)| n + 1);
    }
    let (header, value) = (format!("[[{table}]]"), quoted(name));
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        if line.trim() == header
            && let Some((n, entry)) = lines.next()
            && entry.split_once('=').is_some_and(|(_, it)| it.trim() == value)
        {
            return Some(n + 1);
        }
    }
    None
}
