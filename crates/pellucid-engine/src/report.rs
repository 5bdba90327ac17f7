//! The report: what a request is made of, byte by byte.
//!
//! Rows cover the request from its first byte to its last without gap or overlap; content that the model does not see
//! is listed as omissions and candidates. The report is made from the same spans that were written with the bytes, so
//! it cannot disagree with what is sent.
//!
//! Tokens are estimated unless a caller counts them ([`Report::count`]). An estimate is of the bytes as they are
//! sent, and the rows add up to the estimate of the whole. A count is of each row's own text with its escapes undone:
//! what any program that has the model's table says of that text alone. Every byte is counted once, but a token
//! cannot span two rows then, so the sum is what the parts cost one by one; the parts of one text may cost a token
//! less for each of their borders when they are together.

mod sources;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pellucid_protocol::event::ContextPart;
use pellucid_protocol::event::ContextReport;
use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::Value;
use serde_json::json;

pub use self::sources::SourceRow;
pub use self::sources::SourceStatus;
pub use self::texts::TextPlace;
pub use self::texts::bytes_at;
pub use self::texts::text_of;
use crate::continuity::Continuity;
use crate::documents::listed::InstructionFile;
use crate::encode::Span;
use crate::facts::Candidate;
use crate::facts::Fate;
use crate::file_states::ChangedFile;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::hidden::Hidden;
use crate::not_utf8::NotUtf8;
use crate::reinject::again::SaidAgain;
use crate::reinject::phases::ChosenPhase;
use crate::report::texts::IMAGE;
use crate::report::texts::RunText;
use crate::report::texts::Texts;
use crate::request::Frame;
use crate::request::Request;
use crate::tokens::Counter;
use crate::tokens::Estimate;
use crate::tokens::tokens_of_bytes;
use crate::transcript::Rendered;
use crate::watched::WatchedFormat;

/// The key of the rows in JSON.
const ROWS: &str = "rows";

/// The parts of a request with their sizes and origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The parts, in the order of their bytes.
    pub rows: Vec<Row>,
    /// The content that was left out or cut.
    pub omissions: Vec<Omission>,
    /// Every file that was looked for.
    pub candidates: Vec<Candidate>,
    /// Every instruction file that was read, with what hides in it.
    pub files: Vec<InstructionFile>,
    /// The files of instructions and of the pack that are not what they were for the request before.
    pub changed_files: Vec<ChangedFile>,
    /// How it continues the request before; absent for the first.
    pub continuity: Option<Continuity>,
    /// The instructions repeated so far, by slot.
    pub said_again: BTreeMap<String, SaidAgain>,
    /// The phase of work whose prompt goes before the input, and the setting that chose it.
    pub phase: Option<ChosenPhase>,
    /// The name of the encoding that counted the tokens.
    pub counted_by: Arc<str>,
    /// The bytes of images, which a count leaves out; an estimate includes them.
    pub image_bytes: usize,
    /// The format of a request that another program made; absent for requests of ours.
    pub watched: Option<WatchedFormat>,
}

/// A run of bytes of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The slot or part.
    pub part: Arc<str>,
    /// The index of the item in the input; absent for other rows.
    pub item: Option<usize>,
    /// The role of that item.
    pub role: Option<Arc<str>>,
    /// The origin of the bytes.
    pub origin: Origin,
    /// The offset of the first byte in the request.
    pub start: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// How many bytes its text has before it is escaped.
    pub raw_bytes: usize,
    /// How many tokens, estimated or counted.
    pub tokens: usize,
}

impl Row {
    /// The bytes of its file that the row has, for rows of files.
    pub fn file_range(&self) -> Option<&Range<u64>> {
        match self.origin.claim() {
            Origin::File { range, .. } => Some(range),
            _ => None,
        }
    }

