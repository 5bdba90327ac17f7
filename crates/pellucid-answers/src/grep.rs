//! Searching what the model was sent and what it answered.
//!
//! Requests of a session repeat each other, so a text is searched once and a hit has the ranges of the requests that
//! contain it. Files are searched before requests are rebuilt: [`GrepPattern::may_match`] says of raw JSON whether a
//! text in it can match.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use globset::Glob;
use globset::GlobMatcher;
use globset::GlobSet;
use globset::GlobSetBuilder;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Rendered;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;
use serde_json::Value;
use serde_json::json;

use crate::shared::SharedItems;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.grep/1";

/// The part of a hit in an answer that no request of the session contains.
pub const ANSWER: &str = "answer";

/// The part of a hit in an item of the session file whose request cannot be rebuilt.
pub const ITEM: &str = "item";

/// A pattern, for texts and for the JSON that holds them.
#[derive(Debug, Clone)]
pub struct GrepPattern {
    regex: regex::Regex,
    raw: RawSearch,
}

/// How raw JSON is searched.
#[derive(Debug, Clone)]
enum RawSearch {
    /// Every match contains this text, which JSON writes as it is.
    Literal(regex::bytes::Regex),
    /// Escapes have to be undone first.
    Unescaped(regex::bytes::Regex),
}

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}", reason(.0))]
pub struct GrepPatternError(#[from] regex::Error);

/// What is wrong with a pattern, in one line. The parser's own text repeats the pattern and has the reason at its end.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl GrepPattern {
    /// A regular expression, or with `is_fixed` a text.
    ///
    /// # Errors
    /// When the regular expression has a mistake or is too large.
    pub fn new(pattern: &str, is_fixed: bool, ignores_case: bool) -> Result<Self, GrepPatternError> {
        let pattern = if is_fixed { Cow::Owned(regex::escape(pattern)) } else { Cow::Borrowed(pattern) };
        let regex =
            regex::RegexBuilder::new(&pattern).multi_line(true).case_insensitive(ignores_case).crlf(true).build()?;
        let bytes = |pattern: &str| {
            regex::bytes::RegexBuilder::new(pattern).multi_line(true).case_insensitive(ignores_case).crlf(true).build()
        };
        let literal = regex_syntax::parse(&pattern).ok().and_then(|hir| required(&hir));
        let raw = match literal {
            Some(literal) => RawSearch::Literal(bytes(&regex::escape(&literal))?),
            None => RawSearch::Unescaped(bytes(&pattern)?),
        };
        Ok(Self { regex, raw })
    }

    /// Whether a text in this JSON can match. What cannot match is never sent.
    pub fn may_match(&self, json: &[u8]) -> bool {
        match &self.raw {
            RawSearch::Literal(regex) => regex.is_match(json),
            RawSearch::Unescaped(regex) => regex.is_match(&unescaped(json)),
        }
    }

    /// The lines of a text that match, with their numbers from 1 and the byte at which the match begins.
    fn lines<'t>(&self, text: &'t str) -> Vec<(usize, &'t str, usize)> {
        let mut found: Vec<(usize, &str, usize)> = Vec::new();
        let (mut number, mut counted, mut behind) = (1, 0, 0);
        for it in self.regex.find_iter(text) {
            if it.start() < behind {
                continue;
            }
            let start = text[..it.start()].rfind('\n').map_or(0, |at| at + 1);
            let end = text[it.start()..].find('\n').map_or(text.len(), |at| it.start() + at);
            number += text[counted..start].matches('\n').count();
            counted = start;
            behind = end + 1;
            found.push((number, text[start..end].trim_end_matches('\r'), it.start()));
        }
        found
    }
}

/// The longest text that every match has and that JSON never escapes.
fn required(hir: &Hir) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-.:,;=()[]{}#@!?*+".contains(c);
    let longest = |texts: &mut dyn Iterator<Item = String>| texts.max_by_key(String::len).filter(|it| !it.is_empty());
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            longest(&mut text.split(|c| !is_plain(c)).map(str::to_owned))
        }
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => longest(&mut parts.iter().filter_map(required)),
        HirKind::Repetition(_) | HirKind::Alternation(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Empty => {
            None
        }
    }
}

