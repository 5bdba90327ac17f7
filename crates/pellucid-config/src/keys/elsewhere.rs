//! The rows about services and records outside of the project: providers, MCP servers, logs, the login.

use super::IntegerBounds;
use super::Key;
use super::KeySection;
use super::TERMINAL;
use super::ValueKind;
use super::table::ACCEPTED;
use super::table::FREE;
use super::table::NEVER;
use super::table::both;
use super::table::top;
use super::table::unless;
use crate::config::CredentialStore;
use crate::config::LoginMethod;
use crate::mcp::McpGrant;
use crate::mcp::McpLoginStore;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::McpProtocol;
use pellucid_protocol::settings::McpStart;
use pellucid_protocol::telemetry::OtlpEncoding;
use pellucid_protocol::telemetry::SemconvRevision;
use pellucid_protocol::telemetry::TelemetryContent;
use pellucid_protocol::telemetry::TelemetrySchema;

const EXPORTER: ValueKind = ValueKind::words(&["none", "statsig", "otlp-http", "otlp-grpc"]);

/// Keys about model providers.
pub(super) const PROVIDERS: KeySection = KeySection {
    title: "Providers",
    keys: &[
        top(ACCEPTED, "model_providers.<id>.name", ValueKind::String, "", "The name for people.").required(),
        top(
            ACCEPTED,
            "model_providers.<id>.base_url",
            ValueKind::String,
            "the built-in service",
            "The address, without the path of the API.",
        ),
        top(ACCEPTED, "model_providers.<id>.env_key", ValueKind::String, "", "The environment variable with the key."),
        top(
            ACCEPTED,
            "model_providers.<id>.env_key_instructions",
            ValueKind::String,
            "",
            "A hint that is printed if the variable is not set.",
        ),
        top(ACCEPTED, "model_providers.<id>.experimental_bearer_token", ValueKind::String, "", "A key in plain text."),
        top(
            ACCEPTED,
            "model_providers.<id>.wire_api",
            ValueKind::words(WireApi::WORDS),
            "`responses`",
            "The API format: OpenAI's Responses or Chat Completions, or Anthropic's Messages. See `docs/providers.md`.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.chat_developer_role",
            ValueKind::words(DeveloperRole::WORDS),
            "`developer`",
            "The role of Pellucid's developer messages in the `chat` API; change it if the server's template rejects `developer`.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.max_output_tokens",
            ValueKind::COUNT,
            "an eighth of the window, at least 4096, at most 32000",
            "The maximum output tokens, which the `messages` API requires.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.cache_order",
            ValueKind::List(&ValueKind::words(ReadSection::WORDS)),
            "the API's: `schema`, `tools`, `instructions`, `items` on `responses`; `tools`, `instructions`, `items` on `chat` and `messages`",
            "The order in which the provider's models read a request. Sections that are not named count as not read. See `docs/providers.md`.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.cache_seconds",
            ValueKind::COUNT,
            "300 on `responses` and `messages`; not known on `chat`",
            "How many seconds the provider's cache keeps a request. An unread prefix counts as `expired` after that time, and as `missed` before.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.query_params",
            ValueKind::STRING_MAP,
            "",
            "Parameters that are appended to every address.",
        ),
        top(ACCEPTED, "model_providers.<id>.http_headers", ValueKind::STRING_MAP, "", "Headers of every request."),
        top(
            ACCEPTED,
            "model_providers.<id>.env_http_headers",
            ValueKind::STRING_MAP,
            "",
            "Headers whose values come from environment variables; left out if the variable is unset or blank.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.request_max_retries",
            ValueKind::COUNT,
            "4",
            "How often a failed request is retried, at most 100.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.stream_max_retries",
            ValueKind::COUNT,
            "5",
            "How often an interrupted stream is retried, at most 100.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.stream_idle_timeout_ms",
            ValueKind::COUNT,
            "300000",
            "How long a stream may be silent, in milliseconds.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.requires_openai_auth",
            ValueKind::Bool,
            "`false`",
            "Whether an OpenAI login is needed.",
        ),
        top(
            ACCEPTED,
            "model_providers.<id>.supports_websockets",
            ValueKind::Bool,
            "`false`",
            "Whether the provider supports the WebSocket transport.",
        ),
    ],
};