    /// The text of the row with its escapes undone, and where the byte behind it is. Its first byte is at `place` of the
    /// request that the row is of.
    pub fn text_at(&self, request: &Request, place: TextPlace) -> (RowText, TextPlace) {
        let bytes = self.with_next(request);
        let mut texts = Texts::at(&bytes, place);
        let RunText { text, image_bytes } = texts.next_run(self.bytes);
        (RowText { text, image_bytes }, texts.place())
    }

    /// The bytes of the row and some behind it: whether a string is an image may show only there.
    fn with_next<'r>(&self, request: &'r Request) -> Cow<'r, [u8]> {
        let end = self.start + self.bytes;
        request.slice(self.start..(end + IMAGE.len()).min(request.len()))
    }

    /// Whether its file has more bytes than those up to its end.
    pub fn is_cut(&self) -> bool {
        matches!(self.origin.claim(), Origin::File { range, size, .. } if range.end < *size)
    }
}

/// The text behind the bytes of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowText {
    /// The text with escapes undone. An image has none.
    pub text: String,
    /// How many of the row's bytes are an image.
    pub image_bytes: usize,
}

/// The text of a run of a request's bytes, the first of which is at this place.
pub fn run_text(run: &[u8], place: TextPlace) -> RowText {
    let RunText { text, image_bytes } = Texts::at(run, place).next_run(run.len());
    RowText { text, image_bytes }
}

impl Report {
    /// Accounts for the request that this frame makes around these items.
    pub fn new(frame: &Frame, items: &[Rendered], omissions: Vec<Omission>, candidates: Vec<Candidate>) -> Self {
        // A list that grows by doubling needs twice the memory, and a long session has very many rows.
        let n_of = |item: &Rendered| item.spans.len() + usize::from(item.lead > 0) + usize::from(item.trail > 0);
        let n_rows = frame.head_spans().len() + frame.tail_spans().len() + items.iter().map(n_of).sum::<usize>();
        let mut rows = Rows { rows: Vec::with_capacity(n_rows), end: 0 };
        for span in frame.head_spans() {
            rows.push(span, None, None);
        }
        let list: Arc<str> = frame.list().into();
        let notation = |len| Span { part: list.clone(), origin: Origin::Wire, len, raw_len: len };
        for (n, item) in items.iter().enumerate() {
            rows.push(&notation(item.lead), None, None);
            for span in item.spans.iter() {
                rows.push(span, Some(n), item.role.as_ref());
            }
            rows.push(&notation(item.trail), None, None);
        }
        for span in frame.tail_spans() {
            rows.push(span, None, None);
        }
        let counted_by = Estimate::NAME.into();
        let files = Vec::new();
        Self {
            rows: rows.rows,
            omissions,
            candidates,
            files,
            changed_files: Vec::new(),
            counted_by,
            image_bytes: 0,
            continuity: None,
            said_again: BTreeMap::new(),
            phase: None,
            watched: frame.view().watched,
        }
    }

    /// Counts the tokens of each row's text. `body` is the request that this report is about.
    pub fn count(&mut self, body: &[u8], counter: &dyn Counter) {
        debug_assert_eq!(body.len(), self.bytes(), "the body is another request's");
        let mut texts = Texts::new(body);
        self.image_bytes = 0;
        for row in &mut self.rows {
            let run = texts.next_run(row.bytes);
            row.tokens = counter.count(&run.text);
            self.image_bytes += run.image_bytes;
        }
        self.counted_by = counter.name().into();
    }

    /// The text of each row with its escapes undone. `body` is the request that this report is about.
    pub fn texts(&self, body: &[u8]) -> Vec<RowText> {
        debug_assert_eq!(body.len(), self.bytes(), "the body is another request's");
        self.texts_from(body, 0)
    }

    /// The texts of the rows from this one on, which begins outside of a string, as the first row of an item does.
    pub fn texts_from(&self, body: &[u8], first: usize) -> Vec<RowText> {
        let mut texts = Texts::new(&body[self.rows.get(first).map_or(body.len(), |row| row.start)..]);
        let text = |row: &Row| {
            let RunText { text, image_bytes } = texts.next_run(row.bytes);
            RowText { text, image_bytes }
        };
        self.rows[first.min(self.rows.len())..].iter().map(text).collect()
    }

