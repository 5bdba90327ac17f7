//! Sources of items: read from loosely typed options, asked what they want read, and collected.
//!
//! A value that is not a known source is skipped, as in the reference; the report says so. A source never makes
//! another fail.

use std::collections::BTreeMap;

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::file_set::FileSet;
use super::item::InjectionItem;
use super::provided::Provided;
use super::read::InjectionRead;
use super::read::Wants;
use super::repo_docs::RepoDocs;
use super::report;
use super::report::Injected;
use super::report::ItemOutcome;
use super::scalar;
use super::sections;
use super::text_store::TextStore;

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
        name: &'static str,
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
        let source = Self::parse_any(spec)?;
        (!matches!(source.kind, Kind::Unusable { .. })).then_some(source)
    }

    fn parse_any(spec: &Value) -> Option<Self> {
        let spec = spec.as_object()?;
        let name = scalar::text(spec.get("type").unwrap_or(&Value::Null));
        let name = match scalar::strip(&name) {
            "file_set" => "file_set",
            "repo_docs" => "repo_docs",
            "provided" => "provided",
            "text_store" | "text_store_entries" => "text_store",
            _ => return None,
        };
        let is_off = spec.get("enabled").is_some_and(|it| matches!(it, Value::Null | Value::Bool(false)));
        let unusable = |outcome, reason: &str| Kind::Unusable { name, outcome, reason: reason.to_owned() };
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
        Some(Self { kind })
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

    fn collect(&self, inputs: &Inputs<'_>, mode: PromptMode, read: &InjectionRead, index: usize) -> Collecting {
        let name = match &self.kind {
            Kind::FileSet(_) => "file_set",
            Kind::RepoDocs(_) => "repo_docs",
            Kind::Provided(_) => "provided",
            Kind::TextStore(_) => "text_store",
            Kind::Unusable { name, .. } => name,
        };
        let mut collecting = Collecting { name, index, mode, items: Vec::new(), injected: Vec::new() };
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
    match ItemSource::parse_any(spec).map(|source| source.kind) {
        Some(Kind::Unusable { outcome: ItemOutcome::Error, reason, .. }) => Err(reason),
        _ => Ok(()),
    }
}

/// The sources of a list; what is no list counts as an empty one.
pub fn sources(list: &Value) -> Vec<ItemSource> {
    list.as_array().into_iter().flatten().filter_map(ItemSource::parse_any).collect()
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
pub(super) struct Collecting {
    name: &'static str,
    index: usize,
    mode: PromptMode,
    items: Vec<InjectionItem>,
    injected: Vec<Injected>,
}

impl Collecting {
    /// Takes an item that had so many bytes before its budget.
    pub(super) fn item(&mut self, item: InjectionItem, what: &str, bytes_before: usize) {
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
        injected.origin = report::origins(&item);
        injected.bytes_before = bytes_before;
        injected.bytes_after = text.len();
        injected.chars_after = text.chars().count();
        injected.tokens_estimate = report::estimate(text.len());
        injected.truncated = text.len() < bytes_before;
        self.injected.push(injected);
        self.items.push(item);
    }

    /// Notes something that is no item.
    pub(super) fn refused(&mut self, what: &str, reason: &str) {
        self.left_out(ItemOutcome::Error, what, reason);
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
            source_type: self.name,
            source_index: self.index,
            item_id: None,
            target: None,
            role: None,
            order: 0,
            prompt_mode: self.mode.as_str(),
            origin: Vec::new(),
            bytes_before: 0,
            bytes_after: 0,
            chars_after: 0,
            tokens_estimate: 0,
            truncated: false,
            outcome,
            reason: None,
        }
    }
}
