//! Which texts of a session are content, and their replacement by filler.
//!
//! The record has the origin of every byte that was sent: what comes from the program (its packs, its notation) stays, and
//! everything else is content. Where no origin is known, a text stays only if it is an id, a time or a word of the format.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;
use serde::de::IgnoredAny;

use super::filler::Filler;
use super::tokens;
use super::tokens::Found;
use super::tokens::Token;

/// Members with ids, times and versions.
const IDS: [&str; 22] = [
    "id",
    "call_id",
    "turn_id",
    "thread_id",
    "session_id",
    "item_id",
    "process_id",
    "forked_from_id",
    "parent_thread_id",
    "sender_thread_id",
    "receiver_thread_id",
    "receiver_thread_ids",
    "new_thread_id",
    "timestamp",
    "cli_version",
    "originator",
    "model",
    "model_provider",
    "from_model",
    "to_model",
    "prompt_cache_key",
    "call",
];

/// Members with words of the format.
const WORDS: [&str; 30] = [
    "type",
    "role",
    "status",
    "phase",
    "mode",
    "effort",
    "reasoning_effort",
    "summary",
    "approval_policy",
    "personality",
    "collaboration_mode_kind",
    "source",
    "subagent",
    "kind",
    "plan_type",
    "limit_id",
    "network_access",
    "stream",
    "reason",
    "decision",
    "outcome",
    "policy",
    "heuristic",
    "split",
    "because",
    "backend",
    "outside",
    "exec",
    "read_only_access",
    "access",
];

/// Members with the name of a tool.
const NAMES: [&str; 3] = ["name", "tool", "tool_name"];

/// Members below which every name and text is content.
const FREE: [&str; 15] = [
    "arguments",
    "input",
    "changes",
    "env",
    "structured_content",
    "structuredContent",
    "_meta",
    "meta",
    "result",
    "final_output_json_schema",
    "dynamic_tools",
    "parameters",
    "properties",
    "input_schema",
    "unified_diff",
];

/// Names in the outputs of commands, which the program reads.
const OF_OUTPUTS: [&str; 4] = ["output", "metadata", "exit_code", "duration_seconds"];

/// Facts whose values are words of the program, ids and names of models.
const FACTS: [&str; 10] = [
    "model",
    "model catalogue",
    "reasoning effort",
    "reasoning summary",
    "verbosity",
    "provider",
    "session",
    "web_search",
    "collaboration modes",
    "network access",
];

/// The longest id and the longest word.
const ID_CHARS_MAX: usize = 80;
const WORD_CHARS_MAX: usize = 40;

/// From which length on a text is recognised wherever it is.
const KNOWN_BYTES_MIN: usize = 24;

/// Replaces content by filler.
#[derive(Debug)]
pub(super) struct Blanker {
    pub filler: Filler,
    /// Whether the texts of layouts are the program's.
    pub is_layout_ours: bool,
    /// Folders of the user. A path into one is content in any text.
    pub folders: BTreeSet<String>,
    /// Texts in JSON notation, with the ranges of their bytes that are the program's.
    known: HashMap<String, Vec<Range<usize>>>,
    /// Names of tools and of their parameters that are the program's.
    words: BTreeSet<String>,
    /// Texts that were replaced already.
    done: RefCell<HashMap<String, String>>,
}

impl Blanker {
    pub fn new(filler: Filler) -> Self {
        let tool = |file: &String| Some(file.strip_prefix("tools/")?.strip_suffix(".toml")?.to_owned());
        let packs = Pack::builtin_names().into_iter().filter_map(Pack::builtin_files);
        let words = packs.flat_map(|files| files.keys().filter_map(tool).collect::<Vec<_>>()).collect();
        let (known, done) = (HashMap::new(), RefCell::default());
        Self { filler, is_layout_ours: true, folders: BTreeSet::new(), known, words, done }
    }

