//! The rows: every key with what it accepts and what it is for. Some sections are in `bootstrap` and `elsewhere`.

use pellucid_protocol::environment::Inherit;
use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::OnChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::ReinjectTrigger;
use pellucid_protocol::settings::ResumeContext;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;

use super::AllowedWords;
use super::InProject;
use super::IntegerBounds;
use super::Key;
use super::KeySection;
use super::Scope;
use super::TERMINAL;
use super::ValueKind;
use super::bootstrap;
use super::elsewhere;
use crate::config::MemoryScope;
use crate::config::ResumeSettings;
use crate::config::SandboxBackend;

/// A value of `[facts]`.
const FACT: ValueKind = ValueKind::Either(&PLAIN_FACT, &ValueKind::Map(&PLAIN_FACT));
const PLAIN_FACT: ValueKind = ValueKind::Either(&ValueKind::String, &OTHER_FACT);
const OTHER_FACT: ValueKind = ValueKind::Either(&ValueKind::Bool, &NUMBER_OR_LIST);
const NUMBER_OR_LIST: ValueKind = ValueKind::Either(&ValueKind::Float, &ValueKind::STRINGS);

/// Every key, in sections.
pub const SECTIONS: &[KeySection] = &[
    KeySection {
        title: "Model",
        keys: &[
            both(FREE, "model", ValueKind::String, "the catalogue's first", "The model's name in requests."),
            top(FREE, "review_model", ValueKind::String, "the session's model", "The model for reviews."),
            both(
                ACCEPTED,
                "model_provider",
                ValueKind::String,
                "`openai`",
                "The provider, by its name in `model_providers`.",
            ),
            top(
                ACCEPTED,
                "openai_base_url",
                ValueKind::String,
                "the variable `OPENAI_BASE_URL`, else OpenAI's",
                "The address of the provider `openai`.",
            ),
            both(
                ACCEPTED,
                "oss_provider",
                ValueKind::String,
                "",
                "The local provider for open models: `lmstudio` or `ollama`.",
            ),
            top(FREE, "model_context_window", ValueKind::INT, "the catalogue's", "The model's window in tokens."),
            top(
                FREE,
                "model_auto_compact_token_limit",
                ValueKind::INT,
                "the catalogue's",
                "At how many tokens the history is summarised. Above the catalogue's window no request is refused for its size.",
            ),
            both(
                FREE,
                "model_reasoning_effort",
                ValueKind::words(ReasoningEffort::WORDS),
                "the model's own",
                "How much the model reasons before it answers.",
            ),
            both(
                FREE,
                "model_reasoning_summary",
                ValueKind::words(ReasoningSummary::WORDS),
                "`auto`",
                "How the model's reasoning is summarised.",
            ),
            both(
                FREE,
                "model_verbosity",
                ValueKind::words(Verbosity::WORDS),
                "the model's own",
                "How long the model's answers are.",
            ),
            top(
                FREE,
                "model_supports_reasoning_summaries",
                ValueKind::Bool,
                "the catalogue's",
                "`true` requests reasoning summaries even from models that are not known to support them.",
            ),
            both(
                FREE,
                "personality",
                ValueKind::words(Personality::WORDS),
                "`pragmatic` while the feature `personality` is on",
                "The tone of the model's answers.",
            ),
            top(
                FREE,
                "tool_output_token_limit",
                ValueKind::COUNT,
                "the model's own",
                "How many tokens of a tool's output are kept.",
            ),
        ],
    },
    KeySection {
        title: "Prompt",
        keys: &[
            top(
                NEVER,
                "pack",
                ValueKind::NameOrPath,
                "`codex`",
                "The prompt pack: a built-in one or one in `packs` of the home folder by its name, or any other by its folder.",
            ),
            both(
                FREE,
                "prompt_mode",
                ValueKind::words(PromptMode::WORDS),
                "what the session's key says, else `full`",
                "How much of a layout is used, in packs that have modes.",
            ),
            top(
                NEVER,
                "inject",
                ValueKind::PATHS,
                "`[]`",
                "JSON files with items, sources and texts to inject, for packs that have slots for them.",
            ),
            both(
                ACCEPTED,
                "model_instructions_file",
                ValueKind::Path,
                "the pack's or the model's text",
                "A file that replaces the base instructions. It must be readable and not blank.",
            ),
            top(FREE, "developer_instructions", ValueKind::String, "", "A further message with the role `developer`."),
            top(FREE, "instructions", ValueKind::String, "", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
            top(
                FREE,
                "compact_prompt",
                ValueKind::String,
                "the pack's text",
                "The prompt that asks the model for a summary; blank for the default.",
            ),
            both(
                ACCEPTED,
                "experimental_compact_prompt_file",
                ValueKind::Path,
                "",
                "A file with the prompt for summaries; `compact_prompt` is stronger. It must be readable and not blank.",
            ),
            top(
                FREE,
                "compaction.auto",
                ValueKind::Bool,
                "`true`",
                "`false` summarises the history only when you ask for it, even if it does not fit into the window.",
            ),
            top(FREE, "compaction.model", ValueKind::String, "the session's model", "The model that writes summaries."),
            top(
                FREE,
                "compaction.fallback",
                ValueKind::words(SummaryFallback::WORDS),
                "the pack's, else `none`",
                "What happens when a model cannot write a summary: the turn ends, or a summary is made from the history by rule.",
            ),
            top(
                FREE,
                "compaction.keep_turns",
                ValueKind::COUNT,
                "the pack's, else 0",
                "How many of the last turns stay word for word.",
            ),
            top(
                FREE,
                "compaction.keep_skills",
                ValueKind::Bool,
                "the pack's, else `false`",
                "Whether the texts of skills that were used stay behind a summary.",
            ),
            top(
                FREE,
                "compaction.saving_min",
                ValueKind::Integer(IntegerBounds { min: 0, max: 99, name: "u8" }),
                "the pack's",
                "By how many percent a summary must shrink the history; if it does not, the turn ends after one attempt.",
            ),
            top(
                FREE,
                "compaction.overflow_calls_max",
                ValueKind::Integer(IntegerBounds { min: 1, max: i64::MAX, name: "usize" }),
                "the pack's, else as many as there are items",
                "How often a summary request that exceeds the window is retried, each time with half of the history.",
            ),
            top(
                FREE,
                "compaction.input",
                ValueKind::words(SummaryInput::WORDS),
                "the pack's, else `all`",
                "What the summarising model reads: everything, or the conversation without standing instructions.",
            ),
            top(
                FREE,
                "compaction.requests",
                ValueKind::words(SummaryRequests::WORDS),
                "the pack's, else `free`",
                "`marked` refuses a summary that does not list each of your completed requests as completed.",
            ),
            top(
                FREE,
                "compaction.reserved_output_tokens",
                ValueKind::Integer(IntegerBounds { min: 0, max: i64::MAX, name: "i64" }),
                "the pack's, else 0",
                "How many tokens of the window are kept free for the answer, in packs that drop the oldest turns.",
            ),
            top(
                FREE,
                "compaction.summary_max_output_tokens",
                ValueKind::Integer(IntegerBounds { min: 1, max: i64::MAX, name: "i64" }),
                "the pack's, else 512",
                "How many tokens a summary has at most, in packs that drop the oldest turns.",
            ),
            top(
                FREE,
                "compaction.memory_search_limit",
                ValueKind::Integer(IntegerBounds { min: 1, max: i64::MAX, name: "i64" }),
                "the pack's, else all",
                "How many recalled texts are used at most, in packs that drop the oldest turns.",
            ),
            top(
                FREE,
                "compaction.summarise",
                ValueKind::Bool,
                "the pack's, else `true`",
                "Whether dropped turns are summarised, in packs that drop the oldest turns.",
            ),
            top(
                ACCEPTED,
                "facts",
                ValueKind::Map(&FACT),
                "the pack's, else `{}`",
                "Values for the pack's templates and conditions, which see them as `given`: texts, numbers, booleans, lists and tables of these.",
            ),
            top(
                ACCEPTED,
                "reinject.rules",
                ValueKind::String,
                "the pack's",
                "A file of the workspace whose text goes before your input, with any pack.",
            ),
            top(ACCEPTED, "reinject.enabled", ValueKind::Bool, "the pack's", "Whether unchanged texts are sent again."),
            top(ACCEPTED, "reinject.turns", ValueKind::Float, "the pack's, else `15`", "Turns between repetitions."),
            top(
                ACCEPTED,
                "reinject.rules_turns",
                ValueKind::Float,
                "the pack's, else never",
                "After how many turns everything but the instructions is sent again.",
            ),
            top(
                ACCEPTED,
                "reinject.trigger",
                ValueKind::words(ReinjectTrigger::WORDS),
                "the pack's, else `auto`",
                "What makes standing texts be sent again: the used share of the window, turns, or both.",
            ),
            top(
                ACCEPTED,
                "reinject.thresholds",
                ValueKind::List(&ValueKind::Float),
                "the pack's, else `[0.25, 0.5, 0.75]`",
                "The used shares of the window at which standing texts are sent again, each between 0 and 1.",
            ),
            top(
                FREE,
                "reinject_turns",
                ValueKind::Map(&ValueKind::COUNT),
                "the pack's, else `{}`",
                "After how many turns the message of a slot is sent again, by the slot's name; 0 for never.",
            ),
            top(
                FREE,
                "resume_context",
                ValueKind::words(ResumeContext::WORDS),
                "`again`",
                "What of the first context is sent when a session is resumed: all of it, or what changed.",
            ),
            top(
                FREE,
                "resume_settings",
                ValueKind::words(ResumeSettings::WORDS),
                "`configured`",
                "Where model, effort and appended instructions of a resumed session come from: the configuration, or its last turn.",
            ),
            both(
                FREE,
                "experimental_instructions_file",
                ValueKind::Path,
                "",
                "Removed: ignored with a notice. Use `model_instructions_file`.",
            ),
            top(
                FREE,
                "commit_attribution",
                ValueKind::String,
                "the pack's",
                "The name that commit messages are attributed to, with the feature `codex_git_commit`; blank for none.",
            ),
            top(
                FREE,
                "phase",
                ValueKind::String,
                "",
                "The phase of work whose prompt is put before your input, in packs that have phases.",
            ),
            top(
                FREE,
                "project_doc_max_bytes",
                ValueKind::COUNT,
                "32768",
                "How many bytes of `AGENTS.md` files are used in all.",
            ),
            top(
                FREE,
                "project_doc_fallback_filenames",
                ValueKind::STRINGS,
                "`[]`",
                "File names that are tried, in this order, in a folder without `AGENTS.md`.",
            ),
            top(
                FREE,
                "project_root_markers",
                ValueKind::STRINGS,
                "`[\".git\"]`",
                "The entries by which a project's top folder is recognised; with an empty list, the working directory is the top folder.",
            ),
            top(
                FREE,
                "project_docs.allocation",
                ValueKind::words(Allocation::WORDS),
                "the pack's, else `root-first`",
                "Which `AGENTS.md` files get the budget first. See `docs/instruction-files.md` for these keys.",
            ),
            top(
                FREE,
                "project_docs.cut",
                ValueKind::words(Cut::WORDS),
                "the pack's, else `bytes`",
                "Where a file that is too long is cut; `lines` adds a note that says what is missing.",
            ),
            top(
                FREE,
                "project_docs.imports",
                ValueKind::COUNT,
                "the pack's, else 0",
                "How many levels of `@path` imports of `AGENTS.md` files are followed.",
            ),
            top(
                FREE,
                "project_docs.nested",
                ValueKind::Bool,
                "the pack's, else `false`",
                "Adds the `AGENTS.md` of a subfolder when a tool first works there.",
            ),
            top(
                FREE,
                "project_docs.on_change",
                ValueKind::words(OnChange::WORDS),
                "the pack's, else `ignore`",
                "Whether the next turn informs the model of `AGENTS.md` files that changed.",
            ),
        ],
    },
    bootstrap::BOOTSTRAP,
    elsewhere::PROVIDERS,
    KeySection {
        title: "Permissions",
        keys: &[
            both(
                // If the user's file gives full access, a project that switches approval off would run commands
                // unconfined.
                unless(&["untrusted", "on-failure", "on-request"]),
                "approval_policy",
                ValueKind::words(ApprovalPolicy::WORDS),
                "`on-request`; `untrusted` in an untrusted project",
                "When a command needs your approval.",
            ),
            both(
                unless(&["read-only", "workspace-write"]),
                "sandbox_mode",
                ValueKind::words(SandboxMode::WORDS),
                "`read-only`; `workspace-write` once a project has a trust level",
                "What commands may touch.",
            ),
            top(
                ACCEPTED,
                "sandbox_workspace_write.writable_roots",
                ValueKind::PATHS,
                "`[]`",
                "Further folders that commands may write in, under `workspace-write`.",
            ),
            top(
                unless(&["false"]),
                "sandbox_workspace_write.network_access",
                ValueKind::Bool,
                "`false`",
                "Whether commands may use the network, under `workspace-write`.",
            ),
            top(
                unless(&["true"]),
                "sandbox_workspace_write.exclude_tmpdir_env_var",
                ValueKind::Bool,
                "`false`",
                "Leaves `$TMPDIR` out of the writable folders.",
            ),
            top(
                unless(&["true"]),
                "sandbox_workspace_write.exclude_slash_tmp",
                ValueKind::Bool,
                "`false`",
                "Leaves `/tmp` out of the writable folders.",
            ),
            top(
                NEVER,
                "sandbox_protect",
                ValueKind::Bool,
                "`true`",
                "Keeps `.git`, `.agents`, `.codex` and `.pellucid` read-only where commands may write. See `docs/sandbox.md`.",
            ),
            top(
                NEVER,
                "sandbox_backend",
                ValueKind::words(SandboxBackend::WORDS),
                "`auto`, the strongest that works; `bubblewrap` with the feature `use_linux_sandbox_bwrap`",
                "The mechanism that confines commands on Linux. If it is named, no other is used instead.",
            ),
            top(
                NEVER,
                "projects.<path>.trust_level",
                ValueKind::words(TrustLevel::WORDS),
                "",
                "Whether the project's configuration applies.",
            ),
            both(
                ACCEPTED,
                "windows.sandbox",
                ValueKind::words(&["elevated", "unelevated"]),
                "",
                "The kind of sandbox on Windows.",
            )
            .not_used("Pellucid does not run on Windows"),
        ],
    },
    KeySection {
        title: "Commands",
        keys: &[
            top(
                unless(&["none"]),
                "shell_environment_policy.inherit",
                ValueKind::words(Inherit::WORDS),
                "`all`",
                "Which variables a command starts with. Pellucid's keys are never among them (login.md).",
            ),
            top(
                unless(&["false"]),
                "shell_environment_policy.ignore_default_excludes",
                ValueKind::Bool,
                "`true`",
                "`false` drops variables with `KEY`, `SECRET` or `TOKEN` in their name.",
            ),
            top(
                ACCEPTED,
                "shell_environment_policy.exclude",
                ValueKind::STRINGS,
                "`[]`",
                "Patterns (`*`, `?`) of variables to drop.",
            ),
            top(
                ACCEPTED,
                "shell_environment_policy.include_only",
                ValueKind::STRINGS,
                "`[]`",
                "Patterns of variables to keep; empty keeps all.",
            ),
            top(ACCEPTED, "shell_environment_policy.set", ValueKind::STRING_MAP, "`{}`", "Variables to set."),
            top(
                unless(&["false"]),
                "shell_environment_policy.experimental_use_profile",
                ValueKind::Bool,
                "`false`",
                "Runs commands in a login shell.",
            ),
        ],
    },
    KeySection {
        title: "Tools",
        keys: &[
            both(
                FREE,
                "web_search",
                ValueKind::words(WebSearchMode::WORDS),
                "`cached`",
                "Whether the provider's web search is offered to the model.",
            ),
            top(FREE, "tools.web_search", ValueKind::Bool, "", "Removed: use `web_search`.")
                .aliases(&["web_search_request"]),
            top(FREE, "tools.view_image", ValueKind::Bool, "", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
            both(
                ACCEPTED,
                "js_repl_node_path",
                ValueKind::Path,
                "the first `node` in `PATH`",
                "The Node program for the JavaScript tool.",
            ),
            top(
                FREE,
                "agents.max_threads",
                ValueKind::COUNT,
                "6",
                "How many further agents may be open at once, at least 1.",
            ),
            top(FREE, "agents.<role>.description", ValueKind::String, "", "What a role is for, as the model reads it."),
            top(
                ACCEPTED,
                "agents.<role>.config_file",
                ValueKind::Path,
                "",
                "The configuration file of agents in a role.",
            ),
            top(
                FREE,
                "skills.config[].path",
                ValueKind::Path,
                "",
                "The `SKILL.md` of a skill. Read from the user's own file.",
            )
            .required(),
            top(FREE, "skills.config[].enabled", ValueKind::Bool, "", "Whether that skill is offered.").required(),
            top(
                unless(&["false"]),
                "apps.<id>.enabled",
                ValueKind::Bool,
                "`true`",
                "Whether a connected app is offered.",
            ),
            top(
                FREE,
                "apps.<id>.disabled_reason",
                ValueKind::words(&["unknown", "user"]),
                "",
                "Why an app is not offered.",
            )
            .not_used("the Codex CLI does not use it either"),
        ],
    },
    elsewhere::MCP_SERVERS,
    KeySection {
        title: "Features",
        keys: &[
            both(FREE, "features.<key>", ValueKind::Bool, "see the list below", "Switches a feature."),
            both(unless(&["false"]), "features.apps", ValueKind::Bool, "`false`", "Switches connected apps."),
            both(
                unless(&["false"]),
                "features.connectors",
                ValueKind::Bool,
                "what `features.apps` says",
                "The same under its old name.",
            ),
            top(
                FREE,
                "suppress_unstable_features_warning",
                ValueKind::Bool,
                "`false`",
                "Suppresses the warning about features under development that are on.",
            ),
            both(
                FREE,
                "experimental_use_unified_exec_tool",
                ValueKind::Bool,
                "",
                "Removed: use `features.unified_exec`.",
            ),
            both(
                FREE,
                "experimental_use_freeform_apply_patch",
                ValueKind::Bool,
                "",
                "Removed: use `features.apply_patch_freeform`.",
            ),
            profile("include_apply_patch_tool", "Removed: use `features.apply_patch_freeform`."),
            profile("tools_web_search", "Removed: use `web_search`."),
            profile("tools_view_image", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
        ],
    },
    KeySection {
        title: "Profiles",
        keys: &[top(
            ACCEPTED,
            "profile",
            ValueKind::String,
            "",
            "The table in `profiles` whose values are stronger than those at the top.",
        )],
    },
    elsewhere::RECORDS,
    elsewhere::LOGIN,
    KeySection {
        title: "Display",
        keys: &[
            top(FREE, "hide_agent_reasoning", ValueKind::Bool, "`false`", "Hides summaries of the model's reasoning."),
            top(FREE, "show_raw_agent_reasoning", ValueKind::Bool, "`false`", "Shows the model's raw reasoning."),
            top(
                FREE,
                "file_opener",
                ValueKind::words(&["vscode", "vscode-insiders", "windsurf", "cursor", "none"]),
                "`vscode`",
                "The editor that file names link to.",
            )
            .not_used(TERMINAL),
            top(
                FREE,
                "disable_paste_burst",
                ValueKind::Bool,
                "`false`",
                "With `true`, fast typing is never taken for a paste.",
            ),
            top(
                FREE,
                "tui.notifications",
                ValueKind::Either(&ValueKind::Bool, &ValueKind::STRINGS),
                "`true`",
                "Whether the terminal notifies, or of what: `agent-turn-complete`, `approval-requested`.",
            ),
            top(
                FREE,
                "tui.notification_method",
                ValueKind::words(&["auto", "osc9", "bel"]),
                "`auto`",
                "How the terminal notifies.",
            ),
            top(
                FREE,
                "tui.animations",
                ValueKind::Bool,
                "`true`",
                "Whether the mark of a running turn changes every half second.",
            ),
            top(FREE, "tui.show_tooltips", ValueKind::Bool, "`true`", "Whether the terminal gives hints.")
                .not_used(TERMINAL),
            top(
                FREE,
                "tui.experimental_mode",
                ValueKind::Words(AllowedWords {
                    words: &["plan", "default"],
                    aliases: &[
                        ("code", "default"),
                        ("pair_programming", "default"),
                        ("execute", "default"),
                        ("custom", "default"),
                    ],
                }),
                "",
                "The mode that the terminal starts in.",
            )
            .not_used(TERMINAL),
            top(
                FREE,
                "tui.alternate_screen",
                ValueKind::words(&["auto", "always", "never"]),
                "`auto`",
                "Whether the terminal's second screen is used.",
            ),
            top(FREE, "tui.status_line", ValueKind::STRINGS, "", "What the last row of the terminal client shows."),
            top(
                FREE,
                "tui.mouse",
                ValueKind::Bool,
                "`false`",
                "With `true`, the wheel moves in lists and pages, and a click chooses an option; the terminal does not select then.",
            ),
            top(
                FREE,
                "tui.frame_rate",
                ValueKind::COUNT,
                "60",
                "How many frames a second events may ask for, 1 to 120; keys are drawn at once.",
            ),
            top(
                FREE,
                "tui.vim_mode_default",
                ValueKind::Bool,
                "`false`",
                "Whether the composer of the terminal client begins with the keys of vim.",
            ),
            top(
                FREE,
                "tui.vim_escape",
                ValueKind::String,
                "",
                "Two letters that end inserting with the keys of vim, such as `jj`.",
            ),
            top(
                FREE,
                "tui.screen_reader",
                ValueKind::Bool,
                "`false`",
                "With `true`, the terminal client writes plain lines for a screen reader and draws nothing.",
            ),
            top(
                FREE,
                "tui.terminal_title",
                ValueKind::Either(&ValueKind::Bool, &ValueKind::STRINGS),
                "`true`",
                "Whether the terminal's window has a title, or its parts: `state`, `name`, `folder`, `branch`, `model`.",
            ),
            top(
                ACCEPTED,
                "tui.keymap.<place>.<action>",
                ValueKind::Either(&ValueKind::String, &ValueKind::STRINGS),
                "",
                "The keys of an action of the terminal client, in place of its usual ones; `[]` for none.",
            ),
            top(FREE, "windows_wsl_setup_acknowledged", ValueKind::Bool, "`false`", "The hint at WSL was read.")
                .not_used("Pellucid does not run on Windows"),
        ],
    },
    KeySection {
        title: "Memories and snapshots",
        keys: &[
            top(
                FREE,
                "memories.max_raw_memories_for_global",
                ValueKind::COUNT,
                "1024",
                "How many sessions' memories are merged, those that changed last; at most 4096 (docs/memories.md).",
            ),
            top(
                FREE,
                "memories.max_rollout_age_days",
                ValueKind::INT,
                "30",
                "How old a session may be, 0 to 90 days; older ones are not read.",
            ),
            top(
                FREE,
                "memories.max_rollouts_per_startup",
                ValueKind::COUNT,
                "8",
                "How many sessions are read per start, at most 128.",
            ),
            top(
                FREE,
                "memories.min_rollout_idle_hours",
                ValueKind::INT,
                "12",
                "How many hours a session must be idle before it is read, 1 to 48.",
            ),
            top(
                FREE,
                "memories.phase_1_model",
                ValueKind::String,
                "`gpt-5.3-codex-spark`",
                "The model that reads sessions.",
            ),
            top(
                FREE,
                "memories.phase_2_model",
                ValueKind::String,
                "`gpt-5.3-codex`",
                "The model that merges memories.",
            ),
            top(
                NEVER,
                "memories.scope",
                ValueKind::words(MemoryScope::WORDS),
                "`project`",
                "Whose past sessions are read and remembered: those of the same project, or of all projects as in the Codex CLI.",
            ),
            top(
                FREE,
                "memories.write",
                ValueKind::Bool,
                "`true`",
                "Whether sessions write memories in their background. With `false` they only read them.",
            ),
            top(
                FREE,
                "ghost_snapshot.ignore_large_untracked_files",
                ValueKind::INT,
                "10485760",
                "Untracked files of this size or more are left out, in bytes; 0 for never.",
            )
            .aliases(&["ignore_untracked_files_over_bytes"]),
            top(
                FREE,
                "ghost_snapshot.ignore_large_untracked_dirs",
                ValueKind::INT,
                "200",
                "Untracked folders with this many files or more are left out; 0 for never.",
            )
            .aliases(&["large_untracked_dir_warning_threshold"]),
            top(
                FREE,
                "ghost_snapshot.disable_warnings",
                ValueKind::Bool,
                "`false`",
                "Suppresses the warnings about what is left out.",
            ),
        ],
    },
];

pub(super) const FREE: InProject = InProject::Free;
pub(super) const ACCEPTED: InProject = InProject::Accepted;
pub(super) const NEVER: InProject = InProject::Never;

/// The value needs acceptance unless it is one of these, which widen nothing.
pub(super) const fn unless(narrow: &'static [&'static str]) -> InProject {
    InProject::AcceptedUnless(narrow)
}

/// A key that may not be in profiles.
pub(super) const fn top(
    in_project: InProject,
    path: &'static str,
    kind: ValueKind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key::new(in_project, path, kind, default, doc)
}

/// A key that may be in profiles too.
pub(super) const fn both(
    in_project: InProject,
    path: &'static str,
    kind: ValueKind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key::new(in_project, path, kind, default, doc).scope(Scope::Profile)
}

/// A switch in profiles only. A project's profiles apply once they are accepted.
const fn profile(path: &'static str, doc: &'static str) -> Key {
    Key::new(ACCEPTED, path, ValueKind::Bool, "", doc).scope(Scope::ProfileOnly)
}
