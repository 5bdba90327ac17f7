//! The rows and texts of requests. A request is mostly what the one before it was, so every row and every text is kept once and
//! a request is a list of ranges of rows.

use std::collections::HashMap;

use bytes::Bytes;
use pellucid_engine::report::RowText;
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
    /// The bytes of the request that was added last.
    last: Bytes,
    /// The rows of that request: where each begins, its length, and the number of its text.
    last_rows: Vec<[usize; 3]>,
}

impl Default for RequestRows {
    fn default() -> Self {
        Self {
            known_rows: HashMap::new(),
            known_texts: HashMap::new(),
            rows: Chunks::new('r'),
            texts: Chunks::new('t'),
            last: Bytes::new(),
            last_rows: Vec::new(),
        }
    }
}

impl RequestRows {
    /// Adds a request. Gives its rows as ranges of numbers, the second behind the last.
    pub fn add(&mut self, sent: &SentBody) -> Vec<[usize; 2]> {
        let same = sent.body.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        let mut rows = Vec::with_capacity(sent.report.rows.len());
        for (at, row) in sent.report.rows.iter().enumerate() {
            let end = row.start + row.bytes;
            // The text of a row follows from the bytes up to its end.
            let known = self.last_rows.get(at).filter(|it| end <= same && it[..2] == [row.start, row.bytes]);
            let text = match known {
                Some([.., text]) => *text,
                None => self.text(&sent.texts()[at], &sent.body[row.start..end]),
            };
            rows.push([row.start, row.bytes, text]);
        }
        let mut ranges: Vec<[usize; 2]> = Vec::new();
        for (row, [.., text]) in sent.report.rows_json().zip(&rows) {
            let number = self.row(&format!("[{text},{row}]"));
            match ranges.last_mut() {
                Some([_, end]) if *end == number => *end += 1,
                _ => ranges.push([number, number + 1]),
            }
        }
        (self.last, self.last_rows) = (sent.body.clone(), rows);
        ranges
    }

    fn row(&mut self, json: &str) -> usize {
        if let Some(known) = self.known_rows.get(json) {
            return *known;
        }
        let number = self.rows.push(json);
        self.known_rows.insert(json.to_owned(), number);
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
