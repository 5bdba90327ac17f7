//! `prompt`: the request that the next turn would send.

use std::process::ExitCode;

use pellucid_agent::session::Session;
use pellucid_engine::digest::Digest;
use pellucid_engine::fragment::concat;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;

use crate::args::PromptArgs;
use crate::args::PromptFormat;
use crate::args::Shared;
use crate::args::StoredArgs;
use crate::args::TurnArgs;
use crate::print;
use crate::screen::Kind;
use crate::start;
use crate::start::Failure;
use crate::start::Keep;
use crate::start::Opening;
use crate::start::Start;
use crate::style;

pub fn run(shared: &Shared, args: &PromptArgs) -> Result<ExitCode, Failure> {
    let (session, body) = next_request(shared, &args.turn, &args.stored, args.input.clone())?;
    let kind = Kind::of(!args.full && args.format != PromptFormat::Text);
    let text = match args.format {
        _ if args.full => full(&session, start::output_schema(args.turn.output_schema.as_deref())?.as_ref()),
        PromptFormat::Body => body,
        PromptFormat::Json => {
            let mut text =
                serde_json::to_vec_pretty(&parsed(&body)?).map_err(|error| Failure::new(error.to_string()))?;
            text.push(b'\n');
            text
        }
        PromptFormat::Text => readable(&parsed(&body)?).into_bytes(),
    };
    match kind {
        Kind::Data => print::data(&text)?,
        Kind::People => print::out(&String::from_utf8_lossy(&text))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The instructions, then the body on every wire with its digest, the session's own wire first.
fn full(session: &Session, schema: Option<&Value>) -> Vec<u8> {
    let instructions = concat(session.instructions());
    let mut text = format!("── instructions: {} bytes ──\n{instructions}\n", instructions.len()).into_bytes();
    let own = session.wire_api();
    let others = WireApi::ALL.iter().copied().filter(|wire| *wire != own);
    for wire in [own].into_iter().chain(others) {
        let body = session.body_on(wire, schema.cloned());
        let used = if wire == own { ", this session's wire" } else { "" };
        let digest = Digest::of([body.as_slice()]);
        text.extend(format!("\n── {wire}: {} bytes, SHA-256 {digest}{used} ──\n", body.len()).into_bytes());
        text.extend(body);
        text.push(b'\n');
    }
    text
}

/// The session before its next turn, and the body that this turn would send first.
pub fn next_request(
    shared: &Shared,
    turn: &TurnArgs,
    stored: &StoredArgs,
    input: Option<String>,
) -> Result<(Session, Vec<u8>), Failure> {
    let start = Start::new(shared, turn)?;
    let opening = match stored.which() {
        Some(which) => {
            let file = start.existing(&which)?;
            Opening::Resumed { file: Box::new(file), keep: Keep::Nothing }
        }
        None => {
            let session_id = start::given_session_id(turn.session_id.as_deref())?;
            Opening::New { session_id, keep: Keep::Nothing }
        }
    };
    let mut session = start.session(opening)?;
    session.tell_context();
    tell_warnings(session.take_notices());
    let schema = start::output_schema(turn.output_schema.as_deref())?;
    let inputs = start::inputs(&turn.image, input);
    let told = session.stand(&inputs).map_err(Failure::new)?;
    session.begin_turn();
    if !inputs.is_empty() {
        tell_warnings(told.into_iter().chain(session.record_input(&inputs)));
    }
    session.record_skills();
    let frame = session.frame(schema);
    if let Some(note) = session.remember_offline(&frame) {
        style::line(&format!("note: {note}; the request is shown as it would be without that"));
    }
    let body = session.request(&frame).body();
    Ok((session, body))
}

fn tell_warnings(events: impl IntoIterator<Item = EventMessage>) {
    for event in events {
        if let EventMessage::Warning { message } = event {
            style::line(&format!("warning: {message}"));
        }
    }
}

fn parsed(body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::new(format!("the request is not JSON: {error}")))
}

/// The request for people, whatever its wire: instructions, messages, then the rest on a few lines.
fn readable(body: &Value) -> String {
    let instructions = body["instructions"].as_str().or(body["system"][0]["text"].as_str());
    let mut text = instructions.map_or_else(String::new, |it| format!("── instructions ──\n{it}\n\n"));
    let lists = [&body["input"], &body["messages"]];
    for item in lists.into_iter().filter_map(Value::as_array).flatten() {
        let kind = item["role"].as_str().or(item["type"].as_str()).unwrap_or_default();
        text += &format!("── {kind} ──\n");
        match &item["content"] {
            Value::String(content) => text += content,
            Value::Array(parts) => {
                let shown = |part: &Value| part["text"].as_str().map_or_else(|| other_part(part), str::to_owned);
                text += &parts.iter().map(shown).collect::<Vec<_>>().join("\n");
            }
            _ => text += &item.to_string(),
        }
        text += "\n\n";
    }
    text += "── tools ──\n";
    for tool in body["tools"].as_array().into_iter().flatten() {
        let tool = tool.get("function").unwrap_or(tool);
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
        let about = tool["description"].as_str().and_then(|text| text.lines().next()).unwrap_or_default();
        text += format!("{name}  {about}").trim_end();
        text.push('\n');
    }
    text += "\n── settings ──\n";
    for (key, value) in body.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "instructions" | "system" | "input" | "messages" | "tools") {
            text += &format!("{key}: {value}\n");
        }
    }
    text
}

/// A part without a text: a picture, or a call of a wire that has those among its parts.
fn other_part(part: &Value) -> String {
    match part["type"].as_str() {
        Some("input_image" | "image_url" | "image") => "(a picture)".to_owned(),
        _ => part.to_string(),
    }
}
