//! Where the bytes of a body came from, found by content.
//!
//! Exact is what content proves: the text of a file from its first byte on, words of the command line, answers that were
//! forwarded before, outputs of calls that the conversation has. What the place of a text suggests and nothing proves is only
//! likely: a role, a tag around it. All else is unknown.
//!
//! Not here: reading files (`documents`), and taking a body apart (`taken`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use pellucid_engine::digest::Digest;
use pellucid_engine::encode::Encoded;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::watched::WatchedFormat;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::documents::Document;
use crate::documents::DocumentKind;
use crate::scan::Leaf;
use crate::scan::Unescaped;
use crate::scan::leaves;
use crate::taken::TakenBody;

/// From this length on the whole text of a file is recognised wherever it is; a shorter one only on lines by itself.
const WHOLE_BYTES_MIN: usize = 64;

/// A file shorter than this is not looked for.
const FILE_BYTES_MIN: usize = 12;

/// A text that begins as a file does, for so many bytes, is the beginning of the file.
const BEGINNING_BYTES_MIN: usize = 256;

/// Members whose strings are notation and not text.
const NOTATION: [&str; 19] = [
    "type",
    "role",
    "id",
    "call_id",
    "tool_use_id",
    "tool_call_id",
    "status",
    "name",
    "media_type",
    "mime_type",
    "mimeType",
    "detail",
    "ttl",
    "cache_control",
    "phase",
    "format",
    "object",
    "signature",
    "thoughtSignature",
];

/// What origins are found by.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The name of the program.
    pub program: &'a Arc<str>,
    /// The words of the command line, which a person typed.
    pub words: &'a [String],
    /// Files whose text a request may have, the longest first.
    pub documents: &'a [Document],
    /// What the model answered so far.
    pub answers: &'a SeenAnswers,
}

/// What the model answered in forwarded answers: digests of texts, and ids of calls.
#[derive(Debug, Clone, Default)]
pub struct SeenAnswers {
    texts: BTreeSet<Digest>,
    calls: BTreeSet<String>,
}

impl SeenAnswers {
    /// Notes a text of the model.
    pub fn note_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.texts.insert(Digest::of([text.as_bytes()]));
        }
    }

    /// Notes a call of the model.
    pub fn note_call(&mut self, id: &str) {
        self.calls.insert(id.to_owned());
    }

    /// Whether the model said what an item says: every text of it, or the call with its id.
    fn has(&self, item: &Value) -> bool {
        let mut texts = Vec::new();
        let mut calls = Vec::new();
        said(item, &mut texts, &mut calls);
        let is_text = |text: &&str| self.texts.contains(&Digest::of([text.as_bytes()]));
        (!texts.is_empty() || !calls.is_empty())
            && texts.iter().all(is_text)
            && calls.iter().all(|call| self.calls.contains(*call))
    }
}

