//! Everything that can be exported, in tables: log events, spans, events of spans, metrics and attributes.
//!
//! A name that is not in a table is not exported: tests check every record against the tables, and the page
//! `docs/telemetry.md` is made from them.

use pellucid_protocol::telemetry::SemconvRevision;

/// A name and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedName {
    /// The name as it is exported.
    pub name: &'static str,
    /// What it means, as a sentence.
    pub doc: &'static str,
}

/// A metric with its unit and kind.
#[derive(Debug, PartialEq)]
pub struct Instrument {
    /// The name as it is exported.
    pub name: &'static str,
    /// The unit as it is exported.
    pub unit: &'static str,
    /// What it measures, as a sentence.
    pub doc: &'static str,
    /// How figures are put together.
    pub kind: MetricKind,
    /// Which settings export it.
    pub set: MetricSet,
}

/// How the figures of a metric are put together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricKind {
    /// Whole figures are added up.
    Counter,
    /// Figures with a fraction are added up.
    Sum,
    /// Figures are counted in buckets with these upper bounds.
    Histogram(&'static [f64]),
}

/// Which settings export a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricSet {
    /// `otel.schema` has the names of the Codex CLI.
    Codex,
    /// `otel.schema` has the names of the conventions.
    GenAi,
    /// The same, from this revision of the conventions on.
    GenAiSince(SemconvRevision),
    /// Every schema exports it.
    Always,
}

/// The buckets of milliseconds.
const MILLISECONDS: MetricKind = MetricKind::Histogram(&[
    0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2500.0, 5000.0, 7500.0, 10000.0,
]);

/// The buckets of seconds, as the conventions name them.
const SECONDS: MetricKind =
    MetricKind::Histogram(&[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]);

/// The buckets of tokens, as the conventions name them.
const TOKENS: MetricKind = MetricKind::Histogram(&[
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
]);

macro_rules! metrics {
    ($($constant:ident = $name:literal, $unit:literal, $kind:expr, $set:expr, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            pub static $constant: Instrument = Instrument { name: $name, unit: $unit, doc: $doc, kind: $kind, set: $set };
        )+

        /// All metrics, in the order of the documentation.
        pub static METRICS: &[&Instrument] = &[$(&$constant),+];
    };
}

const CODEX: MetricSet = MetricSet::Codex;
const GEN_AI: MetricSet = MetricSet::GenAi;
const NEWEST: MetricSet = MetricSet::GenAiSince(SemconvRevision::V1_41);

metrics! {
    THREAD_STARTED = "codex.thread.started", "", MetricKind::Counter, CODEX, "Sessions that were opened.";
    TURN_COUNT = "codex.conversation.turn.count", "", MetricKind::Counter, CODEX, "Turns that are over.";
    TURN_DURATION = "codex.turn.e2e_duration_ms", "ms", MILLISECONDS, CODEX, "How long turns took.";
    API_REQUEST = "codex.api_request", "", MetricKind::Counter, CODEX, "Attempts to send a request to a model.";
    API_REQUEST_DURATION = "codex.api_request.duration_ms", "ms", MILLISECONDS, CODEX, "How long the last attempt of a request waited for its first answer, with the attempts before.";
    SSE_EVENT = "codex.sse_event", "", MetricKind::Counter, CODEX, "Events of replies.";
    SSE_EVENT_DURATION = "codex.sse_event.duration_ms", "ms", MILLISECONDS, CODEX, "How long the wait for each event of a reply was.";
    TOOL_CALL = "codex.tool.call", "", MetricKind::Counter, CODEX, "Tool calls that are over.";
    TOOL_CALL_DURATION = "codex.tool.call.duration_ms", "ms", MILLISECONDS, CODEX, "How long tool calls took.";
    MCP_CALL = "codex.mcp.call", "", MetricKind::Counter, CODEX, "Calls of tools of MCP servers.";
    APPROVAL_REQUESTED = "codex.approval.requested", "", MetricKind::Counter, CODEX, "Questions for approval.";
    TASK_COMPACT = "codex.task.compact", "", MetricKind::Counter, CODEX, "Histories that were made shorter.";
    TASK_REVIEW = "codex.task.review", "", MetricKind::Counter, CODEX, "Reviews.";
    TASK_UNDO = "codex.task.undo", "", MetricKind::Counter, CODEX, "Turns that were taken back with their files.";
    TASK_USER_SHELL = "codex.task.user_shell", "", MetricKind::Counter, CODEX, "Commands that a person typed.";
    TOKEN_USAGE = "gen_ai.client.token.usage", "{token}", TOKENS, GEN_AI, "Tokens of each request, input and output apart.";
    OPERATION_DURATION = "gen_ai.client.operation.duration", "s", SECONDS, GEN_AI, "How long requests to a model took.";
    TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk", "s", SECONDS, NEWEST, "How long the first event of a reply took.";
    INVOKE_AGENT_DURATION = "gen_ai.invoke_agent.duration", "s", SECONDS, NEWEST, "How long turns took.";
    EXECUTE_TOOL_DURATION = "gen_ai.execute_tool.duration", "s", SECONDS, NEWEST, "How long tool calls took.";
    BROKEN_TOKENS = "pellucid.cache.broken_tokens", "{token}", MetricKind::Counter, GEN_AI, "Tokens that are paid for again, because a request differs from the one before.";
    COST = "pellucid.cost", "{currency}", MetricKind::Sum, GEN_AI, "What requests cost, of models whose price is known; the unit is in `pellucid.currency`.";
    OMITTED_BYTES = "pellucid.omitted_bytes", "By", MetricKind::Counter, GEN_AI, "Bytes of files and outputs that were left out of first requests.";
    SANDBOX_DENIED = "pellucid.sandbox.denied", "{command}", MetricKind::Counter, GEN_AI, "Commands that the sandbox seems to have stopped.";
    APPROVALS = "pellucid.approvals", "{question}", MetricKind::Counter, GEN_AI, "Questions for approval, with their answers.";
    DROPPED = "pellucid.telemetry.dropped", "{record}", MetricKind::Counter, MetricSet::Always, "Records that were not exported, because the collector is too slow or takes none.";
}

