//! Every slot of a pack, in one table: its file, its placeholders, and the place of the same text in the sources of
//! the Codex CLI.
//!
//! Checking, showing and importing all read this table. A slot may be listed before anything
//! uses it, so that a pack made today is still right when something does.
//!
//! Not here: layouts, and tools' schemas. The descriptions of tools are slots too, but the tools' files define them;
//! [`TOOLS`] only has the places of their texts upstream.

use crate::template::Trim;

/// A place for a text in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownSlot {
    /// The name: the file in the pack without its extension.
    pub name: &'static str,
    /// The extension of the file.
    pub extension: &'static str,
    /// How the end of the file is trimmed.
    pub trim: Trim,
    /// The placeholders that the text may have, as they are written.
    pub places: &'static [&'static str],
    /// The purpose of the text, for people.
    pub about: &'static str,
    /// The place of the same text in the Codex CLI's sources.
    pub upstream: Upstream,
}

impl KnownSlot {
    /// The file of the slot in a pack.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.extension)
    }

    const fn file_slot(name: &'static str, about: &'static str, upstream: &'static str) -> Self {
        Self::new(name, about, Upstream::File(upstream))
    }

    const fn literal(name: &'static str, about: &'static str, literal: Literal) -> Self {
        Self::new(name, about, Upstream::Literal(literal))
    }

    const fn new(name: &'static str, about: &'static str, upstream: Upstream) -> Self {
        Self { name, extension: "md", trim: Trim::Keep, places: &[], about, upstream }
    }

    const fn with(self, places: &'static [&'static str]) -> Self {
        Self { places, ..self }
    }

    const fn trimmed(self, trim: Trim) -> Self {
        Self { trim, ..self }
    }

    const fn extension(self, extension: &'static str) -> Self {
        Self { extension, ..self }
    }
}

/// The place of a text in the sources of the Codex CLI, relative to their root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// Nowhere: it is a text or a wrapper of this program alone.
    Nowhere,
    /// The text is a whole file.
    File(&'static str),
    /// The text is a string in a Rust file.
    Literal(Literal),
    /// The text is the grammar of the tool that this function of a Rust file makes.
    Grammar {
        /// The path of the Rust file.
        file: &'static str,
        /// The name of the function.
        item: &'static str,
    },
}

impl Upstream {
    /// The place in a few words, for people.
    pub fn place(&self) -> String {
        match self {
            Self::Nowhere => String::new(),
            Self::File(file) => (*file).to_owned(),
            Self::Literal(literal) => literal.place(),
            Self::Grammar { file, item } => format!("{file}, {item}"),
        }
    }
}

/// A string in a Rust file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal {
    /// The path of the Rust file.
    pub file: &'static str,
    /// The items that lead to it, from the outside in: `impl X`, `mod x`, `fn x`, `const X`.
    pub items: &'static [&'static str],
    /// Which string of the item, or which part of one.
    pub pick: Pick,
    /// Our placeholders for those of a `format!`, in their order.
    pub renames: &'static [(&'static str, &'static str)],
}

impl Literal {
    /// The place in a few words, for people.
    pub fn place(&self) -> String {
        [&[self.file], self.items].concat().join(", ")
    }
}