    /// Learns from JSON text with the origins of its bytes which texts are the program's.
    pub fn learn(&mut self, json: &str, spans: &[Span]) {
        let ours = self.ours(json, spans);
        let (known, words) = (&mut self.known, &mut self.words);
        tokens::visit(json, |found| {
            let inner = &json[found.at.clone()];
            let kept = within(&found.at, &ours);
            let is_whole = kept.len() == 1 && kept[0] == (0..inner.len());
            if is_whole && is_id(inner) && found.token != Token::Number {
                words.insert(inner.to_owned());
            }
            if found.token == Token::Text && inner.len() >= KNOWN_BYTES_MIN && !kept.is_empty() {
                known.insert(inner.to_owned(), decoded(inner, &kept));
            }
        });
    }

    /// JSON text with the origins of its bytes, with content replaced.
    pub fn attributed(&self, json: &str, spans: &[Span]) -> String {
        let ours = self.ours(json, spans);
        if ours.is_empty() {
            return self.json(json);
        }
        self.replaced(json, |found, inner| {
            let kept = within(&found.at, &ours);
            match (found.token, kept.as_slice()) {
                (_, [range]) if *range == (0..inner.len()) => None,
                (Token::Text, kept @ [_, ..]) => Some(self.between(inner, &decoded(inner, kept))),
                _ => self.token(found, inner),
            }
        })
    }

    /// JSON text of a session or a record, with content replaced.
    pub fn json(&self, json: &str) -> String {
        self.replaced(json, |found, inner| self.token(found, inner))
    }

    /// The replacement of a token whose origin is not known.
    fn token(&self, found: &Found<'_>, inner: &str) -> Option<String> {
        if found.path.iter().any(|name| FREE.contains(name)) {
            return self.free(found.token, inner);
        }
        match found.token {
            Token::Key => (!is_id(inner)).then(|| self.string(inner)),
            Token::Number => None,
            Token::Text if self.known.contains_key(inner) => Some(self.string(inner)),
            Token::Text => {
                let name = found.path.last().copied().unwrap_or_default();
                let is_kept = (IDS.contains(&name) && is_id(inner))
                    || (WORDS.contains(&name) && is_word(inner))
                    || (NAMES.contains(&name) && self.words.contains(inner));
                (!is_kept).then(|| self.string(inner))
            }
        }
    }