macro_rules! names {
    ($(#[$doc_all:meta])* $all:ident; $($constant:ident = $name:literal, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            pub const $constant: &str = $name;
        )+

        $(#[$doc_all])*
        pub static $all: &[ExportedName] = &[$(ExportedName { name: $name, doc: $doc }),+];
    };
}

names! {
    /// All log events, in the order of the documentation.
    EVENTS;
    CONVERSATION_STARTS = "codex.conversation_starts", "A session was opened.";
    USER_PROMPT = "codex.user_prompt", "A person sent an input.";
    API_REQUEST_EVENT = "codex.api_request", "An attempt to send a request was answered, or failed.";
    SSE_EVENT_EVENT = "codex.sse_event", "An event of a reply came; after the last one, a second event has the tokens.";
    WEBSOCKET_REQUEST = "codex.websocket_request", "A request was sent over a WebSocket.";
    WEBSOCKET_EVENT = "codex.websocket_event", "An event of a reply came over a WebSocket.";
    TOOL_DECISION = "codex.tool_decision", "A tool call was allowed or refused.";
    TOOL_RESULT = "codex.tool_result", "A tool call is over.";
    OPERATION_DETAILS = "gen_ai.client.inference.operation.details", "A request to a model is over; with the attributes of its span.";
}

names! {
    /// All spans, by the beginning of their names.
    SPANS;
    INVOKE_AGENT = "invoke_agent", "A turn.";
    CHAT = "chat", "A request to a model, with its retries.";
    EXECUTE_TOOL = "execute_tool", "A tool call.";
    COMPACT = "compact", "The history is made shorter.";
    REVIEW = "review", "A review.";
}

names! {
    /// All events of spans.
    SPAN_EVENTS;
    RETRY = "retry", "An attempt failed, and the request was sent again.";
    FIRST_CHUNK = "first_chunk", "The first event of the reply came.";
}

names! {
    /// All attributes of resources, log events, spans and metrics, in the order of the documentation.
    ATTRIBUTES;
    EVENT_NAME = "event.name", "The name of the log event.";
    EVENT_TIMESTAMP = "event.timestamp", "When it happened, in UTC.";
    EVENT_KIND = "event.kind", "The kind of an event of a reply, as the Responses API names it.";
    CONVERSATION_ID = "conversation.id", "The id of the session.";
    APP_VERSION = "app.version", "The version of this program.";
    ORIGINATOR = "originator", "The name of the client.";
    TERMINAL_TYPE = "terminal.type", "The terminal.";
    MODEL = "model", "The model.";
    SLUG = "slug", "The model's name in requests.";
    PROVIDER_NAME = "provider_name", "The provider's name for people.";
    REASONING_EFFORT = "reasoning_effort", "The reasoning effort, if one is set.";
    REASONING_SUMMARY = "reasoning_summary", "How reasoning is summarised.";
    CONTEXT_WINDOW = "context_window", "The context window, if it is set.";
    COMPACT_LIMIT = "auto_compact_token_limit", "At how many tokens the history is summarised, if that is set.";
    APPROVAL_POLICY = "approval_policy", "When commands and patches need approval.";
    SANDBOX_POLICY = "sandbox_policy", "What commands may touch, in a word.";
    MCP_SERVERS = "mcp_servers", "The names of the MCP servers.";
    ACTIVE_PROFILE = "active_profile", "The profile, if there is one.";
    PROMPT_LENGTH = "prompt_length", "How many characters the input has.";
    PROMPT = "prompt", "The text of the input, or `[REDACTED]`.";
    PROMPT_SHA256 = "prompt_sha256", "The SHA-256 of the input, with `content = \"digests\"`.";
    DURATION_MS = "duration_ms", "How long it took, in milliseconds.";
    STATUS_CODE = "http.response.status_code", "The status of the answer.";
    ATTEMPT = "attempt", "The attempt, from 0.";
    ERROR_MESSAGE = "error.message", "Why there is no answer, in a word.";
    INPUT_TOKENS = "input_token_count", "Input tokens.";
    OUTPUT_TOKENS = "output_token_count", "Output tokens.";
    CACHED_TOKENS = "cached_token_count", "Input tokens that came from the provider's cache.";
    REASONING_TOKENS = "reasoning_token_count", "Output tokens that are reasoning.";
    TOOL_TOKENS = "tool_token_count", "All tokens; the name is that of the Codex CLI.";
    TOOL_NAME = "tool_name", "The name of the tool.";
    CALL_ID = "call_id", "The id of the call.";
    DECISION = "decision", "The decision about the call.";
    SOURCE = "source", "What decided: `Config`, or `User` for a person's answer.";
    ARGUMENTS = "arguments", "The arguments of the call, or `[REDACTED]`.";
    ARGUMENTS_SHA256 = "arguments_sha256", "The SHA-256 of the arguments, with `content = \"digests\"`.";
    OUTPUT = "output", "The output of the call, or `[REDACTED]`.";
    OUTPUT_SHA256 = "output_sha256", "The SHA-256 of the output, with `content = \"digests\"`.";
    SUCCESS = "success", "Whether it succeeded.";
    SESSION_SOURCE = "session_source", "The client that started the session, or why a session did.";
    IS_GIT = "is_git", "Whether the session works in a repository.";
    STATUS = "status", "The status of the answer, or `none`.";
    KIND = "kind", "The kind of an event of a reply.";
    TOOL = "tool", "The name of the tool.";
    SANDBOX = "sandbox", "The mechanism that confined the command; `none` if there was none.";
    APPROVED = "approved", "The answer to the question for approval.";
    TYPE = "type", "What asked for a summary: `manual` or `auto`.";
    SERVICE_NAME = "service.name", "The name of the client.";
    SERVICE_VERSION = "service.version", "The version of this program.";
    ENV = "env", "The value of `otel.environment`.";
    OS = "os", "The operating system; of metrics.";
    OS_VERSION = "os_version", "The version of the operating system; of metrics.";
    SDK_NAME = "telemetry.sdk.name", "`pellucid`: no SDK of OpenTelemetry is used.";
    SDK_LANGUAGE = "telemetry.sdk.language", "`rust`.";
    SDK_VERSION = "telemetry.sdk.version", "The version of this program.";
    OVERFLOW = "otel.metric.overflow", "The figures of all combinations of attributes beyond the limit.";
    OPERATION_NAME = "gen_ai.operation.name", "`invoke_agent`, `chat` or `execute_tool`.";
    AGENT_NAME = "gen_ai.agent.name", "`pellucid`.";
    AGENT_VERSION = "gen_ai.agent.version", "The version of this program.";
    GEN_AI_CONVERSATION = "gen_ai.conversation.id", "The id of the session; of spans.";
    GEN_AI_PROVIDER = "gen_ai.provider.name", "The provider; `gen_ai.system` in revision 1.36.0.";
    GEN_AI_SYSTEM = "gen_ai.system", "The provider, in revision 1.36.0.";
    REQUEST_MODEL = "gen_ai.request.model", "The model that was asked.";
    RESPONSE_MODEL = "gen_ai.response.model", "The model that answers, if the provider names it.";
    RESPONSE_ID = "gen_ai.response.id", "The provider's id of the reply.";
    FINISH_REASONS = "gen_ai.response.finish_reasons", "`tool_calls` if the reply has calls, else `stop`.";
    USAGE_INPUT = "gen_ai.usage.input_tokens", "Input tokens, cached ones included.";
    USAGE_OUTPUT = "gen_ai.usage.output_tokens", "Output tokens, reasoning included.";
    USAGE_CACHE_READ = "gen_ai.usage.cache_read.input_tokens", "Input tokens that came from the provider's cache.";
    USAGE_CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens", "Input tokens that were written to the provider's cache.";
    TOKEN_TYPE = "gen_ai.token.type", "`input` or `output`.";
    GEN_AI_TOOL_NAME = "gen_ai.tool.name", "The name of the tool.";
    GEN_AI_CALL_ID = "gen_ai.tool.call.id", "The id of the call.";
    GEN_AI_TOOL_TYPE = "gen_ai.tool.type", "`function`, or `extension` for tools of MCP servers.";
    CALL_ARGUMENTS = "gen_ai.tool.call.arguments", "The arguments of the call, with `content = \"full\"`.";
    CALL_RESULT = "gen_ai.tool.call.result", "The output of the call, with `content = \"full\"`.";
    INPUT_MESSAGES = "gen_ai.input.messages", "The conversation in the request, with `content = \"full\"`.";
    OUTPUT_MESSAGES = "gen_ai.output.messages", "The reply, with `content = \"full\"`.";
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions", "The instructions before the conversation, with `content = \"full\"`.";
    SERVER_ADDRESS = "server.address", "The host of the provider.";
    SERVER_PORT = "server.port", "The port of the provider.";
    ERROR_TYPE = "error.type", "Why it failed, in a word of a closed list.";
    MCP_METHOD = "mcp.method.name", "`tools/call`, for tools of MCP servers.";
    EXIT_CODE = "process.exit.code", "The exit code of the command.";
    SESSION_KIND = "pellucid.session.kind", "Why a session started this one: `review`, `agent` or `memories`.";
    OUTCOME = "pellucid.call.outcome", "How a call ended: `done`, `failed`, `refused`, `interrupted` or `panicked`.";
    SANDBOX_BACKEND = "pellucid.sandbox.backend", "The mechanism that confined the command.";
    SANDBOX_MODE = "pellucid.sandbox.mode", "What the command might touch, in a word.";
    SANDBOX_STOPPED = "pellucid.sandbox.denied", "Whether the sandbox seems to have stopped the command.";
    APPROVAL = "pellucid.approval", "The answer to a question for approval.";
    APPROVAL_BY = "pellucid.approval.by", "What answered: `client`, `session_grant` or `nobody`.";
    APPROVAL_FOR = "pellucid.approval.for", "What was asked about: `command`, `retry`, `patch` or `patch_retry`.";
    CURRENCY = "pellucid.currency", "The currency of a cost.";
    PURPOSE = "pellucid.request.purpose", "What the request asks for: `answer`, `summary`, `provider_summary`, `memory_summary` or `vectors`.";
    REQUEST_N = "pellucid.request.n", "The number of the request in its session, as `pellucid replay` counts.";
    REQUEST_SHA256 = "pellucid.request.sha256", "The SHA-256 of the request's body, which `pellucid replay` proves.";
    REQUEST_BYTES = "pellucid.request.bytes", "How many bytes the body has.";
    REQUEST_ITEMS = "pellucid.request.items", "How many items of the conversation the request has.";
    PACK = "pellucid.pack", "The name of the pack.";
    PACK_SHA256 = "pellucid.pack.sha256", "The digest of the pack's files.";
    KEPT_BYTES = "pellucid.prefix.bytes_kept", "How many bytes, in the order of reading, equal those of the request before.";
    BREAK_CAUSE = "pellucid.cache_break.cause", "Why the request differs from the one before, if it does.";
    BREAK_BYTE = "pellucid.cache_break.first_byte", "The byte of the body that the difference begins at.";
    BREAK_TOKENS = "pellucid.cache_break.tokens", "The estimated tokens that are paid for again.";
    OMISSIONS = "pellucid.omissions", "How many things were left out of the request.";
    RECORD_N = "pellucid.record.n", "The number of the request's line in the record.";
    RECORD_SHA256 = "pellucid.record.sha256", "The SHA-256 of that line, which the next line contains.";
    ARGUMENTS_DIGEST = "pellucid.call.arguments.sha256", "The SHA-256 of the arguments, with `content = \"digests\"`.";
    RESULT_DIGEST = "pellucid.call.result.sha256", "The SHA-256 of the output, with `content = \"digests\"`.";
    ANSWER_DIGEST = "pellucid.answer.sha256", "The SHA-256 of the reply's text, with `content = \"digests\"`.";
    CUT_BYTES = "pellucid.content.omitted_bytes", "How many bytes of contents were left out, because they exceed the limit.";
    LAYER_PACK = "pellucid.layers.pack.bytes", "Bytes of the request that come from files of the pack.";
    LAYER_FILE = "pellucid.layers.file.bytes", "Bytes from files of the user and the project.";
    LAYER_SKILL = "pellucid.layers.skill.bytes", "Bytes from the heads of skills.";
    LAYER_PROVIDED = "pellucid.layers.provided.bytes", "Bytes that the configuration, an option or a client gave.";
    LAYER_FACT = "pellucid.layers.fact.bytes", "Bytes worked out from facts.";
    LAYER_LAYOUT = "pellucid.layers.layout.bytes", "Bytes that the layout puts around texts.";
    LAYER_CATALOGUE = "pellucid.layers.catalogue.bytes", "Bytes from the catalogue of models.";
    LAYER_USER = "pellucid.layers.user.bytes", "Bytes of a person's inputs.";
    LAYER_MODEL = "pellucid.layers.model.bytes", "Bytes of the model's replies.";
    LAYER_TOOL = "pellucid.layers.tool.bytes", "Bytes of outputs of tools.";
    LAYER_SESSION = "pellucid.layers.session.bytes", "Bytes of a session file without a known origin.";
    LAYER_REPAIR = "pellucid.layers.repair.bytes", "Bytes where the history has a hole.";
    LAYER_WIRE = "pellucid.layers.wire.bytes", "Bytes of the notation of the API format.";
}

/// The attribute for the bytes of a layer; absent for a layer that our requests do not have.
pub fn layer(kind: &str) -> Option<&'static str> {
    let (before, after) = ("pellucid.layers.", ".bytes");
    let is_it =
        |name: &&ExportedName| name.name.strip_prefix(before).and_then(|it| it.strip_suffix(after)) == Some(kind);
    ATTRIBUTES.iter().find(is_it).map(|it| it.name)
}

