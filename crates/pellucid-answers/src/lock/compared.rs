//! What differs between a lock and the request of today.
//!
//! One cause gives one finding: a part that changed because a source of it changed, and tools that changed because the
//! model is another, are not reported again. A finding that is left out this way never weighs more than the finding that
//! explains it. Whatever else differs shows in the digest of the whole body.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use pellucid_engine::tokens::tokens_of_bytes;

use super::ContextLock;
use super::FindingKind;
use super::FindingLevel;
use super::LOCK_FILE;
use super::LockFinding;
use super::LockPolicy;
use super::LockVerdict;
use super::LockedPart;
use super::LockedSource;
use super::LockedTool;
use super::MadeLock;
use super::file::place_of;
use super::made::SourceState;

/// Compares a lock with the request of today. `text` is the lock file.
pub fn compare(lock: &ContextLock, policy: &LockPolicy, now: &MadeLock, text: &str) -> LockVerdict {
    let mut comparison = Comparison {
        lock,
        policy,
        now,
        text,
        verdict: LockVerdict::default(),
        is_changed: false,
        changed_parts: BTreeSet::new(),
        has_lost: false,
        has_other_servers: false,
    };
    let has_other_settings = comparison.settings();
    comparison.sources(has_other_settings);
    comparison.frame(has_other_settings);
    comparison.rest();
    comparison.budgets();
    comparison.verdict
}

struct Comparison<'a> {
    lock: &'a ContextLock,
    policy: &'a LockPolicy,
    now: &'a MadeLock,
    text: &'a str,
    verdict: LockVerdict,
    /// Whether something differs, also if the policy allows it.
    is_changed: bool,
    /// The parts that have a source which changed.
    changed_parts: BTreeSet<String>,
    /// Whether a source is not in the request any more. The lock does not say which part had it.
    has_lost: bool,
    /// Whether the project has other MCP servers.
    has_other_servers: bool,
}

/// A finding before the policy is asked.
struct Found<'a> {
    kind: FindingKind,
    source: &'a str,
    line: Option<usize>,
    bytes: u64,
    message: String,
    /// The table of the lock that lists the source.
    table: &'a str,
    is_change: bool,
}

