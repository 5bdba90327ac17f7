//! Sources of items: read from loosely typed options, asked what they want read, and collected.
//!
//! What is not a known source gives no item, and the report says so. A source never makes another fail.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::file_set::FileSet;
use super::item::InjectionItem;
use super::provided::Provided;
use super::read::InjectionRead;
use super::read::ReadCost;
use super::read::Wants;
use super::repo_docs::RepoDocs;
use super::report;
use super::report::Injected;
use super::report::ItemOutcome;
use super::report::Truncation;
use super::scalar;
use super::sections;
use super::text_store::TextStore;
use super::texts::SourceTexts;

/// Something that makes items.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemSource {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    FileSet(FileSet),
    RepoDocs(RepoDocs),
    Provided(Provided),
    TextStore(TextStore),
    /// The source is configured but cannot be used.
    Unusable {
        name: Cow<'static, str>,
        outcome: ItemOutcome,
        reason: String,
    },
}

/// The values of one call: its context and attributes.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Data of the call, by name.
    pub attributes: &'a Map<String, Value>,
    /// The origins of the entries of a list of attributes, for the report.
    pub places: &'a BTreeMap<String, Vec<String>>,
    /// Texts by name; absent without a store.
    pub store: Option<&'a BTreeMap<String, String>>,
    /// The layout's texts for options that a source leaves out.
    pub texts: &'a SourceTexts,
    /// The folder that the process works in.
    pub process_dir: &'a str,
    /// The user's home folder.
    pub home: &'a str,
}

/// The items of all sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    /// The items that are used in this mode, in the order of their sources.
    pub items: Vec<InjectionItem>,
    /// The report about each item and source.
    pub injected: Vec<Injected>,
}

impl ItemSource {
    /// Reads one source; absent when it is switched off or nothing that is known.
    pub fn parse(spec: &Value) -> Option<Self> {
        let source = Self::parse_any(spec);
        (!matches!(source.kind, Kind::Unusable { .. })).then_some(source)
    }

    fn parse_any(spec: &Value) -> Self {
        let unknown = |name: &str, reason: String| Self {
            kind: Kind::Unusable { name: name.to_owned().into(), outcome: ItemOutcome::Error, reason },
        };
        let Some(spec) = spec.as_object() else {
            return unknown("?", "a source is a map".to_owned());
        };
        let name = scalar::text(spec.get("type").unwrap_or(&Value::Null));
        let name = match scalar::strip(&name) {
            "file_set" => "file_set",
            "repo_docs" => "repo_docs",
            "provided" => "provided",
            "text_store" | "text_store_entries" => "text_store",
            "" => return unknown("?", format!("a source needs `type`; known: {}", super::KINDS.join(", "))),
            other => return unknown(other, format!("no source has this type; known: {}", super::KINDS.join(", "))),
        };
        let is_off = spec.get("enabled").is_some_and(|it| matches!(it, Value::Null | Value::Bool(false)));
        let unusable = |outcome, reason: &str| Kind::Unusable { name: name.into(), outcome, reason: reason.to_owned() };
        let kind = match name {
            _ if is_off => unusable(ItemOutcome::SkippedDisabled, "it is switched off"),
            "file_set" => match FileSet::new(spec) {
                Ok(source) => Kind::FileSet(source),
                Err(error) => unusable(ItemOutcome::Error, &error.to_string()),
            },
            "repo_docs" => match RepoDocs::new(spec) {
                Ok(source) => Kind::RepoDocs(source),
                Err(error) => unusable(ItemOutcome::Error, &error.to_string()),
            },
            "provided" => Kind::Provided(Provided::new(spec)),
            _ => Kind::TextStore(TextStore::new(spec)),
        };
        Self { kind }
    }

    /// The files that the source needs.
    pub fn wants(&self, inputs: &Inputs<'_>, mode: PromptMode) -> Wants {
        match &self.kind {
            Kind::FileSet(source) => source.wants(inputs, mode),
            Kind::RepoDocs(source) => source.wants(inputs),
            Kind::Provided(_) | Kind::TextStore(_) | Kind::Unusable { .. } => Wants::default(),
        }
    }

    /// The keys that the source looks up in the store.
    pub fn wanted_keys(&self) -> Vec<String> {
        match &self.kind {
            Kind::TextStore(source) => source.wanted_keys(),
            _ => Vec::new(),
        }
    }

    /// The items of the source, for all modes.
    pub fn items(&self, inputs: &Inputs<'_>, mode: PromptMode, read: &InjectionRead) -> Vec<InjectionItem> {
        self.collect(inputs, mode, read, 0).items
    }

