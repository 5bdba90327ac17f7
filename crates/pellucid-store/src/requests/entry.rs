//! The content of a line of a requests file.

use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::call::CallEntry;
use super::seal::Name;

/// The version of the format. Readers refuse a later one.
pub const FORMAT: u32 = 2;

/// The JSON Schema of a line of the file, in every format up to this one.
pub const SCHEMA: &str = include_str!("record.schema.json");

/// From which version on the session file is sealed.
pub const FORMAT_WITH_SEALS: u32 = 2;

/// A line with its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainLink {
    /// The number of the line, from zero.
    pub n: u64,
    /// The time at which the line was written, in UTC.
    pub timestamp: String,
    /// The hash of the line before; absent in the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The content of the line.
    #[serde(flatten)]
    pub entry: LogEntry,
}

/// The content of a line, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogEntry {
    /// A process began to work on the session.
    Opened(OpenedEntry),
    /// The bytes around the items of the requests that follow.
    Frame(FrameEntry),
    /// A request was sent.
    Request(Box<RequestEntry>),
    /// A request was answered, or failed.
    Reply(Box<ReplyEntry>),
    /// A summary took the place of the history; this is what it was made into.
    Rebuilt(RebuiltEntry),
    /// An item that requests have and the session file does not.
    Noted(NotedEntry),
    /// The origins of items whose bytes do not say it themselves.
    Origins(OriginsEntry),
    /// Requests show other items from here on, and the session file does not say so.
    Shown(ShownEntry),
    /// Requests show these texts between items from here on, until others are placed or the history is replaced.
    Placed(PlacedEntry),
    /// Another session was started from this one.
    Child(ChildEntry),
    /// An instruction is repeated.
    SaidAgain(SaidAgainEntry),
    /// A turn of the session file ended before it sent anything.
    NotSent(NotSent),
    /// A tool was called.
    Call(Box<CallEntry>),
    /// The bytes that the session file got since the last seal.
    Sealed(Sealed),
}

impl LogEntry {
    /// The name of the kind in the file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Opened(_) => "opened",
            Self::Frame(_) => "frame",
            Self::Request(_) => "request",
            Self::Reply(_) => "reply",
            Self::Rebuilt(_) => "rebuilt",
            Self::Noted(_) => "noted",
            Self::Origins(_) => "origins",
            Self::Shown(_) => "shown",
            Self::Placed(_) => "placed",
            Self::Child(_) => "child",
            Self::SaidAgain(_) => "said_again",
            Self::NotSent(_) => "not_sent",
            Self::Call(_) => "call",
            Self::Sealed(_) => "sealed",
        }
    }

    /// The turn that it is of, where it says so.
    pub fn turn(&self) -> Option<&str> {
        match self {
            Self::Request(request) => Some(&request.turn),
            Self::NotSent(not_sent) => Some(&not_sent.turn),
            Self::Call(call) => Some(&call.turn),
            Self::Sealed(sealed) => sealed.turn.as_deref(),
            _ => None,
        }
    }

    /// The files whose texts were put before an input, as far as the line is the first to say so.
    pub fn injections(&self) -> &[InjectionEntry] {
        match self {
            Self::Request(request) => &request.injections,
            Self::NotSent(not_sent) => &not_sent.injections,
            _ => &[],
        }
    }

    /// Every piece of text that it has or refers to.
    pub fn pieces(&self) -> Vec<&StoredPiece> {
        match self {
            Self::Opened(it) => {
                let summaries = it.summaries.iter().flat_map(|it| [&it.prefix].into_iter().chain(&it.context));
                summaries.chain(&it.files).collect()
            }
            Self::Frame(it) => it.head.iter().chain(&it.tail).chain(&it.origins).collect(),
            Self::Request(it) => {
                let mut pieces: Vec<&StoredPiece> = match &it.purpose {
                    Purpose::Summary { prompt, origins, .. } => [prompt].into_iter().chain(origins).collect(),
                    Purpose::MemorySummary { items, origins } => items.iter().chain([origins]).collect(),
                    Purpose::Answer | Purpose::AnswerAgain | Purpose::ProviderSummary | Purpose::Vectors => Vec::new(),
                };
                pieces.extend(&it.files);
                pieces
            }
            Self::Rebuilt(RebuiltEntry { items, .. }) | Self::Shown(ShownEntry { items, .. }) => items
                .iter()
                .filter_map(|stretch| match stretch {
                    Stretch::Item(piece) => Some(piece),
                    Stretch::Before { .. } => None,
                })
                .collect(),
            Self::Noted(it) => vec![&it.item],
            Self::Placed(it) => it.texts.iter().map(|text| &text.item).chain([&it.origins]).collect(),
            Self::Origins(it) => vec![&it.spans],
            Self::Reply(_)
            | Self::SaidAgain(_)
            | Self::Child(_)
            | Self::NotSent(_)
            | Self::Call(_)
            | Self::Sealed(_) => Vec::new(),
        }
    }
}

