//! Generated inputs and digested results.

use pellucid_engine::utf16;
use serde::Deserialize;

use crate::golden::cases::same;
use crate::golden::text::sha256;

/// A part of a generated text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Part {
    Text(TextPart),
    Repeat(RepeatPart),
    Lines(LinesPart),
    Weave(WeavePart),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatPart {
    repeat: String,
    times: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesPart {
    lines: String,
    from: usize,
    count: usize,
    eol: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeavePart {
    weave: Vec<String>,
    count: usize,
    seed: usize,
}

/// The text that parts describe.
pub fn made(parts: &[Part]) -> String {
    let part = |part: &Part| match part {
        Part::Text(it) => it.text.clone(),
        Part::Repeat(it) => it.repeat.repeat(it.times),
        Part::Lines(it) => (it.from..it.from + it.count).map(|n| format!("{}{n}{}", it.lines, it.eol)).collect(),
        Part::Weave(it) => {
            (0..it.count).map(|i| it.weave[(7 * i + 5 * (i / 13) + it.seed) % it.weave.len()].as_str()).collect()
        }
    };
    parts.iter().map(part).collect()
}

/// A result in UTF-16 units: lengths and hashes of its three forms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    utf16_len: usize,
    sha256_utf16le: String,
    sha256_utf8: String,
    sha256_utf8_wire: Option<String>,
    lone_surrogates: Option<usize>,
    text: Option<String>,
    text_lossy: Option<String>,
}

impl Output {
    /// Compares units. `shown` replaces texts by their placeholders.
    pub fn check(&self, units: &[u16]) -> Result<(), String> {
        if let Some(text) = &self.text {
            same("text", &utf16::shown(units), text)?;
        }
        if let Some(text) = &self.text_lossy {
            same("lossy text", &utf16::shown(units), text)?;
        }
        same("units", &units.len(), &self.utf16_len)?;
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        same("UTF-16 hash", &sha256(&bytes), &self.sha256_utf16le)?;
        same("UTF-8 hash", &sha256(utf16::shown(units).as_bytes()), &self.sha256_utf8)?;
        same("halves", &utf16::n_halves(units), &self.lone_surrogates.unwrap_or(0))?;
        match &self.sha256_utf8_wire {
            Some(expected) => same("wire hash", &sha256(utf16::sent(units).as_bytes()), expected),
            None => Ok(()),
        }
    }
}
