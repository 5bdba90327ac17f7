//! A request to be asked about: its bytes, and where each of them came from.
//!
//! A request that was sent or would be sent has a body. A saved report (`context --json`) has none: its rows say what there
//! was and how large it was, and texts cannot be compared.
//!
//! - `text`: the text of a row, which is made when it is read

mod text;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::request::Request;
use pellucid_protocol::provider::WireApi;
use serde::Deserialize;
use serde_json::Value;

pub use self::text::LazyText;
pub use self::text::SharedTexts;

/// A request to be asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// The name that a person typed for the request, such as `now@HEAD~1`.
    pub name: String,
    /// The model that the request asks.
    pub model: String,
    /// The pack that made the request, where that is known.
    pub pack: Option<String>,
    /// The API format of the request, where that is known.
    pub wire: Option<WireApi>,
    /// The rows of the report, in the order of their bytes.
    pub rows: Vec<InspectedRow>,
}

/// A run of bytes of one origin.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectedRow {
    /// The slot or part that the bytes belong to.
    pub part: Arc<str>,
    /// The number of the input item that the bytes belong to, from 0.
    pub item: Option<usize>,
    /// The role of that item.
    pub role: Option<Arc<str>>,
    /// The kind of the origin: `pack`, `file`, `fact` and so on.
    pub source: Arc<str>,
    /// The file, fact or tool that the bytes came from; empty where the kind says it.
    pub origin: Arc<str>,
    /// The bytes of the file that the row has, for rows of files.
    pub file_range: Option<Range<u64>>,
    /// How many bytes the row has in the request.
    pub bytes: usize,
    /// How many tokens the row has, estimated or counted.
    pub tokens: usize,
    /// The row's content; absent in a saved report.
    pub content: Option<RowContent>,
}

/// The bytes of a row, and the text behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct RowContent {
    /// The bytes as they are sent.
    pub wire: Bytes,
    /// The text with escapes undone; images are left out.
    pub text: LazyText,
    /// The origin of the bytes, as the engine keeps it.
    pub whence: Origin,
}

impl RowContent {
    /// Whether both have the same bytes. Bytes that both share are not looked at.
    pub(crate) fn is_same_wire(&self, other: &Self) -> bool {
        self.shares_wire(other) || self.wire == other.wire
    }

    /// Whether both are the same bytes in memory.
    pub(crate) fn shares_wire(&self, other: &Self) -> bool {
        std::ptr::eq(self.wire.as_ptr(), other.wire.as_ptr()) && self.wire.len() == other.wire.len()
    }
}

/// Why a value is not a saved report.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SavedError(#[from] serde_json::Error);

impl Inspected {
    /// A request with its body. `report` must be the report of `body`.
    pub fn of_body(name: &str, model: &str, wire: WireApi, body: &[u8], report: &Report) -> Self {
        let request = Request { segments: vec![Bytes::copy_from_slice(body)] };
        Self::of_request(name, model, wire, &request, report, &mut SharedTexts::default())
    }

    /// A request with its bytes, which are shared and not copied. `report` must be the report of `request`. A text that
    /// `texts` has is shared too.
    pub fn of_request(
        name: &str,
        model: &str,
        wire: WireApi,
        request: &Request,
        report: &Report,
        texts: &mut SharedTexts,
    ) -> Self {
        let places = report.text_places(request);
        let rows = report.rows.iter().zip(places).map(|(row, place)| {
            let wire = request.shared(row.start..row.start + row.bytes);
            let text = texts.of(&wire, place);
            let file_range = match row.file_range() {
                Some(range) if !range.is_empty() => Some(range.clone()),
                _ => None,
            };
            InspectedRow {
                part: row.part.clone(),
                item: row.item,
                role: row.role.clone(),
                source: row.origin.kind().into(),
                origin: row.origin.detail().into(),
                file_range,
                bytes: row.bytes,
                tokens: row.tokens,
                content: Some(RowContent { wire, text, whence: row.origin.clone() }),
            }
        });
        let rows = rows.collect();
        Self { name: name.to_owned(), model: model.to_owned(), pack: None, wire: Some(wire), rows }
    }