/// A process began to work on the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenedEntry {
    /// The version of this format.
    pub format: u32,
    /// The id of the session.
    pub session: String,
    /// The version of the program.
    pub version: String,
    /// The origin of the session's history.
    pub how: How,
    /// How many bytes of the session file are that history.
    pub at: u64,
    /// Whether items carry the ids that the server gave them.
    pub ids: Value,
    /// How output of tools is cut.
    pub truncation: TruncationPolicy,
    /// The texts around restored summaries, if the history has any that need them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<SummaryContext>,
    /// From which byte of the session file on origins are kept. Records of the first format have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origins_from: Option<u64>,
    /// The session that this one is a copy of, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The hashes of the files that the last request of a copied history was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StoredPiece>,
    /// What was replaced by filler of the same length when the session was put into a capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blanked: Option<String>,
    /// The settings that answers about the requests depend on. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<RequestTerms>>,
    /// The program that sends the requests, if it is another one that is watched. Its requests are kept as they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<WatchedProgram>>,
}

/// Another program whose requests are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedProgram {
    /// The name of the program: the last part of its path.
    pub program: String,
    /// The API format of the conversation.
    pub format: String,
    /// The address that the requests are forwarded to.
    pub upstream: String,
}

/// Settings that answers about past requests depend on, so that a later change of the configuration does not change them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTerms {
    /// The pack: the name of a built-in one, or a folder.
    pub pack: String,
    /// The order in which the provider's models read a request.
    pub cache_order: Vec<ReadSection>,
    /// For how many seconds the provider's cache keeps a request; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_seconds: Option<u64>,
    /// From how many tokens on the history is summarised, if that is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact_at: Option<i64>,
    /// The size of the model's window, if that is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<i64>,
}

/// The session that another one was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The id of the session.
    pub session: String,
    /// The number of bytes of the parent's file that were copied.
    pub upto: u64,
}

/// The origin of a session's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The session began without a history.
    New,
    /// The session's own file.
    Resumed,
    /// A copy of another session's.
    Forked,
}

/// The texts around summaries in a restored history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryContext {
    /// The text before each summary.
    pub prefix: StoredPiece,
    /// The items of the context, as JSON.
    pub context: Vec<StoredPiece>,
}

/// The bytes of a request body before and after its items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameEntry {
    /// The digest of the bytes before the items, those after them, and their origins.
    pub digest: String,
    /// How items are shown.
    pub view: Value,
    /// The bytes before the items.
    pub head: Vec<StoredPiece>,
    /// The bytes after the items.
    pub tail: Vec<StoredPiece>,
    /// The origins of these bytes: two lists of spans. Records of the first format have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origins: Option<StoredPiece>,
}

