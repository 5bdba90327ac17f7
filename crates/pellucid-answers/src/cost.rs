//! What requests cost, and what they would have cost under another setting.
//!
//! The provider's figures are the sums; the ledger deals them out to the parts of each request, so that the parts of all
//! requests add up to what the provider reported, token by token.
//!
//! - `ledger`: the provider's tokens of a request, dealt out to its parts
//! - `grouped`: sums by session, turn, request, part, source or tool
//! - `setting`: the settings that can be simulated
//! - `simulated`: the same requests under another setting, with the cache simulated
//! - `remade`: requests that were made again under another setting

mod grouped;
mod ledger;
mod remade;
mod setting;
mod simulated;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use pellucid_engine::fragment::Origin;
use pellucid_engine::prices::PriceTable;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::wire::without_cache_mark;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::ReadSection;
use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::grouped::CostAnswer;
pub use self::grouped::CostBy;
pub use self::grouped::CostGroup;
pub use self::remade::RemadeRequest;
pub use self::remade::TokenScale;
pub use self::setting::CostSetting;
pub use self::setting::SettingError;
pub use self::simulated::SimulatedCost;
use crate::figures::RequestFigures;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.cost/1";

/// A sent request with what the model read of it.
#[derive(Debug, Clone)]
pub struct CostedRequest {
    /// The id of the session.
    pub session: Arc<str>,
    /// The id of the provider; sessions with the same provider share its cache.
    pub provider: Arc<str>,
    /// The figures of the request.
    pub figures: RequestFigures,
    /// When the request was sent, in milliseconds since 1970.
    pub sent_ms: Option<i64>,
    /// For how many milliseconds the provider's cache keeps the request; absent if that is not known.
    pub kept_ms: Option<i64>,
    /// What the model read, in the order of reading; empty where the bytes of the request are not known.
    pub read: Arc<[ReadText]>,
}

/// A run of bytes of one origin that the model read.
#[derive(Debug, Clone)]
pub struct ReadText {
    /// The slot or part that the bytes belong to.
    pub part: Arc<str>,
    /// The kind of the origin, and its name: `pack base/codex.md`.
    pub source: Arc<str>,
    /// The tool that the bytes describe or that made them.
    pub tool: Option<Arc<str>>,
    /// Whether the bytes are of a message, an answer or an output, and not of what surrounds them.
    pub is_item: bool,
    /// The bytes; equal texts of several requests share them.
    pub bytes: Arc<[u8]>,
}

/// How an answer begins that was sent back as it came.
const ANSWER: &[u8] = b"{\"type\":\"message\"";

/// The texts of an answer, as they are escaped.
#[derive(Deserialize)]
struct AnswerTexts<'a> {
    #[serde(borrow)]
    content: Vec<AnswerText<'a>>,
}

#[derive(Deserialize)]
struct AnswerText<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

/// Takes requests apart, and keeps each text once.
#[derive(Debug, Default)]
pub struct ReadTexts {
    texts: HashSet<Arc<[u8]>>,
    /// The answers that were sent back as they came, each with what the model reads of it.
    answers: HashMap<Box<[u8]>, Arc<[u8]>>,
    names: HashSet<Arc<str>>,
}

impl ReadTexts {
    /// What a model reads of a request, in the order of reading. `report` must be the report of `body`.
    ///
    /// Braces, commas and names of keys around texts and the name of the model are not read, nor is a section that `order`
    /// does not have.
    pub fn of(&mut self, order: &[ReadSection], body: &[u8], report: &Report) -> Arc<[ReadText]> {
        let mut at = 0;
        let mut read = Vec::with_capacity(report.rows.len());
        for row in &report.rows {
            let bytes = &body[at..at + row.bytes];
            at += row.bytes;
            let bytes = if matches!(row.origin, Origin::Wire) { without_cache_mark(bytes) } else { bytes };
            let section = section(row);
            if let Some(place) = section.and_then(|section| order.iter().position(|it| *it == section)) {
                read.push((place, self.text(row, bytes)));
            }
        }
        read.sort_by_key(|(place, _)| *place);
        read.into_iter().map(|(_, text)| text).collect()
    }

