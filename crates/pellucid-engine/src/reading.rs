//! The parts of a request around its items, as the model reads them.
//!
//! A model does not read a request in the order of its bytes. So a frame is taken apart into named parts,
//! each with its section: the schema of the answer, tools one by one, instructions, settings one by one. Its own bytes
//! are read for that, so a frame that another process wrote down is taken apart in the same way as a new one.
//!
//! Not here: in which order sections are read (`WireApi::reading_order`), and comparing two readings (`continuity`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request::Frame;
use crate::watched::WatchedFormat;
use crate::wire::messages::BREAKPOINT;

/// The parts of a frame in the order in which the model reads them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The model that reads it.
    pub model: Option<ReadPart>,
    /// The parts, section by section.
    parts: Vec<ReadPart>,
}

/// A part of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadPart {
    pub section: ReadSection,
    /// `base`, `tools/view_image`, `settings/effort` ...
    pub name: Arc<str>,
    /// The bytes of the part.
    pub text: Bytes,
    /// The position of the part in the frame.
    pub place: Place,
}

impl ReadPart {
    /// Whether both are read as the same.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

/// A byte of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the items, from the start of the request.
    Head(usize),
    /// Behind them, from the first byte that follows them.
    Tail(usize),
}

impl Place {
    /// The byte so many bytes behind it.
    pub fn after(self, n_bytes: usize) -> Self {
        match self {
            Self::Head(at) => Self::Head(at + n_bytes),
            Self::Tail(at) => Self::Tail(at + n_bytes),
        }
    }

    /// The offset in a body of `body_len` bytes whose tail has `tail_len` bytes.
    pub fn in_body(self, body_len: usize, tail_len: usize) -> usize {
        match self {
            Self::Head(at) => at,
            Self::Tail(at) => body_len - tail_len + at,
        }
    }
}

impl Reading {
    /// Takes a frame apart; absent if its bytes are no request.
    pub fn of(frame: &Frame) -> Option<Self> {
        // Without items, head and tail together are a whole request.
        let (head, tail) = (frame.head_bytes(), frame.tail_bytes());
        let whole = [head.as_ref(), &tail[..]].concat();
        let members: Members<'_> = serde_json::from_slice(&whole).ok()?;
        let taker = Taker { head, frame, whole: &whole };
        let mut parts = Vec::new();
        let mut model = None;
        for (key, value) in &members {
            if frame.view().watched == Some(WatchedFormat::Gemini) {
                taker.of_gemini(key, value, &mut parts)?;
                continue;
            }
            match (key.as_ref(), frame.view().wire) {
                ("model", _) => model = taker.part(ReadSection::Settings, "model", value.get()),
                ("tools", _) => taker.tools(value, &mut parts)?,
                ("instructions", WireApi::Responses) | ("system", WireApi::Messages) => {
                    parts.extend(taker.part(ReadSection::Instructions, "base", value.get()));
                }
                ("messages", WireApi::Chat) => {
                    let system: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
                    let base = |it: &&RawValue| taker.part(ReadSection::Instructions, "base", it.get());
                    parts.extend(system.iter().filter_map(base));
                }
                ("input" | "messages", _) => {}
                ("response_format", WireApi::Chat) => {
                    parts.extend(taker.part(ReadSection::Schema, "schema", value.get()));
                }
                ("text" | "output_config" | "reasoning" | "thinking", _) => taker.settings(key, value, &mut parts),
                _ => parts.extend(taker.part(ReadSection::Settings, &format!("settings/{key}"), value.get())),
            }
        }
        Some(Self { model, parts })
    }

    /// The parts of a section, in their order.
    pub fn parts(&self, section: ReadSection) -> impl Iterator<Item = &ReadPart> {
        self.parts.iter().filter(move |part| part.section == section)
    }
}

/// The members of a JSON object, unread.
type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Takes parts out of a frame.
struct Taker<'a> {
    head: &'a Bytes,
    frame: &'a Frame,
    /// Head and tail, one after the other.
    whole: &'a [u8],
}

impl Taker<'_> {
    /// The part that has this text, which is a piece of the frame.
    fn part(&self, section: ReadSection, name: &str, text: &str) -> Option<ReadPart> {
        let at = (text.as_ptr() as usize).checked_sub(self.whole.as_ptr() as usize)?;
        let (place, text) = match at.checked_sub(self.head.len()) {
            None => (Place::Head(at), self.head.slice(at..at + text.len())),
            Some(at) => (Place::Tail(at), self.frame.tail_slice(at..at + text.len())),
        };
        Some(ReadPart { section, name: name.into(), text, place })
    }

    /// Tools one by one. The mark behind the last one, which ends what a server may cache, is not read.
    fn tools(&self, list: &RawValue, parts: &mut Vec<ReadPart>) -> Option<()> {
        let tools: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
        for tool in tools {
            let name: ToolName<'_> = serde_json::from_str(tool.get()).ok()?;
            let name = name.function.and_then(|it| it.name).or(name.name).or(name.kind).unwrap_or_default();
            let text = tool.get().strip_suffix('}').unwrap_or_default();
            let text = text.strip_suffix(BREAKPOINT).unwrap_or(text);
            parts.extend(self.part(ReadSection::Tools, &format!("tools/{name}"), text));
        }
        Some(())
    }

    /// A member of a request in Google's format, which names its model in the address.
    fn of_gemini(&self, key: &str, value: &RawValue, parts: &mut Vec<ReadPart>) -> Option<()> {
        match key {
            "systemInstruction" | "system_instruction" => {
                parts.extend(self.part(ReadSection::Instructions, "base", value.get()));
            }
            "contents" => {}
            "tools" => {
                let groups: Vec<Members<'_>> = serde_json::from_str(value.get()).ok()?;
                for (kind, declared) in groups.iter().flatten() {
                    match kind.as_ref() {
                        "functionDeclarations" | "function_declarations" => self.tools(declared, parts)?,
                        kind => parts.extend(self.part(ReadSection::Tools, &format!("tools/{kind}"), declared.get())),
                    }
                }
            }
            _ => parts.extend(self.part(ReadSection::Settings, &format!("settings/{key}"), value.get())),
        }
        Some(())
    }

    /// The members of one object of settings, and the schema if it is among them.
    fn settings(&self, key: &str, value: &RawValue, parts: &mut Vec<ReadPart>) {
        let Ok(members) = serde_json::from_str::<Members<'_>>(value.get()) else {
            parts.extend(self.part(ReadSection::Settings, &format!("settings/{key}"), value.get()));
            return;
        };
        for (inner, value) in &members {
            let (section, name) = match inner.as_ref() {
                "format" => (ReadSection::Schema, "schema".to_owned()),
                _ => (ReadSection::Settings, format!("settings/{key}.{inner}")),
            };
            parts.extend(self.part(section, &name, value.get()));
        }
    }
}

/// The name of a tool in any API format. Some tools have only a kind.
#[derive(Deserialize)]
struct ToolName<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

#[cfg(test)]
mod tests;
