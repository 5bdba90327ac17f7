//! The same facts under several packs: what each pack sends of a fact, or why it sends none of it.
//!
//! Every byte of a request belongs to one fact, so a column adds up to its request.

use std::collections::BTreeMap;

use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use serde_json::Value;
use serde_json::json;

use crate::why::Absences;
use crate::why::of_slot;
use crate::why::of_tool;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.packs/1";

/// The kind of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactKind {
    /// The user's message.
    Message,
    /// A file on the user's disk.
    File,
    /// A skill that was found.
    Skill,
    /// A value that configuration or an option gave.
    Provided,
    /// A fact of the session, such as the folder or the shell.
    Fact,
    /// What is remembered of earlier turns and sessions.
    Memory,
    /// A tool that the model may call.
    Tool,
    /// The texts of the pack in a part of the request.
    Text,
    /// What the history has beside messages of the user.
    Conversation,
    /// Braces, separators and tags.
    Notation,
}

impl FactKind {
    /// The word for the kind in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::File => "file",
            Self::Skill => "skill",
            Self::Provided => "provided",
            Self::Fact => "fact",
            Self::Memory => "memory",
            Self::Tool => "tool",
            Self::Text => "text",
            Self::Conversation => "conversation",
            Self::Notation => "notation",
        }
    }
}

/// A fact that some pack sends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackFact {
    /// The kind of the fact.
    pub kind: FactKind,
    /// The path or name; empty where the kind says it.
    pub name: String,
}

impl PackFact {
    /// The fact that a row of a report belongs to.
    fn of(row: &Row) -> Self {
        let detail = || row.origin.detail().to_owned();
        let (kind, name) = match (row.origin.claim(), row.part.strip_prefix("tools/")) {
            (Origin::Wire | Origin::Layout | Origin::Repair, None) => (FactKind::Notation, String::new()),
            (_, Some(tool)) => (FactKind::Tool, tool.to_owned()),
            _ if row.part.starts_with("memory") => (FactKind::Memory, row.part.to_string()),
            (Origin::File { .. }, _) => (FactKind::File, detail()),
            (Origin::Skill { .. }, _) => (FactKind::Skill, detail()),
            (Origin::Provided { .. }, _) => (FactKind::Provided, detail()),
            (Origin::Fact { .. }, _) => (FactKind::Fact, detail()),
            (Origin::User, _) => (FactKind::Message, String::new()),
            (Origin::Pack { .. } | Origin::Catalogue | Origin::Program { .. }, _) => {
                (FactKind::Text, row.part.to_string())
            }
            (
                Origin::Model | Origin::Tool { .. } | Origin::Recorded { .. } | Origin::Likely(_) | Origin::Unknown,
                _,
            ) => (FactKind::Conversation, row.part.to_string()),
        };
        Self { kind, name }
    }
}

/// What a pack sends of a fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackCell {
    /// How many bytes the request has of it.
    pub bytes: usize,
    /// How many tokens the request has of it.
    pub tokens: usize,
    /// The parts of the request that have it, each with item and role.
    pub places: Vec<PackPlace>,
    /// Why the request has nothing of it; absent if it has.
    pub why: Option<String>,
    /// The text of it with escapes undone, piece by piece on lines; absent if no texts are wanted.
    pub text: Option<String>,
}

/// A part of a request that has something of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackPlace {
    /// The slot or part.
    pub part: String,
    /// The number of the input item, from 0.
    pub item: Option<usize>,
    /// The role of that item.
    pub role: Option<String>,
}

/// The request that a pack makes.
#[derive(Debug, Clone, PartialEq)]
pub struct PackColumn {
    /// The name of the pack.
    pub pack: String,
    /// How many bytes the request has.
    pub bytes: usize,
    /// How many tokens the request has.
    pub tokens: usize,
    cells: BTreeMap<PackFact, PackCell>,
    absences: Absences,
    /// The reasons of slots and tools that the pack has and does not send.
    closed: BTreeMap<PackFact, String>,
}

impl PackColumn {
    /// The column of a pack, from the report of its request.
    pub fn of(pack: &Pack, facts: &Facts, report: &Report) -> Self {
        let mut cells: BTreeMap<PackFact, PackCell> = BTreeMap::new();
        for row in &report.rows {
            let cell = cells.entry(PackFact::of(row)).or_default();
            cell.bytes += row.bytes;
            cell.tokens += row.tokens;
            let place =
                PackPlace { part: row.part.to_string(), item: row.item, role: row.role.as_deref().map(str::to_owned) };
            if !cell.places.contains(&place) {
                cell.places.push(place);
            }
        }
        let tools = pack.layout.tools.iter().filter_map(|slot| {
            let name = pack.tool_file(&slot.file).name.clone();
            let reason = of_tool(&name, pack, facts)?;
            Some((PackFact { kind: FactKind::Tool, name }, reason.sentence))
        });
        let slots = pack.layout.slots.iter().filter_map(|slot| {
            let reason = of_slot(&slot.id, pack, facts)?;
            Some((PackFact { kind: FactKind::Text, name: slot.id.to_string() }, reason.sentence))
        });
        Self {
            pack: pack.name.clone(),
            bytes: report.bytes(),
            tokens: report.tokens(),
            closed: tools.chain(slots).collect(),
            cells,
            absences: Absences::of(report),
        }
    }