impl Comparison<'_> {
    fn push(&mut self, found: Found<'_>) {
        let level = self.policy.level(found.kind, found.is_change);
        self.push_at(level, found);
    }

    fn push_at(&mut self, level: Option<FindingLevel>, found: Found<'_>) {
        let Found { kind, source, line, bytes, message, table, is_change } = found;
        self.is_changed |= is_change;
        let Some(level) = level else { return };
        let is_file = table == "source" && self.now.states.get(source).is_some_and(|state| state.is_file);
        let written_at = self.now.states.get(source).filter(|_| table == "source");
        let shown_at = match written_at.and_then(|state| state.written_at.clone()) {
            Some((file, line)) => (file, Some(line)),
            None if is_file => (source.to_owned(), line),
            None => (LOCK_FILE.to_owned(), place_of(self.text, table, source)),
        };
        let tokens = tokens_of_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        let source = source.to_owned();
        self.verdict.findings.push(LockFinding { kind, level, source, line, bytes, tokens, message, shown_at });
    }

    /// Settings that everything else may depend on. Gives whether one is another.
    fn settings(&mut self) -> bool {
        let (lock, now) = (self.lock, &self.now.lock);
        let full = |mode: &str| if mode.is_empty() { "full" } else { mode }.to_owned();
        let modes = (full(&lock.choices.prompt_mode), full(&now.choices.prompt_mode));
        let settings = [
            ("model", lock.model.clone(), now.model.clone()),
            ("wire", lock.wire.clone(), now.wire.clone()),
            ("prompt_mode", modes.0, modes.1),
        ];
        let mut has_other = false;
        for (source, old, new) in settings.iter().filter(|(_, old, new)| old != new) {
            has_other = true;
            self.push(Found {
                kind: FindingKind::Settings,
                source,
                line: None,
                bytes: new.len() as u64,
                message: format!("`{new}`, locked is `{old}`"),
                table: "",
                is_change: true,
            });
        }
        has_other
    }

    fn sources(&mut self, has_other_settings: bool) {
        let (lock, now) = (self.lock, self.now);
        let locked: BTreeMap<&str, &LockedSource> = lock.sources.iter().map(|it| (it.path.as_str(), it)).collect();
        let is_changed = |path: &str, state: &SourceState| locked.get(path).is_none_or(|old| **old != state.locked);
        // A file that shadows another is named by the finding about the other.
        let shadows = now.states.iter().filter(|(path, state)| is_changed(path, state));
        let shadows: BTreeSet<&str> = shadows.filter_map(|(_, state)| state.by.as_deref()).collect();
        let paths: BTreeSet<&str> = locked.keys().copied().chain(now.states.keys().map(String::as_str)).collect();
        let is_tool = |name: &str| now.lock.tools.iter().any(|tool| tool.name == name);
        for path in paths {
            match (locked.get(path), now.states.get(path)) {
                // Skills and hosted tools depend on the mode and the API format; reports do not list those that have no place.
                (Some(_), None) if has_other_settings && (path.ends_with("/SKILL.md") || is_tool(path)) => {}
                (Some(old), None) => {
                    self.has_lost = true;
                    self.has_other_servers |= path.starts_with("mcp_servers.");
                    self.push(Found {
                        kind: FindingKind::Removed,
                        source: path,
                        line: None,
                        bytes: old.bytes,
                        message: "the request has it no more".to_owned(),
                        table: "source",
                        is_change: true,
                    });
                }
                (_, Some(state)) if has_other_settings && state.follows_settings => {}
                (old, Some(state)) => {
                    let is_change = is_changed(path, state);
                    if is_change {
                        self.changed_parts.extend(state.parts.iter().cloned());
                        self.has_lost |= !is_sent(&state.locked.status);
                        self.has_other_servers |= path.starts_with("mcp_servers.");
                    }
                    let is_named = old.is_none() && shadows.contains(path);
                    self.is_changed |= is_change;
                    self.source(path, old.copied(), state, is_change && !is_named);
                }
                (None, None) => {}
            }
        }
    }

    /// Reports a source of today: its faults, or else its change.
    fn source(&mut self, path: &str, old: Option<&LockedSource>, state: &SourceState, is_change: bool) {
        let found = |kind: FindingKind, line: Option<usize>, message: String| Found {
            kind,
            source: path,
            line,
            bytes: [state.sent_bytes, state.locked.bytes, old.map_or(0, |old| old.bytes)]
                .into_iter()
                .find(|bytes| *bytes > 0)
                .unwrap_or(0),
            message,
            table: "source",
            is_change,
        };
        if state.is_unread {
            self.push_at(Some(FindingLevel::Error), found(FindingKind::Removed, None, state.why.clone()));
            return;
        }
        for hidden in &state.hidden {
            let points: Vec<String> = hidden.code_points().collect();
            let message = format!("{} characters: {}", hidden.kind.as_str(), points.join(" "));
            self.push(found(FindingKind::Hidden, Some(hidden.line), message));
        }
        let fault = match state.locked.status.as_str() {
            "truncated" => Some(FindingKind::Truncated),
            _ if state.is_over_budget => Some(FindingKind::Truncated),
            "shadowed" => Some(FindingKind::Shadowed),
            "duplicate" => Some(FindingKind::Duplicate),
            _ => None,
        };
        if let Some(kind) = fault {
            self.push(found(kind, state.cut_line, state.why.clone()));
        }
        if fault.is_some() || !state.hidden.is_empty() || !is_change {
            return;
        }
        let is_now = is_sent(&state.locked.status);
        let (kind, what) = match old {
            None if is_now || !state.is_lost => (FindingKind::Added, "not in the lock"),
            None => (FindingKind::Removed, "not in the request"),
            Some(old) if is_now && is_sent(&old.status) => (FindingKind::Drift, "the text is not the locked one"),
            Some(_) if is_now => (FindingKind::Added, "in the request, and not in the locked one"),
            Some(old) if is_sent(&old.status) => (FindingKind::Removed, "not in the request"),
            Some(_) => (FindingKind::Drift, "not as locked"),
        };
        let why = if state.why.is_empty() { String::new() } else { format!(": {}", state.why) };
        self.push(found(kind, None, format!("{what}{why}")));
    }

    /// What surrounds the sources: texts of the pack, settings, tools.
    fn frame(&mut self, has_other_settings: bool) {
        let (lock, now) = (self.lock, &self.now.lock);
        let has_other_pack = lock.pack.sha256 != now.pack.sha256;
        if lock.pack.name != now.pack.name {
            self.pack(total(now), format!("the pack `{}`, locked is `{}`", now.pack.name, lock.pack.name));
            return;
        }
        let is_follow_up = |tool: &ToolChange<'_>| has_other_settings && !self.is_outside(tool.name);
        let tools: Vec<ToolChange<'_>> =
            tool_changes(&lock.tools, &now.tools).into_iter().filter(|tool| !is_follow_up(tool)).collect();
        // A part that changed because one of its sources did needs no finding of its name.
        let could_have_lost = |name: &str| {
            let has_sources = self.now.states.values().any(|state| state.parts.contains(name));
            has_sources || now.parts.iter().all(|part| part.name != name)
        };
        let is_explained = |name: &str| {
            has_other_settings || self.changed_parts.contains(name) || (self.has_lost && could_have_lost(name))
        };
        let parts = part_changes(&lock.parts, &now.parts);
        let parts: Vec<(&str, u64)> = parts.into_iter().filter(|(name, _)| !is_explained(name)).collect();
        let is_other_program = lock.made_with != now.made_with && self.now.is_builtin_pack;
        let (inner, outside): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| !self.is_outside(tool.name));
        for tool in outside {
            self.has_other_servers |= tool.kind != FindingKind::ToolChanged;
            self.tool(&tool);
        }
        // The tools that read what servers have are offered with the first server.
        let follows_servers = self.has_other_servers && !has_other_pack;
        let inner: Vec<_> =
            inner.into_iter().filter(|tool| !(follows_servers && tool.name.contains("mcp_resource"))).collect();
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        if is_other_program {
            if has_other_pack || !parts.is_empty() || !inner.is_empty() {
                let mut changed = names;
                changed.extend(inner.iter().map(|tool| tool.name));
                self.program(&changed);
            }
            return;
        }
        let has_inner = !inner.is_empty();
        for tool in inner {
            self.tool(&tool);
        }
        if has_other_pack && (!has_inner || !names.is_empty()) {
            let of = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            let bytes: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
            self.pack(bytes, format!("the files of the pack are others{of}"));
        } else if !has_other_pack {
            for (name, bytes) in parts {
                self.push(Found {
                    kind: FindingKind::Settings,
                    source: name,
                    line: None,
                    bytes,
                    message: "the configuration gives the part another text".to_owned(),
                    table: "part",
                    is_change: true,
                });
            }
        }
    }

    fn is_outside(&self, tool: &str) -> bool {
        // A tool that is gone has only its name, and the names of servers' tools have their server in them.
        let is_now = self.now.lock.tools.iter().any(|it| it.name == tool);
        if is_now { self.now.outside_tools.contains(tool) } else { tool.contains("__") }
    }

    fn tool(&mut self, tool: &ToolChange<'_>) {
        self.push(Found {
            kind: tool.kind,
            source: tool.name,
            line: None,
            bytes: tool.bytes as u64,
            message: tool.message.to_owned(),
            table: "tool",
            is_change: true,
        });
    }

    fn pack(&mut self, bytes: u64, message: String) {
        let now = self.now;
        self.push(Found {
            kind: FindingKind::Pack,
            source: &now.lock.pack.name,
            line: None,
            bytes,
            message,
            table: "pack",
            is_change: true,
        });
    }

    fn program(&mut self, changed: &[&str]) {
        let (old, new) = (&self.lock.made_with, &self.now.lock.made_with);
        let of = if changed.is_empty() { String::new() } else { format!(": {}", changed.join(", ")) };
        self.push(Found {
            kind: FindingKind::Program,
            source: new,
            line: None,
            bytes: 0,
            message: format!("made with {old}, and built-in texts are others now{of}"),
            table: "",
            is_change: true,
        });
    }

    /// A difference that nothing above explains.
    fn rest(&mut self) {
        if self.is_changed || self.lock.digest == self.now.lock.digest {
            return;
        }
        if self.lock.made_with != self.now.lock.made_with {
            self.program(&[]);
            return;
        }
        self.push(Found {
            kind: FindingKind::Drift,
            source: "digest",
            line: None,
            bytes: total(&self.now.lock),
            message: "the request is not the locked one".to_owned(),
            table: "",
            is_change: true,
        });
    }

    fn budgets(&mut self) {
        let (policy, lock) = (self.policy, &self.now.lock);
        let of_parts = policy.part_tokens_max.iter().filter_map(|(name, max)| {
            let sum = match name.as_str() {
                "tools" => lock.tools.iter().map(|tool| tool.bytes).sum(),
                _ => lock.parts.iter().find(|part| part.name == *name)?.bytes,
            };
            Some((name.as_str(), sum as u64, *max))
        });
        let of_all = policy.tokens_max.map(|max| ("request", total(lock), max));
        for (source, bytes, max) in of_all.into_iter().chain(of_parts) {
            let tokens = tokens_of_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
            if tokens > max {
                self.push(Found {
                    kind: FindingKind::OverBudget,
                    source,
                    line: None,
                    bytes,
                    message: format!("{tokens} tokens, and the policy allows {max}"),
                    table: "part",
                    is_change: false,
                });
            }
        }
    }
}