/// The limits of a message of an MCP server: a greeting fits, and the memory holds it.
const MESSAGE_BYTES: IntegerBounds =
    IntegerBounds { min: 1 << 16, max: 1 << 30, name: "a number of bytes from 65536 to 1073741824" };

/// Keys about MCP servers.
pub(super) const MCP_SERVERS: KeySection = KeySection {
    title: "MCP servers",
    keys: &[
        top(
            ACCEPTED,
            "mcp_servers.<name>.command",
            ValueKind::String,
            "",
            "The program that runs a local server, which is reached through its standard streams.",
        ),
        top(ACCEPTED, "mcp_servers.<name>.args", ValueKind::STRINGS, "`[]`", "The arguments of the program."),
        top(
            ACCEPTED,
            "mcp_servers.<name>.env",
            ValueKind::STRING_MAP,
            "`{}`",
            "Variables that are set for the program.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.env_vars",
            ValueKind::STRINGS,
            "`[]`",
            "Names of variables that the program receives from the environment.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.cwd",
            ValueKind::String,
            "the working folder",
            "The working directory of the program.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.url",
            ValueKind::String,
            "",
            "The address of a server that is reached over HTTP.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.bearer_token_env_var",
            ValueKind::String,
            "",
            "The environment variable with the bearer token.",
        ),
        top(ACCEPTED, "mcp_servers.<name>.bearer_token", ValueKind::String, "", "Refused: use `bearer_token_env_var`."),
        top(ACCEPTED, "mcp_servers.<name>.http_headers", ValueKind::STRING_MAP, "", "Headers of every request."),
        top(
            ACCEPTED,
            "mcp_servers.<name>.env_http_headers",
            ValueKind::STRING_MAP,
            "",
            "Headers whose values come from environment variables.",
        ),
        top(ACCEPTED, "mcp_servers.<name>.enabled", ValueKind::Bool, "`true`", "Whether the server is used."),
        top(
            ACCEPTED,
            "mcp_servers.<name>.required",
            ValueKind::Bool,
            "`false`",
            "Whether a session fails if the server does not start.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.startup_timeout_sec",
            ValueKind::Float,
            "10",
            "How long the server may take to start, in seconds.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.startup_timeout_ms",
            ValueKind::COUNT,
            "",
            "The startup timeout in milliseconds; `startup_timeout_sec` is stronger.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.tool_timeout_sec",
            ValueKind::Float,
            "60",
            "How long a call may take without progress, in seconds.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.tool_timeout_max_sec",
            ValueKind::Float,
            "ten times `tool_timeout_sec`",
            "How long a call may take in all, in seconds, while its server reports progress.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.max_message_bytes",
            ValueKind::Integer(MESSAGE_BYTES),
            "16777216",
            "The largest message of the server that is read, in bytes; a call with a larger answer fails.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.protocol",
            ValueKind::words(McpProtocol::WORDS),
            "`initialize`",
            "How the server is greeted: as by the Codex CLI, in the newest revision that it knows (`auto`), or in one revision. See `docs/mcp.md`.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.start",
            ValueKind::words(McpStart::WORDS),
            "what the pack says, else `wait`",
            "Whether the first request waits for the server. See `docs/mcp.md`.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.enabled_tools",
            ValueKind::STRINGS,
            "all tools",
            "The tools that are offered.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.disabled_tools",
            ValueKind::STRINGS,
            "no tools",
            "The tools that are not offered.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.offer",
            ValueKind::words(McpOffer::WORDS),
            "what `mcp_tools` says",
            "How requests offer the server's tools. See `docs/mcp.md`.",
        ),
        top(
            FREE,
            "mcp_tools",
            ValueKind::words(McpOffer::WORDS),
            "what the pack says, else `direct`",
            "How requests offer the tools of MCP servers: `direct` with their schemas, or `deferred`, by name. See `docs/mcp.md`.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.scopes",
            ValueKind::STRINGS,
            "those that the server asks for",
            "The OAuth scopes that a login requests; `oauth.scopes` is stronger.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.oauth.client_id",
            ValueKind::String,
            "this client registers",
            "The client id that the authorization server knows, or the `https` address of a document about the client.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.oauth.client_secret_env_var",
            ValueKind::String,
            "",
            "The environment variable with the secret of that client.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.oauth.scopes",
            ValueKind::STRINGS,
            "those that the server asks for",
            "The OAuth scopes that a login requests.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.oauth.callback_port",
            ValueKind::PORT,
            "what `mcp_oauth_callback_port` says",
            "The local port to which the browser returns after a login.",
        ),
        top(
            ACCEPTED,
            "mcp_servers.<name>.oauth.grant",
            ValueKind::words(McpGrant::WORDS),
            "`code`",
            "How a token is got: `code`, by a person in a browser, or `client_credentials`, with the client's secret alone.",
        ),
        top(
            ACCEPTED,
            "mcp_oauth_credentials_store",
            ValueKind::words(McpLoginStore::WORDS),
            "`auto`",
            "Where logins to servers are stored: `file`, which `auto` means too. `keyring` is not supported.",
        ),
        top(
            ACCEPTED,
            "mcp_oauth_callback_port",
            ValueKind::PORT,
            "a free one",
            "The local port to which the browser returns after a login.",
        ),
        top(
            NEVER,
            "app_server.loaded_threads_max",
            ValueKind::COUNT,
            "500",
            "How many threads of the app-server stay loaded while they idle, those that were used last. See `docs/app-server.md`.",
        ),
        top(
            NEVER,
            "app_server.unload_after_seconds",
            ValueKind::COUNT,
            "1800",
            "After how many seconds without a turn a thread of the app-server is unloaded; 0 for never.",
        ),
        top(
            FREE,
            "mcp_server.standard",
            ValueKind::Bool,
            "`false`",
            "With `true`, `mcp-server` answers everything that the protocol has; otherwise it answers as Codex CLI. See `docs/mcp-server.md`.",
        ),
    ],
};