/// JSON with its escapes undone, whatever its structure. Quotation marks become line ends, so that each text has separate lines.
fn unescaped(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'\\', b'"', rest) {
        out.extend_from_slice(&rest[..at]);
        if rest[at] == b'"' {
            out.push(b'\n');
            rest = &rest[at + 1..];
            continue;
        }
        let (byte, len) = match rest.get(at + 1) {
            Some(b'n' | b'r') => (b'\n', 2),
            Some(b't') => (b'\t', 2),
            Some(b'u') => {
                let (text, len) = code_units(&rest[at..]);
                out.extend_from_slice(text.as_bytes());
                rest = &rest[(at + len).min(rest.len())..];
                continue;
            }
            Some(byte) => (*byte, 2),
            None => (b'\\', 1),
        };
        out.push(byte);
        rest = &rest[at + len..];
    }
    out.extend_from_slice(rest);
    out
}

/// The text of the `\uXXXX` escapes that the bytes begin with, and how many bytes they have.
fn code_units(bytes: &[u8]) -> (String, usize) {
    let mut units: Vec<u16> = Vec::new();
    let mut at = 0;
    while let Some(hex) = bytes.get(at..at + 6).and_then(|it| it.strip_prefix(b"\\u")) {
        let Some(unit) = std::str::from_utf8(hex).ok().and_then(|hex| u16::from_str_radix(hex, 16).ok()) else {
            break;
        };
        units.push(unit);
        at += 6;
    }
    (String::from_utf16_lossy(&units), at.max(2))
}

/// Which texts are looked at; all that is absent matches everything.
#[derive(Debug, Clone, Default)]
pub struct GrepFilter {
    /// The role of the item.
    pub role: Option<String>,
    /// The part that the text belongs to.
    pub part: Option<GlobMatcher>,
    /// The kind of the origin, or the file, fact or tool itself.
    pub source: Option<GlobSet>,
    /// The tool whose calls and outputs are looked at.
    pub tool: Option<String>,
}

impl GrepFilter {
    /// A pattern of names, where `*` is any text.
    ///
    /// # Errors
    /// When the pattern has a mistake.
    pub fn names(pattern: &str) -> Result<GlobMatcher, globset::Error> {
        Glob::new(pattern).map(|glob| glob.compile_matcher())
    }

    /// A pattern of sources: the kind of an origin, or a file, fact or tool. A file can be named by the end of its path.
    ///
    /// # Errors
    /// When the pattern has a mistake.
    pub fn sources(pattern: &str) -> Result<GlobSet, globset::Error> {
        let end = Glob::new(&format!("*/{pattern}"))?;
        GlobSetBuilder::new().add(Glob::new(pattern)?).add(end).build()
    }

    fn has(&self, place: &GrepPlace) -> bool {
        self.role.as_ref().is_none_or(|role| place.role.as_ref() == Some(role))
            && self.part.as_ref().is_none_or(|part| part.is_match(&place.part))
            && self.source.as_ref().is_none_or(|it| it.is_match(&place.source) || it.is_match(&place.origin))
            && self.tool.as_ref().is_none_or(|tool| place.tool.as_ref() == Some(tool))
    }
}

/// The place of a text in a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GrepPlace {
    /// The slot or part.
    pub part: String,
    /// The role of the item, for items.
    pub role: Option<String>,
    /// The kind of the origin.
    pub source: String,
    /// The file, fact or tool; empty where the kind says it.
    pub origin: String,
    /// The tool, of a call and of its output.
    pub tool: Option<String>,
}

/// A line that matches, and the requests that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepHit {
    /// The first and last number of each run of requests; empty where the requests are unknown.
    pub requests: Vec<(usize, usize)>,
    /// The place of the text.
    pub place: GrepPlace,
    /// The number of the line in its text, from 1.
    pub line_number: usize,
    /// The whole line that matches.
    pub line: String,
    /// The byte of the line at which the match begins.
    pub column: usize,
}