/// How many bytes the request has without facts of the machine.
fn total(lock: &ContextLock) -> u64 {
    let parts = lock.parts.iter().map(|part| part.bytes);
    parts.chain(lock.tools.iter().map(|tool| tool.bytes)).sum::<usize>() as u64
}

/// Whether a source of this status has bytes in the request.
fn is_sent(status: &str) -> bool {
    matches!(status, "full" | "altered" | "truncated")
}

/// A tool that changed.
struct ToolChange<'a> {
    kind: FindingKind,
    name: &'a str,
    bytes: usize,
    message: &'static str,
}

fn tool_changes<'a>(old: &'a [LockedTool], new: &'a [LockedTool]) -> Vec<ToolChange<'a>> {
    let mut changes = Vec::new();
    let find = |tools: &'a [LockedTool], name: &str| tools.iter().find(|tool| tool.name == name);
    let mut push = |kind, tool: &'a LockedTool, message| {
        changes.push(ToolChange { kind, name: &tool.name, bytes: tool.bytes, message });
    };
    for tool in new {
        match find(old, &tool.name) {
            None => push(FindingKind::ToolAdded, tool, "not in the lock"),
            Some(old) if old != tool => push(FindingKind::ToolChanged, tool, "the definition is not the locked one"),
            Some(_) => {}
        }
    }
    for tool in old.iter().filter(|tool| find(new, &tool.name).is_none()) {
        push(FindingKind::ToolRemoved, tool, "not offered any more");
    }
    let both = |tools: &'a [LockedTool], others: &'a [LockedTool]| {
        tools.iter().filter(move |tool| find(others, &tool.name).is_some())
    };
    let moved = both(new, old).zip(both(old, new)).find(|(one, two)| one.name != two.name);
    if let Some((tool, _)) = moved {
        push(FindingKind::ToolChanged, tool, "the tools have another order, from this one on");
    }
    changes
}

/// The parts whose own text is another, with their sizes.
fn part_changes<'a>(old: &'a [LockedPart], new: &'a [LockedPart]) -> Vec<(&'a str, u64)> {
    let find = |parts: &'a [LockedPart], name: &str| parts.iter().find(|part| part.name == name);
    let is_other = |part: &&LockedPart| find(old, &part.name).is_none_or(|old| old.sha256 != part.sha256);
    let changed = new.iter().filter(is_other).map(|part| (part.name.as_str(), part.bytes as u64));
    let gone = old.iter().filter(|part| find(new, &part.name).is_none());
    changed.chain(gone.map(|part| (part.name.as_str(), part.bytes as u64))).collect()
}
