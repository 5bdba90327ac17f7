//! The rows and texts of requests. A request is mostly what the one before it was, so every row and every text is kept once and
//! a request is a list of ranges of rows.

use std::collections::HashMap;
use std::sync::Arc;

use pellucid_engine::report::Row;
use pellucid_engine::report::RowText;
use pellucid_engine::report::SourceStatus;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use super::chunks::Chunks;
use crate::bodies::SentBody;

/// How the bytes of a row follow from its text.
const AS_TEXT: u8 = 0;
const ESCAPED: u8 = 1;

/// The rows of the requests of a session, and their texts.
#[derive(Debug)]
pub struct RequestRows {
    known_rows: HashMap<String, usize>,
    known_texts: HashMap<[u8; 32], usize>,
    /// Each row: the number of its text, and the row as the interface has it.
    pub rows: Chunks,
    /// Each text: the text, how many bytes of an image it has, and what its bytes are.
    pub texts: Chunks,
    /// The request that was added last, and its rows: their statuses, texts and numbers.
    last: Option<Arc<SentBody>>,
    last_rows: Vec<AddedRow>,
}

/// A row of the request that was added last.
#[derive(Debug, Clone, Copy)]
struct AddedRow {
    status: SourceStatus,
    /// The number of its text.
    text: usize,
    /// Its number among the rows.
    number: usize,
}

impl Default for RequestRows {
    fn default() -> Self {
        Self {
            known_rows: HashMap::new(),
            known_texts: HashMap::new(),
            rows: Chunks::new('r'),
            texts: Chunks::new('t'),
            last: None,
            last_rows: Vec::new(),
        }
    }
}

impl RequestRows {
    /// Adds a request. Gives its rows as ranges of numbers, the second behind the last.
    pub fn add(&mut self, sent: &Arc<SentBody>) -> Vec<[usize; 2]> {
        let report = &sent.report;
        let n_same = self.last.as_ref().map_or(0, |last| n_same_rows(last, sent));
        // The text of a row follows from the bytes of its item.
        let item = report.rows.get(n_same).map(|row| row.item);
        let is_before = |row: &&Row| Some(row.item) == item;
        let first = n_same - report.rows[..n_same].iter().rev().take_while(is_before).count();
        let body = sent.request.body();
        let texts = report.texts_from(&body, first);
        let mut rows = Vec::with_capacity(report.rows.len());
        let mut ranges: Vec<[usize; 2]> = Vec::new();
        for (at, (row, status)) in report.statuses().enumerate() {
            let known = self.last_rows.get(at).filter(|_| at < n_same).copied();
            let added = match known {
                Some(known) if known.status == status => known,
                _ => {
                    let text = match known {
                        Some(known) => known.text,
                        None => self.text(&texts[at - first], &body[row.start..row.start + row.bytes]),
                    };
                    let number = self.row(format!("[{text},{}]", report.row_json((row, status))));
                    AddedRow { status, text, number }
                }
            };
            match ranges.last_mut() {
                Some([_, end]) if *end == added.number => *end += 1,
                _ => ranges.push([added.number, added.number + 1]),
            }
            rows.push(added);
        }
        (self.last, self.last_rows) = (Some(sent.clone()), rows);
        ranges
    }

    fn row(&mut self, json: String) -> usize {
        if let Some(known) = self.known_rows.get(&json) {
            return *known;
        }
        let number = self.rows.push(&json);
        self.known_rows.insert(json, number);
        number
    }

    fn text(&mut self, RowText { text, image_bytes }: &RowText, bytes: &[u8]) -> usize {
        let mut hash = Sha256::new();
        hash.update(bytes);
        hash.update([0]);
        hash.update(text);
        let hash: [u8; 32] = hash.finalize().into();
        if let Some(known) = self.known_texts.get(&hash) {
            return *known;
        }
        let escaped = Value::from(text.as_str()).to_string();
        let sent = match String::from_utf8_lossy(bytes) {
            _ if bytes == text.as_bytes() => json!(AS_TEXT),
            _ if bytes == &escaped.as_bytes()[1..escaped.len() - 1] => json!(ESCAPED),
            sent => json!(sent),
        };
        let number = self.texts.push(&format!("[{escaped},{image_bytes},{sent}]"));
        self.known_texts.insert(hash, number);
        number
    }
}

/// How many rows two requests begin with that are the same rows with the same bytes.
fn n_same_rows(a: &SentBody, b: &SentBody) -> usize {
    let rows = a.report.rows.iter().zip(&b.report.rows);
    let is_same = |(one, other): &(&Row, &Row)| {
        let range = one.start..one.start + one.bytes;
        one == other && a.request.slice(range.clone()) == b.request.slice(range)
    };
    rows.take_while(is_same).count()
}