impl GrepHit {
    /// The numbers of the requests, such as `3` or `4-10,12`; empty where they are unknown.
    pub fn numbers(&self) -> String {
        let run = |(first, last): &(usize, usize)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        self.requests.iter().map(run).collect::<Vec<_>>().join(",")
    }

    /// The hit as JSON.
    pub fn to_json(&self, session: &str) -> Value {
        json!({
            "session": session,
            "requests": self.requests.iter().map(|(first, last)| [first, last]).collect::<Vec<_>>(),
            "part": self.place.part,
            "role": self.place.role,
            "source": self.place.source,
            "origin": self.place.origin,
            "line_number": self.line_number,
            "line": self.line,
        })
    }

    fn add(&mut self, number: usize) {
        match self.requests.last_mut() {
            Some((_, last)) if *last == number => {}
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.requests.push((number, number)),
        }
    }
}

/// A search through the requests of one session, in their order.
#[derive(Debug)]
pub struct Grep<'p> {
    pattern: &'p GrepPattern,
    filter: &'p GrepFilter,
    hits: Vec<GrepHit>,
    /// The items of the request before, and the hits of each.
    shared: SharedItems,
    found: Vec<Vec<usize>>,
    /// The frame of the request before, and the hits in front of its items and behind them.
    frame: Option<(Frame, [Vec<usize>; 2])>,
    /// The tools of calls that were seen in the session file, by the ids of the calls.
    called: BTreeMap<String, String>,
    /// The hits of each text that was searched, by its place and its bytes.
    searched: BTreeMap<(GrepPlace, Box<[u8]>), Vec<usize>>,
}

impl<'p> Grep<'p> {
    /// A search that has found nothing yet.
    pub fn new(pattern: &'p GrepPattern, filter: &'p GrepFilter) -> Self {
        Self {
            pattern,
            filter,
            hits: Vec::new(),
            shared: SharedItems::default(),
            found: Vec::new(),
            frame: None,
            called: BTreeMap::new(),
            searched: BTreeMap::new(),
        }
    }

    /// Searches a request: what surrounds the items, and those that the request before did not have. `request` must be what the
    /// frame makes around the items.
    pub fn request(&mut self, number: usize, frame: &Frame, items: &[Rendered], request: &Request) {
        let is_same = |(before, _): &(Frame, [Vec<usize>; 2])| {
            std::ptr::eq(before.head_bytes().as_ptr(), frame.head_bytes().as_ptr())
                && std::ptr::eq(before.tail_bytes().as_ptr(), frame.tail_bytes().as_ptr())
        };
        let around = self.frame.take().filter(is_same).map(|(_, around)| around);
        let head = match &around {
            Some([head, _]) => head.clone(),
            None => self.bytes(number, frame.head_bytes(), &rows(frame.head_spans(), None, None)),
        };
        self.again(number, &head);
        let n_kept = self.shared.next(items);
        self.found.truncate(n_kept);
        let known: Vec<usize> = self.found.iter().flatten().copied().collect();
        self.again(number, &known);
        let mut start = frame.head_bytes().len();
        for (n, item) in items.iter().enumerate() {
            let end = start + item.len();
            if n >= n_kept {
                let bytes = request.slice(start + item.lead..end);
                let found = self.bytes(number, &bytes, &rows(&item.spans, Some(n), item.role.as_ref()));
                self.found.push(found);
            }
            start = end + item.trail;
        }
        let tail = match around {
            Some([_, tail]) => tail,
            None => self.bytes(number, &frame.tail_bytes(), &rows(frame.tail_spans(), None, None)),
        };
        self.again(number, &tail);
        self.frame = Some((frame.clone(), [head, tail]));
    }

    /// Notes that a request contains what was found before.
    fn again(&mut self, number: usize, found: &[usize]) {
        found.iter().for_each(|at| self.hits[*at].add(number));
    }