    /// Where the first byte of each row is, and where the byte behind the last would be. No text is made for that.
    /// `request` is the one that this report is about.
    pub fn text_places(&self, request: &Request) -> Vec<TextPlace> {
        let mut places = Vec::with_capacity(self.rows.len() + 1);
        let mut place = TextPlace::default();
        for row in &self.rows {
            places.push(place);
            let bytes = row.with_next(request);
            let mut texts = Texts::at(&bytes, place);
            texts.pass_run(row.bytes);
            place = texts.place();
        }
        places.push(place);
        places
    }

    /// How many bytes the request has.
    pub fn bytes(&self) -> usize {
        self.rows.last().map_or(0, |row| row.start + row.bytes)
    }

    /// The tokens of all rows together.
    pub fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }

    /// Whether the tokens were counted and not estimated.
    pub fn is_counted(&self) -> bool {
        self.counted_by.as_ref() != Estimate::NAME
    }

    /// The row that a byte belongs to.
    pub fn row_at(&self, byte: usize) -> Option<&Row> {
        self.rows.iter().find(|row| (row.start..row.start + row.bytes).contains(&byte))
    }

    /// The report with one line for each part, and the rows that a request with these rows before it did not have. So
    /// the event of a long session is no longer than what is new in it.
    pub fn since(&self, before: &[Row]) -> ContextReport {
        let mut parts: Vec<ContextPart> = Vec::new();
        for row in &self.rows {
            match parts.iter_mut().find(|part| part.part == *row.part) {
                Some(part) => {
                    part.bytes += row.bytes;
                    part.tokens += row.tokens;
                }
                None => {
                    parts.push(ContextPart { part: row.part.to_string(), bytes: row.bytes, tokens: row.tokens });
                }
            }
        }
        let rows_kept = self.rows.iter().zip(before).take_while(|(row, before)| row == before).count();
        ContextReport {
            bytes: self.bytes(),
            tokens: self.tokens(),
            kept_bytes: self.continuity.as_ref().map_or(0, |continuity| continuity.kept_bytes),
            parts,
            changed_files: self.changed_files.iter().map(ChangedFile::to_json).collect(),
            purpose: None,
            rows_kept,
            rows: self.statuses().skip(rows_kept).map(|row| json!(RowJson::new(row, self.watched))).collect(),
        }
    }

    /// Notes about the report as a whole.
    pub fn notes(&self) -> Vec<&'static str> {
        let is_lost = |row: &Row| matches!(row.origin, Origin::Recorded { .. });
        let lost =
            "origins were not kept for the rows of source `session`: another program or an older version sent them";
        self.rows.iter().any(is_lost).then_some(lost).into_iter().collect()
    }

    /// The rows as JSON, one by one.
    pub fn rows_json(&self) -> impl Iterator<Item = Value> {
        self.statuses().map(|row| json!(RowJson::new(row, self.watched)))
    }

    /// A row with its status as JSON, as [`Report::rows_json`] has it.
    pub fn row_json(&self, row: (&Row, SourceStatus)) -> String {
        serde_json::to_string(&RowJson::new(row, self.watched)).unwrap_or_default()
    }

    /// The report as JSON.
    pub fn to_json(&self) -> ReportJson<'_> {
        let head = json!({
            "bytes": self.bytes(),
            "tokens": self.tokens(),
            "counted_by": self.counted_by,
            "picture_bytes": self.image_bytes,
            "rows": null,
            "sources": self.sources().iter().map(sources::source_json).collect::<Vec<_>>(),
            "omissions": self.omissions.iter().map(omission_json).collect::<Vec<_>>(),
            "candidates": self.candidates.iter().map(candidate_json).collect::<Vec<_>>(),
            "instruction_files": self.files.iter().map(file_json).collect::<Vec<_>>(),
            "changed_files": self.changed_files.iter().map(ChangedFile::to_json).collect::<Vec<_>>(),
            "continuity": self.continuity.as_ref().map(Continuity::to_json),
            "said_again": self.said_again,
            "phase": self.phase,
            "notes": self.notes(),
        });
        ReportJson { report: self, head }
    }
}

