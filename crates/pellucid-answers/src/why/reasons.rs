//! Why a request lacks something, in a sentence, and which settings may change that.
//!
//! Each kind of omission, each fate of a file that was looked for and each status of a source has its sentence here. The
//! matches have no catch-all, so a new kind does not compile without one.

use std::fmt::Write as _;

use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::gate::Gate;
use pellucid_engine::not_utf8::NotUtf8;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::report::not_accepted;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::settings::PromptMode;
use serde_json::Value;

use super::FileQuestion;
use super::places;

/// Why a request lacks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyReason {
    /// The kind of the reason, in a word.
    pub kind: String,
    /// The reason, for people.
    pub sentence: String,
    /// The values of configuration that may change it, as `KEY=VALUE`; not tried yet.
    pub ideas: Vec<String>,
}

impl WhyReason {
    /// A reason that no setting changes.
    pub fn new(kind: &str, sentence: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), sentence: sentence.into(), ideas: Vec::new() }
    }
}

/// Something that a request lacks, or lacks a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// The path or name.
    pub what: String,
    /// The slot it would have been in, where that is known.
    pub slot: Option<String>,
    /// The reason for which it is missing.
    pub reason: WhyReason,
    /// How many bytes of it the request has, if it was cut.
    pub kept: Option<u64>,
}

/// Everything that a request is known to lack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absences {
    /// The absences: first what was left out, then files that were looked for.
    pub all: Vec<Absence>,
    /// Whether every file that was looked for is among them.
    pub is_complete: bool,
}

impl Absences {
    /// What the report of a request names. A report that was rebuilt from a record has no list of files looked for.
    pub fn of(report: &Report) -> Self {
        let needed: u64 = report.files.iter().map(|file| file.size).sum();
        let omitted = report.omissions.iter().map(|omission| {
            let mut sentence = why_sentence(&omission.why);
            let mut ideas = Vec::new();
            if matches!(omission.why, Why::Cut { .. } | Why::OverBudget { .. }) {
                sentence += &spent_on(report, omission);
                if report.files.iter().any(|file| file.path == omission.what) {
                    ideas.push("project_docs.allocation=\"nearest-first\"".to_owned());
                    ideas.push(format!("project_doc_max_bytes={needed}"));
                }
            }
            Absence {
                what: omission.what.clone(),
                slot: Some(omission.slot.to_string()),
                reason: WhyReason { kind: omission.why.kind().to_owned(), sentence, ideas },
                kept: if let Why::Cut { kept, .. } = omission.why { Some(kept) } else { None },
            }
        });
        let omitted: Vec<Absence> = omitted.collect();
        let looked_for = report.candidates.iter().filter(|it| it.fate != Fate::Read).map(|candidate| Absence {
            what: candidate.path.clone(),
            slot: None,
            reason: WhyReason::new(fate_kind(candidate), fate_sentence(&candidate.fate)),
            kept: None,
        });
        let all = omitted.into_iter().chain(looked_for).collect();
        Self { all, is_complete: !report.candidates.is_empty() }
    }

    /// What a saved report names.
    pub fn of_saved(report: &Value) -> Self {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        let absence = |what: &Value, it: &Value, kind: &Value| Absence {
            what: word(what),
            slot: it["part"].as_str().map(str::to_owned),
            reason: WhyReason::new(&word(kind), word(&it["why"])),
            kept: None,
        };
        let omitted = list("omissions").iter().map(|it| absence(&it["what"], it, &it["kind"])).collect::<Vec<_>>();
        let candidates = list("candidates");
        let looked_for = candidates.iter().filter(|it| it["status"] != "read");
        let looked_for = looked_for.map(|it| absence(&it["path"], it, &it["status"]));
        Self { all: omitted.into_iter().chain(looked_for).collect(), is_complete: !candidates.is_empty() }
    }

