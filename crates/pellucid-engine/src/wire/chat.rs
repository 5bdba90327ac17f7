//! The Chat Completions wire: what surrounds the items, and how items become messages.
//!
//! Every item becomes a separate message, but adjacent calls share one. Reasoning that the server sent as plain text
//! goes back with the answer or the calls that followed it. Calls of freeform tools and of the built-in shell become
//! calls of functions, the only kind that all servers of this wire read.

use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;
use serde_json::value::RawValue;

use super::DEVELOPER_CLOSE;
use super::DEVELOPER_OPEN;
use super::pairing::Step;
use super::pairing::pair;
use super::piece::Part;
use super::piece::Piece;
use super::piece::parts;
use super::written::Written;
use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::request::WireSettings;
use crate::tool_list;
use crate::tool_list::ToolList;
use crate::transcript::CallId;

/// The name of the list with the items.
pub(crate) const LIST: &str = "messages";

/// The bytes before the items.
pub(crate) fn head(facts: &Facts, instructions: &[Fragment]) -> Encoded {
    let mut encoder = Encoder::new(&"model".into());
    encoder.wire("{\"model\":");
    encoder.value(&facts.settings.model.slug, &Origin::fact("model"));
    encoder.wire(",");
    encoder.set_part(&LIST.into());
    encoder.wire("\"messages\":[");
    encoder.set_part(&"base".into());
    encoder.wire("{\"role\":\"system\",\"content\":");
    encoder.string(instructions);
    encoder.wire("}");
    encoder.finish()
}

/// The bytes after the items. Keys with default values are left out: many servers use this format, and some refuse
/// unknown keys.
pub(crate) fn tail(tools: ToolList<'_>, facts: &Facts, wire: &WireSettings) -> Encoded {
    let mut encoder = Encoder::new(&LIST.into());
    encoder.wire("]");
    encoder.set_part(&"settings".into());
    encoder.wire(",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    if !tools.is_empty() {
        encoder.set_part(&tool_list::part());
        encoder.wire(",\"tools\":");
        tools.encode(&mut encoder, WireApi::Chat);
        if facts.settings.model.supports_parallel_tool_calls {
            encoder.wire(",\"parallel_tool_calls\":");
            encoder.value(&true, &Origin::fact("model catalogue"));
        }
        encoder.set_part(&"settings".into());
    }
    if let Some(effort) = super::effort_sent(WireApi::Chat, facts) {
        encoder.wire(",\"reasoning_effort\":");
        encoder.value(&effort, &Origin::fact("reasoning effort"));
    }
    let verbosity = facts
        .settings
        .verbosity
        .or(facts.settings.model.default_verbosity)
        .filter(|_| facts.settings.model.support_verbosity);
    if let Some(verbosity) = verbosity {
        encoder.wire(",\"verbosity\":");
        encoder.value(&verbosity, &Origin::fact("verbosity"));
    }
    if let Some(schema) = &wire.output_schema {
        response_format(&mut encoder, schema);
    }
    encoder.wire("}");
    encoder.finish()
}

