//! Fixtures for tests and benchmarks of the engine.

use std::sync::LazyLock;

use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::pack::Pack;
use pellucid_engine::skills::Skills;
use pellucid_protocol::feature::Features;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
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
    Facts {
        cwd: "/home/ada/proj".to_owned(),
        shell: "bash".to_owned(),
        network: None,
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::ReadOnly,
        writable_roots: Vec::new(),
        approved_prefixes: Vec::new(),
        model: model("gpt-5.2-codex"),
        effort: None,
        summary: ReasoningSummary::Auto,
        verbosity: None,
        personality: Some(Personality::Pragmatic),
        features: Features::default(),
        base_instructions: None,
        recorded_instructions: None,
        recorded_fragments: Vec::new(),
        developer_instructions: None,
        collaboration_mode: CollaborationMode {
            mode: CollaborationModeKind::Default,
            settings: CollaborationSettings {
                model: "gpt-5.2-codex".to_owned(),
                reasoning_effort: None,
                developer_instructions: None,
            },
        },
        home_document: None,
        project_documents: Vec::new(),
        project_document_bytes_max: 32_768,
        project_docs: ProjectDocs::default(),
        imports: Vec::new(),
        nested_documents: Vec::new(),
        candidates: Vec::new(),
        links: std::collections::BTreeMap::new(),
        skills: Skills::default(),
        memory: None,
        web_search: WebSearchMode::Cached,
        commit_attribution: None,
        has_mcp_servers: false,
        mcp_tools: std::sync::Arc::default(),
        agent_roles: Vec::new(),
        dynamic_tools: Vec::new(),
        prompt_mode: PromptMode::Full,
        assistant: None,
        injection: InjectionFacts::default(),
    }
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