    /// Why a file, or lines of it, are missing. A file that was cut has its first lines, and those have no reason.
    pub fn of_file(&self, file: &FileQuestion) -> Option<WhyReason> {
        if file.is_past_end {
            return None;
        }
        let mut named = self.all.iter().filter(|it| places::is_file(&it.what, file));
        let start = file.on_disk.as_ref().map(|disk| disk.start + disk.text.len() as u64);
        let decides = |it: &&Absence| match it.reason.kind.as_str() {
            "not_utf8" => false,
            "cut" => it.kept.zip(start).is_none_or(|(kept, end)| kept < end),
            _ => true,
        };
        let altered = named.clone().find(|it| it.reason.kind == "not_utf8");
        named.find(decides).or(altered).map(|it| it.reason.clone())
    }

    /// Why a skill is missing.
    pub fn of_skill(&self, skill: &str) -> Option<WhyReason> {
        self.all.iter().find(|it| places::is_skill(&it.what, skill)).map(|it| it.reason.clone())
    }

    /// Why a tool is missing: its own reason, or that of its MCP server.
    pub fn of_tool(&self, tool: &str) -> Option<WhyReason> {
        let mut of_tools = self.all.iter().filter(|it| it.slot.as_deref() == Some("tools"));
        let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
        let is_server = |what: &str| server.is_some_and(|server| what.ends_with(&format!(" {server}")));
        of_tools.find(|it| it.what == tool || is_server(&it.what)).map(|it| it.reason.clone())
    }

    /// Why a part is missing: the first thing that was left out of it.
    pub fn of_part(&self, part: &str) -> Option<WhyReason> {
        let found = self.all.iter().find(|it| it.slot.as_deref() == Some(part))?;
        let sentence = format!("{}: {}", found.what, found.reason.sentence);
        Some(WhyReason { sentence, ..found.reason.clone() })
    }
}

/// The other files that a budget was spent on.
fn spent_on(report: &Report, omission: &Omission) -> String {
    let mut files: Vec<(&str, usize)> = Vec::new();
    for row in report.rows.iter().filter(|row| row.part == omission.slot && row.origin.kind() == "file") {
        match files.iter_mut().find(|(path, _)| *path == row.origin.detail()) {
            Some((_, bytes)) => *bytes += row.raw_bytes,
            None if row.origin.detail() != omission.what => files.push((row.origin.detail(), row.raw_bytes)),
            None => {}
        }
    }
    let mut text = String::new();
    for (n, (path, bytes)) in files.iter().enumerate() {
        let lead = if n == 0 { "; others used it: " } else { ", " };
        let _infallible = write!(text, "{lead}{path} ({bytes} bytes)");
    }
    text
}

/// Why something was left out, as a sentence.
pub fn why_sentence(why: &Why) -> String {
    match why {
        Why::Cut { kept, of } => format!("cut: the budget was spent at its byte {kept} of {of}"),
        Why::OverBudget { of } => {
            format!("left out: the budget was spent before it, so none of its {of} bytes is sent")
        }
        Why::LeftWindow { of, kept_as } if kept_as.is_empty() => {
            format!("left the window: its {of} bytes no longer fit, and nothing replaces them")
        }
        Why::LeftWindow { of, kept_as } => format!("left the window: {kept_as} replaces its {of} bytes"),
        Why::Blank => "blank: it has nothing but white space, so there is nothing to send".to_owned(),
        Why::Missing => "missing: there is no such file".to_owned(),
        Why::Duplicate => "duplicate: the request has the same content already, and it is sent once".to_owned(),
        Why::SwitchedOff => "switched off in the configuration".to_owned(),
        Why::OnlyOnMention => "sent only when a message mentions it, and none does".to_owned(),
        Why::Shadowed { by } => format!("shadowed: {by} has the same name and comes first"),
        Why::Replaced { by } => format!("replaced: {by} is sent in its place"),
        Why::Outside { target } => {
            format!("outside: it is a link that leads out of the project, to {target}, and such files are not sent")
        }
        Why::Untrusted => "untrusted: the project is marked as untrusted, so its files are not sent".to_owned(),
        Why::NotAccepted { is_changed } => format!(
            "not accepted: {}, so it is not sent; `pellucid trust accept --instructions` shows and accepts it",
            not_accepted(*is_changed)
        ),
        Why::ByPack { reason } => format!("left out by a template of the pack: {reason}"),
        Why::Unusable { error } => format!("unusable: {error}"),
        Why::NotUtf8(NotUtf8 { first, count: 1 }) => {
            format!("altered: the byte at offset {first} is not UTF-8, and U+FFFD is sent in its place")
        }
        Why::NotUtf8(NotUtf8 { first, count }) => {
            format!("altered: {count} bytes from byte {first} on are not UTF-8, and U+FFFD is sent in their place")
        }
    }
}

