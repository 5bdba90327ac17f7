//! The rows: every key with what it takes and what it is for.

use pellucid_protocol::environment::Inherit;
use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::OnChange;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
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
use super::Key;
use super::Kind;
use super::Scope;
use super::Section;
use super::Words;
use crate::config::CredentialStore;
use crate::config::FileOpener;
use crate::config::HistoryPersistence;
use crate::config::LoginMethod;
use crate::config::NotificationMethod;
use crate::config::OauthStore;
use crate::config::SandboxBackend;
use crate::config::ScreenMode;

/// Every key, grouped.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Model",
        keys: &[
            both("model", Kind::String, "the catalogue's first", "The model's name in requests."),
            top("review_model", Kind::String, "the session's model", "The model for reviews."),
            both("model_provider", Kind::String, "`openai`", "The provider, by its name in `model_providers`."),
            top("openai_base_url", Kind::String, "`OPENAI_BASE_URL`, else OpenAI's", "Where the provider `openai` is reached."),
            both("oss_provider", Kind::String, "", "The local provider for open models: `lmstudio` or `ollama`."),
            top("model_context_window", Kind::INT, "the catalogue's", "The model's window in tokens."),
            top(
                "model_auto_compact_token_limit",
                Kind::INT,
                "the catalogue's",
                "At how many tokens the history is summarised.",
            ),
            both(
                "model_reasoning_effort",
                Kind::words(ReasoningEffort::WORDS),
                "the model's own",
                "How long the model thinks.",
            ),
            both(
                "model_reasoning_summary",
                Kind::words(ReasoningSummary::WORDS),
                "`auto`",
                "How its thoughts are summarised.",
            ),
            both("model_verbosity", Kind::words(Verbosity::WORDS), "the model's own", "How much the model says."),
            top(
                "model_supports_reasoning_summaries",
                Kind::Bool,
                "the catalogue's",
                "`true` asks for summaries even of a model that is not known to have them.",
            ),
            both(
                "personality",
                Kind::words(Personality::WORDS),
                "`pragmatic` while the feature `personality` is on",
                "The model's tone.",
            ),
            top(
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
            Key::new(
                "pack",
                Kind::NameOrPath,
                "`codex`",
                "The prompt pack: a built-in one or one in `packs` of the home folder by its name, or any other by its folder.",
            )
            .scope(Scope::NotProject),
            both(
                "prompt_mode",
                Kind::words(PromptMode::WORDS),
                "`full`, or what the session's key says",
                "How much of a layout is there, for packs that know modes.",
            ),
            Key::new(
                "inject",
                Kind::PATHS,
                "`[]`",
                "JSON files with items, sources and texts to inject, for packs that have slots for them.",
            )
            .scope(Scope::NotProject),
            both(
                "model_instructions_file",
                Kind::Path,
                "the pack's or the model's text",
                "A file that takes the place of the base instructions. It must be readable and not blank.",
            ),
            top("developer_instructions", Kind::String, "", "A further message to the model from its developer."),
            top("instructions", Kind::String, "", "Accepted and not used."),
            top(
                "compact_prompt",
                Kind::String,
                "the pack's text",
                "How the model is asked for a summary; blank for the default.",
            ),
            both(
                "experimental_compact_prompt_file",
                Kind::Path,
                "",
                "A file with the text of `compact_prompt`, which is stronger. It must be readable and not blank.",
            ),
            top(
                "compaction.auto",
                Kind::Bool,
                "`true`",
                "`false` never summarises a history unless you ask for it, not even one that does not fit.",
            ),
            top("compaction.model", Kind::String, "the session's model", "The model that is asked for summaries."),
            top(
                "compaction.fallback",
                Kind::words(SummaryFallback::WORDS),
                "the pack's, else `none`",
                "What happens when no summary comes: the turn ends, or one is made from the history by rule.",
            ),
            top(
                "compaction.keep_turns",
                Kind::COUNT,
                "the pack's, else 0",
                "How many of the last turns stay word for word.",
            ),
            top(
                "compaction.saving_min",
                Kind::Integer(Bounds { min: 0, max: 99, name: "u8" }),
                "the pack's",
                "By how many percent a summary must make a history smaller; less ends the turn after one attempt.",
            ),
            top(
                "compaction.overflow_calls_max",
                Kind::Integer(Bounds { min: 1, max: i64::MAX, name: "usize" }),
                "the pack's, else as many as there are items",
                "How often a summary is asked for that does not fit; each time half of the history is left out.",
            ),
            top(
                "compaction.input",
                Kind::words(SummaryInput::WORDS),
                "the pack's, else `all`",
                "What the summarising model is shown: all, or the conversation without standing instructions.",
            ),
            top(
                "compaction.requests",
                Kind::words(SummaryRequests::WORDS),
                "the pack's, else `free`",
                "`marked` refuses a summary that does not name every completed request of yours as completed.",
            ),
            top(
                "reinject_turns",
                Kind::Map(&Kind::COUNT),
                "the pack's, else `{}`",
                "After how many turns the message of a slot is said again, by the slot's name; 0 for never.",
            ),
            top(
                "resume_context",
                Kind::words(ResumeContext::WORDS),
                "`again`",
                "What of the first context is said when a session goes on: all, or what changed.",
            ),
            both(
                "experimental_instructions_file",
                Kind::Path,
                "",
                "Gone: ignored with a notice. Use `model_instructions_file`.",
            ),
            top(
                "commit_attribution",
                Kind::String,
                "the pack's",
                "Whose name goes into commit messages, with the feature `codex_git_commit`; blank for nobody's.",
            ),
            top("phase", Kind::String, "", "The phase of work whose prompt goes before your input, in packs that have some."),
            top("project_doc_max_bytes", Kind::COUNT, "32768", "How many bytes of `AGENTS.md` files are used."),
            top(
                "project_doc_fallback_filenames",
                Kind::STRINGS,
                "`[]`",
                "Files that are looked for in a folder without `AGENTS.md`, in this order.",
            ),
            top(
                "project_root_markers",
                Kind::STRINGS,
                "`[\".git\"]`",
                "What a project's top folder has in it; an empty list makes the working folder the top.",
            ),
            top(
                "project_docs.allocation",
                Kind::words(Allocation::WORDS),
                "the pack's, else `root-first`",
                "Which `AGENTS.md` files the budget goes to first. See `docs/instruction-files.md` for these keys.",
            ),
            top(
                "project_docs.cut",
                Kind::words(Cut::WORDS),
                "the pack's, else `bytes`",
                "Where a file that is too long is cut; `lines` also says in the text what is missing.",
            ),
            top(
                "project_docs.imports",
                Kind::COUNT,
                "the pack's, else 0",
                "How many steps `@path` imports of `AGENTS.md` files are followed.",
            ),
            top(
                "project_docs.nested",
                Kind::Bool,
                "the pack's, else `false`",
                "Adds the `AGENTS.md` of a folder below when a tool first goes there.",
            ),
            top(
                "project_docs.on_change",
                Kind::words(OnChange::WORDS),
                "the pack's, else `ignore`",
                "Whether the model is told, with the next turn, of `AGENTS.md` files that changed.",
            ),
        ],
    },
    Section {
        title: "Assistant",
        keys: &[
            top("assistant.session_key", Kind::String, "", "The session's key; sub-agents and jobs have one of their own form."),
            top("assistant.bootstrap_max_chars", Kind::Float, "the pack's", "How much of one bootstrap file is used, in UTF-16 units."),
            top("assistant.bootstrap_total_max_chars", Kind::Float, "the pack's", "How much of all bootstrap files is used."),
            top("assistant.extra_files", Kind::STRINGS, "`[]`", "Further bootstrap files of the workspace: paths and patterns."),
            top("assistant.extra_system_prompt", Kind::String, "", "A further text: of a group chat, or of the agent that this one works for."),
            top("assistant.time_zone", Kind::String, "the system's", "The user's time zone, such as `Europe/Paris`."),
            top("assistant.owner_numbers", Kind::STRINGS, "`[]`", "Numbers of those who may command the assistant."),
            top("assistant.heartbeat_prompt", Kind::String, "", "What a heartbeat says."),
            top("assistant.docs_path", Kind::Path, "", "Where the documentation lies."),
            top("assistant.channel", Kind::String, "", "The channel that is answered on, such as `telegram`."),
            top("assistant.capabilities", Kind::STRINGS, "`[]`", "What that channel can do, such as `inlineButtons`."),
            top("assistant.voice_hint", Kind::String, "", "How to speak when an answer is read out."),
        ],
    },
    Section {
        title: "Providers",
        keys: &[
            top("model_providers.<id>.name", Kind::String, "", "The name for people.").required(),
            top(
                "model_providers.<id>.base_url",
                Kind::String,
                "the built-in service",
                "The address, without the wire's own path.",
            ),
            top("model_providers.<id>.env_key", Kind::String, "", "The variable that holds the key."),
            top(
                "model_providers.<id>.env_key_instructions",
                Kind::String,
                "",
                "What to tell somebody who has not set it.",
            ),
            top("model_providers.<id>.experimental_bearer_token", Kind::String, "", "A key in plain text."),
            top(
                "model_providers.<id>.wire_api",
                Kind::words(WireApi::WORDS),
                "`responses`",
                "The wire: OpenAI's Responses or Chat Completions, or Anthropic's Messages. See `docs/providers.md`.",
            ),
            top(
                "model_providers.<id>.chat_developer_role",
                Kind::words(DeveloperRole::WORDS),
                "`developer`",
                "Who says our own messages on the wire `chat`, for servers whose template lacks that role.",
            ),
            top(
                "model_providers.<id>.max_output_tokens",
                Kind::COUNT,
                "an eighth of the window, at least 4096, at most 32000",
                "How many tokens an answer may have on the wire `messages`, which must be told.",
            ),
            top(
                "model_providers.<id>.query_params",
                Kind::STRING_MAP,
                "",
                "Parameters that are appended to every address.",
            ),
            top("model_providers.<id>.http_headers", Kind::STRING_MAP, "", "Headers of every request."),
            top(
                "model_providers.<id>.env_http_headers",
                Kind::STRING_MAP,
                "",
                "Headers whose value is in a variable; left out if that is unset or blank.",
            ),
            top(
                "model_providers.<id>.request_max_retries",
                Kind::COUNT,
                "4",
                "How often a request is sent again, at most 100.",
            ),
            top(
                "model_providers.<id>.stream_max_retries",
                Kind::COUNT,
                "5",
                "How often a broken stream is asked for again, at most 100.",
            ),
            top(
                "model_providers.<id>.stream_idle_timeout_ms",
                Kind::COUNT,
                "300000",
                "How long a stream may be silent, in milliseconds.",
            ),
            top("model_providers.<id>.requires_openai_auth", Kind::Bool, "`false`", "Whether a login is needed."),
            top(
                "model_providers.<id>.supports_websockets",
                Kind::Bool,
                "`false`",
                "Whether it can be reached over a WebSocket.",
            ),
        ],
    },
    Section {
        title: "Permissions",
        keys: &[
            both(
                "approval_policy",
                Kind::words(ApprovalPolicy::WORDS),
                "`on-request`; `untrusted` in an untrusted project",
                "When a person is asked before a command runs.",
            ),
            both(
                "sandbox_mode",
                Kind::words(SandboxMode::WORDS),
                "`read-only`; `workspace-write` once a project has a trust level",
                "What commands may touch.",
            ),
            top(
                "sandbox_workspace_write.writable_roots",
                Kind::PATHS,
                "`[]`",
                "Further folders to write in, under `workspace-write`.",
            ),
            top(
                "sandbox_workspace_write.network_access",
                Kind::Bool,
                "`false`",
                "Whether commands reach the network, under `workspace-write`.",
            ),
            top(
                "sandbox_workspace_write.exclude_tmpdir_env_var",
                Kind::Bool,
                "`false`",
                "Leaves `$TMPDIR` out of the writable folders.",
            ),
            top(
                "sandbox_workspace_write.exclude_slash_tmp",
                Kind::Bool,
                "`false`",
                "Leaves `/tmp` out of the writable folders.",
            ),
            Key::new(
                "sandbox_protect",
                Kind::Bool,
                "`true`",
                "Keeps `.git`, `.agents`, `.codex` and `.pellucid` read-only where commands may write. See `docs/sandbox.md`.",
            )
            .scope(Scope::NotProject),
            Key::new(
                "sandbox_backend",
                Kind::words(SandboxBackend::WORDS),
                "`auto`, the strongest that works; `bubblewrap` with the feature `use_linux_sandbox_bwrap`",
                "What confines commands on Linux. One that is named is never replaced by another.",
            )
            .scope(Scope::NotProject),
            top(
                "projects.<path>.trust_level",
                Kind::words(TrustLevel::WORDS),
                "",
                "Whether a project's own configuration applies.",
            ),
            both("windows.sandbox", Kind::words(&["elevated", "unelevated"]), "", "The kind of sandbox on Windows."),
        ],
    },
    Section {
        title: "Commands",
        keys: &[
            top(
                "shell_environment_policy.inherit",
                Kind::words(Inherit::WORDS),
                "`all`",
                "Which variables a command starts with. Keys of ours are never among them (login.md).",
            ),
            top(
                "shell_environment_policy.ignore_default_excludes",
                Kind::Bool,
                "`true`",
                "`false` drops variables with `KEY`, `SECRET` or `TOKEN` in their name.",
            ),
            top("shell_environment_policy.exclude", Kind::STRINGS, "`[]`", "Patterns (`*`, `?`) of variables to drop."),
            top(
                "shell_environment_policy.include_only",
                Kind::STRINGS,
                "`[]`",
                "Patterns of variables to keep; empty keeps all.",
            ),
            top("shell_environment_policy.set", Kind::STRING_MAP, "`{}`", "Variables to set."),
            top(
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
                "web_search",
                Kind::words(WebSearchMode::WORDS),
                "`cached`",
                "Whether the hosted web search is offered.",
            ),
            top("tools.web_search", Kind::Bool, "", "Gone: use `web_search`.").aliases(&["web_search_request"]),
            top("tools.view_image", Kind::Bool, "", "Accepted and not used."),
            both(
                "js_repl_node_path",
                Kind::Path,
                "the first `node` in `PATH`",
                "The Node program for the JavaScript tool.",
            ),
            top("agents.max_threads", Kind::COUNT, "6", "How many further agents may be open, at least 1."),
            top("agents.<role>.description", Kind::String, "", "What a role is for, as the model reads it."),
            top("agents.<role>.config_file", Kind::Path, "", "Configuration of agents in a role."),
            top("skills.config[].path", Kind::Path, "", "The `SKILL.md` of a skill. Read from the user's own file.")
                .required(),
            top("skills.config[].enabled", Kind::Bool, "", "Whether that skill is offered.").required(),
            top("apps.<id>.enabled", Kind::Bool, "`true`", "Whether an app is offered."),
            top("apps.<id>.disabled_reason", Kind::words(&["unknown", "user"]), "", "Why it is not."),
        ],
    },
    Section {
        title: "MCP servers",
        keys: &[
            top(
                "mcp_servers.<name>.command",
                Kind::String,
                "",
                "The program of a server that is spoken to over pipes.",
            ),
            top("mcp_servers.<name>.args", Kind::STRINGS, "`[]`", "Its arguments."),
            top("mcp_servers.<name>.env", Kind::STRING_MAP, "`{}`", "Variables it is given."),
            top("mcp_servers.<name>.env_vars", Kind::STRINGS, "`[]`", "Variables it is given from the environment."),
            top("mcp_servers.<name>.cwd", Kind::String, "the working folder", "Where it runs."),
            top("mcp_servers.<name>.url", Kind::String, "", "The address of a server that is spoken to over HTTP."),
            top("mcp_servers.<name>.bearer_token_env_var", Kind::String, "", "The variable that holds its token."),
            top("mcp_servers.<name>.bearer_token", Kind::String, "", "Refused: use `bearer_token_env_var`."),
            top("mcp_servers.<name>.http_headers", Kind::STRING_MAP, "", "Headers of every request."),
            top("mcp_servers.<name>.env_http_headers", Kind::STRING_MAP, "", "Headers whose value is in a variable."),
            top("mcp_servers.<name>.enabled", Kind::Bool, "`true`", "Whether it is used."),
            top("mcp_servers.<name>.required", Kind::Bool, "`false`", "Whether a session fails without it."),
            top(
                "mcp_servers.<name>.startup_timeout_sec",
                Kind::Float,
                "10",
                "How long it may take to start, in seconds.",
            ),
            top(
                "mcp_servers.<name>.startup_timeout_ms",
                Kind::COUNT,
                "",
                "The same in milliseconds; seconds are stronger.",
            ),
            top("mcp_servers.<name>.tool_timeout_sec", Kind::Float, "60", "How long a call may take, in seconds."),
            top("mcp_servers.<name>.enabled_tools", Kind::STRINGS, "all", "The tools that are offered."),
            top("mcp_servers.<name>.disabled_tools", Kind::STRINGS, "none", "The tools that are not."),
            top("mcp_servers.<name>.scopes", Kind::STRINGS, "", "What is asked for at its login."),
            top(
                "mcp_oauth_credentials_store",
                Kind::words(OauthStore::WORDS),
                "`auto`",
                "Where logins to servers are kept.",
            ),
            top("mcp_oauth_callback_port", Kind::PORT, "a free one", "The port that a login comes back to."),
        ],
    },
    Section {
        title: "Features",
        keys: &[
            both("features.<key>", Kind::Bool, "see the list below", "Switches a feature."),
            top(
                "suppress_unstable_features_warning",
                Kind::Bool,
                "`false`",
                "Says nothing about features under development that are on.",
            ),
            both("experimental_use_unified_exec_tool", Kind::Bool, "", "Gone: use `features.unified_exec`."),
            both("experimental_use_freeform_apply_patch", Kind::Bool, "", "Gone: use `features.apply_patch_freeform`."),
            profile("include_apply_patch_tool", "Gone: use `features.apply_patch_freeform`."),
            profile("tools_web_search", "Gone: use `web_search`."),
            profile("tools_view_image", "Accepted and not used."),
        ],
    },
    Section {
        title: "Profiles",
        keys: &[top(
            "profile",
            Kind::String,
            "",
            "The table in `profiles` whose values are stronger than those at the top.",
        )],
    },
    Section {
        title: "History, logs and notices",
        keys: &[
            top(
                "history.persistence",
                Kind::words(HistoryPersistence::WORDS),
                "`save-all`",
                "Whether inputs are kept for the next session.",
            )
            .required(),
            top("history.max_bytes", Kind::COUNT, "no limit", "How long that file may get."),
            top("log_dir", Kind::Path, "`log` in the home folder", "Where logs are written."),
            top("notify", Kind::STRINGS, "", "A program that is run after each turn, with its first arguments."),
            both("analytics.enabled", Kind::Bool, "", "Whether use may be counted."),
            top("feedback.enabled", Kind::Bool, "`true`", "Whether feedback may be sent."),
            top("check_for_update_on_startup", Kind::Bool, "`true`", "Looks for a newer version at the start."),
            top("exec.context_events", Kind::Bool, "`false`", "Adds events about the context to `exec --json`."),
            top("exec.typed_exit_codes", Kind::Bool, "`false`", "Tells kinds of failure apart by the exit code."),
            top("otel.log_user_prompt", Kind::Bool, "`false`", "Puts what people type into telemetry."),
            top("otel.environment", Kind::String, "`dev`", "The environment that telemetry names."),
            top("otel.exporter", EXPORTER, "`none`", "Where logs are sent."),
            exporter("otel.exporter.otlp-http.endpoint"),
            exporter_headers("otel.exporter.otlp-http.headers"),
            exporter_protocol("otel.exporter.otlp-http.protocol"),
            exporter_tls("otel.exporter.otlp-http.tls"),
            exporter("otel.exporter.otlp-grpc.endpoint"),
            exporter_headers("otel.exporter.otlp-grpc.headers"),
            exporter_tls("otel.exporter.otlp-grpc.tls"),
            top("otel.trace_exporter", EXPORTER, "the value of `otel.exporter`", "Where traces are sent."),
            exporter("otel.trace_exporter.otlp-http.endpoint"),
            exporter_headers("otel.trace_exporter.otlp-http.headers"),
            exporter_protocol("otel.trace_exporter.otlp-http.protocol"),
            exporter_tls("otel.trace_exporter.otlp-http.tls"),
            exporter("otel.trace_exporter.otlp-grpc.endpoint"),
            exporter_headers("otel.trace_exporter.otlp-grpc.headers"),
            exporter_tls("otel.trace_exporter.otlp-grpc.tls"),
            top("otel.metrics_exporter", EXPORTER, "`statsig`", "Where metrics are sent."),
            exporter("otel.metrics_exporter.otlp-http.endpoint"),
            exporter_headers("otel.metrics_exporter.otlp-http.headers"),
            exporter_protocol("otel.metrics_exporter.otlp-http.protocol"),
            exporter_tls("otel.metrics_exporter.otlp-http.tls"),
            exporter("otel.metrics_exporter.otlp-grpc.endpoint"),
            exporter_headers("otel.metrics_exporter.otlp-grpc.headers"),
            exporter_tls("otel.metrics_exporter.otlp-grpc.tls"),
            top("notice.hide_full_access_warning", Kind::Bool, "`false`", "The warning about full access was read."),
            top(
                "notice.hide_world_writable_warning",
                Kind::Bool,
                "`false`",
                "The warning about folders that all may write in was read.",
            ),
            top("notice.hide_rate_limit_model_nudge", Kind::Bool, "`false`", "The hint at a smaller model was read."),
            top("notice.hide_gpt5_1_migration_prompt", Kind::Bool, "`false`", "The hint at a newer model was read."),
            top(
                "notice.\"hide_gpt-5.1-codex-max_migration_prompt\"",
                Kind::Bool,
                "`false`",
                "The hint at a newer model was read.",
            ),
            top(
                "notice.model_migrations",
                Kind::STRING_MAP,
                "`{}`",
                "Hints at newer models that were read, old name to new.",
            ),
        ],
    },
    Section {
        title: "Login",
        keys: &[
            both("chatgpt_base_url", Kind::String, "`https://chatgpt.com/backend-api/`", "The service behind a login."),
            top("forced_login_method", Kind::words(LoginMethod::WORDS), "", "The only kind of login that is allowed."),
            top("forced_chatgpt_workspace_id", Kind::String, "", "The only workspace that is allowed; blank for any."),
            top(
                "cli_auth_credentials_store",
                Kind::words(CredentialStore::WORDS),
                "`file`",
                "Where the login is kept.",
            ),
        ],
    },
    Section {
        title: "Display",
        keys: &[
            top("hide_agent_reasoning", Kind::Bool, "`false`", "Hides summaries of the model's thoughts."),
            top("show_raw_agent_reasoning", Kind::Bool, "`false`", "Shows the model's thoughts as they are."),
            top("file_opener", Kind::words(FileOpener::WORDS), "`vscode`", "The editor that file names link to."),
            top("disable_paste_burst", Kind::Bool, "`false`", "Takes fast typing for typing, not for a paste."),
            top(
                "tui.notifications",
                Kind::Either(&Kind::Bool, &Kind::STRINGS),
                "`true`",
                "Whether the terminal notifies, or of what: `agent-turn-complete`, `approval-requested`.",
            ),
            top(
                "tui.notification_method",
                Kind::words(NotificationMethod::WORDS),
                "`auto`",
                "How the terminal notifies.",
            ),
            top("tui.animations", Kind::Bool, "`true`", "Whether the terminal moves."),
            top("tui.show_tooltips", Kind::Bool, "`true`", "Whether the terminal gives hints."),
            top(
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
            ),
            top(
                "tui.alternate_screen",
                Kind::words(ScreenMode::WORDS),
                "`auto`",
                "Whether the terminal's second screen is used.",
            ),
            top("tui.status_line", Kind::STRINGS, "", "What the status line shows."),
            top("windows_wsl_setup_acknowledged", Kind::Bool, "`false`", "The hint at WSL was read."),
        ],
    },
    Section {
        title: "Memories and snapshots",
        keys: &[
            top(
                "memories.max_raw_memories_for_global",
                Kind::COUNT,
                "1024",
                "How many memories are merged, at most 4096.",
            ),
            top(
                "memories.max_rollout_age_days",
                Kind::INT,
                "30",
                "How old a session may be to be remembered, 0 to 90 days.",
            ),
            top(
                "memories.max_rollouts_per_startup",
                Kind::COUNT,
                "8",
                "How many sessions are looked at per start, at most 128.",
            ),
            top(
                "memories.min_rollout_idle_hours",
                Kind::INT,
                "12",
                "How long a session must rest before, 1 to 48 hours.",
            ),
            top("memories.phase_1_model", Kind::String, "", "The model that reads sessions."),
            top("memories.phase_2_model", Kind::String, "", "The model that merges memories."),
            top(
                "ghost_snapshot.ignore_large_untracked_files",
                Kind::INT,
                "built in",
                "From which size untracked files are left out, in bytes; 0 for never.",
            )
            .aliases(&["ignore_untracked_files_over_bytes"]),
            top(
                "ghost_snapshot.ignore_large_untracked_dirs",
                Kind::INT,
                "built in",
                "From how many files untracked folders are left out; 0 for never.",
            )
            .aliases(&["large_untracked_dir_warning_threshold"]),
            top("ghost_snapshot.disable_warnings", Kind::Bool, "`false`", "Says nothing about what is left out."),
        ],
    },
];

const EXPORTER: Kind = Kind::words(&["none", "statsig", "otlp-http", "otlp-grpc"]);

/// A key at the top.
const fn top(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key::new(path, kind, default, doc)
}

/// A key at the top and in profiles.
const fn both(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key::new(path, kind, default, doc).scope(Scope::Profile)
}

/// A switch in profiles only.
const fn profile(path: &'static str, doc: &'static str) -> Key {
    Key::new(path, Kind::Bool, "", doc).scope(Scope::ProfileOnly)
}

const fn exporter(path: &'static str) -> Key {
    Key::new(path, Kind::String, "", "The address of the collector.").required()
}

const fn exporter_headers(path: &'static str) -> Key {
    Key::new(path, Kind::STRING_MAP, "`{}`", "Headers for the collector.")
}

const fn exporter_protocol(path: &'static str) -> Key {
    Key::new(path, Kind::words(&["binary", "json"]), "", "The encoding.").required()
}

const fn exporter_tls(path: &'static str) -> Key {
    Key::new(
        path,
        Kind::Map(&Kind::Path),
        "",
        "Certificates: `ca-certificate`, `client-certificate`, `client-private-key`.",
    )
}
