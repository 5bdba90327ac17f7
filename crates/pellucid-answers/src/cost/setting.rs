//! The settings under which requests can be simulated, and what each simulation assumes.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::PromptMode;

/// The settings that can be simulated, for messages.
const POSSIBLE: &str = "model=M, ttl=TIME, without=PART, order=stable-first, pack=P, wire=FORMAT, prompt_mode=MODE, mcp=OFFER, \
                        compact_at=TOKENS";

/// A setting under which requests are simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostSetting {
    /// Another model is asked, which answers the same.
    Model(String),
    /// The provider keeps what it reads for so many milliseconds.
    Ttl(i64),
    /// A part is not sent.
    Without(String),
    /// What changes in a session is read last.
    StableFirst,
    /// Another pack makes the requests.
    Pack(String),
    /// The requests have another API format.
    Wire(WireApi),
    /// The pack sends more or less of its layout.
    PromptMode(PromptMode),
    /// The tools of MCP servers are not offered.
    WithoutMcp,
    /// The tools of MCP servers are offered in this way.
    McpTools(McpOffer),
    /// The history is summarised from so many tokens on.
    CompactAt(i64),
}

/// Why a setting cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(super) String);

impl CostSetting {
    /// Reads a setting as a person types it. The error does not repeat the text: who prints it names the text.
    ///
    /// # Errors
    /// When the setting is none, or none that can be simulated.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let wrong = |why: &str| SettingError(why.to_owned());
        let unknown = || SettingError(format!("a setting is one of {POSSIBLE}"));
        let (key, value) = text.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(unknown)?;
        if value.contains(',') && value.contains('=') {
            return Err(wrong("give each setting with an --as of its own"));
        }
        match (key, value) {
            ("model", model) => Ok(Self::Model(model.to_owned())),
            ("ttl", time) => {
                milliseconds(time).map(Self::Ttl).ok_or_else(|| wrong("ttl takes a time such as 5m or 1h"))
            }
            ("without", part) => Ok(Self::Without(part.to_owned())),
            ("order", "stable-first") => Ok(Self::StableFirst),
            ("order", _) => Err(wrong("order takes stable-first")),
            ("pack", pack) => Ok(Self::Pack(pack.to_owned())),
            ("wire", wire) => {
                let wire = WireApi::from_word(wire).map(Self::Wire);
                wire.ok_or_else(|| wrong("wire takes responses, chat or messages"))
            }
            ("prompt_mode", mode) => {
                let mode = PromptMode::from_word(mode).map(Self::PromptMode);
                mode.ok_or_else(|| wrong("prompt_mode takes full, minimal or none"))
            }
            ("mcp", "off") => Ok(Self::WithoutMcp),
            ("mcp", offer) => {
                let offer = McpOffer::from_word(offer).map(Self::McpTools);
                offer.ok_or_else(|| wrong("mcp takes off, direct or deferred"))
            }
            ("compact_at", tokens) => match tokens.parse() {
                Ok(tokens) if tokens > 0 => Ok(Self::CompactAt(tokens)),
                _ => Err(wrong("compact_at takes a number of tokens, from 1")),
            },
            _ => Err(unknown()),
        }
    }

    /// The setting as a person types it.
    pub fn name(&self) -> String {
        match self {
            Self::Model(model) => format!("model={model}"),
            Self::Ttl(ms) if ms % 3_600_000 == 0 => format!("ttl={}h", ms / 3_600_000),
            Self::Ttl(ms) if ms % 60_000 == 0 => format!("ttl={}m", ms / 60_000),
            Self::Ttl(ms) => format!("ttl={}s", ms / 1000),
            Self::Without(part) => format!("without={part}"),
            Self::StableFirst => "order=stable-first".to_owned(),
            Self::Pack(pack) => format!("pack={pack}"),
            Self::Wire(wire) => format!("wire={}", wire.as_str()),
            Self::PromptMode(mode) => format!("prompt_mode={}", mode.as_str()),
            Self::WithoutMcp => "mcp=off".to_owned(),
            Self::McpTools(offer) => format!("mcp={}", offer.as_str()),
            Self::CompactAt(tokens) => format!("compact_at={tokens}"),
        }
    }

    /// Whether the requests have to be made again, from the conversation and the files that they are made of.
    pub fn is_remade(&self) -> bool {
        match self {
            Self::Model(_) | Self::Ttl(_) | Self::Without(_) | Self::StableFirst => false,
            Self::Pack(_)
            | Self::Wire(_)
            | Self::PromptMode(_)
            | Self::WithoutMcp
            | Self::McpTools(_)
            | Self::CompactAt(_) => true,
        }
    }

    /// What a simulation assumes, in one line.
    pub(super) fn note(&self) -> String {
        let remade = |what: &str| {
            let kept = "answers, outputs of tools and times are the recorded ones";
            let counted = "tokens are counted by the recorded tokens for each byte";
            format!("the model would have answered otherwise {what}: {kept}, and {counted}")
        };
        match self {
            Self::Model(model) => format!(
                "{model} would have answered otherwise and counts tokens in its own way: answers and counts are the recorded ones"
            ),
            Self::Ttl(_) => {
                "what the provider keeps for more than 5 minutes is written at the price for an hour".to_owned()
            }
            Self::Without(part) => {
                format!("the model would have answered otherwise without {part}: answers are the recorded ones")
            }
            Self::StableFirst => {
                "the model would have answered otherwise to another order: answers are the recorded ones".to_owned()
            }
            Self::Pack(_) => remade("to requests of another pack"),
            Self::Wire(WireApi::Messages) => {
                remade("to another API format") + ", and all that is not read from the cache is written to it"
            }
            Self::Wire(_) => remade("to another API format"),
            Self::PromptMode(_) => remade("to another prompt"),
            Self::WithoutMcp => remade("without the tools of MCP servers"),
            Self::McpTools(McpOffer::Deferred) => {
                remade("to names of tools without schemas")
                    + ", and it would have asked for schemas in calls that are not here"
            }
            Self::McpTools(McpOffer::Direct) => remade("to tools with their schemas"),
            Self::CompactAt(_) => remade("after another summary"),
        }
    }
}

/// The milliseconds of a time such as `90s`, `5m` or `1h`.
fn milliseconds(text: &str) -> Option<i64> {
    let (number, factor) = match text.as_bytes().last()? {
        b's' => (&text[..text.len() - 1], 1000),
        b'm' => (&text[..text.len() - 1], 60_000),
        b'h' => (&text[..text.len() - 1], 3_600_000),
        _ => return None,
    };
    number.parse::<i64>().ok().filter(|number| *number > 0)?.checked_mul(factor)
}
