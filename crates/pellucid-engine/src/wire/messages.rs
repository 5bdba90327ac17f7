//! The Messages wire of Anthropic: what surrounds the items, and how items become blocks.
//!
//! Messages of this wire alternate between user and assistant, so items that follow each other in one role share a
//! message. The last block is left open: its closing bytes are part of the request's tail, and so is the mark up to
//! which the server may cache. The next request therefore adds blocks to the message and moves the mark without
//! changing a byte that was sent before.
//!
//! Tools and instructions come before the messages because the server caches in this order. They
//! carry a mark each, so that another conversation with the same tools finds them.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::seal::Seal;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;

use super::DEVELOPER_CLOSE;
use super::DEVELOPER_OPEN;
use super::pairing::Step;
use super::pairing::pair;
use super::piece;
use super::piece::Part;
use super::piece::Piece;
use super::piece::is_blank;
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
use crate::transcript::NO_IMAGE;

/// The name of the list with the items.
pub(crate) const LIST: &str = "messages";

/// Ends what the server may cache; a further key of a block or tool.
pub(crate) const BREAKPOINT: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// The bytes that close the last block and its message, with the mark and without.
const CLOSING_MARKED: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}}]}";
const CLOSING: &str = "}]}";

/// The image types that the format accepts.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The least and the most tokens of an answer when the configuration sets none.
const OUTPUT_TOKENS_MIN: i64 = 4_096;
const OUTPUT_TOKENS_MAX: i64 = 32_000;

/// Whether the model may call its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// The model decides whether to call tools.
    Allowed,
    /// Not now. The tools are named all the same: the wire wants those of earlier calls, and what
    /// is cached begins with them.
    Forbidden,
}

/// The bytes before the items.
pub(crate) fn head(
    facts: &Facts,
    instructions: &[Fragment],
    tools: ToolList<'_>,
    calls: Calls,
    wire: &WireSettings,
) -> Encoded {
    let mut encoder = Encoder::new(&"model".into());
    encoder.wire("{\"model\":");
    encoder.value(&facts.settings.model.slug, &Origin::fact("model"));
    encoder.set_part(&"settings".into());
    encoder.wire(",\"max_tokens\":");
    match wire.output_tokens_max {
        Some(tokens) => encoder.value(&tokens, &Origin::fact("provider")),
        None => encoder.value(&output_tokens(facts), &Origin::fact("model catalogue")),
    }
    encoder.wire(",\"stream\":true");
    thinking(&mut encoder, facts, wire.output_schema.as_ref());
    if !tools.is_empty() {
        encoder.set_part(&tool_list::part());
        encoder.wire(",\"tools\":");
        tools.encode(&mut encoder, WireApi::Messages);
        if calls == Calls::Forbidden {
            encoder.wire(",\"tool_choice\":{\"type\":\"none\"}");
        }
    }
    if instructions.iter().any(|fragment| !fragment.text.trim().is_empty()) {
        encoder.set_part(&"base".into());
        encoder.wire(",\"system\":[{\"type\":\"text\",\"text\":");
        encoder.string(instructions);
        encoder.wire(BREAKPOINT);
        encoder.wire("}]");
    }
    encoder.set_part(&LIST.into());
    encoder.wire(",\"messages\":[");
    encoder.finish()
}

/// The bytes after the items.
pub(crate) fn tail() -> Encoded {
    let mut encoder = Encoder::new(&LIST.into());
    encoder.wire("]}");
    encoder.finish()
}

fn output_tokens(facts: &Facts) -> i64 {
    let share = facts.settings.model.context_window.map_or(OUTPUT_TOKENS_MIN, |window| window / 8);
    share.clamp(OUTPUT_TOKENS_MIN, OUTPUT_TOKENS_MAX)
}

