//! Other forms of the report: a map of the request by size, what was injected, and the sizes of the parts of the system
//! prompt.

use jiff::Timestamp;
use pellucid_agent::session::Session;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::SlotTarget;
use pellucid_engine::prompt_sizes::PromptReport;
use pellucid_engine::prompt_sizes::ToolFacts;
use pellucid_engine::prompt_sizes::reply::ReplyKind;
use pellucid_engine::prompt_sizes::reply::SessionTokens;
use pellucid_engine::prompt_sizes::reply::reply;
use pellucid_engine::reinject::account::StandingAccount;
use pellucid_engine::report::Report;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_store::requests::entry::InjectionEntry;
use pellucid_store::requests::entry::RequestEntry;
use serde_json::Value;
use serde_json::json;

use crate::args::context::ContextForm;
use crate::request::Coming;
use crate::style::number;

/// The part of a person's messages.
const USER_PART: &str = "user";

/// How wide the longest bar is.
const BAR_WIDTH: usize = 40;

/// The report of a request that would be sent, in a form.
pub fn shown(form: ContextForm, coming: &Coming) -> String {
    let Coming { session, next, .. } = coming;
    match form {
        ContextForm::Map => map(&next.report),
        ContextForm::Injections => coming_injections(session, &next.report),
        ContextForm::List => sizes(ReplyKind::List, session, &next.body()),
        ContextForm::Detail => sizes(ReplyKind::Detail, session, &next.body()),
        ContextForm::Json => sizes(ReplyKind::Json, session, &next.body()),
    }
}

/// The sizes of the parts of the system prompt.
fn sizes(form: ReplyKind, session: &Session, body: &[u8]) -> String {
    let facts = session.facts();
    let prompt = concat(session.instructions());
    let mut report = PromptReport::of(session.pack(), facts, &prompt, &tools(body));
    report.source = "estimate".to_owned();
    report.generated_at = Timestamp::now().as_millisecond();
    report.session_id = Some(session.id().to_string());
    report.provider = Some(session.provider_id().to_owned());
    let tokens = SessionTokens { context: facts.settings.model.context_window, ..SessionTokens::default() };
    reply(form, &report, tokens, &facts.settings.cwd) + "\n"
}

/// The tools of a request, whatever its wire.
fn tools(body: &[u8]) -> Vec<ToolFacts> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let tool = |tool: &Value| {
        let tool = tool.get("function").unwrap_or(tool);
        let text = |name: &str| tool[name].as_str().map(str::to_owned);
        let schema = tool.get("parameters").or_else(|| tool.get("input_schema")).or_else(|| tool.get("format"));
        ToolFacts {
            name: text("name").or_else(|| text("type")).unwrap_or_default(),
            description: text("description"),
            label: None,
            parameters: schema.cloned(),
        }
    };
    body["tools"].as_array().into_iter().flatten().map(tool).collect()
}

/// The parts of a request, the largest first, each with a bar of its size. The instructions are
/// shown by what they come from, since that may be many files.
pub fn map(report: &Report) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    for row in &report.rows {
        let name = match (row.part.as_ref(), row.origin.detail()) {
            ("base", "") => format!("base, {}", row.origin.kind()),
            ("base", detail) => detail.to_owned(),
            (part, _) => part.to_owned(),
        };
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, bytes)) => *bytes += row.bytes,
            None => parts.push((name, row.bytes)),
        }
    }
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let (all, largest) = (report.bytes().max(1), parts.first().map_or(1, |(_, bytes)| *bytes));
    let mut text = format!("request: {} bytes, about {} tokens\n\n", number(report.bytes()), number(report.tokens()));
    for (name, bytes) in &parts {
        let bar = "█".repeat((bytes * BAR_WIDTH).div_ceil(largest));
        let share = bytes * 1_000 / all;
        let (whole, tenth) = (share / 10, share % 10);
        text += &format!("{bar:<BAR_WIDTH$} {whole:>3}.{tenth} % {:>9}  {name}\n", number(*bytes));
    }
    text
}

