//! Where a request has something.

use std::ops::Range;
use std::ops::RangeInclusive;

use pellucid_engine::report::bytes_at;
use pellucid_engine::report::text_of;
use pellucid_engine::tokens::tokens_of_bytes;

use super::FileQuestion;
use super::WhyPlace;
use super::WhyQuestion;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// Why a question cannot be answered for a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// The request is a saved report.
    #[error("a saved report has no texts, so {0} cannot be looked for; ask for a part, a tool, a skill or a byte")]
    NoTexts(String),
    /// The lines of this file are not known.
    #[error("the request has {0}, but which line of it a byte came from is not recorded; ask with --text")]
    NoLines(String),
}

/// Every place where a request has what is asked about.
///
/// # Errors
/// When the request does not have what it takes to know.
pub fn places(question: &WhyQuestion, request: &Inspected) -> Result<Vec<WhyPlace>, Unanswerable> {
    let found = Finder { request, starts: starts(request) };
    match question {
        WhyQuestion::File(file) => found.file(file),
        WhyQuestion::Text(text) => found.text(text),
        WhyQuestion::Byte(byte) => Ok(found.byte(*byte).into_iter().collect()),
        WhyQuestion::Part(part) => Ok(found.rows(|row| *row.part == **part)),
        WhyQuestion::Tool(tool) => {
            let part = format!("tools/{tool}");
            Ok(found.rows(|row| *row.part == *part))
        }
        WhyQuestion::Skill(skill) => Ok(found.rows(|row| &*row.source == "skill" && is_skill(&row.origin, skill))),
        WhyQuestion::Call(call) => found.call(call),
    }
}

/// Whether the file of a skill is the one that a person named.
pub(super) fn is_skill(path: &str, asked: &str) -> bool {
    path == asked || path.strip_suffix("/SKILL.md").and_then(|folder| folder.rsplit('/').next()) == Some(asked)
}

/// Whether an origin is the file that is asked about.
pub(super) fn is_file(origin: &str, file: &FileQuestion) -> bool {
    origin == file.path
}

struct Finder<'a> {
    request: &'a Inspected,
    /// The first byte of each row, and the end of the last.
    starts: Vec<usize>,
}