/// What became of a file that was looked for, as a sentence.
pub fn fate_sentence(fate: &Fate) -> String {
    match fate {
        Fate::Read => "read: the file was read for this request".to_owned(),
        Fate::Absent => "missing: the file was looked for, and there is none".to_owned(),
        Fate::Shadowed { by } => format!("shadowed: {by} is in the same folder and comes first"),
        Fate::NotAFile => "unusable: it is not a regular file".to_owned(),
        Fate::Unreadable { error } => format!("unusable: it cannot be read: {error}"),
        Fate::Blank => why_sentence(&Why::Blank),
        Fate::Outside { target } => why_sentence(&Why::Outside { target: target.clone() }),
        Fate::Untrusted => why_sentence(&Why::Untrusted),
        Fate::NotAccepted { is_changed } => why_sentence(&Why::NotAccepted { is_changed: *is_changed }),
    }
}

fn fate_kind(candidate: &Candidate) -> &'static str {
    match candidate.fate {
        Fate::Read => "read",
        Fate::Absent => "missing",
        Fate::Shadowed { .. } => "shadowed",
        Fate::NotAFile | Fate::Unreadable { .. } => "unusable",
        Fate::Blank => "blank",
        Fate::Outside { .. } => "outside",
        Fate::Untrusted => "untrusted",
        Fate::NotAccepted { .. } => "not_accepted",
    }
}

/// What became of a source, as a sentence.
pub fn status_sentence(status: SourceStatus, bytes: u64) -> String {
    match status {
        SourceStatus::Full => format!("full: the request has all {bytes} bytes of it"),
        SourceStatus::Altered => {
            format!(
                "altered: the request has all of it, {bytes} bytes as they are and U+FFFD for those that are not UTF-8"
            )
        }
        SourceStatus::Truncated => format!("truncated: the request has {bytes} bytes of it and lacks the rest"),
        SourceStatus::Omitted => "omitted: the request has nothing of it".to_owned(),
        SourceStatus::Missing => "missing: there is no such file".to_owned(),
        SourceStatus::Shadowed => "shadowed: another one is sent in its place".to_owned(),
        SourceStatus::Duplicate => "duplicate: the request has the same content already".to_owned(),
    }
}

/// Why gates are closed for something that the pack has: the first closed one, and the setting that opens it.
fn closed_gate(gates: &[Gate], pack: &Pack, facts: &Facts) -> Option<WhyReason> {
    let gate = gates.iter().find(|gate| !gate.is_open(pack, facts))?;
    let (sentence, idea) = gate_text(gate, true);
    Some(WhyReason { kind: "gate".to_owned(), sentence, ideas: idea.into_iter().collect() })
}

/// Why a slot of a pack is not in a request.
pub fn of_slot(part: &str, pack: &Pack, facts: &Facts) -> Option<WhyReason> {
    if let Some(tool) = part.strip_prefix("tools/") {
        return of_tool(tool, pack, facts);
    }
    let slot = pack.layout.slots.iter().find(|slot| &*slot.id == part)?;
    Some(closed_gate(&slot.gates, pack, facts).unwrap_or_else(|| {
        WhyReason::new("empty", format!("empty: the pack {} has the slot, and nothing fills it here", pack.name))
    }))
}