/// Keys about history, logs and notices.
pub(super) const RECORDS: KeySection = KeySection {
    title: "History, logs and notices",
    keys: &[
        top(
            FREE,
            "history.persistence",
            ValueKind::words(&["save-all", "none"]),
            "`save-all`",
            "Whether inputs are kept for the next session.",
        )
        .required(),
        top(
            FREE,
            "history.max_bytes",
            ValueKind::COUNT,
            "no limit",
            "The size limit of the file with inputs, in bytes.",
        ),
        top(
            ACCEPTED,
            "log_dir",
            ValueKind::Path,
            "",
            "The folder for the log, `pellucid.log`. What `RUST_LOG` selects is appended there too, errors without it.",
        ),
        top(
            ACCEPTED,
            "notify",
            ValueKind::STRINGS,
            "",
            "The program that is run after each turn, with its first arguments.",
        ),
        both(
            unless(&["false"]),
            "analytics.enabled",
            ValueKind::Bool,
            "",
            "`false` keeps metrics from being exported; Pellucid counts nothing else.",
        ),
        top(unless(&["false"]), "feedback.enabled", ValueKind::Bool, "`true`", "Whether feedback may be sent."),
        top(FREE, "check_for_update_on_startup", ValueKind::Bool, "`true`", "Looks for a newer version at the start.")
            .not_used("Pellucid never looks for updates"),
        top(FREE, "exec.context_events", ValueKind::Bool, "`false`", "Adds context events to `exec --json`."),
        top(
            FREE,
            "exec.typed_exit_codes",
            ValueKind::Bool,
            "`false`",
            "Whether the exit status of `exec` distinguishes kinds of failure.",
        ),
        top(
            ACCEPTED,
            "limits.max_tokens",
            ValueKind::COUNT,
            "no limit",
            "How many tokens a session may spend, with its agents, reviews and summaries; 0 allows nothing.",
        ),
        top(
            ACCEPTED,
            "limits.max_requests",
            ValueKind::COUNT,
            "no limit",
            "How many requests a session may send, with its agents, reviews and summaries; 0 allows nothing.",
        ),
        top(
            ACCEPTED,
            "limits.max_cost",
            ValueKind::Float,
            "no limit",
            "What a session may cost, with its agents, reviews and summaries, in the currency of its model's price; 0 \
             allows nothing. See `docs/prices.md`.",
        ),
        top(
            unless(&["false"]),
            "otel.log_user_prompt",
            ValueKind::Bool,
            "`false`",
            "Puts the text of your inputs into telemetry, whatever `otel.content` says.",
        ),
        top(FREE, "otel.environment", ValueKind::String, "`dev`", "The environment that telemetry names."),
        top(
            ACCEPTED,
            "otel.exporter",
            EXPORTER,
            "none, or what variables say",
            "Where logs are sent; nothing is sent to a vendor.",
        ),
        endpoint("otel.exporter.otlp-http.endpoint"),
        exporter_headers("otel.exporter.otlp-http.headers"),
        exporter_protocol("otel.exporter.otlp-http.protocol"),
        exporter_tls("otel.exporter.otlp-http.tls"),
        grpc_endpoint("otel.exporter.otlp-grpc.endpoint"),
        grpc_headers("otel.exporter.otlp-grpc.headers"),
        grpc_tls("otel.exporter.otlp-grpc.tls"),
        top(ACCEPTED, "otel.trace_exporter", EXPORTER, "the value of `otel.exporter`", "Where spans are sent."),
        endpoint("otel.trace_exporter.otlp-http.endpoint"),
        exporter_headers("otel.trace_exporter.otlp-http.headers"),
        exporter_protocol("otel.trace_exporter.otlp-http.protocol"),
        exporter_tls("otel.trace_exporter.otlp-http.tls"),
        grpc_endpoint("otel.trace_exporter.otlp-grpc.endpoint"),
        grpc_headers("otel.trace_exporter.otlp-grpc.headers"),
        grpc_tls("otel.trace_exporter.otlp-grpc.tls"),
        top(ACCEPTED, "otel.metrics_exporter", EXPORTER, "none, or what variables say", "Where metrics are sent."),
        endpoint("otel.metrics_exporter.otlp-http.endpoint"),
        exporter_headers("otel.metrics_exporter.otlp-http.headers"),
        exporter_protocol("otel.metrics_exporter.otlp-http.protocol"),
        exporter_tls("otel.metrics_exporter.otlp-http.tls"),
        grpc_endpoint("otel.metrics_exporter.otlp-grpc.endpoint"),
        grpc_headers("otel.metrics_exporter.otlp-grpc.headers"),
        grpc_tls("otel.metrics_exporter.otlp-grpc.tls"),
        top(
            FREE,
            "otel.schema",
            ValueKind::words(TelemetrySchema::WORDS),
            "that of the Codex CLI for the pack `codex`, else `gen_ai`",
            "The names of log events and metrics: those of the Codex CLI, of the conventions for generative AI, or both.",
        ),
        top(
            unless(&["none"]),
            "otel.content",
            ValueKind::words(TelemetryContent::WORDS),
            "`none`",
            "How much of inputs, answers and tool calls telemetry has: nothing, SHA-256 digests, or texts.",
        ),
        top(
            FREE,
            "otel.semconv",
            ValueKind::words(SemconvRevision::WORDS),
            "`1.41.0`",
            "The revision of the conventions for generative AI.",
        ),
        top(
            unless(&["false"]),
            "otel.propagate",
            ValueKind::Bool,
            "`false`",
            "Sends `traceparent` with requests to the model, as a header, and with calls of MCP servers, if spans are exported.",
        ),
        top(
            FREE,
            "notice.hide_full_access_warning",
            ValueKind::Bool,
            "`false`",
            "The warning about full access was read.",
        ),
        top(
            FREE,
            "notice.hide_world_writable_warning",
            ValueKind::Bool,
            "`false`",
            "The warning about folders that all may write in was read.",
        )
        .not_used(TERMINAL),
        top(
            FREE,
            "notice.hide_rate_limit_model_nudge",
            ValueKind::Bool,
            "`false`",
            "The hint at a smaller model was read.",
        )
        .not_used(TERMINAL),
        top(
            FREE,
            "notice.hide_gpt5_1_migration_prompt",
            ValueKind::Bool,
            "`false`",
            "The hint at a newer model was read.",
        )
        .not_used(TERMINAL),
        top(
            FREE,
            "notice.\"hide_gpt-5.1-codex-max_migration_prompt\"",
            ValueKind::Bool,
            "`false`",
            "The hint at a newer model was read.",
        )
        .not_used(TERMINAL),
        top(
            FREE,
            "notice.model_migrations",
            ValueKind::STRING_MAP,
            "`{}`",
            "Hints at newer models that were read, old name to new.",
        )
        .not_used(TERMINAL),
    ],
};