fn starts(request: &Inspected) -> Vec<usize> {
    let mut end = 0;
    let ends = request.rows.iter().map(|row| {
        end += row.bytes;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

impl Finder<'_> {
    fn body(&self, what: &str) -> Result<Vec<u8>, Unanswerable> {
        self.request.body().ok_or_else(|| Unanswerable::NoTexts(what.to_owned()))
    }

    /// A place of these bytes; its origin is that of the first row that is no notation.
    fn place(&self, bytes: Range<usize>) -> Option<WhyPlace> {
        let first = self.starts.partition_point(|start| *start <= bytes.start).checked_sub(1)?;
        let rows = self.request.rows.get(first..)?;
        let within = |n: &usize| self.starts[first + n] < bytes.end.max(bytes.start + 1);
        let n = (0..rows.len()).take_while(within).find(|n| !rows[*n].is_notation()).unwrap_or(0);
        let row = rows.get(n)?;
        Some(WhyPlace {
            item: row.item,
            role: row.role.as_deref().map(str::to_owned),
            part: row.part.to_string(),
            source: row.source.to_string(),
            origin: row.origin.to_string(),
            lines: None,
            tokens: tokens_of_bytes(bytes.end) - tokens_of_bytes(bytes.start),
            bytes,
        })
    }

    /// The places of rows, those next to each other as one.
    fn rows(&self, is_wanted: impl Fn(&InspectedRow) -> bool) -> Vec<WhyPlace> {
        let mut ranges: Vec<(Range<usize>, Option<usize>)> = Vec::new();
        for (n, row) in self.request.rows.iter().enumerate().filter(|(_, row)| is_wanted(row)) {
            let bytes = self.starts[n]..self.starts[n + 1];
            match ranges.last_mut() {
                Some((last, item)) if last.end == bytes.start && *item == row.item => last.end = bytes.end,
                _ => ranges.push((bytes, row.item)),
            }
        }
        ranges.into_iter().filter_map(|(bytes, _)| self.place(bytes)).collect()
    }

    fn byte(&self, byte: usize) -> Option<WhyPlace> {
        let n = self.starts.partition_point(|start| *start <= byte).checked_sub(1)?;
        self.request.rows.get(n)?;
        let mut place = self.place(self.starts[n]..self.starts[n + 1])?;
        place.lines = self.request.first_lines()[n]
            .zip(self.request.rows[n].content.as_ref())
            .map(|(first, content)| first..=first + content.text.trim_end_matches('\n').matches('\n').count());
        Some(place)
    }

    /// Every copy of a text. A text in the arguments of a call is escaped twice, so that form is looked for too.
    fn text(&self, text: &str) -> Result<Vec<WhyPlace>, Unanswerable> {
        let body = self.body(&format!("the text {text:?}"))?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let whole = text_of(&body);
        let mut found: Vec<Range<usize>> = whole.match_indices(text).map(|(at, it)| at..at + it.len()).collect();
        let escaped = serde_json::Value::from(text).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        if escaped != text {
            found.extend(whole.match_indices(escaped).map(|(at, it)| at..at + it.len()));
        }
        Ok(self.in_text(&body, found))
    }

    /// The places of ranges of the text behind the body.
    fn in_text(&self, body: &[u8], mut ranges: Vec<Range<usize>>) -> Vec<WhyPlace> {
        ranges.sort_by_key(|range| range.start);
        let mut offsets: Vec<usize> = ranges.iter().flat_map(|range| [range.start, range.end]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let bytes = bytes_at(body, &offsets);
        let byte = |offset: usize| bytes[offsets.partition_point(|it| *it < offset)];
        ranges.iter().filter_map(|range| self.place(byte(range.start)..byte(range.end))).collect()
    }

    fn file(&self, file: &FileQuestion) -> Result<Vec<WhyPlace>, Unanswerable> {
        let is_of =
            |row: &InspectedRow| matches!(&*row.source, "file" | "skill" | "pack") && is_file(&row.origin, file);
        let Some(lines) = &file.lines else {
            return Ok(self.rows(is_of));
        };
        let has_rows = self.request.rows.iter().any(is_of);
        if has_rows {
            let is_lined = self.request.rows.iter().any(|row| is_of(row) && row.file_range.is_some());
            if is_lined && self.request.body().is_none() {
                return Err(Unanswerable::NoTexts(format!("a line of {}", file.typed)));
            }
            let found = self.lines(&is_of, lines);
            if !found.is_empty() || is_lined {
                return Ok(found);
            }
            if self.request.rows.iter().any(|row| is_of(row) && &*row.source == "skill")
                && self.request.body().is_some()
            {
                return Ok(self.head_of_skill(&is_of, file.on_disk.as_ref().map_or("", |disk| &disk.text), lines));
            }
        }
        match &file.on_disk {
            Some(disk) if !disk.text.trim().is_empty() && self.request.body().is_some() => {
                let found = self.text(&disk.text)?;
                if found.is_empty()
                    && has_rows
                    && self.request.rows.iter().any(|row| is_of(row) && &*row.source == "pack")
                {
                    return Err(Unanswerable::NoLines(file.typed.clone()));
                }
                Ok(found.into_iter().map(|place| WhyPlace { lines: Some(lines.clone()), ..place }).collect())
            }
            _ if has_rows => Err(Unanswerable::NoLines(file.typed.clone())),
            _ => Ok(Vec::new()),
        }
    }

    /// Lines of a file by its rows, one place for each copy of the file.
    fn lines(&self, is_of: &dyn Fn(&InspectedRow) -> bool, wanted: &RangeInclusive<usize>) -> Vec<WhyPlace> {
        let mut copies: Vec<(Range<usize>, RangeInclusive<usize>)> = Vec::new();
        let (mut text_start, mut file_end, mut is_open) = (0, 0, false);
        for (row, first) in self.request.rows.iter().zip(self.request.first_lines()) {
            let Some(content) = &row.content else {
                return Vec::new();
            };
            if let (true, Some(range), Some(first)) = (is_of(row), &row.file_range, first) {
                if range.start < file_end || range.start == 0 {
                    is_open = false;
                }
                file_end = range.end;
                if let Some((found, lines)) = lines_of(&content.text, first, wanted) {
                    let found = text_start + found.start..text_start + found.end;
                    match copies.last_mut() {
                        Some((copy, numbers)) if is_open => {
                            copy.end = found.end;
                            *numbers = *numbers.start()..=*lines.end();
                        }
                        _ => copies.push((found, lines)),
                    }
                    is_open = true;
                }
            }
            text_start += content.text.len();
        }
        let Some(body) = self.request.body() else {
            return Vec::new();
        };
        let (ranges, lines): (Vec<_>, Vec<_>) = copies.into_iter().unzip();
        let places = self.in_text(&body, ranges).into_iter().zip(lines);
        places.map(|(place, lines)| WhyPlace { lines: Some(lines), ..place }).collect()
    }

    /// The name and the description in lines of a skill's file, which a request lists without the keys before them.
    fn head_of_skill(
        &self,
        is_of: &dyn Fn(&InspectedRow) -> bool,
        text: &str,
        lines: &RangeInclusive<usize>,
    ) -> Vec<WhyPlace> {
        let value = |line: &'_ str| {
            let (key, value) = line.split_once(':')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (matches!(key, "name" | "description") && !value.is_empty()).then(|| value.to_owned())
        };
        let values: Vec<String> = text.lines().filter_map(value).collect();
        let (mut start, mut ranges) = (0, Vec::new());
        for row in &self.request.rows {
            let Some(content) = &row.content else {
                return Vec::new();
            };
            let found = values.iter().filter(|_| is_of(row)).filter_map(|it| Some((content.text.find(it)?, it.len())));
            ranges.extend(found.map(|(at, len)| start + at..start + at + len));
            start += content.text.len();
        }
        let places = self.in_text(&self.request.body().unwrap_or_default(), ranges).into_iter();
        places.map(|place| WhyPlace { lines: Some(lines.clone()), ..place }).collect()
    }

    /// The items of a call and of its output.
    fn call(&self, call: &str) -> Result<Vec<WhyPlace>, Unanswerable> {
        let body = self.body(&format!("the call {call}"))?;
        let id = serde_json::Value::from(call).to_string();
        let mut items: Vec<usize> = Vec::new();
        for (row, start) in self.request.rows.iter().zip(&self.starts) {
            let Some(item) = row.item.filter(|item| !items.contains(item)) else {
                continue;
            };
            let end = (start + row.bytes).min(body.len());
            // The quotes around the id may belong to the rows before and after it.
            let from = start.saturating_sub(1);
            if body[from..(end + 1).min(body.len())].windows(id.len()).any(|window| window == id.as_bytes()) {
                items.push(item);
            }
        }
        Ok(self.rows(|row| row.item.is_some_and(|item| items.contains(&item))))
    }
}

/// The wanted lines in a text whose first line has this number: their bytes, and which of them there are.
fn lines_of(text: &str, first: usize, wanted: &RangeInclusive<usize>) -> Option<(Range<usize>, RangeInclusive<usize>)> {
    let mut start = 0;
    let mut found: Option<(Range<usize>, RangeInclusive<usize>)> = None;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let number = first + n;
        if wanted.contains(&number) {
            let without_end = line.trim_end_matches('\n').len();
            let end = start + if without_end == 0 { line.len() } else { without_end };
            found = Some(match found {
                None => (start..end, number..=number),
                Some((range, lines)) => (range.start..end, *lines.start()..=number),
            });
        }
        start += line.len();
    }
    found
}