/// A line for each item and source, one for each file before the input, then one for each other message that has words of the
/// pack's, of files or of a memory.
fn coming_injections(session: &Session, report: &Report) -> String {
    let facts = session.facts();
    let collected = facts.system.injection.collect(facts.system.prompt_mode, &session.pack().layout.source_texts);
    let of_items = collected.injected.iter().map(|injected| serde_json::to_value(injected).unwrap_or_default());
    let of_files = session.injected().iter().map(|account| serde_json::to_value(account).unwrap_or_default());
    let accounts: Vec<Value> = of_items.chain(of_files).collect();
    // Messages of sources before the conversation are listed already.
    let of_sources = session.pack().layout.slots.iter().filter(|slot| slot.target == SlotTarget::Messages);
    let of_sources: Vec<&str> = of_sources.map(|slot| slot.id.as_ref()).collect();
    let mut messages = injected_messages(report);
    messages.retain(|message| !of_sources.contains(&message.part.as_str()));
    injections(accounts, messages, !session.injected().is_empty())
}

/// The same for a request that was sent, by its record: the files before the input that it is the first to have.
pub fn sent_injections(entry: &RequestEntry, report: &Report) -> String {
    let account = |it: &InjectionEntry| {
        let mut account = serde_json::to_value(it).unwrap_or_default();
        account["source_type"] = StandingAccount::SOURCE.into();
        account
    };
    let accounts: Vec<Value> = entry.injections.iter().map(account).collect();
    injections(accounts, injected_messages(report), !entry.injections.is_empty())
}

/// A line for each account and message. The files of the last input are accounts already.
fn injections(accounts: Vec<Value>, mut messages: Vec<InjectedMessage>, has_files: bool) -> String {
    let last_input = messages.iter().rposition(|message| message.part == USER_PART).filter(|_| has_files);
    if let Some(at) = last_input {
        messages.remove(at);
    }
    let lines: String = accounts
        .into_iter()
        .chain(messages.iter().map(InjectedMessage::json))
        .map(|value| format!("{value}\n"))
        .collect();
    if lines.is_empty() { "nothing is injected\n".to_owned() } else { lines }
}

/// One message of the request whose text was injected by Pellucid: not said by the user, the model or a tool.
struct InjectedMessage {
    part: String,
    item: usize,
    role: Option<String>,
    /// Each origin of the message once, with its bytes.
    origins: Vec<(String, usize)>,
}

impl InjectedMessage {
    fn json(&self) -> Value {
        let bytes: usize = self.origins.iter().map(|(_, bytes)| bytes).sum();
        let origin = self.origins.iter().map(|(path, bytes)| json!({ "path": path, "bytes": bytes }));
        json!({
            "source_type": "pack",
            "item_id": self.part,
            "target": "message",
            "role": self.role,
            "item": self.item,
            "origin": origin.collect::<Vec<_>>(),
            "bytes_after": bytes,
            "tokens_estimate": tokens_of_bytes(bytes),
            "outcome": "injected",
        })
    }
}

/// The messages of a request with something that was injected, in their order.
fn injected_messages(report: &Report) -> Vec<InjectedMessage> {
    let mut messages: Vec<InjectedMessage> = Vec::new();
    for row in &report.rows {
        let is_said = matches!(
            row.origin.claim(),
            Origin::User
                | Origin::Model
                | Origin::Tool { .. }
                | Origin::Recorded { .. }
                | Origin::Repair
                | Origin::Wire
                | Origin::Unknown
        );
        let Some(item) = row.item.filter(|_| !is_said) else { continue };
        if messages.last().is_none_or(|message| message.item != item) {
            let (part, role) = (row.part.to_string(), row.role.as_deref().map(str::to_owned));
            messages.push(InjectedMessage { part, item, role, origins: Vec::new() });
        }
        let name = format!("{} {}", row.origin.kind(), row.origin.detail()).trim_end().to_owned();
        let Some(message) = messages.last_mut() else { continue };
        match message.origins.iter_mut().find(|(known, _)| *known == name) {
            Some((_, bytes)) => *bytes += row.raw_bytes,
            None => message.origins.push((name, row.raw_bytes)),
        }
    }
    // The tags around an image that a person gave are notation.
    messages.retain(|message| message.origins.iter().any(|(name, _)| name != Origin::Layout.kind()));
    messages
}