    /// Searches what surrounds items, or an item. Gives the indexes of the hits.
    fn bytes(&mut self, number: usize, bytes: &[u8], rows: &[Row]) -> Vec<usize> {
        if !self.pattern.may_match(bytes) {
            return Vec::new();
        }
        let report = Report { rows: rows.to_vec(), ..Report::default() };
        let texts = report.texts(bytes);
        let rows: Vec<(&Row, &str)> =
            report.rows.iter().zip(&texts).map(|(row, text)| (row, text.text.as_str())).collect();
        let is_joined = |(a, _): &(&Row, &str), (b, _): &(&Row, &str)| {
            let is_wire = |row: &Row| row.origin == Origin::Wire;
            a.item == b.item && (a.item.is_some() || a.part == b.part) && !is_wire(a) && !is_wire(b)
        };
        let mut found = Vec::new();
        for group in rows.chunk_by(is_joined) {
            if group.iter().all(|(row, _)| row.origin != Origin::Wire) {
                found.extend(self.text(number, bytes, group));
            }
        }
        found
    }

    /// Searches a text that consists of several rows, and gives the indexes of its hits. A hit belongs to the row in which
    /// the match begins.
    fn text(&mut self, number: usize, body: &[u8], rows: &[(&Row, &str)]) -> Vec<usize> {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
            return Vec::new();
        };
        let key = (place(first), body[first.start..last.start + last.bytes].into());
        if let Some(known) = self.searched.get(&key) {
            known.iter().for_each(|at| self.hits[*at].add(number));
            return known.clone();
        }
        let mut found = Vec::new();
        // What the model wrote is one row with its notation, which is not searched.
        let item = (first.origin == Origin::Model).then(|| serde_json::from_slice::<Value>(&key.1).ok()).flatten();
        if let Some(item @ Value::Object(_)) = &item {
            for ItemText { text, tool } in collect(item) {
                let place_at = |_| GrepPlace { tool: tool.map(str::to_owned), ..place(first) };
                self.lines(number, text, &place_at, &mut found);
            }
        } else {
            let text: Cow<'_, str> = match rows {
                [(_, text)] => Cow::Borrowed(text),
                rows => Cow::Owned(rows.iter().map(|(_, text)| *text).collect()),
            };
            let place_at = |at: usize| {
                let mut end = 0;
                let row = rows.iter().find(|(_, text)| {
                    end += text.len();
                    at < end
                });
                place(row.map_or(last, |(row, _)| row))
            };
            self.lines(number, &text, &place_at, &mut found);
        }
        // Texts without a hit are not kept: searching them again takes no more time than comparing them.
        if !found.is_empty() {
            self.searched.insert(key, found.clone());
        }
        found
    }

    /// Searches a text line by line, and notes the indexes of its hits.
    fn lines(&mut self, number: usize, text: &str, place_at: &dyn Fn(usize) -> GrepPlace, found: &mut Vec<usize>) {
        for (line_number, line, at) in self.pattern.lines(text) {
            let place = place_at(at);
            if self.filter.has(&place) {
                found.push(self.hits.len());
                let requests = vec![(number, number)];
                let column = column(text, at);
                self.hits.push(GrepHit { requests, place, line_number, line: line.to_owned(), column });
            }
        }
    }

    /// Whether calls have to be noted with [`Grep::note_call`], so that their outputs are known to be those of a tool.
    pub fn needs_calls(&self) -> bool {
        self.filter.tool.is_some()
    }

    /// Notes the tool of a call in the session file.
    pub fn note_call(&mut self, item: &Value) {
        if let (Some(call), Some(tool)) = (item["call_id"].as_str(), item["name"].as_str()) {
            self.called.insert(call.to_owned(), tool.to_owned());
        }
    }

    /// Searches an item of the session file. `number` is the request that it answers. A line that a request contains
    /// is not a second hit.
    pub fn item(&mut self, number: Option<usize>, item: &Value) {
        let kind = item["type"].as_str().unwrap_or_default();
        let is_output = kind.ends_with("_output");
        let role = item["role"].as_str().unwrap_or(if is_output { "tool" } else { "assistant" });
        let source = match (role, is_output) {
            (_, true) => "tool",
            ("assistant", _) => "model",
            _ => "session",
        };
        let part = if number.is_some() { ANSWER } else { ITEM };
        let place = GrepPlace {
            part: part.to_owned(),
            role: Some(role.to_owned()),
            source: source.to_owned(),
            origin: String::new(),
            tool: item["call_id"].as_str().and_then(|call| self.called.get(call)).cloned(),
        };
        let n_known = self.hits.len();
        for ItemText { text, tool } in collect(item) {
            let place = GrepPlace { tool: tool.map(str::to_owned).or(place.tool.clone()), ..place.clone() };
            if !self.filter.has(&place) {
                continue;
            }
            for (line_number, line, at) in self.pattern.lines(text) {
                if !self.hits[..n_known].iter().any(|hit| hit.line == line) {
                    let column = column(text, at);
                    let requests = number.map(|number| (number, number)).into_iter().collect();
                    let (place, line) = (place.clone(), line.to_owned());
                    self.hits.push(GrepHit { requests, place, line_number, line, column });
                }
            }
        }
    }

    /// The hits, by the first request that contains them.
    pub fn finish(mut self) -> Vec<GrepHit> {
        self.hits.sort_by_key(|hit| hit.requests.first().map_or(usize::MAX, |(first, _)| *first));
        self.hits
    }
}