/// The origins of the bytes of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginsEntry {
    /// From which byte of the session file on this holds.
    pub from: u64,
    /// Up to where all items of the session file are accounted for.
    pub at: u64,
    /// The items: how many bytes each has, and the beginning of their digest.
    pub items: Vec<(u64, String)>,
    /// A list of spans for each.
    pub spans: StoredPiece,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPiece {
    /// The slot or part it belongs to, where that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The text, or its digest if it is stored among the parts.
    #[serde(flatten)]
    pub text: StoredText,
}

/// A text, or where it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredText {
    /// The text is stored among the parts.
    Kept {
        /// The SHA-256 of the text.
        sha256: String,
        /// The number of bytes of the text.
        bytes: u64,
    },
    /// The text is in the line itself.
    Here {
        /// The text itself, unchanged.
        text: String,
    },
}

impl StoredText {
    /// The number of bytes of the text.
    pub fn len(&self) -> u64 {
        match self {
            Self::Kept { bytes, .. } => *bytes,
            Self::Here { text } => text.len() as u64,
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One request that was sent to the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestEntry {
    /// The turn that sent it.
    pub turn: String,
    /// The purpose of the request.
    pub purpose: Purpose,
    /// How many bytes of the session file came before it.
    pub at: u64,
    /// The digest of its frame.
    pub frame: String,
    /// The number of bytes of the body.
    pub bytes: u64,
    /// The number of items of the request.
    pub items: u64,
    /// The SHA-256 of its body.
    pub body: String,
    /// Digests of its beginnings: the number of items, of bytes, and the first half of their
    /// SHA-256. Only for items that the request before does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u64, u64, String)>,
    /// Where the request diverges from the request before, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_break: Option<CacheBreak>,
    /// The time at which the request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<String>,
    /// The hashes of the files that it was made from, if they are not those of the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StoredPiece>,
    /// How another program sent it, if one that is watched did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<WatchedRequest>>,
    /// The files whose texts were put before an input that this request is the first to have. Records of earlier versions
    /// have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<InjectionEntry>,
}

/// A file whose text was put before an input, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionEntry {
    /// The word for the file: `instructions`, `rules`, or `phase` for the prompt of a phase.
    pub item_id: String,
    /// The path of the file, of the pack or on disk, whether it exists or not.
    pub path: String,
    /// The SHA-1 of the file's text, or `missing`.
    pub hash: String,
    /// The number of bytes of the file.
    pub bytes_before: u64,
    /// The number of bytes that were sent.
    pub bytes_after: u64,
    /// Whether the text was sent, or why not, in a word.
    pub outcome: String,
    /// Why the text was sent then.
    pub reason: String,
    /// The setting that chose the phase, if the text is the prompt of a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<String>,
    /// The number of inputs that the session had sent before.
    pub turn: u64,
    /// The name of the client that ran the session.
    pub channel: String,
}

/// What is kept of a request of another program besides its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedRequest {
    /// The method of HTTP.
    pub method: String,
    /// The path at the upstream server. Values of its query are left out.
    pub path: String,
    /// The model that the path names, where the API format has it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The headers that may be kept. Keys, cookies and tokens never are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The encoding of the body on the way, such as `zstd`. The body is recorded as it was before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The SHA-256 of the encoded bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoded_sha256: Option<String>,
}

/// The purposes of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The model's next answer.
    Answer,
    /// The same answer once more, after a failure.
    AnswerAgain,
    /// A summary by the model.
    Summary {
        /// The item that asks for it, as JSON.
        prompt: StoredPiece,
        /// How many of the oldest items were left out.
        dropped: u64,
        /// The places of the items in the history, if not all of them were shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Vec<u64>>,
        /// The origins of the bytes of the item that asks: a list of spans.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origins: Option<StoredPiece>,
    },
    /// A summary by the provider's own endpoint.
    ProviderSummary,
    /// A summary for the memory of the session.
    MemorySummary {
        /// The items of the request, as JSON.
        items: Vec<StoredPiece>,
        /// The origins of the items' bytes: a list of spans for each item.
        origins: StoredPiece,
    },
    /// Vectors of texts, for the memory of the session. The frame is the whole body.
    Vectors,
}