/// Whether an attribute of this name can be exported. Attributes of `OTEL_RESOURCE_ATTRIBUTES` are the user's.
pub fn is_attribute(name: &str) -> bool {
    ATTRIBUTES.iter().any(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    fn table(title: &str, first: &str, names: &[ExportedName]) -> String {
        let mut text = format!("\n## {title}\n\n| {first} | meaning |\n| --- | --- |\n");
        for name in names {
            let _ = writeln!(text, "| `{}` | {} |", name.name, name.doc);
        }
        text
    }

    fn page() -> String {
        let mut text = table("Log events", "event", EVENTS);
        text += &table("Spans", "span", SPANS);
        text += &table("Events of spans", "event", SPAN_EVENTS);
        text += "\n## Metrics\n\n| metric | kind, unit | schema | meaning |\n| --- | --- | --- | --- |\n";
        for metric in METRICS {
            let kind = match metric.kind {
                MetricKind::Counter | MetricKind::Sum => "sum",
                MetricKind::Histogram(_) => "histogram",
            };
            let unit = if metric.unit.is_empty() { String::new() } else { format!(", `{}`", metric.unit) };
            let schema = match metric.set {
                MetricSet::Codex => "`codex`".to_owned(),
                MetricSet::GenAi => "`gen_ai`".to_owned(),
                MetricSet::GenAiSince(revision) => format!("`gen_ai`, from {revision} on"),
                MetricSet::Always => "all".to_owned(),
            };
            let _ = writeln!(text, "| `{}` | {kind}{unit} | {schema} | {} |", metric.name, metric.doc);
        }
        text + &table("Attributes", "attribute", ATTRIBUTES) + "\n"
    }

    #[test]
    fn the_tables_in_the_page_about_telemetry_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/telemetry.md");
        let written = std::fs::read_to_string(&path).unwrap();
        let (begin, end) = ("<!-- names: begin -->\n", "<!-- names: end -->\n");
        let (before, rest) = written.split_once(begin).expect("the part has a beginning");
        let (_, after) = rest.split_once(end).expect("the part has an end");
        let expected = format!("{before}{begin}{}{end}{after}", page());
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(written == expected, "docs/telemetry.md: `cargo xtask docs --bless` writes what the tables say");
        }
    }

    #[test]
    fn names_are_listed_once_and_have_a_sentence() {
        let tables = [EVENTS, SPANS, SPAN_EVENTS, ATTRIBUTES];
        for table in tables {
            let names: BTreeSet<&str> = table.iter().map(|name| name.name).collect();
            assert_eq!(names.len(), table.len());
            assert!(table.iter().all(|name| name.doc.ends_with('.') && !name.doc.contains('|')), "{table:?}");
        }
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert_eq!((layer("user"), layer("program")), (Some(LAYER_USER), None));
    }
}
