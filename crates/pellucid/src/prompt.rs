//! `prompt`: the bytes of a request, of the next turn or of one that was sent.

use std::borrow::Cow;
use std::process::ExitCode;

use pellucid_agent::session::NextPurpose;
use pellucid_agent::session::Session;
use pellucid_engine::digest::Digest;
use pellucid_engine::fragment::concat;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;

use crate::args::prompt::PromptArgs;
use crate::args::prompt::PromptFormat;
use crate::args::shared::Shared;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::request::certain;
use crate::screen::OutputFormat;
use crate::start;
use crate::start::ProgramFailure;

pub fn run(shared: &Shared, args: &PromptArgs) -> Result<ExitCode, ProgramFailure> {
    match print_request(shared, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refusal.show()),
    }
}

fn print_request(shared: &Shared, args: &PromptArgs) -> Result<(), RequestRefusal> {
    let shown = request::shown(shared, &args.turn, &args.request)?;
    let body = match &shown {
        ShownRequest::Coming(coming) => Cow::Owned(coming.next.body()),
        ShownRequest::Sent(sent) => Cow::Borrowed(sent.rebuilt.body.as_slice()),
        ShownRequest::Saved(_) => {
            let why = "a saved report has the parts of a request and not its bytes; `context` shows them";
            return Err(RequestRefusal::unknown(why));
        }
    };
    let kind = OutputFormat::of(!args.full && args.format != PromptFormat::Text);
    let text = match (args.full, args.format, &shown) {
        (true, _, ShownRequest::Coming(coming)) => {
            full(coming, start::output_schema(args.turn.output_schema.as_deref())?.as_ref())
        }
        (true, ..) => whole(&body, ""),
        (_, PromptFormat::Body, _) => body.into_owned(),
        (_, PromptFormat::Json, _) => {
            let mut text = serde_json::to_vec_pretty(&parsed(&body)?)
                .map_err(|error| ProgramFailure::new(format!("the request cannot be printed: {error}")))?;
            text.push(b'\n');
            text
        }
        (_, PromptFormat::Text, ShownRequest::Coming(coming)) => readable_coming(coming)?.into_bytes(),
        (_, PromptFormat::Text, _) => readable(&parsed(&body)?).into_bytes(),
    };
    match kind {
        OutputFormat::Json => print::json(&text)?,
        OutputFormat::People => print::either(&String::from_utf8_lossy(&text), kind)?,
    }
    if let ShownRequest::Coming(coming) = &shown {
        if kind == OutputFormat::Json {
            request::tell_first_line(coming);
        }
        certain::tell(&coming.reasons);
    }
    Ok(())
}

/// The instructions, then the body on every wire with its digest, the session's own wire first. A request for a summary
/// has one body, and the one behind it is a plan.
fn full(coming: &Coming, schema: Option<&Value>) -> Vec<u8> {
    let Coming { session, next, .. } = coming;
    if next.purpose != NextPurpose::Answer {
        let mut text = format!("── {} ──\n", request::first_line(next).unwrap_or_default()).into_bytes();
        text.extend(whole(&next.body(), &format!("{}: ", session.wire_api())));
        if let Some(plan) = &next.plan {
            text.extend(format!("\n── {} ──\n", request::plan_line(plan)).into_bytes());
            text.extend(&plan.body);
            text.push(b'\n');
        }
        return text;
    }
    every_wire(session, schema)
}

fn every_wire(session: &Session, schema: Option<&Value>) -> Vec<u8> {
    let instructions = concat(session.instructions());
    let mut text = format!("── instructions: {} bytes ──\n{instructions}\n", instructions.len()).into_bytes();
    let own = session.wire_api();
    let others = WireApi::ALL.iter().copied().filter(|wire| *wire != own);
    for wire in [own].into_iter().chain(others) {
        let body = session.body_on(wire, schema.cloned());
        let used = if wire == own { ", used by this session" } else { "" };
        let digest = Digest::of([body.as_slice()]);
        text.extend(format!("\n── {wire}: {} bytes, SHA-256 {digest}{used} ──\n", body.len()).into_bytes());
        text.extend(body);
        text.push(b'\n');
    }
    text
}

/// A body with its length and digest.
fn whole(body: &[u8], before: &str) -> Vec<u8> {
    let digest = Digest::of([body]);
    let mut text = format!("── {before}{} bytes, SHA-256 {digest} ──\n", body.len()).into_bytes();
    text.extend(body);
    text.push(b'\n');
    text
}

/// A request that would be sent, for people, with the plan of the one behind it.
fn readable_coming(coming: &Coming) -> Result<String, ProgramFailure> {
    let next = &coming.next;
    let mut text = request::first_line(next).map_or_else(String::new, |line| format!("── {line} ──\n\n"));
    text += &readable(&parsed(&next.body())?);
    if let Some(plan) = &next.plan {
        text += &format!("\n── {} ──\n\n{}", request::plan_line(plan), readable(&parsed(&plan.body)?));
    }
    Ok(text)
}

fn parsed(body: &[u8]) -> Result<Value, ProgramFailure> {
    serde_json::from_slice(body).map_err(|error| ProgramFailure::new(format!("the request is not JSON: {error}")))
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

/// A part without text: an image, or a tool call in API formats that have calls among the parts.
fn other_part(part: &Value) -> String {
    match part["type"].as_str() {
        Some("input_image" | "image_url" | "image") => "(an image)".to_owned(),
        _ => part.to_string(),
    }
}