/// The rows of what surrounds items, or of an item, from its first byte on.
fn rows(spans: &[Span], item: Option<usize>, role: Option<&Arc<str>>) -> Vec<Row> {
    let mut start = 0;
    let row = |span: &Span| {
        let row = Row {
            part: span.part.clone(),
            item,
            role: role.cloned(),
            origin: span.origin.clone(),
            start,
            bytes: span.len,
            raw_bytes: span.raw_len,
            tokens: 0,
        };
        start += span.len;
        row
    };
    spans.iter().filter(|span| span.len > 0).map(row).collect()
}

/// How many bytes of its line come before a byte of a text.
fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn place(row: &Row) -> GrepPlace {
    let tool = match &row.origin {
        Origin::Tool { name } => Some(name.to_string()),
        _ => None,
    };
    GrepPlace {
        tool,
        part: row.part.to_string(),
        role: row.role.as_ref().map(ToString::to_string),
        source: row.origin.kind().to_owned(),
        origin: row.origin.detail().to_string(),
    }
}

/// A text of an item, and the tool that is called with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ItemText<'v> {
    text: &'v str,
    tool: Option<&'v str>,
}

/// The texts of an item that a model reads or writes.
fn collect(item: &Value) -> Vec<ItemText<'_>> {
    let mut texts = Vec::new();
    add_texts(item, None, &mut texts);
    texts
}

fn add_texts<'v>(value: &'v Value, tool: Option<&'v str>, texts: &mut Vec<ItemText<'v>>) {
    const KEYS: [&str; 8] = ["text", "content", "thinking", "arguments", "input", "output", "query", "command"];
    match value {
        Value::Array(list) => list.iter().for_each(|value| add_texts(value, tool, texts)),
        Value::Object(table) => {
            // Of what a model writes, only calls have a name: that of the tool.
            let tool = table.get("name").and_then(Value::as_str).or(tool);
            for (key, value) in table {
                match value {
                    Value::String(text) if KEYS.contains(&key.as_str()) => texts.push(ItemText { text, tool }),
                    Value::Array(_) if key == "command" => add_strings(value, tool, texts),
                    Value::Object(_) if tool.is_some() && (key == "input" || key == "arguments") => {
                        add_strings(value, tool, texts);
                    }
                    value => add_texts(value, tool, texts),
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every string of an argument, whatever its key.
fn add_strings<'v>(value: &'v Value, tool: Option<&'v str>, texts: &mut Vec<ItemText<'v>>) {
    match value {
        Value::String(text) => texts.push(ItemText { text, tool }),
        Value::Array(list) => list.iter().for_each(|value| add_strings(value, tool, texts)),
        Value::Object(table) => table.values().for_each(|value| add_strings(value, tool, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
