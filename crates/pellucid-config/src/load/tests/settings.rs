//! Single settings: texts, providers, servers, and the defaults of the rest.

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::provider::Provider;

use super::*;

#[test]
fn texts_know_where_they_came_from() {
    let show = |config: &Config| {
        let show = |text: &Option<Sourced>| match text {
            Some(Sourced { text, origin, file }) => {
                format!(
                    "{text:?} from {origin} {}\n",
                    file.as_deref().map(Path::display).map(|it| it.to_string()).unwrap_or_default()
                )
            }
            None => "none\n".to_owned(),
        };
        show(&config.prompt.base_instructions)
            + &show(&config.prompt.developer_instructions)
            + &show(&config.prompt.compact_prompt)
    };
    let files = [
        (
            "home/config.toml",
            "developer_instructions = ''\nmodel_instructions_file = 'top.md'\nexperimental_compact_prompt_file = 'compact.md'\n[profiles.p]\nmodel_instructions_file = 'own.md'\n",
        ),
        ("home/top.md", "top"),
        ("home/own.md", "\n  own text \n\n"),
        ("home/compact.md", "sum up\n"),
    ];
    world(&files).check(
        show,
        &expect![[r#"
        "top" from model_instructions_file in $R/home/config.toml:2 $R/home/top.md
        "" from developer_instructions in $R/home/config.toml:1 
        "sum up" from experimental_compact_prompt_file in $R/home/config.toml:3 $R/home/compact.md
    "#]],
    );
    world(&files).flags(&["profile=p", "compact_prompt=mine"]).check(
        show,
        &expect![[r#"
        "own text" from profiles.p.model_instructions_file in $R/home/config.toml:5 $R/home/own.md
        "" from developer_instructions in $R/home/config.toml:1 
        "mine" from compact_prompt in the command line 
    "#]],
    );
    world(&files)
        .flags(&["compact_prompt=' '", "developer_instructions=flag"])
        .harness(|harness| harness.base_instructions = Some("given".to_owned()))
        .check(
            show,
            &expect![[r#"
            "given" from the caller 
            "flag" from developer_instructions in the command line 
            "sum up" from experimental_compact_prompt_file in $R/home/config.toml:3 $R/home/compact.md
        "#]],
        );
    world(&[]).check(
        show,
        &expect![[r#"
        none
        none
        none
    "#]],
    );
}

#[test]
fn personality_is_pragmatic_while_the_feature_is_on() {
    let show = |config: &Config| format!("{:?}", config.model.personality);
    check_user("", &[], show, &expect!["Some(Pragmatic)"]);
    check_user("", &["features.personality=false"], show, &expect!["None"]);
    check_user("", &["features.personality=false", "personality=friendly"], show, &expect!["Some(Friendly)"]);
    check_user(
        "personality = 'none'\n[profiles.warm]\npersonality = 'friendly'\n",
        &["profile=warm"],
        show,
        &expect!["Some(Friendly)"],
    );
}

#[test]
fn model_settings() {
    check_user(
        "model = 'm'\nmodel_reasoning_effort = 'xhigh'\nmodel_reasoning_summary = 'none'\nmodel_verbosity = 'high'\nmodel_context_window = 1\nmodel_auto_compact_token_limit = 2\ntool_output_token_limit = 3\nmodel_supports_reasoning_summaries = true\n",
        &[],
        |config| {
            let model = &config.model;
            format!(
                "{:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
                model.slug,
                model.reasoning_effort,
                model.reasoning_summary,
                model.verbosity,
                model.context_window,
                model.auto_compact_token_limit,
                model.tool_output_token_limit,
                model.supports_reasoning_summaries,
            )
        },
        &expect![[r#"Some("m") Some(XHigh) none Some(High) Some(1) Some(2) Some(3) Some(true)"#]],
    );
}

#[test]
fn providers_are_built_in_or_configured() {
    let show = |config: &Config| serde_json::to_string(&config.model.provider).unwrap();
    check_user(
        &(provider("x")
            + "base_url = 'u'\nenv_key = 'K'\nquery_params = { api-version = '1' }\nhttp_headers = { B = 'b', A = 'a' }\nrequest_max_retries = 0\n"),
        &[],
        show,
        &expect![[
            r#"{"name":"x","base_url":"u","env_key":"K","env_key_instructions":null,"experimental_bearer_token":null,"wire_api":"responses","query_params":{"api-version":"1"},"http_headers":{"A":"a","B":"b"},"env_http_headers":null,"request_max_retries":0,"stream_max_retries":null,"stream_idle_timeout_ms":null,"requires_openai_auth":false,"supports_websockets":false}"#
        ]],
    );
    let wire = |config: &Config| {
        let Provider { wire_api, chat_developer_role, max_output_tokens, .. } = &config.model.provider;
        format!("{wire_api} {chat_developer_role:?} {max_output_tokens:?}")
    };
    check_user(
        &(provider("x") + "wire_api = 'chat'\nchat_developer_role = 'user'\n"),
        &[],
        wire,
        &expect!["chat Some(User) None"],
    );
    check_user(
        &(provider("x") + "wire_api = 'messages'\nmax_output_tokens = 9000\n"),
        &[],
        wire,
        &expect!["messages None Some(9000)"],
    );
    let base = |config: &Config| format!("{} {:?}", config.model.provider.name, config.model.provider.base_url);
    check_user("[model_providers.openai]\nname = 'Mine'\nbase_url = 'u'\n", &[], base, &expect!["OpenAI None"]);
    world(&[]).env(&[("OPENAI_BASE_URL", "http://o/v1")]).check(base, &expect![[r#"OpenAI Some("http://o/v1")"#]]);
    world(&[]).env(&[("OPENAI_BASE_URL", " ")]).check(base, &expect!["OpenAI None"]);
    world(&[("home/config.toml", "openai_base_url = 'http://c/v1'")])
        .env(&[("OPENAI_BASE_URL", "http://o/v1")])
        .check(base, &expect![[r#"OpenAI Some("http://c/v1")"#]]);
    let local = |env: &[(&str, &str)], id: &str, expected: &Expect| {
        let id = id.to_owned();
        world(&[]).env(env).harness(|harness| harness.model_provider = Some(id)).check(base, expected);
    };
    local(&[], "ollama", &expect![[r#"gpt-oss Some("http://localhost:11434/v1")"#]]);
    local(&[], "lmstudio", &expect![[r#"gpt-oss Some("http://localhost:1234/v1")"#]]);
    local(&[("CODEX_OSS_PORT", "99")], "lmstudio", &expect![[r#"gpt-oss Some("http://localhost:99/v1")"#]]);
    local(&[("CODEX_OSS_PORT", "x")], "ollama", &expect![[r#"gpt-oss Some("http://localhost:11434/v1")"#]]);
    local(&[("CODEX_OSS_BASE_URL", "http://b")], "ollama", &expect![[r#"gpt-oss Some("http://b")"#]]);
}

#[test]
fn mcp_servers_are_typed() {
    check_user(
        r#"
[mcp_servers.pipe]
command = "npx"
args = ["-y", "srv"]
env = { A = "1" }
env_vars = ["PATH"]
cwd = "rel"
startup_timeout_sec = 1.5
startup_timeout_ms = 9
enabled_tools = ["t"]

[mcp_servers.web]
url = "http://w"
bearer_token_env_var = "T"
required = true
enabled = false
startup_timeout_ms = 250
tool_timeout_sec = 3
"#,
        &[],
        |config| format!("{:#?}", config.tools.mcp_servers),
        &expect![[r#"
            {
                "pipe": McpServer {
                    transport: Stdio {
                        command: "npx",
                        args: [
                            "-y",
                            "srv",
                        ],
                        env: {
                            "A": "1",
                        },
                        env_vars: [
                            "PATH",
                        ],
                        cwd: Some(
                            "rel",
                        ),
                    },
                    enabled: true,
                    disabled_reason: None,
                    required: false,
                    startup_timeout: Some(
                        1.5s,
                    ),
                    tool_timeout: None,
                    tool_timeout_max: None,
                    max_message_bytes: 16777216,
                    protocol: Initialize,
                    start: None,
                    enabled_tools: Some(
                        [
                            "t",
                        ],
                    ),
                    disabled_tools: None,
                    offer: None,
                    login: McpLogin {
                        client_id: None,
                        client_secret_env_var: None,
                        scopes: [],
                        callback_port: None,
                        grant: Code,
                    },
                },
                "web": McpServer {
                    transport: Http {
                        url: "http://w",
                        bearer_token_env_var: Some(
                            "T",
                        ),
                        http_headers: {},
                        env_http_headers: {},
                    },
                    enabled: false,
                    disabled_reason: None,
                    required: true,
                    startup_timeout: Some(
                        250ms,
                    ),
                    tool_timeout: Some(
                        3s,
                    ),
                    tool_timeout_max: None,
                    max_message_bytes: 16777216,
                    protocol: Initialize,
                    start: None,
                    enabled_tools: None,
                    disabled_tools: None,
                    offer: None,
                    login: McpLogin {
                        client_id: None,
                        client_secret_env_var: None,
                        scopes: [],
                        callback_port: None,
                        grant: Code,
                    },
                },
            }"#]],
    );
}

#[test]
fn documents_have_names_without_blanks_and_repeats() {
    check_user(
        "project_doc_fallback_filenames = ['  ', ' TEAM.md ', 'CLAUDE.md', 'TEAM.md']\nproject_doc_max_bytes = 40\n",
        &[],
        |config| format!("{} {:?}", config.documents.max_bytes, config.documents.fallback_filenames),
        &expect![[r#"40 ["TEAM.md", "CLAUDE.md"]"#]],
    );
}

#[test]
fn documents_have_rules_of_their_own() {
    check_user("", &[], |config| format!("{}", config.documents.rules == ProjectDocs::default()), &expect!["true"]);
    check_user(
        "[project_docs]\nallocation = 'nearest-first'\ncut = 'lines'\nimports = 3\nnested = true\non_change = 'tell'\n",
        &[],
        |config| format!("{:?}", config.documents.rules),
        &expect![
            "ProjectDocs { allocation: Some(NearestFirst), cut: Some(Lines), imports: Some(3), nested: Some(true), on_change: Some(Tell) }"
        ],
    );
}

#[test]
fn skills_are_switched_by_the_user_only() {
    world(&[
        ("home/config.toml", "[[skills.config]]\npath = 'skills/a/SKILL.md'\nenabled = false\n[projects.'$R/work']\ntrust_level = 'trusted'\n"),
        ("work/.codex/config.toml", "[[skills.config]]\npath = 'b'\nenabled = false\n"),
    ])
    .check(
        |config| format!("{:?}", config.tools.skills),
        &expect![[r#"[SkillSwitch { path: "$R/home/skills/a/SKILL.md", enabled: false }]"#]],
    );
}

#[test]
fn memories_are_kept_within_bounds() {
    check_user(
        "[memories]\nmax_raw_memories_for_global = 9999\nmax_rollout_age_days = -1\nmax_rollouts_per_startup = 999\nmin_rollout_idle_hours = 0\nphase_1_model = 'm'\n",
        &[],
        |config| format!("{:?}", config.tools.memories),
        &expect![[
            r#"MemorySettings { raw_memories_max: 4096, age_days_max: 0, sessions_per_start_max: 128, idle_hours_min: 1, reading_model: "m", merging_model: "gpt-5.3-codex", scope: Project, is_written: true }"#
        ]],
    );
}

#[test]
fn defaults_of_the_rest() {
    world(&[]).check(
        |config| {
            format!(
                "{:#?}",
                (&config.shell_environment, &config.records, &config.login, &config.display, config.tools.agents_max)
            )
        },
        &expect![[r#"
            (
                ShellEnvironmentPolicy {
                    inherit: All,
                    ignore_default_excludes: true,
                    exclude: [],
                    set: {},
                    include_only: [],
                    use_profile: false,
                },
                RecordSettings {
                    notify: None,
                    feedback: true,
                    context_events: false,
                    typed_exit_codes: false,
                },
                LoginSettings {
                    forced_method: None,
                    forced_workspace_id: None,
                    store: File,
                },
                DisplaySettings {
                    hide_reasoning: false,
                    show_raw_reasoning: false,
                },
                6,
            )"#]],
    );
}

#[test]
fn settings_of_the_rest() {
    check_user(
        r#"
notify = ["prog", "arg"]
forced_chatgpt_workspace_id = " "
show_raw_agent_reasoning = false
file_opener = "none"
[history]
persistence = "none"
max_bytes = 5
[shell_environment_policy]
inherit = "core"
exclude = ["A*"]
set = { B = "b" }
[tui]
notifications = ["approval-requested"]
experimental_mode = "execute"
[agents]
max_threads = 2
[agents.scribe]
description = "Writes the log."
[apps.one]
enabled = false
[apps.two]
[ghost_snapshot]
ignore_untracked_files_over_bytes = 0
"#,
        &[],
        |config| {
            format!(
                "{:?}\n{:?}\n{:?}\n{:?}\n{:?} {:?} {:?}",
                config.records,
                config.login.forced_workspace_id,
                config.shell_environment,
                config.display,
                config.tools.agents_max,
                config.tools.agent_roles,
                config.tools.snapshots,
            )
        },
        &expect![[r#"
            RecordSettings { notify: Some(["prog", "arg"]), feedback: true, context_events: false, typed_exit_codes: false }
            None
            ShellEnvironmentPolicy { inherit: Core, ignore_default_excludes: true, exclude: ["A*"], set: {"B": "b"}, include_only: [], use_profile: false }
            DisplaySettings { hide_reasoning: false, show_raw_reasoning: false }
            2 {"scribe": AgentRoleConfig { description: Some("Writes the log."), config_file: None }} SnapshotSettings { large_file_bytes: 0, large_folder_files: 200, disable_warnings: false }"#]],
    );
}

#[test]
fn raw_thoughts_are_shown_by_the_caller_unless_configured() {
    let show = |config: &Config| config.display.show_raw_reasoning.to_string();
    let raw = |text| world(&[("home/config.toml", text)]).harness(|harness| harness.show_raw_reasoning = Some(true));
    raw("").check(show, &expect!["true"]);
    raw("show_raw_agent_reasoning = false\n").check(show, &expect!["false"]);
}
