//! What can be taken out of a request, and the request without it.
//!
//! A request is JSON, and a part is runs of its bytes: text within a string, or whole elements of a list. Without these bytes
//! the request is still JSON once the commas around removed elements are gone. What holds the request together (the pack's
//! texts, settings, the message that is answered) is no part.

use std::ops::Range;

use pellucid_protocol::provider::WireApi;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// How many characters of a message name its turn.
const NAME_CHARS: usize = 40;

/// The part of requests that holds the memory of a session.
const MEMORY: &str = "memory";

/// Something that can be taken out of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovablePart {
    /// The kind of the part: `file`, `section`, `skill`, `tool`, `memory` or `turn`.
    pub kind: &'static str,
    /// The name of the part: a path, a path and a heading, a tool, or the beginning of a text.
    pub name: String,
    /// The bytes of the part in the body, for every copy that the request has.
    pub ranges: Vec<Range<usize>>,
}

/// The parts of a request that can be taken out, in the order of their first bytes.
pub fn removable_parts(request: &Inspected) -> Vec<RemovablePart> {
    let Some(body) = request.body() else { return Vec::new() };
    let rows = placed(&request.rows);
    let mut parts: Vec<RemovablePart> = Vec::new();
    for (row, bytes) in &rows {
        for (kind, name, range) in parts_of(row, bytes) {
            add(&mut parts, kind, name, range);
        }
    }
    name_whole_files(&mut parts);
    parts.extend(older_turns(&rows));
    parts.sort_by_key(|part| part.ranges.first().map(|range| range.start));
    parts.retain(|part| serde_json::from_slice::<IgnoredAny>(&cut(&body, &part.ranges)).is_ok());
    parts
}

/// The body of a request with only those of its parts whose numbers are in `kept`.
pub fn without(request: &Inspected, parts: &[RemovablePart], kept: &[usize]) -> Option<Vec<u8>> {
    let body = request.body()?;
    let removed = parts.iter().enumerate().filter(|(number, _)| !kept.contains(number));
    let ranges: Vec<Range<usize>> = removed.flat_map(|(_, part)| part.ranges.clone()).collect();
    if ranges.is_empty() {
        return Some(body);
    }
    Some(without_empty_tools(cut(&body, &ranges), request.wire))
}

/// Rows with their bytes in the body.
fn placed(rows: &[InspectedRow]) -> Vec<(&InspectedRow, Range<usize>)> {
    let mut end = 0;
    let placed = rows.iter().map(|row| {
        let start = end;
        end += row.bytes;
        (row, start..end)
    });
    placed.collect()
}

fn add(parts: &mut Vec<RemovablePart>, kind: &'static str, name: String, range: Range<usize>) {
    match parts.iter_mut().find(|part| part.kind == kind && part.name == name) {
        Some(part) => part.ranges.push(range),
        None => parts.push(RemovablePart { kind, name, ranges: vec![range] }),
    }
}

/// The parts that a row is, or is a piece of.
fn parts_of(row: &InspectedRow, bytes: &Range<usize>) -> Vec<(&'static str, String, Range<usize>)> {
    let Some(content) = &row.content else { return Vec::new() };
    let within = |range: Range<usize>| bytes.start + range.start..bytes.start + range.end;
    if let Some(tool) = row.part.strip_prefix("tools/") {
        return vec![("tool", tool.to_owned(), bytes.clone())];
    }
    match &*row.source {
        "file" => {
            let sections = sections(&content.wire).into_iter();
            let named = |(heading, range): (String, Range<usize>)| {
                ("section", format!("{} § {heading}", row.origin), within(range))
            };
            sections.map(named).collect()
        }
        "skill" => vec![("skill", row.origin.to_string(), bytes.clone())],
        "wire" | "layout" | "pack" => Vec::new(),
        _ if &*row.part == MEMORY => {
            let cards = paragraphs(&content.wire).into_iter();
            cards.map(|range| (MEMORY, shortened(&unescaped(&content.wire[range.clone()])), within(range))).collect()
        }
        _ => Vec::new(),
    }
}

/// A file with one section is named by its path alone.
fn name_whole_files(parts: &mut [RemovablePart]) {
    let path = |part: &RemovablePart| match part.kind {
        "section" => part.name.rsplit_once(" § ").map(|(path, _)| path.to_owned()),
        _ => None,
    };
    let paths: Vec<Option<String>> = parts.iter().map(path).collect();
    for (part, path) in parts.iter_mut().zip(&paths) {
        if let Some(path) = path.clone().filter(|_| paths.iter().filter(|other| *other == path).count() == 1) {
            part.kind = "file";
            part.name = path;
        }
    }
}