/// How long the model thinks, and the form of its answer. Nothing is said of thinking unless a
/// person or the catalogue did: which forms a model takes differs.
fn thinking(encoder: &mut Encoder, facts: &Facts, schema: Option<&Value>) {
    let effort = super::effort_sent(WireApi::Messages, facts);
    match effort {
        Some(ReasoningEffort::None) => encoder.wire(",\"thinking\":{\"type\":\"disabled\"}"),
        Some(_) => {
            encoder.wire(",\"thinking\":{\"type\":\"adaptive\",\"display\":");
            let display = if facts.settings.summary == ReasoningSummary::None { "omitted" } else { "summarized" };
            encoder.value(&display, &Origin::fact("reasoning summary"));
            encoder.wire("}");
        }
        None => {}
    }
    let effort = match effort {
        None | Some(ReasoningEffort::None) => None,
        effort => effort,
    };
    if effort.is_none() && schema.is_none() {
        return;
    }
    encoder.wire(",\"output_config\":{");
    if let Some(effort) = effort {
        encoder.wire("\"effort\":");
        encoder.value(&effort, &Origin::fact("reasoning effort"));
    }
    if let Some(schema) = schema {
        encoder.wire(if effort.is_some() { ",\"format\":" } else { "\"format\":" });
        encoder.wire("{\"type\":\"json_schema\",\"schema\":");
        encoder.value(schema, &Origin::Provided { place: "output schema".into() });
        encoder.wire("}");
    }
    encoder.wire("}");
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// Translates items as they come, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Translator {
    /// The message that is still open, and whether its last block may carry the mark.
    open: Option<(Role, Mark)>,
}

/// Whether a block may end what the server caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Possible,
    Impossible,
}

impl Translator {
    /// Translates what came since the last request.
    pub fn write(&mut self, pieces: Vec<Piece>, written: &mut Written, missing: impl FnMut(&CallId) -> Piece) {
        let joins = |piece: &Piece| piece.is_thought() || piece.is_answer();
        for step in pair(pieces, joins, missing) {
            match step {
                Step::Item(piece) => self.item(&piece, written),
                Step::Calls { calls, outputs } => {
                    for piece in &calls {
                        if piece.is_call() {
                            self.block(Role::Assistant, piece, written, |blocks| blocks.call(piece));
                        } else {
                            self.item(piece, written);
                        }
                    }
                    for piece in &outputs {
                        self.block(Role::User, piece, written, |blocks| blocks.output(piece));
                    }
                }
                Step::Orphan(piece) => written.leave_out(&piece, "it answers no call"),
            }
        }
    }

    /// The bytes that close the list in its current state.
    pub fn closing(&self) -> &'static str {
        match self.open {
            Some((_, Mark::Possible)) => CLOSING_MARKED,
            Some((_, Mark::Impossible)) => CLOSING,
            None => "",
        }
    }

    fn item(&mut self, piece: &Piece, written: &mut Written) {
        match piece.kind {
            "message" => {
                let role = if piece.is_answer() { Role::Assistant } else { Role::User };
                self.block(role, piece, written, |blocks| blocks.message(piece));
            }
            "reasoning" => self.block(Role::Assistant, piece, written, |blocks| blocks.thought(piece)),
            _ => written.leave_out(piece, "the API format `messages` cannot express it"),
        }
    }

    /// Writes the blocks of an item, in the open message or in a new one.
    fn block(
        &mut self,
        role: Role,
        piece: &Piece,
        written: &mut Written,
        write: impl FnOnce(&mut Blocks) -> Result<(), &'static str>,
    ) {
        let mut blocks = Blocks { encoder: piece.encoder(), n: 0, mark: Mark::Possible, n_lost_images: 0 };
        let result = write(&mut blocks);
        if blocks.n_lost_images > 0 {
            let n_images = blocks.n_lost_images;
            written.leave_out(
                piece,
                format!("images of a type that the API format `messages` does not accept: {n_images}"),
            );
        }
        if blocks.n == 0 {
            written.leave_out(piece, result.err().unwrap_or("it is blank"));
            return;
        }
        let name = if role == Role::User { "user" } else { "assistant" };
        match self.open {
            Some((open, _)) if open == role => written.lead("},"),
            open => {
                written.lead(if open.is_some() { "}]},{\"role\":\"" } else { "{\"role\":\"" });
                written.lead(name);
                written.lead("\",\"content\":[");
            }
        }
        self.open = Some((role, blocks.mark));
        written.row(piece, blocks.encoder.finish());
    }
}