fn response_format(encoder: &mut Encoder, schema: &Value) {
    encoder.wire(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{");
    encoder.wire("\"name\":\"codex_output_schema\",\"strict\":true,\"schema\":");
    encoder.value(schema, &Origin::Provided { place: "output schema".into() });
    encoder.wire("}}");
}

/// Translates items as they come, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Translator {
    developer: DeveloperRole,
    /// Reasoning that waits for its answer or calls.
    thoughts: Vec<Piece>,
    /// The last answer, escaped. Models that repeat themselves are not shown it.
    last_answer: Option<Box<[u8]>>,
}

impl Translator {
    pub fn new(developer: DeveloperRole) -> Self {
        Self { developer, thoughts: Vec::new(), last_answer: None }
    }

    /// Translates what came since the last request.
    pub fn write(&mut self, pieces: Vec<Piece>, written: &mut Written, missing: impl FnMut(&CallId) -> Piece) {
        for step in pair(pieces, Piece::is_thought, missing) {
            match step {
                Step::Item(piece) if piece.is_thought() => self.thoughts.push(piece),
                Step::Item(piece) if piece.is_answer() => self.answer(&piece, written),
                Step::Item(piece) if piece.kind == "message" => {
                    self.drop_thoughts(written);
                    message(&piece, self.developer, written);
                }
                Step::Item(piece) => written.leave_out(&piece, "the API format `chat` cannot express it"),
                Step::Calls { calls, outputs } => self.calls(&calls, &outputs, written),
                Step::Orphan(piece) => written.leave_out(&piece, "it answers no call"),
            }
        }
    }

    fn answer(&mut self, piece: &Piece, written: &mut Written) {
        let values = piece.values();
        let mut encoder = piece.encoder();
        for text in parts(values.content).iter().filter_map(|part| part.text) {
            piece.copy_text(&mut encoder, text);
        }
        let text = encoder.finish();
        if self.last_answer.as_deref() == Some(&text.bytes) {
            written.leave_out(piece, "it repeats the answer before");
            return;
        }
        written.lead(",{\"role\":\"assistant\"");
        self.write_thoughts(&[], written);
        let mut encoder = piece.encoder();
        encoder.wire(",\"content\":\"");
        encoder.copy(&text.bytes, &text.spans, 0..text.bytes.len());
        encoder.wire("\"}");
        written.row(piece, encoder.finish());
        self.last_answer = Some(text.bytes.into());
    }

    fn calls(&mut self, calls: &[Piece], outputs: &[Piece], written: &mut Written) {
        let between: Vec<&Piece> = calls.iter().filter(|piece| !piece.is_call()).collect();
        written.lead(",{\"role\":\"assistant\"");
        self.write_thoughts(&between, written);
        written.lead(",\"content\":null,\"tool_calls\":[");
        for (n, piece) in calls.iter().filter(|piece| piece.is_call()).enumerate() {
            if n > 0 {
                written.lead(",");
            }
            call(piece, written);
        }
        written.lead("]}");
        for piece in outputs {
            written.lead(",");
            output(piece, written);
        }
    }

    /// Writes the thoughts that led here, and those between the calls of one message.
    fn write_thoughts(&mut self, between: &[&Piece], written: &mut Written) {
        let mut is_open = false;
        let before = std::mem::take(&mut self.thoughts);
        let before = before.iter().map(|piece| ("", piece));
        for (separator, piece) in before.chain(between.iter().map(|&piece| ("\\n", piece))) {
            let values = piece.values();
            let texts = parts(values.content);
            if texts.is_empty() {
                written.leave_out(piece, NO_WORDS);
                continue;
            }
            written.lead(if is_open { separator } else { ",\"reasoning\":\"" });
            is_open = true;
            let mut encoder = piece.encoder();
            for text in texts.iter().filter_map(|part| part.text) {
                piece.copy_text(&mut encoder, text);
            }
            written.row(piece, encoder.finish());
        }
        if is_open {
            written.lead("\"");
        }
    }

    fn drop_thoughts(&mut self, written: &mut Written) {
        for piece in self.thoughts.drain(..) {
            written.leave_out(&piece, "it led to no answer and no call");
        }
    }
}

/// Why a thought is not sent.
const NO_WORDS: &str = "the API format `chat` cannot express reasoning without plain text";

/// A message of any role but the model's.
fn message(piece: &Piece, developer: DeveloperRole, written: &mut Written) {
    let role = piece.role.as_deref().unwrap_or("user");
    let role = if role == "developer" { developer.as_str() } else { role };
    let is_marked = role == "user" && piece.role.as_deref() == Some("developer");
    let (open, close) = if is_marked { (DEVELOPER_OPEN, DEVELOPER_CLOSE) } else { ("", "") };
    written.lead(",");
    let mut encoder = piece.encoder();
    encoder.wire("{\"role\":\"");
    encoder.wire(role);
    encoder.wire("\",\"content\":");
    let parts = parts(piece.values().content);
    if parts.iter().any(|part| part.image_url.is_some()) {
        part_list(&mut encoder, piece, &parts);
    } else {
        encoder.wire("\"");
        encoder.wire(open);
        for text in parts.iter().filter_map(|part| part.text) {
            piece.copy_text(&mut encoder, text);
        }
        encoder.wire(close);
        encoder.wire("\"");
    }
    encoder.wire("}");
    written.row(piece, encoder.finish());
}

fn part_list(encoder: &mut Encoder, piece: &Piece, parts: &[Part<'_>]) {
    encoder.wire("[");
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            encoder.wire(",");
        }
        match (part.text, part.image_url) {
            (_, Some(url)) => {
                encoder.wire("{\"type\":\"image_url\",\"image_url\":{\"url\":");
                piece.copy(encoder, url);
                encoder.wire("}}");
            }
            (text, None) => {
                encoder.wire("{\"type\":\"text\",\"text\":");
                copy_or_empty(encoder, piece, text);
                encoder.wire("}");
            }
        }
    }
    encoder.wire("]");
}

fn copy_or_empty(encoder: &mut Encoder, piece: &Piece, value: Option<&RawValue>) {
    match value {
        Some(value) => piece.copy(encoder, value),
        None => encoder.wire("\"\""),
    }
}

fn call(piece: &Piece, written: &mut Written) {
    let values = piece.values();
    let mut encoder = piece.encoder();
    encoder.wire("{\"id\":");
    copy_or_empty(&mut encoder, piece, values.call_id);
    encoder.wire(",\"type\":\"function\",\"function\":{\"name\":");
    match piece.kind {
        "local_shell_call" => encoder.wire("\"local_shell\""),
        _ => piece.copy_name(&mut encoder, values.name),
    }
    encoder.wire(",\"arguments\":");
    match (values.arguments, values.input, values.action) {
        (Some(arguments), ..) => piece.copy(&mut encoder, arguments),
        (None, Some(input), _) => {
            encoder.wire("\"{\\\"input\\\":");
            piece.copy_escaped(&mut encoder, input);
            encoder.wire("}\"");
        }
        (None, None, Some(action)) => {
            encoder.wire("\"");
            piece.copy_escaped(&mut encoder, action);
            encoder.wire("\"");
        }
        (None, None, None) => encoder.wire("\"{}\""),
    }
    encoder.wire("}}");
    written.row(piece, encoder.finish());
}

fn output(piece: &Piece, written: &mut Written) {
    let values = piece.values();
    let mut encoder = piece.encoder();
    encoder.wire("{\"role\":\"tool\",\"tool_call_id\":");
    copy_or_empty(&mut encoder, piece, values.call_id);
    encoder.wire(",\"content\":");
    match values.output {
        Some(output) if output.get().starts_with('[') => part_list(&mut encoder, piece, &parts(Some(output))),
        output => copy_or_empty(&mut encoder, piece, output),
    }
    encoder.wire("}");
    written.row(piece, encoder.finish());
}