/// Keys about the login.
pub(super) const LOGIN: KeySection = KeySection {
    title: "Login",
    keys: &[
        both(
            ACCEPTED,
            "chatgpt_base_url",
            ValueKind::String,
            "`https://chatgpt.com/backend-api/`",
            "The service behind a login, which connected apps come from.",
        ),
        top(
            ACCEPTED,
            "forced_login_method",
            ValueKind::words(LoginMethod::WORDS),
            "",
            "The only kind of login that is allowed.",
        ),
        top(
            ACCEPTED,
            "forced_chatgpt_workspace_id",
            ValueKind::String,
            "",
            "The only workspace that is allowed; blank for any.",
        ),
        top(
            ACCEPTED,
            "cli_auth_credentials_store",
            ValueKind::words(CredentialStore::WORDS),
            "`file`",
            "Where the login is stored.",
        ),
    ],
};

const fn endpoint(path: &'static str) -> Key {
    Key::new(ACCEPTED, path, ValueKind::String, "", "The address of the collector, to which nothing is appended.")
        .required()
}

const fn exporter_headers(path: &'static str) -> Key {
    Key::new(ACCEPTED, path, ValueKind::STRING_MAP, "", "Headers for the collector.")
}

const fn exporter_protocol(path: &'static str) -> Key {
    Key::new(ACCEPTED, path, ValueKind::words(OtlpEncoding::WORDS), "", "The encoding.").required()
}

const fn exporter_tls(path: &'static str) -> Key {
    Key::new(
        ACCEPTED,
        path,
        ValueKind::Map(&ValueKind::Path),
        "",
        "Certificates: `ca-certificate`, `client-certificate`, `client-private-key`.",
    )
}

const fn grpc_endpoint(path: &'static str) -> Key {
    Key::new(
        ACCEPTED,
        path,
        ValueKind::String,
        "",
        "The address of a collector that takes gRPC. Exports nothing; a warning names `otlp-http`.",
    )
    .required()
}

const fn grpc_headers(path: &'static str) -> Key {
    Key::new(
        ACCEPTED,
        path,
        ValueKind::STRING_MAP,
        "",
        "Headers for a collector that takes gRPC, which exports nothing.",
    )
}

const fn grpc_tls(path: &'static str) -> Key {
    let doc = "Certificates for a collector that takes gRPC, which exports nothing.";
    Key::new(ACCEPTED, path, ValueKind::Map(&ValueKind::Path), "", doc)
}
