//! Fixtures for tests and benchmarks of the engine.

use std::sync::LazyLock;

use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::pack::Pack;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::WebSearchMode;
use serde_json::json;

/// A model with reasoning, verbosity and the freeform patch tool.
pub fn model(slug: &str) -> ModelInfo {
    serde_json::from_value(json!({
        "slug": slug,
        "display_name": slug,
        "default_reasoning_level": "medium",
        "shell_type": "shell_command",
        "visibility": "list",
        "supports_reasoning_summaries": true,
        "apply_patch_tool_type": "freeform",
        "truncation_policy": { "mode": "tokens", "limit": 10000 },
        "supports_parallel_tool_calls": true,
        "context_window": 272_000,
    }))
    .unwrap()
}

/// The facts of a plain first turn.
pub fn facts() -> Facts {
    let mut facts = Facts::plain("/home/ada/proj", model("gpt-5.2-codex"));
    facts.settings.personality = Some(Personality::Pragmatic);
    facts.settings.project_document_bytes_max = 32_768;
    facts.settings.web_search = WebSearchMode::Cached;
    facts
}

/// A file with this text.
pub fn document(path: &str, text: &str) -> Document {
    Document::whole(path, text)
}

/// The codex pack, loaded once.
pub fn pack() -> &'static Pack {
    static PACK: LazyLock<Pack> = LazyLock::new(|| Pack::builtin("codex").unwrap());
    &PACK
}

/// The session of all tests.
pub fn session_id() -> SessionId {
    SessionId::new("019a0000-0000-7000-8000-000000000001")
}