/// The sections of a Markdown text in its escaped form: from each heading to the next. What comes before the first heading is a
/// section too. Headings in fenced code are text.
fn sections(wire: &[u8]) -> Vec<(String, Range<usize>)> {
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut is_code = false;
    for line in lines(wire) {
        let text = unescaped(&wire[line.clone()]);
        let trimmed = text.trim();
        is_code ^= trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let heading = text.trim_start_matches('#');
        let is_heading =
            !is_code && (1..=6).contains(&(text.len() - heading.len())) && heading.starts_with([' ', '\n']);
        match found.last_mut() {
            Some((_, range)) if !is_heading => range.end = line.end,
            _ if is_heading => {
                let name = heading.trim();
                let n_before = found.iter().filter(|(other, _)| without_number(other) == name).count();
                let name = if n_before == 0 { name.to_owned() } else { format!("{name} ({})", n_before + 1) };
                found.push((name, line));
            }
            _ => found.push(("(before the first heading)".to_owned(), line)),
        }
    }
    found
}

/// A heading without the number that distinguishes it from equal headings before it.
fn without_number(name: &str) -> &str {
    let number = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    number.filter(|(_, digits)| digits.parse::<usize>().is_ok()).map_or(name, |(name, _)| name)
}

/// Runs of lines that are not blank, each with the blank lines after it.
fn paragraphs(wire: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_after_blank = true;
    for line in lines(wire) {
        let is_blank = unescaped(&wire[line.clone()]).trim().is_empty();
        match found.last_mut() {
            Some(range) if is_blank || !is_after_blank => range.end = line.end,
            _ => found.push(line),
        }
        is_after_blank = is_blank;
    }
    found
}

/// The lines of an escaped text, each with its line break.
fn lines(wire: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < wire.len() {
        let is_break = wire[at..].starts_with(b"\\n");
        at += if wire[at] == b'\\' { 2 } else { 1 };
        if is_break || at >= wire.len() {
            let end = at.min(wire.len());
            found.push(start..end);
            start = end;
        }
    }
    found
}

fn unescaped(wire: &[u8]) -> String {
    let text = String::from_utf8_lossy(wire);
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.into_owned())
}

/// The beginning of a text on one line.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(NAME_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The turns before the one that is answered: what a person wrote, and everything that model and tools said to it.
fn older_turns(rows: &[(&InspectedRow, Range<usize>)]) -> Vec<RemovablePart> {
    let mut turns: Vec<RemovablePart> = Vec::new();
    let mut last_item = None;
    for (row, bytes) in rows {
        let Some(item) = row.item else { continue };
        let is_new_item = last_item != Some(item);
        last_item = Some(item);
        // The notation around a message comes first, and belongs to the same item.
        if !is_new_item {
            continue;
        }
        let of_item = || rows.iter().filter(move |(row, _)| row.item == Some(item));
        let end = of_item().next_back().map_or(bytes.end, |(_, bytes)| bytes.end);
        let is_from = |sources: &[&str]| of_item().any(|(row, _)| sources.contains(&&*row.source));
        let is_said = is_from(&["user"]) || is_from(&["session"]) && row.role.as_deref() == Some("user");
        if is_said {
            let texts = of_item().filter(|(row, _)| !row.is_notation());
            let text: String = texts.filter_map(|(row, _)| Some(&*row.content.as_ref()?.text)).collect();
            let name = format!("{} {}", turns.len() + 1, shortened(&text));
            let range = bytes.start..end;
            turns.push(RemovablePart { kind: "turn", name, ranges: vec![range] });
        } else if is_from(&["model", "tool", "repair", "session"])
            && let Some(turn) = turns.last_mut()
        {
            turn.ranges.push(bytes.start..end);
        }
    }
    turns.pop();
    turns
}

/// The body without runs of its bytes, and without the commas that would be left over.
fn cut(body: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut ranges = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    let mut kept = Vec::with_capacity(body.len());
    let mut at = 0;
    for range in ranges {
        kept.extend_from_slice(&body[at.min(range.start)..range.start]);
        at = at.max(range.end);
    }
    kept.extend_from_slice(&body[at..]);
    without_spare_commas(&kept)
}

/// JSON without commas that separate nothing.
fn without_spare_commas(json: &[u8]) -> Vec<u8> {
    let mut kept: Vec<u8> = Vec::with_capacity(json.len());
    let (mut is_string, mut is_escaped) = (false, false);
    // The place of a comma that nothing has followed yet.
    let mut comma = None;
    for byte in json {
        if is_string {
            is_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            kept.push(*byte);
            continue;
        }
        match byte {
            b',' if comma.is_some() || matches!(kept.last(), Some(b'[' | b'{')) => continue,
            b',' => comma = Some(kept.len()),
            b']' | b'}' => {
                if let Some(at) = comma.take() {
                    kept.remove(at);
                }
            }
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => comma = None,
        }
        is_string = *byte == b'"';
        kept.push(*byte);
    }
    kept
}

/// Some APIs refuse an empty list of tools, and settings of tools without a list.
fn without_empty_tools(body: Vec<u8>, wire: Option<WireApi>) -> Vec<u8> {
    if wire == Some(WireApi::Responses) {
        return body;
    }
    match serde_json::from_slice(&body) {
        Ok(Value::Object(mut fields)) if fields.get("tools").and_then(Value::as_array).is_some_and(Vec::is_empty) => {
            for key in ["tools", "tool_choice", "parallel_tool_calls"] {
                fields.shift_remove(key);
            }
            Value::Object(fields).to_string().into_bytes()
        }
        _ => body,
    }
}