    fn text(&mut self, row: &Row, bytes: &[u8]) -> ReadText {
        let is_answer = matches!(row.origin, Origin::Model) && bytes.starts_with(ANSWER);
        let bytes = if is_answer { self.answer(bytes) } else { self.kept(bytes) };
        let source = format!("{} {}", row.origin.kind(), row.origin.detail());
        let source = self.name(source.trim_end());
        let tool = match (&row.origin, row.part.strip_prefix("tools/")) {
            (_, Some(name)) if row.item.is_none() => Some(self.name(name)),
            (Origin::Tool { name }, _) => Some(self.name(name)),
            _ => None,
        };
        ReadText { part: row.part.clone(), source, tool, is_item: row.item.is_some(), bytes }
    }

    fn kept(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        if let Some(bytes) = self.texts.get(bytes) {
            return bytes.clone();
        }
        let bytes: Arc<[u8]> = bytes.into();
        self.texts.insert(bytes.clone());
        bytes
    }

    /// The texts of an answer that was sent back as it came, without what surrounds them: the model reads
    /// the same of a message, no matter who wrote it.
    fn answer<'a>(&mut self, json: &'a [u8]) -> Arc<[u8]> {
        if let Some(read) = self.answers.get(json) {
            return read.clone();
        }
        let read = match serde_json::from_slice::<AnswerTexts<'_>>(json) {
            Ok(AnswerTexts { content }) => {
                let inner = |text: &AnswerText<'a>| text.text.get().strip_prefix('"')?.strip_suffix('"');
                self.kept(content.iter().filter_map(inner).collect::<String>().as_bytes())
            }
            Err(_) => self.kept(json),
        };
        self.answers.insert(json.into(), read.clone());
        read
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(name) = self.names.get(name) {
            return name.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }
}

/// The section that a row is read in; absent for what is not read.
fn section(row: &Row) -> Option<ReadSection> {
    match &*row.part {
        // Tools are read as JSON, also where the API format added to it.
        part if part.starts_with("tools/") && row.item.is_none() => Some(ReadSection::Tools),
        _ if matches!(row.origin, Origin::Wire) => None,
        _ if row.item.is_some() => Some(ReadSection::Items),
        "model" | "tools" | "input" | "messages" => None,
        "settings" => Some(ReadSection::Settings),
        "schema" => Some(ReadSection::Schema),
        _ => Some(ReadSection::Instructions),
    }
}

/// An entry of the table of prices that was used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedPrice {
    /// The model that was asked.
    pub model: String,
    /// The first day on which the price counts; absent if the price of the model is unknown.
    pub from: Option<String>,
    /// Where the price was found.
    pub source: String,
}

impl UsedPrice {
    /// The prices of requests to these models on these days, each once.
    pub fn all<'a>(prices: &PriceTable, asked: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Self> {
        let mut used = BTreeMap::new();
        for (model, day) in asked {
            let entry = prices.of(model, day);
            let from = entry.map(|entry| entry.from.clone());
            let source = entry.map(|entry| entry.source.clone()).unwrap_or_default();
            used.insert((model.to_owned(), from.clone()), Self { model: model.to_owned(), from, source });
        }
        used.into_values().collect()
    }

    /// The prices in one line for people.
    pub fn line(used: &[Self]) -> String {
        let one = |price: &Self| {
            let model = if price.model.is_empty() { "a model that the record does not name" } else { &price.model };
            match &price.from {
                Some(from) if price.source.is_empty() => format!("{model} from {from}"),
                Some(from) => format!("{model} from {from} ({})", price.source),
                None => format!("{model} unknown (see docs/prices.md)"),
            }
        };
        match used {
            [] => "prices: none was used".to_owned(),
            used => format!("prices: {}", used.iter().map(one).collect::<Vec<_>>().join("; ")),
        }
    }

    /// The prices as JSON.
    pub fn to_json(used: &[Self]) -> serde_json::Value {
        let one =
            |price: &Self| serde_json::json!({ "model": price.model, "from": price.from, "source": price.source });
        used.iter().map(one).collect()
    }
}

/// An amount as JSON, exact.
pub fn money_json(money: Option<&Money>) -> serde_json::Value {
    match money {
        Some(money) => serde_json::json!({ "amount": money.decimal(), "currency": money.currency }),
        None => serde_json::Value::Null,
    }
}