/// A report as JSON that is written at once. A long session has so many rows that all of them as values would take several
/// times the memory of the session, so each is made when it is written.
#[derive(Debug)]
pub struct ReportJson<'r> {
    report: &'r Report,
    /// Everything but the rows, in the order of the report; `rows` has their place. More can be added.
    pub head: Value,
}

impl Serialize for ReportJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = self.head.as_object().into_iter().flatten();
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in head {
            match key.as_str() {
                ROWS => map.serialize_entry(key, &RowsJson(self.report))?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// The rows of a report, to be written.
struct RowsJson<'r>(&'r Report);

impl Serialize for RowsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.statuses().map(|row| RowJson::new(row, self.0.watched)))
    }
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    end: usize,
}

impl Rows {
    fn push(&mut self, span: &Span, item: Option<usize>, role: Option<&Arc<str>>) {
        if span.len == 0 {
            return;
        }
        let start = self.end;
        self.end += span.len;
        self.rows.push(Row {
            part: span.part.clone(),
            item,
            role: role.cloned(),
            origin: span.origin.clone(),
            start,
            bytes: span.len,
            raw_bytes: span.raw_len,
            tokens: tokens_of_bytes(self.end) - tokens_of_bytes(start),
        });
    }
}

/// A row as JSON has it.
#[derive(Serialize)]
struct RowJson<'r> {
    part: &'r str,
    item: Option<usize>,
    role: Option<&'r str>,
    source: &'r str,
    origin: &'r str,
    start: usize,
    bytes: usize,
    raw_bytes: usize,
    tokens: usize,
    status: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_range: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_sha256: Option<String>,
    /// How sure the origin is, in requests of other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    certainty: Option<&'static str>,
}