    /// A text of a person, a model, a tool or a file.
    pub fn text(&self, text: &str) -> String {
        if let Some(done) = self.done.borrow().get(text) {
            return done.clone();
        }
        let filler = match text.trim_start().chars().next() {
            Some('{' | '[') if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
                self.replaced(text, |found, inner| self.free(found.token, inner))
            }
            Some('-' | '0'..='9') if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
                self.filler.number(text)
            }
            _ => self.filler.text(text),
        };
        self.done.borrow_mut().insert(text.to_owned(), filler.clone());
        filler
    }

    /// The name of a part: the name of a slot stays, and what follows a slash only if it is a name of the program.
    pub fn part(&self, part: &str) -> String {
        match part.split_once('/') {
            None if is_id(part) || part.is_empty() => part.to_owned(),
            Some((first, rest)) if is_id(first) && self.words.contains(rest) => part.to_owned(),
            Some((first, rest)) if is_id(first) => format!("{first}/{}", self.text(rest)),
            _ => self.text(part),
        }
    }

    /// The name of a tool.
    pub fn tool(&self, name: &str) -> String {
        if self.words.contains(name) { name.to_owned() } else { self.text(name) }
    }

    /// A path, in which slashes and the names of instruction files stay.
    pub fn path(&self, path: &str) -> String {
        const FILES: [&str; 3] = ["AGENTS.md", "AGENTS.override.md", "SKILL.md"];
        let mut kept: Vec<Range<usize>> = path.match_indices('/').map(|(at, _)| at..at + 1).collect();
        let name = path.rfind('/').map_or(0, |at| at + 1);
        if FILES.contains(&&path[name..]) {
            kept.push(name..path.len());
        }
        self.filler.between(path, &kept)
    }

    /// The word of a format, or filler for any other text.
    pub fn word(&self, word: &str) -> String {
        if is_word(word) { word.to_owned() } else { self.text(word) }
    }

    /// A token of which nothing but its shape may stay.
    fn free(&self, token: Token, inner: &str) -> Option<String> {
        match token {
            Token::Key if self.words.contains(inner) || OF_OUTPUTS.contains(&inner) => None,
            Token::Number => Some(self.filler.number(inner)),
            Token::Key | Token::Text => Some(self.string(inner)),
        }
    }

    /// The replacement of a text in JSON notation.
    fn string(&self, inner: &str) -> String {
        match self.known.get(inner) {
            Some(kept) => self.between(inner, kept),
            None => tokens::written_as(inner, &self.text(&plain(inner))),
        }
    }

    fn between(&self, inner: &str, kept: &[Range<usize>]) -> String {
        tokens::written_as(inner, &self.filler.between(&plain(inner), kept))
    }

    fn replaced<'t>(&self, json: &'t str, replace: impl Fn(&Found<'t>, &'t str) -> Option<String>) -> String {
        let mut written = String::with_capacity(json.len());
        let mut at = 0;
        tokens::visit(json, |found| {
            if let Some(new) = replace(&found, &json[found.at.clone()]) {
                written.push_str(&json[at..found.at.start]);
                written.push_str(&new);
                at = found.at.end;
            }
        });
        written + &json[at..]
    }

    /// The ranges of bytes that are the program's; none if the spans do not fit the text.
    fn ours(&self, json: &str, spans: &[Span]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for span in spans {
            let end = at + span.len;
            match ranges.last_mut() {
                _ if !self.is_ours(&span.origin) => {}
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            at = end;
        }
        if at == json.len() { self.without_paths(json, ranges) } else { Vec::new() }
    }

    /// Ranges of a text, but for paths into folders of the user.
    fn without_paths(&self, json: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '<' | '>' | '`' | ')' | ',' | ';');
        for folder in &self.folders {
            for start in memmem::find_iter(json.as_bytes(), folder.as_bytes()) {
                let end = json[start..].find(ends).map_or(json.len(), |len| start + len);
                let around = |range: Range<usize>| [range.start..range.end.min(start), range.start.max(end)..range.end];
                ranges = ranges.into_iter().flat_map(around).filter(|range| range.start < range.end).collect();
            }
        }
        ranges
    }

    /// The text before summaries, which every item with a summary begins with.
    pub fn prefix(&self, text: &str) -> String {
        let mut packs = Pack::builtin_names().into_iter().filter_map(Pack::builtin_files);
        let is_ours = packs.any(|files| files.values().any(|file| file.trim() == text.trim()));
        if is_ours { text.to_owned() } else { self.text(text) }
    }

    /// Whether text of this origin is the program's.
    pub fn is_ours(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Pack { file } => file.sha256().is_none() && !file.starts_with('/'),
            Origin::Layout => self.is_layout_ours,
            Origin::Fact { name } => FACTS.contains(&&**name),
            Origin::Catalogue | Origin::Repair | Origin::Wire => true,
            Origin::File { .. }
            | Origin::Skill { .. }
            | Origin::Provided { .. }
            | Origin::User
            | Origin::Model
            | Origin::Tool { .. }
            | Origin::Program { .. }
            | Origin::Likely(_)
            | Origin::Unknown
            | Origin::Recorded { .. } => false,
        }
    }
}

/// Ranges as far as they are within another, counted from its start.
fn within(range: &Range<usize>, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let cut = |it: &Range<usize>| it.start.max(range.start)..it.end.min(range.end);
    let cut = ranges.iter().map(cut).filter(|it| it.start < it.end);
    cut.map(|it| it.start - range.start..it.end - range.start).collect()
}

/// Ranges of a text in JSON notation as ranges of the text.
fn decoded(inner: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for (c, raw) in tokens::characters(inner) {
        let end = at + c.len_utf8();
        if ranges.iter().any(|range| range.contains(&raw.start)) {
            match found.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => found.push(at..end),
            }
        }
        at = end;
    }
    found
}

/// A text in JSON notation as the text.
fn plain(inner: &str) -> String {
    tokens::characters(inner).into_iter().map(|(c, _)| c).collect()
}

fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-:.+$".contains(&byte);
    !text.is_empty() && text.len() <= ID_CHARS_MAX && text.bytes().all(is_plain)
}

fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    !text.is_empty() && text.len() <= WORD_CHARS_MAX && text.bytes().all(is_plain)
}