    fn collect<'r>(
        &self,
        inputs: &Inputs<'_>,
        mode: PromptMode,
        read: &'r InjectionRead,
        index: usize,
    ) -> Collecting<'r> {
        let name = match &self.kind {
            Kind::FileSet(_) => "file_set".into(),
            Kind::RepoDocs(_) => "repo_docs".into(),
            Kind::Provided(_) => "provided".into(),
            Kind::TextStore(_) => "text_store".into(),
            Kind::Unusable { name, .. } => name.clone(),
        };
        let cost = &read.measured;
        let mut collecting = Collecting { name, index, mode, cost, items: Vec::new(), injected: Vec::new() };
        match &self.kind {
            Kind::FileSet(source) => source.collect(inputs, mode, read, &mut collecting),
            Kind::RepoDocs(source) => source.collect(inputs, read, &mut collecting),
            Kind::Provided(source) => source.collect(inputs, &mut collecting),
            Kind::TextStore(source) => source.collect(inputs, &mut collecting),
            Kind::Unusable { outcome, reason, .. } => collecting.left_out(*outcome, "", reason),
        }
        collecting
    }
}

/// Whether the options of a source are valid, or the source is switched off.
pub(super) fn usable(spec: &Value) -> Result<(), String> {
    match ItemSource::parse_any(spec).kind {
        Kind::Unusable { outcome: ItemOutcome::Error, reason, .. } => Err(reason),
        _ => Ok(()),
    }
}

/// The sources of a list; what is no list counts as an empty one.
pub fn sources(list: &Value) -> Vec<ItemSource> {
    list.as_array().into_iter().flatten().map(ItemSource::parse_any).collect()
}

/// Collects the items of all sources for a mode. `reads` has one entry for each of `sources`.
pub fn collect(sources: &[ItemSource], inputs: &Inputs<'_>, mode: PromptMode, reads: &[InjectionRead]) -> Collected {
    let nothing = InjectionRead::default();
    let mut collected = Collected::default();
    for (n, source) in sources.iter().enumerate() {
        let collecting = source.collect(inputs, mode, reads.get(n).unwrap_or(&nothing), n);
        collected.items.extend(collecting.items.into_iter().filter(|item| item.is_in(mode)));
        collected.injected.extend(collecting.injected);
    }
    collected
}

/// The items and reports of a source so far.
#[derive(Debug)]
pub(super) struct Collecting<'r> {
    name: Cow<'static, str>,
    index: usize,
    mode: PromptMode,
    /// What reading the source's files cost.
    cost: &'r ReadCost,
    items: Vec<InjectionItem>,
    injected: Vec<Injected>,
}

impl Collecting<'_> {
    /// Takes an item that had so many bytes before its budget, and how it was cut.
    pub(super) fn item(
        &mut self,
        item: InjectionItem,
        what: &str,
        bytes_before: usize,
        truncation: Option<Truncation>,
    ) {
        let outcome = if !item.is_in(self.mode) {
            ItemOutcome::SkippedMode
        } else if sections::blank(&item.content) {
            ItemOutcome::SkippedBlank
        } else {
            ItemOutcome::Injected
        };
        let text = item.text();
        let mut injected = self.account(outcome);
        injected.item_id = item.id.as_ref().map(|id| scalar::text(id).into_owned());
        if injected.item_id.is_none() && !what.is_empty() {
            injected.item_id = Some(what.to_owned());
        }
        injected.target = Some(item.target.as_str());
        injected.role = item.role.map(super::PreambleRole::as_str);
        injected.order = item.order;
        injected.origin = report::origins(&item, self.cost);
        injected.bytes_before = bytes_before;
        injected.bytes_after = text.len();
        injected.chars_after = text.chars().count();
        injected.tokens_estimate = report::estimate(text.len());
        injected.truncated = text.len() < bytes_before;
        injected.truncation = truncation.filter(|_| injected.truncated);
        self.injected.push(injected);
        self.items.push(item);
    }

    /// Notes something that is no item.
    pub(super) fn refused(&mut self, what: &str, reason: &str) {
        self.left_out(ItemOutcome::Error, what, reason);
    }

    /// Notes a file that is for other modes.
    pub(super) fn hidden(&mut self, what: &str) {
        self.left_out(ItemOutcome::SkippedMode, what, "it is for other modes");
    }

    /// Notes a file or key that does not exist.
    pub(super) fn missing(&mut self, what: &str) {
        self.left_out(ItemOutcome::Missing, what, "it is not there");
    }

    fn left_out(&mut self, outcome: ItemOutcome, what: &str, reason: &str) {
        let mut injected = self.account(outcome);
        injected.item_id = (!what.is_empty()).then(|| what.to_owned());
        injected.reason = Some(reason.to_owned());
        self.injected.push(injected);
    }

    fn account(&self, outcome: ItemOutcome) -> Injected {
        Injected {
            source_type: self.name.clone(),
            source_index: self.index,
            prompt_mode: self.mode.as_str(),
            outcome,
            duration_ms: self.cost.duration.map(|duration| duration.as_secs_f64() * 1_000.0),
            ..Injected::default()
        }
    }
}