/// The texts and calls of an item of the model.
fn said<'v>(value: &'v Value, texts: &mut Vec<&'v str>, calls: &mut Vec<&'v str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| said(value, texts, calls)),
        Value::Object(table) => {
            for (key, value) in table {
                match (key.as_str(), value) {
                    ("call_id" | "id", Value::String(id)) if is_call(table) => calls.push(id),
                    ("text" | "content" | "thinking", Value::String(text)) => texts.push(text),
                    ("arguments" | "input" | "args", _) => {}
                    (_, value) => said(value, texts, calls),
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether an object is a call of a tool, whose id names it.
fn is_call(table: &serde_json::Map<String, Value>) -> bool {
    let kind = table.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_responses = matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call");
    let has_own_id = !is_responses || !table.contains_key("id") || table.contains_key("call_id");
    (is_responses && has_own_id) || matches!(kind, "tool_use" | "function")
}

/// The head and the tail of a body, with the origins of their bytes.
pub fn frame(taken: &TakenBody<'_>, evidence: &Evidence<'_>) -> (Encoded, Encoded) {
    let mut marks = Marks::default();
    for (key, range) in &taken.members {
        match (key.as_ref(), taken.format) {
            (_, WatchedFormat::Raw) => {}
            ("instructions" | "system" | "systemInstruction" | "system_instruction", _) => {
                marks.region(range.clone(), "base");
                texts(taken.text, range, "base", Author::Program, evidence, &mut marks);
            }
            ("tools", _) => {
                marks.region(range.clone(), "tools");
                tools(taken.text, range, evidence, &mut marks);
            }
            _ => {}
        }
    }
    for range in &taken.instructions {
        marks.region(range.clone(), "base");
        texts(taken.text, range, "base", Author::Program, evidence, &mut marks);
    }
    let (rest, origin) = match taken.format {
        WatchedFormat::Raw => ("body", Origin::Likely(program(evidence))),
        _ => ("settings", Origin::Wire),
    };
    (marks.encoded(taken.text, 0..taken.head, rest, &origin), marks.encoded(taken.text, taken.tail(), rest, &origin))
}

fn program(evidence: &Evidence<'_>) -> Arc<Origin> {
    Arc::new(Origin::Program { name: evidence.program.clone() })
}

/// Tools one by one.
fn tools(text: &str, range: &Range<usize>, evidence: &Evidence<'_>, marks: &mut Marks) {
    for element in elements(text, range) {
        let value: Value = serde_json::from_str(&text[element.clone()]).unwrap_or_default();
        let declared =
            ["functionDeclarations", "function_declarations"].into_iter().find(|key| value.get(*key).is_some());
        if let Some(key) = declared
            && let Some(list) = member(text, &element, key)
        {
            marks.region(element, "tools");
            tools(text, &list, evidence, marks);
            continue;
        }
        let name = value["name"].as_str().or_else(|| value["function"]["name"].as_str());
        let name = name.or_else(|| value["type"].as_str()).unwrap_or("?");
        // The names of MCP tools begin with the name of their server.
        let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let origin = match server {
            Some((server, _)) => Arc::new(Origin::Provided { place: format!("mcp_servers.{server}").into() }),
            None => program(evidence),
        };
        marks.mark(element, &format!("tools/{name}"), Origin::Likely(origin));
    }
}

/// The elements of a list in a text.
fn elements(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let list: Vec<&RawValue> = serde_json::from_str(&text[range.clone()]).unwrap_or_default();
    list.into_iter().map(|value| place(text, value)).collect()
}

/// The value of a member of an object in a text.
fn member(text: &str, range: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let members: BTreeMap<std::borrow::Cow<'_, str>, &RawValue> = serde_json::from_str(&text[range.clone()]).ok()?;
    members.get(name).map(|value| place(text, value))
}

fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.get().len()
}

/// The names of tools, by the ids of calls.
pub type CallNames = BTreeMap<String, Arc<str>>;

/// Adds the calls of an item.
pub fn note_calls(item: &Value, names: &mut CallNames) {
    match item {
        Value::Array(list) => list.iter().for_each(|value| note_calls(value, names)),
        Value::Object(table) => {
            if is_call(table) {
                let id = table.get("call_id").or_else(|| table.get("id")).and_then(Value::as_str);
                let name = table.get("name").or_else(|| table.get("function")?.get("name")).and_then(Value::as_str);
                let name = name.unwrap_or("local_shell");
                names.extend(id.map(|id| (id.to_owned(), name.into())));
            }
            for key in ["content", "tool_calls", "parts"] {
                if let Some(inner) = table.get(key) {
                    note_calls(inner, names);
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Who made a text, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Program,
    Person,
}

/// The origins of an item, whose text is given without the notation before it.
pub fn item(text: &str, names: &CallNames, evidence: &Evidence<'_>) -> Arc<[Span]> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let whole = |part: &str, origin: Origin| {
        Arc::from([Span { part: part.into(), origin, len: text.len(), raw_len: text.len() }])
    };
    let role = value["role"].as_str().unwrap_or_default();
    let kind = value["type"].as_str().unwrap_or_default();
    let is_models = matches!(role, "assistant" | "model")
        || matches!(kind, "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call");
    if is_models {
        let is_seen = evidence.answers.has(&value);
        return whole("model", if is_seen { Origin::Model } else { Origin::Likely(Arc::new(Origin::Model)) });
    }
    if kind.ends_with("_output") || matches!(role, "tool" | "function") {
        let id = value["call_id"].as_str().or_else(|| value["tool_call_id"].as_str()).unwrap_or_default();
        return whole("tool", tool(id, names));
    }
    let (part, author) = match role {
        "user" => ("user", Author::Person),
        "developer" => ("developer", Author::Program),
        "system" => ("system", Author::Program),
        _ => return whole("unknown", Origin::Unknown),
    };
    let mut marks = Marks::default();
    let list = ["content", "parts"].into_iter().find_map(|key| member(text, &(0..text.len()), key));
    let blocks = list.as_ref().map(|list| elements(text, list)).unwrap_or_default();
    if blocks.is_empty() {
        texts(text, &(0..text.len()), part, author, evidence, &mut marks);
    }
    for block in blocks {
        let value: Value = serde_json::from_str(&text[block.clone()]).unwrap_or_default();
        if value["type"].as_str() == Some("tool_result") {
            let id = value["tool_use_id"].as_str().unwrap_or_default();
            marks.mark(block, "tool", tool(id, names));
        } else if let Some(response) = value.get("functionResponse") {
            let name = response["name"].as_str().unwrap_or_default();
            marks.mark(block, "tool", Origin::Tool { name: name.into() });
        } else {
            texts(text, &block, part, author, evidence, &mut marks);
        }
    }
    marks.encoded(text, 0..text.len(), part, &Origin::Wire).spans.into()
}

/// The output of a call. Only the conversation can say which tool was called.
fn tool(id: &str, names: &CallNames) -> Origin {
    match names.get(id) {
        Some(name) => Origin::Tool { name: name.clone() },
        None => Origin::Likely(Arc::new(Origin::Tool { name: "".into() })),
    }
}

/// The texts of a value.
fn texts(text: &str, range: &Range<usize>, part: &str, author: Author, evidence: &Evidence<'_>, marks: &mut Marks) {
    for Leaf { range: leaf, key } in leaves(&text[range.clone()]) {
        let leaf = range.start + leaf.start..range.start + leaf.end;
        if NOTATION.contains(&key) || leaf.is_empty() {
            continue;
        }
        let Some(unescaped) = Unescaped::of(&text[leaf.clone()]) else {
            continue;
        };
        for (piece, origin) in pieces(&unescaped.text, author, evidence) {
            let raw = leaf.start + unescaped.raw(piece.start)..leaf.start + unescaped.raw(piece.end);
            marks.add(raw, part, origin, piece.len());
        }
    }
}

/// The origins of a text, in order and without a gap.
fn pieces(text: &str, author: Author, evidence: &Evidence<'_>) -> Vec<(Range<usize>, Origin)> {
    if author == Author::Person && evidence.words.iter().any(|word| word.trim() == text.trim()) {
        return vec![(0..text.len(), Origin::User)];
    }
    let is_value =
        |document: &&Document| document.kind == DocumentKind::Config && is_value(text.trim(), &document.text);
    if let Some(config) = evidence.documents.iter().find(is_value).filter(|_| author == Author::Program) {
        return vec![(0..text.len(), Origin::Provided { place: (&*config.version).into() })];
    }
    let mut found: Vec<(Range<usize>, Origin)> = Vec::new();
    let mut instructed = false;
    let tag = tag_around(text);
    // People type tags as well; names of several words are those of programs.
    let mut is_programs = author == Author::Program || tag.is_some_and(|tag| tag.contains(['-', '_']));
    for document in evidence.documents.iter().filter(|document| document.kind != DocumentKind::Config) {
        for (range, origin) in places(text, document) {
            // A person may have typed what a file has. What a program puts into a message is on lines by itself.
            let is_named = document.kind == DocumentKind::Named;
            let is_blank = text[range.start..range.end].trim().is_empty();
            let is_typed = !is_on_lines(text, &range) || range.len() >= text.trim().len();
            if is_named && !is_programs && (is_blank || is_typed) {
                continue;
            }
            let is_free = |(other, _): &(Range<usize>, Origin)| other.end <= range.start || range.end <= other.start;
            if found.iter().all(is_free) {
                found.push((range, origin));
                instructed |= !is_named;
            }
        }
    }
    is_programs |= instructed;
    for document in evidence.documents.iter().filter(|document| document.version.ends_with("SKILL.md")) {
        for range in skill_lines(text, &document.text) {
            if found.iter().all(|(other, _)| other.end <= range.start || range.end <= other.start) {
                found.push((range, Origin::Likely(Arc::new(Origin::Skill { path: (&*document.version).into() }))));
                is_programs = true;
            }
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    if !is_programs && found.is_empty() && tag.is_some() {
        return vec![(0..text.len(), Origin::Unknown)];
    }
    let rest = if is_programs { program(evidence) } else { Arc::new(Origin::User) };
    let (mut pieces, mut end) = (Vec::new(), 0);
    for (range, origin) in found {
        if end < range.start {
            pieces.push((end..range.start, Origin::Likely(rest.clone())));
        }
        end = range.end;
        pieces.push((range, origin));
    }
    if end < text.len() {
        pieces.push((end..text.len(), Origin::Likely(rest)));
    }
    pieces
}

/// Whether a range is whole lines of a text. White space around it does not count.
fn is_on_lines(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].trim_end_matches([' ', '\t']);
    let behind = text[range.end..].trim_start_matches([' ', '\t', '\r']);
    (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
}

/// The lines of a text that list a skill: they have the name and the description at the head of its file.
fn skill_lines(text: &str, skill: &str) -> Vec<Range<usize>> {
    let value = |name: &str| {
        let head = skill.lines().skip(1).take_while(|line| line.trim_end() != "---");
        let mut lines = head.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.next().map(|value| value.trim().trim_matches(['"', '\''])).filter(|value| !value.is_empty())
    };
    let (Some(name), Some(description)) = (value("name"), value("description")) else {
        return Vec::new();
    };
    if description.len() < FILE_BYTES_MIN {
        return Vec::new();
    }
    let line = |at: usize| {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        start..end
    };
    let places = memmem::find_iter(text.as_bytes(), description.as_bytes());
    places.map(line).filter(|range| text[range.start..range.end].contains(name)).collect()
}

/// Whether a text is the whole of a value in a configuration.
fn is_value(text: &str, config: &str) -> bool {
    let is_quoted = |at: usize| {
        let (before, behind) = (config[..at].trim_end(), config[at + text.len()..].trim_start());
        before.ends_with(['"', '\'']) && behind.starts_with(['"', '\''])
    };
    text.len() >= FILE_BYTES_MIN && memmem::find_iter(config.as_bytes(), text.as_bytes()).any(is_quoted)
}

/// The tag that encloses a text, if one does. Programs put tags around what no person typed.
fn tag_around(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'));
    (is_name && text.ends_with(&format!("</{name}>"))).then_some(name)
}

/// Where a text has a file: whole, or from its first byte on.
fn places(text: &str, document: &Document) -> Vec<(Range<usize>, Origin)> {
    let whole = document.text.trim_end();
    let lead = whole.len() - whole.trim_start().len();
    let trimmed = &whole[lead..];
    if trimmed.len() < FILE_BYTES_MIN {
        return Vec::new();
    }
    let origin = |start: usize, end: usize| Origin::File {
        path: document.version.clone(),
        range: start as u64..end as u64,
        size: whole.len() as u64,
    };
    let mut found = Vec::new();
    for at in memmem::find_iter(text.as_bytes(), trimmed.as_bytes()) {
        let is_apart = text[..at].bytes().next_back().is_none_or(|it| it == b'\n')
            && text.as_bytes().get(at + trimmed.len()).is_none_or(|it| *it == b'\n' || *it == b'\r');
        if trimmed.len() < WHOLE_BYTES_MIN && !is_apart {
            continue;
        }
        // White space beside it that the file has, too, may be the file's or the program's.
        let before = common_end(&text[..at], &document.text[..lead]);
        let end = at + trimmed.len();
        let behind = common_start(&text[end..], &document.text[whole.len()..]);
        found.push((at - before..at, Origin::Unknown));
        found.push((at..end, origin(lead, whole.len())));
        found.push((end..end + behind, Origin::Unknown));
    }
    found.retain(|(range, _)| !range.is_empty());
    if found.is_empty() && trimmed.len() > BEGINNING_BYTES_MIN {
        let mut first = BEGINNING_BYTES_MIN;
        while !trimmed.is_char_boundary(first) {
            first += 1;
        }
        let beginning = &trimmed[..first];
        for at in memmem::find_iter(text.as_bytes(), beginning.as_bytes()) {
            let len = common_start(&text[at..], trimmed);
            found.push((at..at + len, origin(lead, lead + len)));
        }
    }
    found
}

/// How many bytes two texts begin with in common, in whole characters.
fn common_start(a: &str, b: &str) -> usize {
    let same = |((at, one), other): &((usize, char), char)| (one == other).then_some(at + one.len_utf8());
    a.char_indices().zip(b.chars()).map_while(|pair| same(&pair)).last().unwrap_or(0)
}

/// How many bytes two texts end with in common; both are white space there.
fn common_end(a: &str, b: &str) -> usize {
    a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b && a.is_ascii_whitespace()).count()
}

/// Origins of pieces of a text, from which spans that cover it are made.
#[derive(Debug, Default)]
struct Marks {
    marks: Vec<(Range<usize>, Arc<str>, Origin, usize)>,
    /// Ranges whose notation belongs to a part.
    regions: Vec<(Range<usize>, Arc<str>)>,
}

impl Marks {
    fn region(&mut self, range: Range<usize>, part: &str) {
        self.regions.push((range, part.into()));
    }

    /// Bytes that are all of one origin, notation included.
    fn mark(&mut self, range: Range<usize>, part: &str, origin: Origin) {
        let len = range.len();
        self.add(range, part, origin, len);
    }

    fn add(&mut self, range: Range<usize>, part: &str, origin: Origin, raw_len: usize) {
        if !range.is_empty() {
            self.marks.push((range, part.into(), origin, raw_len));
        }
    }

    /// The bytes of a range with their origins. Bytes without a mark are of the rest.
    fn encoded(&self, text: &str, within: Range<usize>, part: &str, origin: &Origin) -> Encoded {
        let mut marks: Vec<_> =
            self.marks.iter().filter(|(range, ..)| within.start <= range.start && range.end <= within.end).collect();
        marks.sort_by_key(|(range, ..)| range.start);
        let mut spans: Vec<Span> = Vec::new();
        let mut push = |part: Arc<str>, origin: Origin, len: usize, raw_len: usize| match spans.last_mut() {
            Some(last) if last.part == part && last.origin == origin => {
                last.len += len;
                last.raw_len += raw_len;
            }
            _ if len == 0 => {}
            _ => spans.push(Span { part, origin, len, raw_len }),
        };
        let rest: Arc<str> = part.into();
        let fill = |from: usize, to: usize, push: &mut dyn FnMut(Arc<str>, Origin, usize, usize)| {
            let mut at = from;
            while at < to {
                let region = self.regions.iter().find(|(range, _)| range.contains(&at));
                let next = self.regions.iter().map(|(range, _)| range.start).filter(|start| *start > at).min();
                let (part, end) = match region {
                    Some((range, part)) => (part.clone(), range.end),
                    None => (rest.clone(), next.unwrap_or(to)),
                };
                let end = end.min(to);
                push(part, origin.clone(), end - at, end - at);
                at = end;
            }
        };
        let mut at = within.start;
        for (range, part, origin, raw_len) in marks {
            if range.start < at {
                continue;
            }
            fill(at, range.start, &mut push);
            push(part.clone(), origin.clone(), range.len(), *raw_len);
            at = range.end;
        }
        fill(at, within.end, &mut push);
        Encoded { bytes: text.as_bytes()[within].to_vec(), spans }
    }
}

#[cfg(test)]
mod tests;