    /// The column with the texts of its cells. `body` is the request that the report is about.
    #[must_use]
    pub fn with_texts(mut self, report: &Report, body: &[u8]) -> Self {
        for (row, content) in report.rows.iter().zip(report.texts(body)) {
            let Some(cell) = self.cells.get_mut(&PackFact::of(row)) else { continue };
            let text = cell.text.get_or_insert_default();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&content.text);
        }
        self
    }

    /// What the pack sends of a fact, or why it sends nothing.
    fn cell(&self, fact: &PackFact) -> PackCell {
        if let Some(cell) = self.cells.get(fact) {
            return cell.clone();
        }
        let omitted = || self.absences.all.iter().find(|it| it.what == fact.name).map(|it| it.reason.sentence.clone());
        let why = match fact.kind {
            FactKind::File => omitted().unwrap_or_else(|| "this pack does not look for the file".to_owned()),
            FactKind::Skill => omitted().unwrap_or_else(|| "this pack sends no list of skills".to_owned()),
            FactKind::Tool => omitted()
                .or_else(|| self.closed.get(fact).cloned())
                .unwrap_or_else(|| "this pack has no such tool".to_owned()),
            FactKind::Text => {
                self.closed.get(fact).cloned().unwrap_or_else(|| "this pack has no text in such a part".to_owned())
            }
            FactKind::Memory => "this pack has no such memory".to_owned(),
            FactKind::Provided | FactKind::Fact => "no text of this pack mentions it".to_owned(),
            FactKind::Message | FactKind::Conversation => "the request has none".to_owned(),
            FactKind::Notation => "the request has no notation".to_owned(),
        };
        PackCell { why: Some(why), ..PackCell::default() }
    }
}

/// The same facts under several packs.
#[derive(Debug, Clone, PartialEq)]
pub struct PackTable {
    /// The requests, one for each pack.
    pub columns: Vec<PackColumn>,
    /// Every fact that some pack sends, with what each pack sends of it.
    pub rows: Vec<PackRow>,
}

/// A fact with what each pack sends of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackRow {
    /// The fact of the row.
    pub fact: PackFact,
    /// What each pack sends of it, in the order of the columns.
    pub cells: Vec<PackCell>,
}

impl PackRow {
    /// Whether every pack sends as much of it in the same place.
    pub fn is_same(&self) -> bool {
        self.cells.windows(2).all(|pair| {
            let place = |cell: &PackCell| cell.places.iter().map(|it| it.role.clone()).collect::<Vec<_>>();
            pair[0].bytes == pair[1].bytes && place(&pair[0]) == place(&pair[1])
        })
    }
}

impl PackTable {
    /// Puts columns side by side.
    pub fn of(columns: Vec<PackColumn>) -> Self {
        let mut facts: Vec<&PackFact> = columns.iter().flat_map(|column| column.cells.keys()).collect();
        facts.sort();
        facts.dedup();
        let row = |fact: &PackFact| PackRow {
            fact: fact.clone(),
            cells: columns.iter().map(|column| column.cell(fact)).collect(),
        };
        let rows = facts.into_iter().map(row).collect();
        Self { columns, rows }
    }

    /// Leaves only the facts that packs send differently.
    pub fn keep_differences(&mut self) {
        self.rows.retain(|row| !row.is_same());
    }

    /// The table as JSON.
    pub fn to_json(&self) -> Value {
        let packs = self.columns.iter().map(|it| json!({ "name": it.pack, "bytes": it.bytes, "tokens": it.tokens }));
        let place = |it: &PackPlace| json!({ "part": it.part, "item": it.item, "role": it.role });
        let cell = |it: &PackCell| {
            let places: Vec<Value> = it.places.iter().map(place).collect();
            let mut cell = json!({ "bytes": it.bytes, "tokens": it.tokens, "places": places, "why": it.why });
            if let Some(text) = &it.text {
                cell["text"] = text.as_str().into();
            }
            cell
        };
        let rows = self.rows.iter().map(|row| {
            let cells: Vec<Value> = row.cells.iter().map(cell).collect();
            json!({ "kind": row.fact.kind.as_str(), "name": row.fact.name, "cells": cells })
        });
        json!({ "schema": SCHEMA, "packs": packs.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>() })
    }
}