/// Blocks of one item; the last is still open.
struct Blocks {
    encoder: Encoder,
    n: usize,
    mark: Mark,
    n_lost_images: usize,
}

impl Blocks {
    fn next(&mut self, notation: &str) {
        if self.n > 0 {
            self.encoder.wire("},");
        }
        self.n += 1;
        self.encoder.wire(notation);
    }

    fn message(&mut self, piece: &Piece) -> Result<(), &'static str> {
        let is_developer = piece.role.as_deref() == Some("developer");
        let (open, close) = if is_developer { (DEVELOPER_OPEN, DEVELOPER_CLOSE) } else { ("", "") };
        for part in parts(piece.values().content) {
            match (part.text, part.image_url) {
                // Blank texts are refused.
                (Some(text), _) if !is_blank(text) => {
                    self.next("{\"type\":\"text\",\"text\":\"");
                    self.encoder.wire(open);
                    piece.copy_text(&mut self.encoder, text);
                    self.encoder.wire(close);
                    self.encoder.wire("\"");
                }
                (None, Some(url)) => self.image(piece, url),
                _ => {}
            }
        }
        Ok(())
    }

    fn image(&mut self, piece: &Piece, url: &RawValue) {
        let inside = piece::inside(url);
        match ImageAddress::read(inside) {
            ImageAddress::Data { kind, start } => {
                self.next("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"");
                self.encoder.wire(kind);
                self.encoder.wire("\",\"data\":\"");
                piece.copy_text_from(&mut self.encoder, url, start);
                self.encoder.wire("\"}");
            }
            ImageAddress::Address => {
                self.next("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":");
                piece.copy(&mut self.encoder, url);
                self.encoder.wire("}");
            }
            ImageAddress::Other => {
                self.n_lost_images += 1;
                self.next("{\"type\":\"text\",\"text\":");
                self.encoder.value(&NO_IMAGE, &Origin::Repair);
            }
        }
    }

    fn thought(&mut self, piece: &Piece) -> Result<(), &'static str> {
        let values = piece.values();
        let sealed = values.encrypted_content;
        let text = sealed.map(piece::text).unwrap_or_default();
        match (Seal::read(&text), sealed) {
            (Seal::Signature(signature), Some(sealed)) => {
                self.next("{\"type\":\"thinking\",\"thinking\":\"");
                for text in parts(values.summary).iter().filter_map(|part| part.text) {
                    piece.copy_text(&mut self.encoder, text);
                }
                self.encoder.wire("\",\"signature\":\"");
                piece.copy_text_from(&mut self.encoder, sealed, text.len() - signature.len());
            }
            (Seal::Redacted(data), Some(sealed)) => {
                self.next("{\"type\":\"redacted_thinking\",\"data\":\"");
                piece.copy_text_from(&mut self.encoder, sealed, text.len() - data.len());
            }
            _ => return Err("the API format `messages` accepts only reasoning that it signed"),
        }
        self.encoder.wire("\"");
        self.mark = Mark::Impossible;
        Ok(())
    }

    fn call(&mut self, piece: &Piece) -> Result<(), &'static str> {
        let values = piece.values();
        self.next("{\"type\":\"tool_use\",\"id\":");
        self.id(piece, values.call_id);
        self.encoder.wire(",\"name\":");
        match piece.kind {
            "local_shell_call" => self.encoder.wire("\"local_shell\""),
            _ => piece.copy_name(&mut self.encoder, values.name),
        }
        self.encoder.wire(",\"input\":");
        match (values.arguments, values.input, values.action) {
            (Some(arguments), ..) => self.arguments(piece, arguments),
            (None, Some(input), _) => self.member(piece, "{\"input\":", input),
            (None, None, Some(action)) => piece.copy(&mut self.encoder, action),
            (None, None, None) => self.encoder.wire("{}"),
        }
        Ok(())
    }

    /// Writes arguments as an object; arguments of another type are wrapped in one.
    fn arguments(&mut self, piece: &Piece, arguments: &RawValue) {
        let text = piece::text(arguments);
        if text.trim().is_empty() {
            self.encoder.wire("{}");
        } else if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
            self.encoder.raw(text.as_bytes(), &piece.author());
        } else {
            self.member(piece, "{\"arguments\":", arguments);
        }
    }

    fn member(&mut self, piece: &Piece, open: &str, value: &RawValue) {
        self.encoder.wire(open);
        piece.copy(&mut self.encoder, value);
        self.encoder.wire("}");
    }

    fn output(&mut self, piece: &Piece) -> Result<(), &'static str> {
        let values = piece.values();
        self.next("{\"type\":\"tool_result\",\"tool_use_id\":");
        self.id(piece, values.call_id);
        match values.output {
            Some(output) if output.get().starts_with('[') => self.output_parts(piece, &parts(Some(output))),
            Some(output) => {
                self.encoder.wire(",\"content\":");
                piece.copy(&mut self.encoder, output);
            }
            None => {}
        }
        Ok(())
    }

    fn output_parts(&mut self, piece: &Piece, parts: &[Part<'_>]) {
        let mut inner = Self { encoder: piece.encoder(), n: 0, mark: Mark::Possible, n_lost_images: 0 };
        for part in parts {
            match (part.text, part.image_url) {
                (Some(text), _) if !is_blank(text) => {
                    inner.next("{\"type\":\"text\",\"text\":");
                    piece.copy(&mut inner.encoder, text);
                }
                (None, Some(url)) => inner.image(piece, url),
                _ => {}
            }
        }
        self.n_lost_images += inner.n_lost_images;
        if inner.n > 0 {
            let encoded = inner.encoder.finish();
            self.encoder.wire(",\"content\":[");
            self.encoder.copy(&encoded.bytes, &encoded.spans, 0..encoded.bytes.len());
            self.encoder.wire("}]");
        }
    }

    /// Writes an id as a JSON string, without characters that the wire refuses in ids.
    fn id(&mut self, piece: &Piece, id: Option<&RawValue>) {
        match id {
            Some(id) if piece::is_plain(piece::inside(id)) => piece.copy(&mut self.encoder, id),
            Some(id) => self.encoder.value(&piece::plain(piece::inside(id)), &piece.author()),
            None => self.encoder.wire("\"_\""),
        }
    }
}

