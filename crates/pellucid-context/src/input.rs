//! A request as JSON in, for programs in other languages: pack, facts, API format and messages.

use std::collections::BTreeMap;

use pellucid_engine::facts::Facts;
use pellucid_engine::request::WireSettings;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
use serde::Deserialize;
use serde_json::Value;

use crate::built::BuiltRequest;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::extend::SourceAsk;
use crate::facts_input::FactsInput;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::source::SourceOutput;

/// Everything that a request is made from, as programs in other languages write it.
///
/// ```
/// use pellucid_context::RequestInput;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let input: RequestInput = serde_json::from_str(r#"{
///     "pack": { "builtin": "codex" },
///     "facts": { "model": "gpt-5.2-codex", "cwd": "/proj" },
///     "messages": ["hello"]
/// }"#)?;
/// let request = input.build()?;
/// assert_eq!(request.report().bytes(), request.body().len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestInput {
    pack: PackInput,
    facts: FactsInput,
    #[serde(default)]
    wire: WireInput,
    /// Texts for slots with the source `host`, by the id of the slot.
    #[serde(default)]
    texts: BTreeMap<String, String>,
    /// Whether gates `host:NAME` are open, by name.
    #[serde(default)]
    gates: BTreeMap<String, bool>,
    #[serde(default)]
    messages: Vec<MessageInput>,
}

/// The pack of a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum PackInput {
    /// A built-in pack.
    Builtin {
        /// The name of the pack.
        builtin: String,
    },
    /// The files of a pack.
    Files {
        /// The texts of the files, by their names in the pack.
        files: BTreeMap<String, String>,
        /// The folder that reports and errors name; `pack` if it is left out.
        folder: Option<String>,
    },
}

/// The API format of a request, and its session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireInput {
    api: WireApi,
    session_id: String,
    developer: DeveloperRole,
    output_tokens_max: Option<u64>,
    output_schema: Option<Value>,
}

/// A message of the person as text, or any item.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum MessageInput {
    /// What the person said.
    Said(String),
    /// An item of the model or of a tool.
    Item(Box<Item>),
}

/// Why an input is not one that a request can be made from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The input is not JSON, or has another form.
    #[error("the input cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// No feature has this key.
    #[error("unknown feature `{key}`")]
    Feature {
        /// The key that is not known.
        key: String,
    },
    /// The settings of an agent are wrong.
    #[error("injection.settings: {0}")]
    Settings(#[from] pellucid_engine::window::settings::SettingsError),
    /// The pack or the facts do not make a session.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl RequestInput {
    /// Makes the request.
    ///
    /// # Errors
    /// If the pack, a feature or a name of the input is not known.
    pub fn build(self) -> Result<BuiltRequest, InputError> {
        let mut engine = match self.pack {
            PackInput::Builtin { builtin } => Engine::builtin(&builtin)?,
            PackInput::Files { files, folder } => Engine::from_files(&files, folder.as_deref().unwrap_or("pack"))?,
        };
        for (slot, text) in self.texts {
            let place = format!("texts.{slot}");
            let give = move |_: &SourceAsk<'_>| SourceOutput::text(vec![Fragment::provided(&place, text.clone())]);
            engine = engine.with_source(&slot, give);
        }
        for (name, is_open) in self.gates {
            engine = engine.with_gate(&name, move |_: &Facts| is_open);
        }
        let mut session = engine.begin(self.facts.try_into()?, self.wire.into())?;
        for message in &self.messages {
            match message {
                MessageInput::Said(text) => session.say(text),
                MessageInput::Item(item) => session.record(item),
            }
        }
        Ok(session.request())
    }
}

impl From<WireInput> for WireSettings {
    fn from(input: WireInput) -> Self {
        Self {
            wire: input.api,
            developer: input.developer,
            output_tokens_max: input.output_tokens_max,
            output_schema: input.output_schema,
            ..Self::new(SessionId::new(input.session_id))
        }
    }
}