impl<'r> RowJson<'r> {
    fn new((row, status): (&'r Row, SourceStatus), watched: Option<WatchedFormat>) -> Self {
        // An image is encoded and not the bytes of its file, so it has no range.
        let file = match row.origin.claim() {
            Origin::File { range, size, .. } if !range.is_empty() => Some(([range.start, range.end], *size)),
            _ => None,
        };
        Self {
            part: &row.part,
            item: row.item,
            role: row.role.as_deref(),
            source: row.origin.kind(),
            origin: row.origin.detail(),
            start: row.start,
            bytes: row.bytes,
            raw_bytes: row.raw_bytes,
            tokens: row.tokens,
            status: status.as_str(),
            file_range: file.map(|(range, _)| range),
            file_bytes: file.map(|(_, size)| size),
            file_sha256: row.origin.file_sha256().map(ToString::to_string),
            certainty: watched.map(|_| row.origin.certainty()),
        }
    }
}

fn omission_json(omission: &Omission) -> Value {
    let status = match omission.why {
        Why::Cut { .. } => "truncated",
        Why::NotUtf8(_) => "altered",
        Why::LeftWindow { .. } => "left the window",
        Why::SwitchedOff => "disabled",
        Why::OnlyOnMention => "on mention",
        Why::Shadowed { .. } | Why::Replaced { .. } => "shadowed",
        Why::Missing => "missing",
        Why::Duplicate => "duplicate",
        Why::OverBudget { .. }
        | Why::Blank
        | Why::Outside { .. }
        | Why::Untrusted
        | Why::NotAccepted { .. }
        | Why::ByPack { .. }
        | Why::Unusable { .. } => "omitted",
    };
    let mut value = json!({
        "part": omission.slot,
        "what": omission.what,
        "kind": omission.why.kind(),
        "status": status,
        "why": why_text(&omission.why),
        "bytes": omission.why.bytes(),
    });
    if let Why::NotUtf8(not_utf8) = &omission.why {
        value["first_byte"] = json!(not_utf8.first);
    }
    value
}

fn candidate_json(candidate: &Candidate) -> Value {
    let status = match candidate.fate {
        Fate::Read => "read",
        Fate::Absent => "missing",
        Fate::Shadowed { .. } => "shadowed",
        Fate::NotAFile | Fate::Unreadable { .. } => "unusable",
        Fate::Blank => "blank",
        Fate::Outside { .. } => "outside",
        Fate::Untrusted => "untrusted",
        Fate::NotAccepted { .. } => "not accepted",
    };
    json!({ "path": candidate.path, "status": status, "why": fate_text(&candidate.fate) })
}

fn file_json(file: &InstructionFile) -> Value {
    json!({
        "path": file.path,
        "target": file.target,
        "bytes": file.size,
        "read_bytes": file.n_read,
        "sha256": file.hash.to_string(),
        "hidden": file.hidden.iter().map(hidden_json).collect::<Vec<_>>(),
    })
}

fn hidden_json(hidden: &Hidden) -> Value {
    json!({
        "line": hidden.line,
        "column": hidden.column,
        "kind": hidden.kind.as_str(),
        "code_points": hidden.code_points().collect::<Vec<_>>(),
    })
}

/// Why something is not seen, in a few words.
pub fn why_text(why: &Why) -> String {
    match why {
        Why::Cut { kept, of } => format!("cut after {kept} of {of} bytes, the budget is spent"),
        Why::OverBudget { of } => format!("all {of} bytes left out, the budget is spent"),
        Why::LeftWindow { of, kept_as } if kept_as.is_empty() => format!("{of} bytes left the window"),
        Why::LeftWindow { of, kept_as } => format!("{of} bytes left the window for {kept_as}"),
        Why::Blank => "blank".to_owned(),
        Why::Missing => "there is no such file".to_owned(),
        Why::Duplicate => "it is in the context already".to_owned(),
        Why::SwitchedOff => "switched off in the configuration".to_owned(),
        Why::OnlyOnMention => "used only when it is mentioned".to_owned(),
        Why::Shadowed { by } => format!("{by} has the same name and comes first"),
        Why::Replaced { by } => format!("{by} takes its place"),
        Why::Outside { target } => format!("left out, as it is a link out of the project, to {target}"),
        Why::Untrusted => "left out, as the project is marked as untrusted".to_owned(),
        Why::NotAccepted { is_changed } => format!(
            "left out, as {}; `pellucid trust accept --instructions` shows and accepts it",
            not_accepted(*is_changed)
        ),
        Why::ByPack { reason } => format!("left out by the pack: {reason}"),
        Why::Unusable { error } => error.clone(),
        Why::NotUtf8(NotUtf8 { first, count: 1 }) => {
            format!("the byte at offset {first} is not UTF-8, the model sees U+FFFD in its place")
        }
        Why::NotUtf8(NotUtf8 { first, count }) => {
            format!("{count} bytes are not UTF-8, the first at offset {first}; the model sees U+FFFD in their place")
        }
    }
}

/// Why a text of a guarded project is not used.
pub fn not_accepted(is_changed: bool) -> &'static str {
    if is_changed { "it has changed since you accepted it" } else { "you accepted other files of this project, not it" }
}

/// The fate of a file in a few words.
pub fn fate_text(fate: &Fate) -> String {
    match fate {
        Fate::Read => "read".to_owned(),
        Fate::Absent => "not there".to_owned(),
        Fate::Shadowed { by } => format!("{by} comes first"),
        Fate::NotAFile => "not a file".to_owned(),
        Fate::Unreadable { error } => format!("cannot be read: {error}"),
        Fate::Blank => "blank".to_owned(),
        Fate::Outside { target } => format!("not read, as it leads out of the project, to {target}"),
        Fate::Untrusted => "not read, as the project is marked as untrusted".to_owned(),
        Fate::NotAccepted { is_changed } => format!("not used, as {}", not_accepted(*is_changed)),
    }
}

#[cfg(test)]
mod tests;