impl Purpose {
    /// What the request asks for, in a word, as the record has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::AnswerAgain => "answer_again",
            Self::Summary { .. } => "summary",
            Self::ProviderSummary => "provider_summary",
            Self::MemorySummary { .. } => "memory_summary",
            Self::Vectors => "vectors",
        }
    }
}

/// A request was answered, or failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyEntry {
    /// The number of the request's line.
    pub request: u64,
    /// The id that the server gave to the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The token counts, if the server reported them.
    pub usage: Option<TokenUsage>,
    /// The number of tokens written to the provider's cache, if the API format has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<i64>,
    /// The verdict about the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheVerdict>,
    /// When the first event of the reply came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_at: Option<String>,
    /// When the reply was complete, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<String>,
    /// The HTTP status of every attempt, in order; `null` for one that brought none. Absent where the request did not go
    /// over HTTP by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Option<u16>>,
    /// Why there is no answer, in one word; absent after an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl ReplyEntry {
    /// The token counts by price class, if the server reported them.
    pub fn split(&self) -> Option<UsageSplit> {
        Some(UsageSplit::new(self.usage.as_ref()?, self.cache_write))
    }
}

/// The history was replaced, for example by a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebuiltEntry {
    /// How many bytes the session file has up to the line that says so.
    pub at: u64,
    /// The items that it has, in stretches.
    pub items: Vec<Stretch>,
}

/// Requests show other items, such as a memory before the part of the conversation that is still shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownEntry {
    /// How many bytes the session file had before it.
    pub at: u64,
    /// The items that it has, in stretches.
    pub items: Vec<Stretch>,
}

/// Requests show texts between items that are no items of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedEntry {
    /// How many bytes the session file had before it.
    pub at: u64,
    /// The texts, in order.
    pub texts: Vec<PlacedText>,
    /// The origins of the bytes of every text.
    pub origins: StoredPiece,
}

/// A text between items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedText {
    /// The number of items before the text.
    pub before: u64,
    /// The text as an item.
    pub item: StoredPiece,
}

/// A stretch of a history that takes the place of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stretch {
    /// Items of the history before, one after the other.
    Before {
        /// The place of the first, from zero.
        from: u64,
        /// The number of items in the run.
        n: u64,
    },
    /// An item, as JSON.
    Item(StoredPiece),
}

/// A session that was started from this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEntry {
    /// How many bytes the session file had by then.
    pub at: u64,
    /// The id of the session.
    pub session: String,
    /// The purpose of the agent.
    pub purpose: String,
}

/// Something is said again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidAgainEntry {
    /// How many bytes the session file had before it.
    pub at: u64,
    /// The name of the repeated part.
    pub part: String,
    /// The reason for the repetition.
    pub reason: String,
    /// The SHA-256 of its text.
    pub sha256: String,
}

/// A turn sent nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSent {
    /// How many bytes the session file had by then.
    pub at: u64,
    /// The id of the turn.
    pub turn: String,
    /// The reason, in a word.
    pub why: String,
    /// The files whose texts were put before the input of the turn. The next request of the session has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<InjectionEntry>,
}

/// An item that only requests have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedEntry {
    /// How many bytes the session file had when it was noted.
    pub at: u64,
    /// The item, as JSON.
    pub item: StoredPiece,
}

/// A piece of the session file is as its digest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The offset of its first byte.
    pub from: u64,
    /// The offset behind it.
    pub at: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// The hash of the line of the seal before; absent in the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The turn that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Whether the process that sealed it found it there and did not write it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The kinds and parts of its lines, each once.
    pub names: Vec<Name>,
    /// The lines: for each the index of its name and a short digest (see `seal`).
    pub lines: String,
}

#[cfg(test)]
mod tests;
