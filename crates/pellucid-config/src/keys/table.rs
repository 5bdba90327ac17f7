//! The rows: every key with what it accepts and what it is for. Some sections are in `elsewhere`.

use pellucid_protocol::environment::Inherit;
use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::OnChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::ResumeContext;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;

use super::Bounds;
use super::InProject;
use super::Key;
use super::Kind;
use super::Scope;
use super::Section;
use super::TERMINAL;
use super::Words;
use super::elsewhere;
use crate::config::SandboxBackend;

/// Every key, in sections.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Model",
        keys: &[
            both(FREE, "model", Kind::String, "the catalogue's first", "The model's name in requests."),
            top(FREE, "review_model", Kind::String, "the session's model", "The model for reviews."),
            both(
                ACCEPTED,
                "model_provider",
                Kind::String,
                "`openai`",
                "The provider, by its name in `model_providers`.",
            ),
            top(
                ACCEPTED,
                "openai_base_url",
                Kind::String,
                "the variable `OPENAI_BASE_URL`, else OpenAI's",
                "Where the provider `openai` is reached.",
            ),
            both(
                ACCEPTED,
                "oss_provider",
                Kind::String,
                "",
                "The local provider for open models: `lmstudio` or `ollama`.",
            ),
            top(FREE, "model_context_window", Kind::INT, "the catalogue's", "The model's window in tokens."),
            top(
                FREE,
                "model_auto_compact_token_limit",
                Kind::INT,
                "the catalogue's",
                "At how many tokens the history is summarised.",
            ),
            both(
                FREE,
                "model_reasoning_effort",
                Kind::words(ReasoningEffort::WORDS),
                "the model's own",
                "How much the model reasons before it answers.",
            ),
            both(
                FREE,
                "model_reasoning_summary",
                Kind::words(ReasoningSummary::WORDS),
                "`auto`",
                "How the model's reasoning is summarised.",
            ),
            both(
                FREE,
                "model_verbosity",
                Kind::words(Verbosity::WORDS),
                "the model's own",
                "How long the model's answers are.",
            ),
            top(
                FREE,
                "model_supports_reasoning_summaries",
                Kind::Bool,
                "the catalogue's",
                "`true` requests reasoning summaries even from models that are not known to support them.",
            ),
            both(
                FREE,
                "personality",
                Kind::words(Personality::WORDS),
                "`pragmatic` while the feature `personality` is on",
                "The tone of the model's answers.",
            ),
            top(
                FREE,
                "tool_output_token_limit",
                Kind::COUNT,
                "the model's own",
                "How many tokens of a tool's output are kept.",
            ),
        ],
    },
    Section {
        title: "Prompt",
        keys: &[
            top(
                NEVER,
                "pack",
                Kind::NameOrPath,
                "`codex`",
                "The prompt pack: a built-in one or one in `packs` of the home folder by its name, or any other by its folder.",
            ),
            both(
                FREE,
                "prompt_mode",
                Kind::words(PromptMode::WORDS),
                "what the session's key says, else `full`",
                "How much of a layout is there, for packs that know modes.",
            ),
            top(
                NEVER,
                "inject",
                Kind::PATHS,
                "`[]`",
                "JSON files with items, sources and texts to inject, for packs that have slots for them.",
            ),
            both(
                ACCEPTED,
                "model_instructions_file",
                Kind::Path,
                "the pack's or the model's text",
                "A file that replaces the base instructions. It must be readable and not blank.",
            ),
            top(FREE, "developer_instructions", Kind::String, "", "A further message with the role `developer`."),
            top(FREE, "instructions", Kind::String, "", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
            top(
                FREE,
                "compact_prompt",
                Kind::String,
                "the pack's text",
                "The prompt that asks the model for a summary; blank for the default.",
            ),
            both(
                ACCEPTED,
                "experimental_compact_prompt_file",
                Kind::Path,
                "",
                "A file with the prompt for summaries; `compact_prompt` is stronger. It must be readable and not blank.",
            ),
            top(
                FREE,
                "compaction.auto",
                Kind::Bool,
                "`true`",
                "`false` summarises the history only when you ask for it, even if it does not fit into the window.",
            ),
            top(FREE, "compaction.model", Kind::String, "the session's model", "The model that writes summaries."),
            top(
                FREE,
                "compaction.fallback",
                Kind::words(SummaryFallback::WORDS),
                "the pack's, else `none`",
                "What happens when a model cannot write a summary: the turn ends, or a summary is made from the history by rule.",
            ),
            top(
                FREE,
                "compaction.keep_turns",
                Kind::COUNT,
                "the pack's, else 0",
                "How many of the last turns stay word for word.",
            ),
            top(
                FREE,
                "compaction.saving_min",
                Kind::Integer(Bounds { min: 0, max: 99, name: "u8" }),
                "the pack's",
                "By how many percent a summary must shrink the history; if it does not, the turn ends after one attempt.",
            ),
            top(
                FREE,
                "compaction.overflow_calls_max",
                Kind::Integer(Bounds { min: 1, max: i64::MAX, name: "usize" }),
                "the pack's, else as many as there are items",
                "How often a summary request that exceeds the window is retried, each time with half of the history.",
            ),
            top(
                FREE,
                "compaction.input",
                Kind::words(SummaryInput::WORDS),
                "the pack's, else `all`",
                "What the summarising model reads: everything, or the conversation without standing instructions.",
            ),
            top(
                FREE,
                "compaction.requests",
                Kind::words(SummaryRequests::WORDS),
                "the pack's, else `free`",
                "`marked` refuses a summary that does not list each of your completed requests as completed.",
            ),
            top(
                FREE,
                "reinject_turns",
                Kind::Map(&Kind::COUNT),
                "the pack's, else `{}`",
                "After how many turns the message of a slot is sent again, by the slot's name; 0 for never.",
            ),
            top(
                FREE,
                "resume_context",
                Kind::words(ResumeContext::WORDS),
                "`again`",
                "What of the first context is sent when a session is resumed: all of it, or what changed.",
            ),
            both(
                FREE,
                "experimental_instructions_file",
                Kind::Path,
                "",
                "Removed: ignored with a notice. Use `model_instructions_file`.",
            ),
            top(
                FREE,
                "commit_attribution",
                Kind::String,
                "the pack's",
                "The name that commit messages are attributed to, with the feature `codex_git_commit`; blank for none.",
            ),
            top(
                FREE,
                "phase",
                Kind::String,
                "",
                "The phase of work whose prompt is put before your input, in packs that have phases.",
            ),
            top(
                FREE,
                "project_doc_max_bytes",
                Kind::COUNT,
                "32768",
                "How many bytes of `AGENTS.md` files are used in all.",
            ),
            top(
                FREE,
                "project_doc_fallback_filenames",
                Kind::STRINGS,
                "`[]`",
                "File names that are tried, in this order, in a folder without `AGENTS.md`.",
            ),
            top(
                FREE,
                "project_root_markers",
                Kind::STRINGS,
                "`[\".git\"]`",
                "The entries by which a project's top folder is recognised; with an empty list, the working directory is the top folder.",
            ),
            top(
                FREE,
                "project_docs.allocation",
                Kind::words(Allocation::WORDS),
                "the pack's, else `root-first`",
                "Which `AGENTS.md` files get the budget first. See `docs/instruction-files.md` for these keys.",
            ),
            top(
                FREE,
                "project_docs.cut",
                Kind::words(Cut::WORDS),
                "the pack's, else `bytes`",
                "Where a file that is too long is cut; `lines` adds a note that says what is missing.",
            ),
            top(
                FREE,
                "project_docs.imports",
                Kind::COUNT,
                "the pack's, else 0",
                "How many levels of `@path` imports of `AGENTS.md` files are followed.",
            ),
            top(
                FREE,
                "project_docs.nested",
                Kind::Bool,
                "the pack's, else `false`",
                "Adds the `AGENTS.md` of a subfolder when a tool first works there.",
            ),
            top(
                FREE,
                "project_docs.on_change",
                Kind::words(OnChange::WORDS),
                "the pack's, else `ignore`",
                "Whether the next turn informs the model of `AGENTS.md` files that changed.",
            ),
        ],
    },
    Section {
        title: "Assistant",
        keys: &[
            top(
                FREE,
                "assistant.session_key",
                Kind::String,
                "",
                "The key of the chat session; keys of sub-agents and jobs have another form.",
            ),
            top(
                FREE,
                "assistant.bootstrap_max_chars",
                Kind::Float,
                "the pack's",
                "How much of one bootstrap file is used, in UTF-16 units.",
            ),
            top(
                FREE,
                "assistant.bootstrap_total_max_chars",
                Kind::Float,
                "the pack's",
                "How much of all bootstrap files is used.",
            ),
            top(
                FREE,
                "assistant.extra_files",
                Kind::STRINGS,
                "`[]`",
                "Further bootstrap files of the workspace: paths and patterns.",
            ),
            top(
                FREE,
                "assistant.extra_system_prompt",
                Kind::String,
                "",
                "A text that is added to the system prompt: from a group chat, or from the agent that this one works for.",
            ),
            top(
                FREE,
                "assistant.time_zone",
                Kind::String,
                "the system's",
                "The user's time zone, such as `Europe/Paris`.",
            ),
            top(
                ACCEPTED,
                "assistant.owner_numbers",
                Kind::STRINGS,
                "`[]`",
                "The phone numbers whose owners may command the assistant.",
            ),
            top(FREE, "assistant.heartbeat_prompt", Kind::String, "", "The prompt of a heartbeat."),
            top(FREE, "assistant.docs_path", Kind::Path, "", "The folder with the documentation."),
            top(
                FREE,
                "assistant.channel",
                Kind::String,
                "",
                "The chat channel that answers go to, such as `telegram`.",
            ),
            top(
                FREE,
                "assistant.capabilities",
                Kind::STRINGS,
                "`[]`",
                "The capabilities of that channel, such as `inlineButtons`.",
            ),
            top(FREE, "assistant.voice_hint", Kind::String, "", "How to write an answer that is read aloud."),
        ],
    },
    elsewhere::PROVIDERS,
    Section {
        title: "Permissions",
        keys: &[
            both(
                // If the user's file gives full access, a project that switches approval off would run commands
                // unconfined.
                unless(&["untrusted", "on-failure", "on-request"]),
                "approval_policy",
                Kind::words(ApprovalPolicy::WORDS),
                "`on-request`; `untrusted` in an untrusted project",
                "When a command needs your approval.",
            ),
            both(
                unless(&["read-only", "workspace-write"]),
                "sandbox_mode",
                Kind::words(SandboxMode::WORDS),
                "`read-only`; `workspace-write` once a project has a trust level",
                "What commands may touch.",
            ),
            top(
                ACCEPTED,
                "sandbox_workspace_write.writable_roots",
                Kind::PATHS,
                "`[]`",
                "Further folders that commands may write in, under `workspace-write`.",
            ),
            top(
                unless(&["false"]),
                "sandbox_workspace_write.network_access",
                Kind::Bool,
                "`false`",
                "Whether commands may use the network, under `workspace-write`.",
            ),
            top(
                unless(&["true"]),
                "sandbox_workspace_write.exclude_tmpdir_env_var",
                Kind::Bool,
                "`false`",
                "Leaves `$TMPDIR` out of the writable folders.",
            ),
            top(
                unless(&["true"]),
                "sandbox_workspace_write.exclude_slash_tmp",
                Kind::Bool,
                "`false`",
                "Leaves `/tmp` out of the writable folders.",
            ),
            top(
                NEVER,
                "sandbox_protect",
                Kind::Bool,
                "`true`",
                "Keeps `.git`, `.agents`, `.codex` and `.pellucid` read-only where commands may write. See `docs/sandbox.md`.",
            ),
            top(
                NEVER,
                "sandbox_backend",
                Kind::words(SandboxBackend::WORDS),
                "`auto`, the strongest that works; `bubblewrap` with the feature `use_linux_sandbox_bwrap`",
                "The mechanism that confines commands on Linux. If it is named, no other is used instead.",
            ),
            top(
                NEVER,
                "projects.<path>.trust_level",
                Kind::words(TrustLevel::WORDS),
                "",
                "Whether the project's configuration applies.",
            ),
            both(
                ACCEPTED,
                "windows.sandbox",
                Kind::words(&["elevated", "unelevated"]),
                "",
                "The kind of sandbox on Windows.",
            )
            .not_used("Pellucid does not run on Windows"),
        ],
    },
    Section {
        title: "Commands",
        keys: &[
            top(
                unless(&["none"]),
                "shell_environment_policy.inherit",
                Kind::words(Inherit::WORDS),
                "`all`",
                "Which variables a command starts with. Pellucid's keys are never among them (login.md).",
            ),
            top(
                unless(&["false"]),
                "shell_environment_policy.ignore_default_excludes",
                Kind::Bool,
                "`true`",
                "`false` drops variables with `KEY`, `SECRET` or `TOKEN` in their name.",
            ),
            top(
                ACCEPTED,
                "shell_environment_policy.exclude",
                Kind::STRINGS,
                "`[]`",
                "Patterns (`*`, `?`) of variables to drop.",
            ),
            top(
                ACCEPTED,
                "shell_environment_policy.include_only",
                Kind::STRINGS,
                "`[]`",
                "Patterns of variables to keep; empty keeps all.",
            ),
            top(ACCEPTED, "shell_environment_policy.set", Kind::STRING_MAP, "`{}`", "Variables to set."),
            top(
                unless(&["false"]),
                "shell_environment_policy.experimental_use_profile",
                Kind::Bool,
                "`false`",
                "Runs commands in a login shell.",
            ),
        ],
    },
    Section {
        title: "Tools",
        keys: &[
            both(
                FREE,
                "web_search",
                Kind::words(WebSearchMode::WORDS),
                "`cached`",
                "Whether the provider's web search is offered to the model.",
            ),
            top(FREE, "tools.web_search", Kind::Bool, "", "Removed: use `web_search`.")
                .aliases(&["web_search_request"]),
            top(FREE, "tools.view_image", Kind::Bool, "", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
            both(
                ACCEPTED,
                "js_repl_node_path",
                Kind::Path,
                "the first `node` in `PATH`",
                "The Node program for the JavaScript tool.",
            ),
            top(
                FREE,
                "agents.max_threads",
                Kind::COUNT,
                "6",
                "How many further agents may be open at once, at least 1.",
            ),
            top(FREE, "agents.<role>.description", Kind::String, "", "What a role is for, as the model reads it."),
            top(ACCEPTED, "agents.<role>.config_file", Kind::Path, "", "The configuration file of agents in a role."),
            top(
                FREE,
                "skills.config[].path",
                Kind::Path,
                "",
                "The `SKILL.md` of a skill. Read from the user's own file.",
            )
            .required(),
            top(FREE, "skills.config[].enabled", Kind::Bool, "", "Whether that skill is offered.").required(),
            top(unless(&["false"]), "apps.<id>.enabled", Kind::Bool, "`true`", "Whether an app is offered.")
                .not_used("it belongs to a service behind a ChatGPT login"),
            top(FREE, "apps.<id>.disabled_reason", Kind::words(&["unknown", "user"]), "", "Why an app is not offered.")
                .not_used("it belongs to a service behind a ChatGPT login"),
        ],
    },
    elsewhere::MCP_SERVERS,
    Section {
        title: "Features",
        keys: &[
            both(FREE, "features.<key>", Kind::Bool, "see the list below", "Switches a feature."),
            top(
                FREE,
                "suppress_unstable_features_warning",
                Kind::Bool,
                "`false`",
                "Suppresses the warning about features under development that are on.",
            ),
            both(FREE, "experimental_use_unified_exec_tool", Kind::Bool, "", "Removed: use `features.unified_exec`."),
            both(
                FREE,
                "experimental_use_freeform_apply_patch",
                Kind::Bool,
                "",
                "Removed: use `features.apply_patch_freeform`.",
            ),
            profile("include_apply_patch_tool", "Removed: use `features.apply_patch_freeform`."),
            profile("tools_web_search", "Removed: use `web_search`."),
            profile("tools_view_image", "A key of earlier versions of the Codex CLI.")
                .not_used("the Codex CLI does not use it either"),
        ],
    },
    Section {
        title: "Profiles",
        keys: &[top(
            ACCEPTED,
            "profile",
            Kind::String,
            "",
            "The table in `profiles` whose values are stronger than those at the top.",
        )],
    },
    elsewhere::RECORDS,
    elsewhere::LOGIN,
    Section {
        title: "Display",
        keys: &[
            top(FREE, "hide_agent_reasoning", Kind::Bool, "`false`", "Hides summaries of the model's reasoning."),
            top(FREE, "show_raw_agent_reasoning", Kind::Bool, "`false`", "Shows the model's raw reasoning."),
            top(
                FREE,
                "file_opener",
                Kind::words(&["vscode", "vscode-insiders", "windsurf", "cursor", "none"]),
                "`vscode`",
                "The editor that file names link to.",
            )
            .not_used(TERMINAL),
            top(FREE, "disable_paste_burst", Kind::Bool, "`false`", "Treats fast typing as typing, not as a paste.")
                .not_used(TERMINAL),
            top(
                FREE,
                "tui.notifications",
                Kind::Either(&Kind::Bool, &Kind::STRINGS),
                "`true`",
                "Whether the terminal notifies, or of what: `agent-turn-complete`, `approval-requested`.",
            )
            .not_used(TERMINAL),
            top(
                FREE,
                "tui.notification_method",
                Kind::words(&["auto", "osc9", "bel"]),
                "`auto`",
                "How the terminal notifies.",
            )
            .not_used(TERMINAL),
            top(FREE, "tui.animations", Kind::Bool, "`true`", "Whether the terminal shows animations.")
                .not_used(TERMINAL),
            top(FREE, "tui.show_tooltips", Kind::Bool, "`true`", "Whether the terminal gives hints.")
                .not_used(TERMINAL),
            top(
                FREE,
                "tui.experimental_mode",
                Kind::Words(Words {
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
                Kind::words(&["auto", "always", "never"]),
                "`auto`",
                "Whether the terminal's second screen is used.",
            )
            .not_used(TERMINAL),
            top(FREE, "tui.status_line", Kind::STRINGS, "", "What the status line shows.").not_used(TERMINAL),
            top(FREE, "windows_wsl_setup_acknowledged", Kind::Bool, "`false`", "The hint at WSL was read.")
                .not_used("Pellucid does not run on Windows"),
        ],
    },
    Section {
        title: "Memories and snapshots",
        keys: &[
            top(
                FREE,
                "memories.max_raw_memories_for_global",
                Kind::COUNT,
                "1024",
                "How many sessions' memories are merged, those that changed last; at most 4096 (docs/memories.md).",
            ),
            top(
                FREE,
                "memories.max_rollout_age_days",
                Kind::INT,
                "30",
                "How old a session may be, 0 to 90 days; older ones are not read.",
            ),
            top(
                FREE,
                "memories.max_rollouts_per_startup",
                Kind::COUNT,
                "8",
                "How many sessions are read per start, at most 128.",
            ),
            top(
                FREE,
                "memories.min_rollout_idle_hours",
                Kind::INT,
                "12",
                "How many hours a session must be idle before it is read, 1 to 48.",
            ),
            top(
                FREE,
                "memories.phase_1_model",
                Kind::String,
                "`gpt-5.3-codex-spark`",
                "The model that reads sessions.",
            ),
            top(FREE, "memories.phase_2_model", Kind::String, "`gpt-5.3-codex`", "The model that merges memories."),
            top(
                FREE,
                "ghost_snapshot.ignore_large_untracked_files",
                Kind::INT,
                "10485760",
                "From which size untracked files are left out, in bytes; 0 for never.",
            )
            .aliases(&["ignore_untracked_files_over_bytes"]),
            top(
                FREE,
                "ghost_snapshot.ignore_large_untracked_dirs",
                Kind::INT,
                "200",
                "From how many files untracked folders are left out; 0 for never.",
            )
            .aliases(&["large_untracked_dir_warning_threshold"]),
            top(
                FREE,
                "ghost_snapshot.disable_warnings",
                Kind::Bool,
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
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key::new(in_project, path, kind, default, doc)
}

/// A key that may be in profiles too.
pub(super) const fn both(
    in_project: InProject,
    path: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key::new(in_project, path, kind, default, doc).scope(Scope::Profile)
}

/// A switch in profiles only. A project's profiles apply once they are accepted.
const fn profile(path: &'static str, doc: &'static str) -> Key {
    Key::new(ACCEPTED, path, Kind::Bool, "", doc).scope(Scope::ProfileOnly)
}