/// Which string of an item, or which part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The string with this number, counted from zero.
    Nth(usize),
    /// The one with this number among those of `format!`.
    Format(usize),
    /// The one with this number among those that begin so.
    Beginning(&'static str, usize),
    /// The first one of `format!` that has this placeholder.
    Having(&'static str),
    /// The one after the one that reads so.
    After(&'static str),
    /// The part between these two of the one that has both.
    Between(&'static str, &'static str),
    /// The one with the number `outer` among those of `format!`, with the one with the number
    /// `inner` in this place of it.
    Nested {
        /// The index of the outer string.
        outer: usize,
        /// The placeholder in the outer string.
        place: &'static str,
        /// The index of the inner string.
        inner: usize,
    },
    /// All that are not inside an `if`, put together.
    Unconditional,
    /// All that are inside an `if`, put together without the last newline.
    Conditional,
}

const MODELS_RS: &str = "codex-rs/protocol/src/models.rs";
const MODEL_INFO_RS: &str = "codex-rs/core/src/models_manager/model_info.rs";
const PRESETS_RS: &str = "codex-rs/core/src/models_manager/collaboration_mode_presets.rs";
const PROJECT_DOC_RS: &str = "codex-rs/core/src/project_doc.rs";
const SKILLS_RENDER_RS: &str = "codex-rs/core/src/skills/render.rs";
const SKILL_VARIABLES_RS: &str = "codex-rs/core/src/skills/env_var_dependencies.rs";
const REVIEW_PROMPTS_RS: &str = "codex-rs/core/src/review_prompts.rs";
const ROLE_RS: &str = "codex-rs/core/src/agent/role.rs";
const SPEC_RS: &str = "codex-rs/core/src/tools/spec.rs";
const PLAN_RS: &str = "codex-rs/core/src/tools/handlers/plan.rs";
const APPLY_PATCH_RS: &str = "codex-rs/core/src/tools/handlers/apply_patch.rs";
const REQUEST_USER_INPUT_RS: &str = "codex-rs/core/src/tools/handlers/request_user_input.rs";

/// The catalogue with texts for particular models.
pub const MODELS: &str = "models.json";
/// The file that records where an imported pack came from.
pub const MANIFEST: &str = "manifest.json";

/// A constant of a Rust file.
const fn constant(file: &'static str, items: &'static [&'static str]) -> Literal {
    Literal { file, items, pick: Pick::Nth(0), renames: &[] }
}

/// A string of a Rust function.
const fn inside(file: &'static str, items: &'static [&'static str], pick: Pick) -> Literal {
    Literal { file, items, pick, renames: &[] }
}

/// A string of a `format!` in a Rust function.
const fn format(
    file: &'static str,
    items: &'static [&'static str],
    pick: Pick,
    renames: &'static [(&'static str, &'static str)],
) -> Literal {
    Literal { file, items, pick, renames }
}

/// Every slot with a separate file, by name.
pub static SLOTS: &[KnownSlot] = &[
    KnownSlot::file_slot(
        "agents/hierarchical",
        "instruction files below the working directory",
        "codex-rs/core/hierarchical_agents_message.md",
    ),
    KnownSlot::literal(
        "agents/role_default",
        "the role `default` of other agents",
        inside(ROLE_RS, &["mod built_in", "fn configs"], Pick::Nth(0)),
    ),
    KnownSlot::literal(
        "agents/role_explorer",
        "the role `explorer` of other agents",
        inside(ROLE_RS, &["mod built_in", "fn configs"], Pick::After("explorer")),
    ),
    KnownSlot::literal(
        "agents/role_worker",
        "the role `worker` of other agents",
        inside(ROLE_RS, &["mod built_in", "fn configs"], Pick::After("worker")),
    ),
    KnownSlot::literal(
        "apps/section",
        "connected apps",
        format(
            "codex-rs/core/src/apps/render.rs",
            &["fn render_apps_section"],
            Pick::Format(0),
            &[("{CODEX_APPS_MCP_SERVER_NAME}", "{apps_server}")],
        ),
    )
    .with(&["{apps_server}"]),
    KnownSlot::new("base/codex", "base instructions of models with a tone", Upstream::Nowhere)
        .with(&["{{ personality }}"]),
    KnownSlot::file_slot("base/default", "base instructions of all other models", "codex-rs/core/prompt.md"),
    KnownSlot::new("collaboration", "the tags around the collaboration mode", Upstream::Nowhere)
        .with(&["{{ text }}", "{{ directory }}"]),
    KnownSlot::file_slot(
        "collaboration/default",
        "working together: the mode Default",
        "codex-rs/core/templates/collaboration_mode/default.md",
    )
    .with(&["{{KNOWN_MODE_NAMES}}", "{{REQUEST_USER_INPUT_AVAILABILITY}}"]),
    KnownSlot::file_slot(
        "collaboration/plan",
        "working together: the mode Plan",
        "codex-rs/core/templates/collaboration_mode/plan.md",
    ),
    KnownSlot::literal(
        "collaboration/rui_unavailable",
        "that the model cannot ask the user in a mode",
        format(
            PRESETS_RS,
            &["fn request_user_input_availability_message"],
            Pick::Format(1),
            &[("{mode_name}", "{mode}")],
        ),
    )
    .with(&["{mode}"]),
    KnownSlot::new(
        "compact/local_summary",
        "the summary that is made by rule when no model gives one",
        Upstream::Nowhere,
    )
    .with(&["{{ answer }}", "{{ plan }}", "{{ files }}", "{{ commands }}", "{{ demands }}"]),
    KnownSlot::file_slot(
        "compact/prompt",
        "how the model is asked for a summary",
        "codex-rs/core/templates/compact/prompt.md",
    ),
    KnownSlot::new(
        "compact/requests",
        "how the model is asked to account for the person's requests in a summary",
        Upstream::Nowhere,
    )
    .with(&["{{ requests }}"]),
    KnownSlot::file_slot(
        "compact/summary_prefix",
        "what comes before a summary",
        "codex-rs/core/templates/compact/summary_prefix.md",
    ),
    KnownSlot::new("documents/changed", "around instruction files that changed during a session", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ text }}", "{{ directory }}"]),
    KnownSlot::new("documents/changed_above", "a file that changed, whose text is just above", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ path }}", "{{ old }}", "{{ new }}"]),
    KnownSlot::new("documents/changed_file", "a file that changed, with its text", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ path }}", "{{ text }}", "{{ old }}", "{{ new }}"]),
    KnownSlot::new("documents/cut", "the note where an instruction file is cut", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ path }}", "{{ missing }}", "{{ size }}"]),
    KnownSlot::new("documents/imported", "around a file that an instruction file imports", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ path }}", "{{ text }}", "{{ by }}"]),
    KnownSlot::new(
        "documents/nested",
        "around the instruction file of a folder that a tool went to",
        Upstream::Nowhere,
    )
    .trimmed(Trim::Newline)
    .with(&["{{ text }}", "{{ path }}", "{{ directory }}", "{{ new }}"]),
    KnownSlot::new("documents/removed_file", "an instruction file that is gone", Upstream::Nowhere)
        .trimmed(Trim::Newline)
        .with(&["{{ path }}", "{{ old }}"]),
    KnownSlot::literal(
        "git/commit_trailer",
        "how commit messages name the agent",
        format(
            "codex-rs/core/src/commit_attribution.rs",
            &["fn commit_message_trailer_instruction"],
            Pick::Format(0),
            &[("{trailer}", "{trailer}")],
        ),
    )
    .with(&["{trailer}"]),
    KnownSlot::literal(
        "images/invalid",
        "in place of an image that is damaged",
        format(
            MODELS_RS,
            &["fn invalid_image_error_placeholder"],
            Pick::Format(0),
            &[("{}", "{path}"), ("{}", "{error}")],
        ),
    )
    .with(&["{path}", "{error}"]),
    KnownSlot::literal(
        "images/unreadable",
        "in place of an image that cannot be read",
        format(
            MODELS_RS,
            &["fn local_image_error_placeholder"],
            Pick::Format(0),
            &[("{}", "{path}"), ("{}", "{error}")],
        ),
    )
    .with(&["{path}", "{error}"]),
    KnownSlot::literal(
        "images/unsupported",
        "in place of an image of an unsupported format",
        format(
            MODELS_RS,
            &["fn unsupported_image_error_placeholder"],
            Pick::Format(0),
            &[("{}", "{path}"), ("{}", "{mime}")],
        ),
    )
    .with(&["{path}", "{mime}"]),
    KnownSlot::literal(
        "js_repl/section",
        "how to use the JavaScript tool",
        inside(PROJECT_DOC_RS, &["fn render_js_repl_instructions"], Pick::Unconditional),
    ),
    KnownSlot::literal(
        "js_repl/section_tools_only",
        "the same when it is the only tool",
        inside(PROJECT_DOC_RS, &["fn render_js_repl_instructions"], Pick::Conditional),
    ),
    KnownSlot::new("memory/card", "how a card of a session's memory is asked for", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::new("memory/cards", "around the cards that a session's memory recalls", Upstream::Nowhere)
        .with(&["{{ cards }}"])
        .trimmed(Trim::Newline),
    KnownSlot::file_slot(
        "memory/consolidation",
        "how an agent is asked to merge what was extracted from past sessions",
        "codex-rs/core/templates/memories/consolidation.md",
    )
    .with(&["{{ memory_root }}"])
    .trimmed(Trim::Newline),
    KnownSlot::new("memory/details", "around summaries and recalled details of a session's memory", Upstream::Nowhere)
        .with(&["{{ summaries }}", "{{ details }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("memory/fragments", "around recalled fragments of earlier messages", Upstream::Nowhere)
        .with(&["{{ fragments }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("memory/previous", "around a session's memory at the head of the conversation", Upstream::Nowhere)
        .with(&["{{ memory }}"])
        .trimmed(Trim::Newline),
    KnownSlot::file_slot(
        "memory/read_path",
        "what earlier sessions left to remember",
        "codex-rs/core/templates/memories/read_path.md",
    )
    .with(&["{{ base_path }}", "{{ memory_summary }}"])
    .trimmed(Trim::Newline),
    KnownSlot::file_slot(
        "memory/stage_one_input",
        "how a model is asked to extract from a past session",
        "codex-rs/core/templates/memories/stage_one_input.md",
    )
    .with(&["{{ rollout_path }}", "{{ rollout_cwd }}", "{{ rollout_contents }}"])
    .trimmed(Trim::Newline),
    KnownSlot::file_slot(
        "memory/stage_one_system",
        "base instructions of that model",
        "codex-rs/core/templates/memories/stage_one_system.md",
    ),
    KnownSlot::new("memory/summary", "how other summaries of a session's memory are asked for", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::new("model_switch", "the tags around the instructions of a new model", Upstream::Nowhere)
        .with(&["{{ intro }}", "{{ instructions }}"]),
    KnownSlot::literal(
        "model_switch/intro",
        "that another model continues",
        inside(MODELS_RS, &["fn model_switch_message"], Pick::Between("<model_switch>\n", "\n\n{model_instructions}")),
    ),
    KnownSlot::file_slot(
        "permissions/approval_never",
        "approval policy `never`",
        "codex-rs/protocol/src/prompts/permissions/approval_policy/never.md",
    ),
    KnownSlot::file_slot(
        "permissions/approval_on_failure",
        "approval policy `on-failure`",
        "codex-rs/protocol/src/prompts/permissions/approval_policy/on_failure.md",
    ),
    KnownSlot::file_slot(
        "permissions/approval_on_request",
        "approval policy `on-request`",
        "codex-rs/protocol/src/prompts/permissions/approval_policy/on_request_rule.md",
    ),
    KnownSlot::file_slot(
        "permissions/approval_unless_trusted",
        "approval policy `untrusted`",
        "codex-rs/protocol/src/prompts/permissions/approval_policy/unless_trusted.md",
    ),
    KnownSlot::literal(
        "permissions/approved_prefixes_intro",
        "before the list of approved commands",
        inside(
            MODELS_RS,
            &["impl DeveloperInstructions", "fn from"],
            Pick::Between("\n## Approved command prefixes\n", " {prefixes}"),
        ),
    ),
    KnownSlot::file_slot(
        "permissions/sandbox_danger_full_access",
        "sandbox mode `danger-full-access`",
        "codex-rs/protocol/src/prompts/permissions/sandbox_mode/danger_full_access.md",
    )
    .with(&["{network_access}"])
    .trimmed(Trim::End),
    KnownSlot::file_slot(
        "permissions/sandbox_read_only",
        "sandbox mode `read-only`",
        "codex-rs/protocol/src/prompts/permissions/sandbox_mode/read_only.md",
    )
    .with(&["{network_access}"])
    .trimmed(Trim::End),
    KnownSlot::file_slot(
        "permissions/sandbox_workspace_write",
        "sandbox mode `workspace-write`",
        "codex-rs/protocol/src/prompts/permissions/sandbox_mode/workspace_write.md",
    )
    .with(&["{network_access}"])
    .trimmed(Trim::End),
    KnownSlot::literal(
        "permissions/writable_root_many",
        "where commands may write: several folders",
        format(MODELS_RS, &["fn from_writable_roots"], Pick::Beginning(" ", 1), &[("{}", "{roots}")]),
    )
    .with(&["{roots}"]),
    KnownSlot::literal(
        "permissions/writable_root_one",
        "where commands may write: one folder",
        format(MODELS_RS, &["fn from_writable_roots"], Pick::Beginning(" ", 0), &[("{}", "{root}")]),
    )
    .with(&["{root}"]),
    KnownSlot::new("personality", "the tags around a tone", Upstream::Nowhere).with(&["{{ intro }}", "{{ message }}"]),
    KnownSlot::new("personality/default", "the tone when the user chose none", Upstream::Nowhere),
    KnownSlot::literal(
        "personality/fallback_friendly",
        "the warm tone, in a sentence",
        constant(MODEL_INFO_RS, &["const LOCAL_FRIENDLY_TEMPLATE"]),
    ),
    KnownSlot::literal(
        "personality/fallback_header",
        "what comes before a tone in a sentence",
        constant(MODEL_INFO_RS, &["const DEFAULT_PERSONALITY_HEADER"]),
    ),
    KnownSlot::literal(
        "personality/fallback_pragmatic",
        "the concise tone, in a sentence",
        constant(MODEL_INFO_RS, &["const LOCAL_PRAGMATIC_TEMPLATE"]),
    ),
    KnownSlot::new("personality/friendly", "the warm tone", Upstream::Nowhere),
    KnownSlot::literal(
        "personality/intro",
        "that the user asked for another tone",
        inside(MODELS_RS, &["fn personality_spec_message"], Pick::Between("<personality_spec> ", " \n{spec}")),
    ),
    KnownSlot::new("personality/pragmatic", "the concise tone", Upstream::Nowhere),
    KnownSlot::new("reinject/alias", "who the agent is, before standing texts", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/missing_skill", "a skill that was asked for and does not exist", Upstream::Nowhere)
        .with(&["{{ name }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/requested_skill", "a skill that was asked for", Upstream::Nowhere)
        .with(&["{{ name }}", "{{ text }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/requested_skills", "the skills that were asked for", Upstream::Nowhere)
        .with(&["{{ skills }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/separator", "that the user's input follows standing texts", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/skill_system", "how skills are used, among standing texts", Upstream::Nowhere)
        .with(&["{{ count }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/skill_system_none", "the same when there are no skills", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/soul", "the agent's character, among standing texts", Upstream::Nowhere)
        .with(&["{{ text }}"])
        .trimmed(Trim::Newline),
    KnownSlot::new("reinject/workspace_notice", "that a workspace is not set up for standing texts", Upstream::Nowhere)
        .trimmed(Trim::Newline),
    KnownSlot::file_slot(
        "review/exit_interrupted",
        "an interrupted review",
        "codex-rs/core/templates/review/exit_interrupted.xml",
    )
    .extension("xml"),
    KnownSlot::file_slot(
        "review/exit_success",
        "the result of a review",
        "codex-rs/core/templates/review/exit_success.xml",
    )
    .extension("xml")
    .with(&["{results}"]),
    KnownSlot::file_slot("review/rubric", "base instructions of a review", "codex-rs/core/review_prompt.md"),
    KnownSlot::literal(
        "review/target_base_branch",
        "what to review: against a branch",
        constant(REVIEW_PROMPTS_RS, &["const BASE_BRANCH_PROMPT"]),
    )
    .with(&["{baseBranch}", "{mergeBaseSha}"]),
    KnownSlot::literal(
        "review/target_base_branch_no_merge_base",
        "the same, when the common commit is not known",
        constant(REVIEW_PROMPTS_RS, &["const BASE_BRANCH_PROMPT_BACKUP"]),
    )
    .with(&["{branch}"]),
    KnownSlot::literal(
        "review/target_commit",
        "what to review: a commit",
        constant(REVIEW_PROMPTS_RS, &["const COMMIT_PROMPT"]),
    )
    .with(&["{sha}"]),
    KnownSlot::literal(
        "review/target_commit_titled",
        "the same with its title",
        constant(REVIEW_PROMPTS_RS, &["const COMMIT_PROMPT_WITH_TITLE"]),
    )
    .with(&["{sha}", "{title}"]),
    KnownSlot::literal(
        "review/target_uncommitted",
        "what to review: changes without a commit",
        constant(REVIEW_PROMPTS_RS, &["const UNCOMMITTED_PROMPT"]),
    ),
    KnownSlot::new("sections/recalled", "recalled texts among injected sections", Upstream::Nowhere)
        .with(&["{{ recalled }}"])
        .trimmed(Trim::Newline),
    KnownSlot::literal(
        "skills/env_question",
        "asks the user for a variable that a skill needs",
        format(
            SKILL_VARIABLES_RS,
            &["fn request_skill_dependencies"],
            Pick::Nested { outer: 2, place: "{requirement}", inner: 1 },
            &[("{}", "{skill}"), ("{}", "{name}"), ("{}", "{description}")],
        ),
    )
    .with(&["{skill}", "{name}", "{description}"])
    .trimmed(Trim::Newline),
    KnownSlot::literal(
        "skills/intro",
        "before the list of skills",
        inside(SKILLS_RENDER_RS, &["fn render_skills_section"], Pick::After("## Skills")),
    ),
    KnownSlot::literal(
        "skills/usage",
        "how to use skills",
        inside(SKILLS_RENDER_RS, &["fn render_skills_section"], Pick::After("### How to use skills")),
    ),
    KnownSlot::file_slot(
        "tools/apply_patch_grammar",
        "the grammar of patches",
        "codex-rs/core/src/tools/handlers/tool_apply_patch.lark",
    )
    .extension("lark"),
    KnownSlot::new(
        "tools/js_repl_grammar",
        "the grammar of the JavaScript tool's input",
        Upstream::Grammar { file: SPEC_RS, item: "fn create_js_repl_tool" },
    )
    .extension("lark"),
    KnownSlot::literal(
        "turn/aborted",
        "that the user interrupted the turn",
        constant("codex-rs/core/src/tasks/mod.rs", &["const TURN_ABORTED_INTERRUPTED_GUIDANCE"]),
    ),
    KnownSlot::new("user_instructions", "the tags around instruction files", Upstream::Nowhere)
        .with(&["{{ text }}", "{{ directory }}"]),
    KnownSlot::literal(
        "warnings/apply_patch_via_shell",
        "that patches have a separate tool",
        format(
            APPLY_PATCH_RS,
            &["fn intercept_apply_patch"],
            Pick::Having("{tool_name}"),
            &[("{tool_name}", "{tool}")],
        ),
    )
    .with(&["{tool}"]),
    KnownSlot::literal(
        "warnings/model_rerouted",
        "that another model answers",
        format(
            "codex-rs/core/src/codex.rs",
            &["fn maybe_warn_on_server_model_mismatch"],
            Pick::Format(0),
            &[
                ("{CYBER_VERIFY_URL}", "https://chatgpt.com/cyber"),
                ("{CYBER_SAFETY_URL}", "https://developers.openai.com/codex/concepts/cyber-safety"),
            ],
        ),
    ),
    KnownSlot::literal(
        "warnings/too_many_processes",
        "that many commands are running",
        format(
            "codex-rs/core/src/unified_exec/process_manager.rs",
            &[],
            Pick::Having("{number_processes}"),
            &[("{WARNING_UNIFIED_EXEC_PROCESSES}", "{max}"), ("{number_processes}", "{count}")],
        ),
    )
    .with(&["{max}", "{count}"]),
];

/// Finds a slot by its name.
pub fn find(name: &str) -> Option<&'static KnownSlot> {
    SLOTS.iter().find(|slot| slot.name == name)
}

/// The catalogue with texts for particular models, in the Codex CLI's sources.
pub const MODELS_UPSTREAM: &str = "codex-rs/core/models.json";

/// The built-in skills, in the Codex CLI's sources.
pub const SKILLS_UPSTREAM: &str = "codex-rs/core/src/skills/assets/samples";

/// The place of a tool's descriptions in the Codex CLI's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolUpstream {
    /// The tool's file in a pack, without folder and extension.
    pub tool: &'static str,
    /// The path of the Rust file.
    pub file: &'static str,
    /// The function or constant that makes the tool.
    pub item: &'static str,
    /// Our placeholders for those of `format!` in it.
    pub renames: &'static [(&'static str, &'static str)],
    /// Descriptions that the item takes from elsewhere, by their path; the tool's own has none.
    pub elsewhere: &'static [(&'static str, Upstream)],
}

const fn tool(tool: &'static str, file: &'static str, item: &'static str) -> ToolUpstream {
    ToolUpstream { tool, file, item, renames: &[], elsewhere: &[] }
}

/// Every tool with descriptions.
pub static TOOLS: &[ToolUpstream] = &[
    tool("apply_patch", APPLY_PATCH_RS, "fn create_apply_patch_freeform_tool"),
    tool("apply_patch_function", APPLY_PATCH_RS, "fn create_apply_patch_json_tool"),
    tool("close_agent", SPEC_RS, "fn create_close_agent_tool"),
    tool("exec_command", SPEC_RS, "fn create_exec_command_tool"),
    tool("grep_files", SPEC_RS, "fn create_grep_files_tool"),
    tool("js_repl", SPEC_RS, "fn create_js_repl_tool"),
    tool("js_repl_reset", SPEC_RS, "fn create_js_repl_reset_tool"),
    tool("list_dir", SPEC_RS, "fn create_list_dir_tool"),
    tool("list_mcp_resource_templates", SPEC_RS, "fn create_list_mcp_resource_templates_tool"),
    tool("list_mcp_resources", SPEC_RS, "fn create_list_mcp_resources_tool"),
    tool("read_file", SPEC_RS, "fn create_read_file_tool"),
    tool("read_mcp_resource", SPEC_RS, "fn create_read_mcp_resource_tool"),
    ToolUpstream {
        elsewhere: &[(
            "",
            Upstream::Literal(format(
                REQUEST_USER_INPUT_RS,
                &["fn request_user_input_tool_description"],
                Pick::Format(0),
                &[("{allowed_modes}", "{modes}")],
            )),
        )],
        ..tool("request_user_input", SPEC_RS, "fn create_request_user_input_tool")
    },
    tool("resume_agent", SPEC_RS, "fn create_resume_agent_tool"),
    ToolUpstream {
        renames: &[("{SEARCH_TOOL_BM25_DEFAULT_LIMIT}", "8")],
        elsewhere: &[("", Upstream::File("codex-rs/core/templates/search_tool/tool_description.md"))],
        ..tool("search_tool_bm25", SPEC_RS, "fn create_search_tool_bm25_tool")
    },
    tool("send_input", SPEC_RS, "fn create_send_input_tool"),
    tool("shell", SPEC_RS, "fn create_shell_tool"),
    tool("shell_command", SPEC_RS, "fn create_shell_command_tool"),
    ToolUpstream {
        elsewhere: &[(
            "agent_type",
            Upstream::Literal(format(
                ROLE_RS,
                &["mod spawn_tool_spec", "fn build_from_configs"],
                Pick::Format(0),
                &[("{DEFAULT_ROLE_NAME}", "default"), ("{}", "{roles}")],
            )),
        )],
        ..tool("spawn_agent", SPEC_RS, "fn create_spawn_agent_tool")
    },
    tool("test_sync_tool", SPEC_RS, "fn create_test_sync_tool"),
    tool("update_plan", PLAN_RS, "static PLAN_TOOL"),
    tool("view_image", SPEC_RS, "fn create_view_image_tool"),
    ToolUpstream {
        renames: &[
            ("{DEFAULT_WAIT_TIMEOUT_MS}", "{default}"),
            ("{MIN_WAIT_TIMEOUT_MS}", "{min}"),
            ("{MAX_WAIT_TIMEOUT_MS}", "{max}"),
        ],
        ..tool("wait", SPEC_RS, "fn create_wait_tool")
    },
    tool("write_stdin", SPEC_RS, "fn create_write_stdin_tool"),
];

/// The placeholders that a description of a tool may have, by the description's slot.
pub fn tool_places(slot: &str) -> &'static [&'static str] {
    match slot {
        "tools/find_tools" => &["{tools}"],
        "tools/request_user_input" => &["{modes}"],
        "tools/search_tool_bm25" => &["{{app_names}}"],
        "tools/spawn_agent.agent_type" => &["{roles}"],
        "tools/wait.timeout_ms" => &["{default}", "{min}", "{max}"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deferred;
    use crate::pack::Pack;
    use crate::pack::core_templates;
    use crate::source;

    #[test]
    fn names_are_sorted_and_files_differ() {
        assert!(SLOTS.is_sorted_by(|a, b| a.name < b.name));
        assert!(TOOLS.is_sorted_by(|a, b| a.tool < b.tool));
    }

    #[test]
    fn the_table_says_what_the_code_does() {
        let layout = Pack::builtin(crate::pack::DEFAULT_BASE).unwrap().layout;
        let documents = crate::documents::TEMPLATES.iter().map(|(file, shape)| (*file, shape));
        for (file, shape) in source::templates(&layout).chain(core_templates()).chain(documents) {
            let Some(slot) = SLOTS.iter().find(|slot| slot.file() == file) else {
                panic!("{file} is not in the table of slots");
            };
            let places: Vec<&str> = shape.places.iter().map(|place| place.mark).collect();
            assert_eq!(slot.places, places, "{file}");
            assert_eq!(slot.trim, shape.trim, "{file}");
        }
    }

    #[test]
    fn every_tool_with_descriptions_has_a_row() {
        let pack = Pack::builtin(crate::pack::DEFAULT_BASE).unwrap();
        for (name, tool) in pack.tools.iter(&pack.shelf) {
            // The Codex CLI has no such tools.
            let is_own = [deferred::FIND, deferred::CALL].contains(&name);
            let has_row = is_own || TOOLS.iter().any(|row| row.tool == name);
            assert_eq!(has_row, !tool.descriptions(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_row_breaks_no_table() {
        for slot in SLOTS {
            assert!(!slot.about.contains('|') && !slot.about.is_empty(), "{}", slot.name);
        }
    }
}