    /// A saved report.
    ///
    /// # Errors
    /// When the value is not what `context --json` prints.
    pub fn of_saved(name: &str, report: &Value) -> Result<Self, SavedError> {
        let saved = SavedReport::deserialize(report)?;
        let rows = saved.rows.into_iter().map(|row| InspectedRow {
            part: row.part,
            item: row.item,
            role: row.role,
            source: row.source,
            origin: row.origin,
            file_range: row.file_range.map(|[start, end]| start..end),
            bytes: row.bytes,
            tokens: row.tokens,
            content: None,
        });
        let rows = rows.collect();
        Ok(Self { name: name.to_owned(), model: saved.model, pack: saved.pack, wire: None, rows })
    }

    /// How many bytes the request has.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    /// How many tokens the request has.
    pub fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }

    /// The body, if the request has one.
    pub fn body(&self) -> Option<Vec<u8>> {
        let mut body = Vec::with_capacity(self.bytes());
        for row in &self.rows {
            body.extend_from_slice(&row.content.as_ref()?.wire);
        }
        Some(body)
    }

    /// The same with one row for each part, of which only the size is known, as a lock has it.
    #[must_use]
    pub fn by_parts(&self) -> Self {
        let mut rows: Vec<InspectedRow> = Vec::new();
        for row in &self.rows {
            match rows.iter_mut().find(|known| known.part == row.part) {
                Some(known) => {
                    known.bytes += row.bytes;
                    known.tokens += row.tokens;
                }
                None => rows.push(InspectedRow::of_part(row.part.clone(), row.bytes, row.tokens)),
            }
        }
        Self { rows, wire: None, ..self.clone() }
    }

    /// The line of its file that each row begins with, from 1, where the rows before it say so.
    ///
    /// A row that begins in the middle of a file has a line only if the row before it of the same file ends there.
    pub(crate) fn first_lines(&self) -> Vec<Option<usize>> {
        let mut ends: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
        let mut lines = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let (Some(range), Some(content)) = (&row.file_range, &row.content) else {
                lines.push(None);
                continue;
            };
            let first = match ends.get(&*row.origin) {
                _ if range.start == 0 => Some(1),
                Some((end, line)) if *end == range.start => Some(*line),
                _ => None,
            };
            if let Some(first) = first {
                ends.insert(&row.origin, (range.end, first + content.text.matches('\n').count()));
            }
            lines.push(first);
        }
        lines
    }
}

impl InspectedRow {
    /// A part of which only the size is known.
    pub(crate) fn of_part(part: Arc<str>, bytes: usize, tokens: usize) -> Self {
        let (source, origin) = ("part".into(), "".into());
        Self { part, item: None, role: None, source, origin, file_range: None, bytes, tokens, content: None }
    }

    /// Whether both rows are the same text to a model, as far as that is known.
    pub fn is_same_text(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Some(one), Some(two)) => {
                let is_text = || one.text.image_bytes() == 0 && two.text.image_bytes() == 0;
                one.is_same_wire(two) || (*one.text == *two.text && is_text())
            }
            _ => self.bytes == other.bytes,
        }
    }

    /// Whether the row is notation: braces, commas, names of keys.
    pub fn is_notation(&self) -> bool {
        &*self.source == "wire"
    }
}

/// What `context --json` prints, as far as it is read back.
#[derive(Deserialize)]
struct SavedReport {
    #[serde(default)]
    model: String,
    #[serde(default)]
    pack: Option<String>,
    rows: Vec<SavedRow>,
}

#[derive(Deserialize)]
struct SavedRow {
    part: Arc<str>,
    #[serde(default)]
    item: Option<usize>,
    #[serde(default)]
    role: Option<Arc<str>>,
    source: Arc<str>,
    origin: Arc<str>,
    bytes: usize,
    tokens: usize,
    #[serde(default)]
    file_range: Option<[u64; 2]>,
}
