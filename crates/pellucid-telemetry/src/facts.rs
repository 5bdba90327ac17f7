//! What is observed of a session, as values.

use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::ApprovalWord;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::TokenUsage;

use crate::record::Nanoseconds;
use crate::trace::SpanContext;

/// What holds for a session from its beginning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFacts {
    /// The id of the session.
    pub session: String,
    /// The name of the client.
    pub originator: String,
    /// The terminal, as the user agent names it.
    pub terminal: String,
    /// The version of this program.
    pub version: String,
    /// The client that started the session, or why a session did.
    pub source: String,
    /// Why a session started this one, in a word, if one did.
    pub kind: Option<&'static str>,
    /// The span of the session that started this one.
    pub parent: Option<SpanContext>,
    /// The provider's name for people.
    pub provider_name: String,
    /// The provider, as the conventions name it.
    pub provider: String,
    /// The host of the provider, if it has one.
    pub server_address: Option<String>,
    /// The port of the provider, if it has one.
    pub server_port: Option<u16>,
    /// Whether replies may come over a WebSocket.
    pub may_use_socket: bool,
    /// The model that is asked at the beginning.
    pub model: String,
    /// The settings of the session.
    pub settings: SettingsFacts,
    /// The name of the pack.
    pub pack: String,
    /// The digest of the pack's files.
    pub pack_sha256: String,
    /// Whether the session works in a repository.
    pub is_git: bool,
}

/// The settings of a session, as log events name them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsFacts {
    /// The reasoning effort, if one is set.
    pub reasoning_effort: Option<String>,
    /// How reasoning is summarised.
    pub reasoning_summary: String,
    /// The context window, if it is set.
    pub context_window: Option<i64>,
    /// At how many tokens the history is summarised, if that is set.
    pub compact_limit: Option<i64>,
    /// When commands and patches need approval.
    pub approval_policy: String,
    /// What commands may touch, in a word.
    pub sandbox_policy: String,
    /// The names of the MCP servers.
    pub mcp_servers: Vec<String>,
    /// The profile, if there is one.
    pub profile: Option<String>,
}

/// A request that is sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestFacts {
    /// What the request asks for, in the word of the record.
    pub purpose: &'static str,
    /// The number of the request in its session; absent if nothing is recorded.
    pub n: Option<u64>,
    /// The SHA-256 of its body.
    pub sha256: Option<String>,
    /// The size of its body in bytes.
    pub bytes: Option<u64>,
    /// How many items it has.
    pub items: Option<u64>,
    /// The number of its line in the record, and the SHA-256 of that line.
    pub record: Option<(u64, String)>,
    /// Where it differs from the request before, if it does.
    pub cache_break: Option<CacheBreak>,
    /// What its report says.
    pub details: Option<RequestDetails>,
}

/// What the report of a request says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestDetails {
    /// The model that is asked.
    pub model: String,
    /// How many bytes, in the order of reading, equal those of the request before.
    pub kept_bytes: u64,
    /// How many bytes each layer has, by its kind.
    pub layers: Vec<(&'static str, u64)>,
    /// How many things were left out.
    pub omissions: u64,
    /// How many bytes of them were left out since the request before.
    pub omitted_bytes: u64,
    /// The conversation, if contents are exported. Secrets are blanked.
    pub input: Option<InputContent>,
}

/// The contents of a request, with secrets blanked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputContent {
    /// The instructions before the conversation.
    pub instructions: String,
    /// The items of the conversation.
    pub items: Vec<Item>,
}

/// A reply that is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservedReply {
    /// The number of the request's line in the record, for replies that come in another order than their requests.
    pub line: Option<u64>,
    /// The provider's id of the reply.
    pub response_id: Option<String>,
    /// The token usage, if the provider reports it.
    pub usage: Option<TokenUsage>,
    /// The tokens that were written to the provider's cache, if the provider reports them.
    pub cache_write: Option<i64>,
    /// The HTTP status of every attempt.
    pub attempts: Vec<Option<u16>>,
    /// Why there is no answer, in a word.
    pub failure: Option<String>,
    /// What the request cost in units of a currency, if its price is known.
    pub cost: Option<(f64, String)>,
}

/// A tool call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedCall {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool; empty for a command that a person typed.
    pub tool: String,
    /// When the call began.
    pub began: Nanoseconds,
    /// When it ended.
    pub ended: Nanoseconds,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The questions for approval, with their answers.
    pub answers: Vec<(ApprovalSubject, Answerer, ApprovalWord)>,
    /// The processes that it ran.
    pub runs: Vec<RunFacts>,
    /// The id of the call that made it, if a call did.
    pub within: Option<String>,
}

/// A process of a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// What the process might touch, in a word.
    pub mode: String,
    /// The mechanism that confined it, if there was one.
    pub backend: Option<String>,
    /// The exit code, if it is known.
    pub exit_code: Option<i32>,
    /// Whether the sandbox seems to have stopped it.
    pub is_denied: bool,
}