/// Why a tool of a pack is not in a request.
pub fn of_tool(tool: &str, pack: &Pack, facts: &Facts) -> Option<WhyReason> {
    let is_asked = |file: &str| file == tool || pack.tool_file(file).name == tool;
    let slots: Vec<_> = pack.layout.tools.iter().filter(|slot| is_asked(&slot.file)).collect();
    let closed = slots.iter().map(|slot| closed_gate(&slot.gates, pack, facts)).collect::<Option<Vec<_>>>();
    match closed.map(|closed| closed.into_iter().next()) {
        Some(reason) => reason,
        None => {
            let sentence = format!("left out: the pack {} now offers only some of its tools", pack.name);
            Some(WhyReason::new("tools_only", sentence))
        }
    }
}

/// What a gate wants, as a sentence, with the setting that opens it.
fn gate_text(gate: &Gate, wants: bool) -> (String, Option<String>) {
    let not = if wants { "" } else { "not " };
    let is_not = if wants { "is not" } else { "is" };
    match gate {
        Gate::Not(gate) => gate_text(gate, !wants),
        Gate::Feature(feature) => {
            let (with, state) = if wants { ("with", "off") } else { ("without", "on") };
            let sentence = format!("it is sent only {with} the feature `{}`, which is {state}", feature.key());
            (sentence, Some(format!("features.{}={wants}", feature.key())))
        }
        Gate::Shell(shell) => {
            let (name, idea) = match shell {
                ShellType::Default => ("default", None),
                ShellType::Local => ("local", None),
                ShellType::UnifiedExec => ("unified_exec", Some("features.unified_exec=true")),
                ShellType::ShellCommand => ("shell_command", Some("features.unified_exec=false")),
                ShellType::Disabled => ("disabled", Some("features.shell_tool=false")),
            };
            let idea = idea.filter(|_| wants).map(str::to_owned);
            (format!("it is sent only if the shell tool is {not}`{name}`"), idea)
        }
        Gate::Patch(form) => {
            let (name, idea) = match form {
                ApplyPatchType::Freeform => ("freeform", Some("features.apply_patch_freeform=true")),
                ApplyPatchType::Function => ("function", None),
            };
            let idea = idea.filter(|_| wants).map(str::to_owned);
            (format!("it is sent only to models whose patch tool is {not}of the form `{name}`"), idea)
        }
        Gate::ModelTool(tool) => {
            (format!("the entry of the model in the catalogue {is_not} one that names the tool `{tool}`"), None)
        }
        Gate::AnyMcpServer => (format!("an MCP server {is_not} configured (`mcp_servers`)"), None),
        Gate::DeferredTools => {
            let sentence = format!("it is sent only if a tool of an MCP server is {not}offered by name");
            let offer = if wants { "deferred" } else { "direct" };
            (sentence, Some(format!("mcp_tools=\"{offer}\"")))
        }
        Gate::WebSearch => {
            let value = if wants { "live" } else { "disabled" };
            let state = if wants { "off" } else { "on" };
            (
                format!("it is sent only if web search is {not}on, and web search is {state}"),
                Some(format!("web_search=\"{value}\"")),
            )
        }
        Gate::Mode(modes) => {
            let names: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
            let other = [PromptMode::Full, PromptMode::Minimal, PromptMode::None];
            let open = other.iter().find(|mode| modes.contains(mode) == wants);
            let sentence = format!("it is {not}sent with the prompt mode {}", names.join(" or "));
            (sentence, open.map(|mode| format!("prompt_mode=\"{}\"", mode.as_str())))
        }
        Gate::Host(name) => {
            let opens = if wants { "opens" } else { "does not open" };
            (format!("it is sent only if the program around the engine {opens} the gate `{name}`"), None)
        }
        Gate::If(condition) => {
            let sentence =
                format!("it is sent only if this condition of the pack does {not}hold: {}", condition.source());
            (sentence, None)
        }
    }
}
