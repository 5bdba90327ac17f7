//! What the client asks about the next request, and what the program answers.

use std::collections::BTreeMap;

use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;

/// What Enter would send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LookDraft {
    /// The inputs of the message; empty if the draft is no message.
    pub inputs: Vec<UserInput>,
    /// The change of settings that goes before the message.
    pub change: Option<Box<SettingsChange>>,
}

/// A question about the next request. It changes nothing, and its answer comes when it is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum LookCall {
    /// What the next request would be made of.
    Report {
        /// What Enter would send.
        draft: LookDraft,
        /// Whether tokens are counted by the model's encoding and not estimated.
        is_exact: bool,
    },
    /// Why the row at this byte of the last report is in the request.
    Why(usize),
    /// Why something is not in the request of the last report, by its place among what is left out.
    WhyNot(usize),
    /// The bytes of the next request, beside those of the last one.
    Preview(LookDraft),
    /// What came of the provider's cache in this session.
    Cache,
    /// The same facts under every pack.
    Packs,
    /// What the next request of a new session would be made of under another pack.
    Pack(String),
    /// What a request cost that this model answered.
    Charge(String, UsageSplit),
    /// What the session has cost before this process.
    Spent,
    /// What a request was made of that the session sent, by its number from 1; absent for the last one.
    Sent(Option<usize>),
    /// The bytes of a request that the session sent, beside those of the one before.
    SentBytes(usize),
    /// What the model has been shown of files and outputs.
    Seen,
    /// Which files the model has been shown, for the list of files.
    SeenFiles,
}

/// The answer to a question about the next request.
#[derive(Debug, Clone, PartialEq)]
pub enum LookAnswer {
    /// What the next request would be made of, or why none would be sent.
    Report(Result<Box<LookReport>, String>),
    /// The rows under another pack, or why there are none.
    Pack(Result<Box<LookReport>, String>),
    /// Lines for a page.
    Page {
        /// The title of the page.
        title: String,
        /// The lines from top to bottom.
        lines: Vec<String>,
    },
    /// The bytes of the next request, or why none would be sent.
    Preview(Result<Box<RequestPreview>, String>),
    /// What a request cost; absent if the price is not known.
    Charge(Option<Money>),
    /// What the session has cost before this process; absent if it is not known.
    Spent(Option<Money>),
    /// A request that was sent, or why nothing is known of it.
    Sent(Result<Box<SentView>, String>),
    /// What the model was shown of files, in a few words for each path below the session's folder.
    SeenFiles(BTreeMap<String, String>),
}

/// A request that the session sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentView {
    /// The number of the request in its session, from 1.
    pub number: usize,
    /// How many requests the session sent.
    pub of: usize,
    /// What the request was made of.
    pub report: LookReport,
}

/// What a request is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LookReport {
    /// The model that is asked.
    pub model: String,
    /// The pack whose layout orders the request.
    pub pack: String,
    /// Why the request is not an ordinary one, such as a summary.
    pub purpose: Option<String>,
    /// What is known of a request that was sent: its turn, what it cost, files that changed.
    pub facts: Vec<String>,
    /// The sizes of the whole request.
    pub size: LookSize,
    /// The encoding that counted the tokens; absent if they are estimated.
    pub counted_by: Option<String>,
    /// The tokens of the model's window, if they are known.
    pub window: Option<i64>,
    /// The same request in a fresh session: without the conversation before the draft.
    pub fresh: LookSize,
    /// What a turn that begins with this request will probably cost; absent before the first turn.
    pub turn: Option<TurnPrice>,
    /// The groups, the largest first.
    pub groups: Vec<LookGroup>,
    /// What the model does not see.
    pub left_out: Vec<LeftOut>,
    /// What is to be said about the request: files that changed, servers that are starting.
    pub notes: Vec<String>,
    /// How the request continues the last one.
    pub outlook: CacheOutlook,
}

/// What a turn will probably cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPrice {
    /// The tokens of its requests and answers together.
    pub tokens: usize,
    /// What they cost; absent if the price is not known.
    pub cost: Option<Money>,
    /// How many earlier turns the estimate is from.
    pub n_turns: usize,
}

/// Sizes of a request, of a group or of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookSize {
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens it has.
    pub tokens: usize,
    /// How many of these the provider may have in its cache.
    pub tokens_kept: usize,
    /// What it costs without an answer; absent if the price is not known.
    pub cost: Option<Money>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LookGroup {
    /// The name of the group.
    pub name: String,
    /// The sizes of its rows together.
    pub size: LookSize,
    /// Its rows, in the order of their bytes.
    pub rows: Vec<LookRow>,
}

/// What one source gives to one part of the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LookRow {
    /// The slot or part, with the role of its message.
    pub part: String,
    /// Where it came from: file and lines, configuration key, tool.
    pub origin: String,
    /// Whose words these are.
    pub whose: Whose,
    /// The sizes of the row.
    pub size: LookSize,
    /// The first byte in the request.
    pub start: usize,
    /// Whether the request has all of it: `full`, `truncated`, `duplicate`.
    pub status: String,
}

/// Whose words something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Whose {
    /// The person's: files, settings, messages.
    Yours,
    /// A text of the pack or of the model catalogue.
    Pack,
    /// An answer of the model.
    Model,
    /// The output of a tool, or what a server says of its tools.
    Tool,
    /// Facts about the session, and notation.
    #[default]
    Session,
}

/// Something that the model does not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The file, skill, tool or server.
    pub what: String,
    /// Why it is left out.
    pub why: String,
    /// Whether a person would expect the model to see it.
    pub is_loss: bool,
}

/// How a request continues the last one.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum CacheOutlook {
    /// Nothing was sent before.
    #[default]
    First,
    /// The request begins with all that the model read of the last one.
    Extends,
    /// Turns were taken back, and all that they left is kept.
    Shortens,
    /// The request diverges from the last one.
    Breaks(Box<CacheDivergence>),
    /// The request was sent. Its facts say what came of the cache.
    Sent,
}

/// Where a request diverges from the last one, and what that costs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CacheDivergence {
    /// The first byte that differs.
    pub byte: usize,
    /// The part that it is in.
    pub part: String,
    /// The cause in a word: `model`, `tools` and so on.
    pub cause: String,
    /// The first thing that changed, with where it came from.
    pub what: String,
    /// Every part that changed, with what was done to it and where it came from.
    pub changes: Vec<String>,
    /// The tokens that are paid for again.
    pub tokens: usize,
    /// What these cost more than from the cache; absent if the price is not known.
    pub cost: Option<Money>,
    /// What a person can do to avoid it.
    pub advice: String,
}

/// The bytes of a request, beside those of the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestPreview {
    /// The URL path, the API format and the sizes, in one line.
    pub heading: String,
    /// The body as it would be sent.
    pub body: String,
    /// The body of the last request that the session sent, if there is one.
    pub last: Option<String>,
}
