//! Other forms of the report: a map of the request by size, what was injected, and the replies of
//! OpenClaw's `/context`.

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
use pellucid_engine::report::Report;
use pellucid_engine::tokens::tokens_of_bytes;
use serde_json::Value;
use serde_json::json;

use crate::args::context::ContextForm;
use crate::request::Coming;
use crate::start::ProgramFailure;
use crate::style::number;

/// How wide the longest bar is.
const BAR_WIDTH: usize = 40;

/// The report of a request that would be sent, in a form.
pub fn shown(form: ContextForm, coming: &Coming) -> Result<String, ProgramFailure> {
    let Coming { session, next, .. } = coming;
    match form {
        ContextForm::Map => Ok(map(&next.report)),
        ContextForm::Injections => Ok(injections(session, &next.report)),
        ContextForm::List => assistant(ReplyKind::List, session, &next.body()),
        ContextForm::Detail => assistant(ReplyKind::Detail, session, &next.body()),
        ContextForm::Json => assistant(ReplyKind::Json, session, &next.body()),
    }
}

/// The reply of `/context`.
fn assistant(form: ReplyKind, session: &Session, body: &[u8]) -> Result<String, ProgramFailure> {
    let facts = session.facts();
    if session.pack().layout.bootstrap.is_none() {
        return Err(ProgramFailure::new(format!(
            "the pack `{}` is not for an assistant, so it has no such report; \
             use --pack openclaw, or --form map or injections",
            session.pack().name
        )));
    }
    let prompt = concat(session.instructions());
    let mut report = PromptReport::of(session.pack(), facts, &prompt, &tools(body));
    report.source = "estimate".to_owned();
    report.generated_at = Timestamp::now().as_millisecond();
    report.session_id = Some(session.id().to_string());
    report.provider = Some(session.provider_id().to_owned());
    let tokens = SessionTokens { context: facts.settings.model.context_window, ..SessionTokens::default() };
    Ok(reply(form, &report, tokens, &facts.settings.cwd) + "\n")
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

/// A line for each item and source, then one for each message that has words of the pack's, of files or of a memory.
fn injections(session: &Session, report: &Report) -> String {
    let collected = session.facts().system.injection.collect(session.facts().system.prompt_mode);
    let accounts = collected.injected.iter().map(|injected| serde_json::to_value(injected).unwrap_or_default());
    // Messages of sources before the conversation are listed already.
    let of_sources = session.pack().layout.slots.iter().filter(|slot| slot.target == SlotTarget::Messages);
    let of_sources: Vec<&str> = of_sources.map(|slot| slot.id.as_ref()).collect();
    let messages = injected_messages(report).into_iter().filter(|it| !of_sources.contains(&it.part.as_str()));
    let lines: String = accounts.chain(messages.map(|it| it.json())).map(|value| format!("{value}\n")).collect();
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