/// The form of an image's address.
#[derive(Debug, PartialEq, Eq)]
enum ImageAddress {
    /// A data URL; the data begin at this byte.
    Data { kind: &'static str, start: usize },
    /// The server fetches it.
    Address,
    /// Something that the wire does not take.
    Other,
}

impl ImageAddress {
    fn read(address: &str) -> Self {
        if address.starts_with("https://") || address.starts_with("http://") {
            return Self::Address;
        }
        let Some((description, _)) = address.strip_prefix("data:").and_then(|rest| rest.split_once(',')) else {
            return Self::Other;
        };
        let kind =
            description.strip_suffix(";base64").and_then(|kind| IMAGE_TYPES.iter().find(|known| **known == kind));
        kind.map_or(Self::Other, |kind| Self::Data { kind, start: "data:,".len() + description.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_by_their_address() {
        let data = |kind, start| ImageAddress::Data { kind, start };
        for (address, expected) in [
            ("https://x/a.png", ImageAddress::Address),
            ("data:image/png;base64,AAAA", data("image/png", 22)),
            ("data:image/webp;base64,", data("image/webp", 23)),
            ("data:image/tiff;base64,AAAA", ImageAddress::Other),
            ("data:image/png,AAAA", ImageAddress::Other),
            ("file:a.png", ImageAddress::Other),
            ("", ImageAddress::Other),
        ] {
            assert_eq!(ImageAddress::read(address), expected, "{address}");
        }
    }
}
