//! The observer of a session: takes what happens, gives records. It has no clock: every call says what time it is.
//!
//! - `events`: events that clients see, which begin and end turns
//! - `requests`: requests and replies; `calls`: tool calls
//! - `measure`: the figures of metrics
//!
//! Contents leave only if the settings say so: nothing here keeps a text that is not going to be exported.

mod calls;
mod events;
mod measure;
mod requests;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use pellucid_protocol::telemetry::SemconvRevision;
use pellucid_protocol::telemetry::TelemetryContent;
use pellucid_protocol::telemetry::TelemetrySettings;
use pellucid_protocol::usage::TokenUsage;

use self::requests::Chat;
use crate::content;
use crate::facts::SessionFacts;
use crate::names;
use crate::record::Attribute;
use crate::record::AttributeValue;
use crate::record::ExportedRecord;
use crate::record::LogEvent;
use crate::record::Nanoseconds;
use crate::record::SpanKind;
use crate::record::SpanRecord;
use crate::trace;
use crate::trace::SpanContext;

/// The value of a text that is not exported.
const REDACTED: &str = "[REDACTED]";

/// The name of the agent.
const AGENT: &str = "pellucid";

/// How many calls of a turn are remembered at most, for their arguments and for servers that run them.
const CALLS_MAX: usize = 256;

/// How many nanoseconds a millisecond has.
const MILLISECOND: u64 = 1_000_000;

/// What the settings export.
#[derive(Debug, Clone, Copy)]
struct Exported {
    logs: bool,
    spans: bool,
    metrics: bool,
    codex: bool,
    gen_ai: bool,
    content: TelemetryContent,
    prompt: bool,
    semconv: SemconvRevision,
}

/// Blanks secrets in texts that are exported.
pub trait Blanks: Debug + Send + Sync {
    /// The text without what looks like a secret, or is known to be one.
    fn blanked(&self, text: &str) -> String;
}

/// The state of one session, as far as records need it.
#[derive(Debug)]
pub struct Observer {
    facts: SessionFacts,
    exported: Exported,
    blanks: Arc<dyn Blanks>,
    /// The span of the program that started this one.
    above: Option<SpanContext>,
    /// The turn that runs.
    turn: Option<Turn>,
    /// The span of the last turn, for calls that outlive it.
    last_turn: Option<SpanContext>,
    /// The requests that are not answered yet, or may be sent again.
    chats: Vec<Chat>,
    /// How many spans were begun.
    n_spans: u64,
    /// What the ids of spans are made from, besides their number.
    seed: String,
    /// The arguments of calls whose end has not come, for contents.
    arguments: BTreeMap<String, String>,
    /// The outputs of calls whose end has not come, for contents.
    outputs: BTreeMap<String, String>,
    /// The calls that MCP servers run.
    mcp_calls: BTreeSet<String>,
    records: Vec<ExportedRecord>,
}

/// A turn that runs.
#[derive(Debug)]
struct Turn {
    name: &'static str,
    context: SpanContext,
    parent: Option<[u8; 8]>,
    links: Vec<SpanContext>,
    start: Nanoseconds,
    usage: Option<TokenUsage>,
    cache_write: Option<i64>,
    error: Option<String>,
    compact: Option<Part>,
    /// Whether a request asked for an answer: then a summary is not what a person asked for.
    has_answers: bool,
}

/// A part of a turn that has a span.
#[derive(Debug)]
struct Part {
    context: SpanContext,
    start: Nanoseconds,
}

impl Observer {
    /// An observer of a session that begins at this time.
    pub fn new(facts: SessionFacts, settings: &TelemetrySettings, at: Nanoseconds, blanks: Arc<dyn Blanks>) -> Self {
        let above = settings.parent.as_deref().and_then(SpanContext::parse);
        let is_sampled = above.is_none_or(|(_, is_sampled)| is_sampled);
        let exported = Exported {
            logs: settings.logs.is_some(),
            spans: settings.traces.is_some() && is_sampled,
            metrics: settings.metrics.is_some(),
            codex: settings.schema.has_codex(),
            gen_ai: settings.schema.has_gen_ai(),
            content: settings.content,
            prompt: settings.shows_prompt || settings.content == TelemetryContent::Full,
            semconv: settings.semconv,
        };
        let seed = format!("{} {at}", facts.session);
        Self {
            facts,
            exported,
            blanks,
            last_turn: None,
            above: above.map(|(context, _)| context),
            turn: None,
            chats: Vec::new(),
            n_spans: 0,
            seed,
            arguments: BTreeMap::new(),
            outputs: BTreeMap::new(),
            mcp_calls: BTreeSet::new(),
            records: Vec::new(),
        }
    }

    /// Takes the records that were made since the last call.
    pub fn take(&mut self) -> Vec<ExportedRecord> {
        std::mem::take(&mut self.records)
    }

    /// The span that requests and sessions of this session belong to now: a request that is under way, or the turn.
    pub fn current(&self) -> Option<SpanContext> {
        let chat = self.chats.iter().rev().find(|chat| chat.is_under_way()).map(Chat::context);
        chat.or_else(|| self.turn.as_ref().map(Turn::innermost)).filter(|_| self.exported.spans)
    }

    /// The span of the turn that runs, for sessions that are started for it.
    pub fn turn_span(&self) -> Option<SpanContext> {
        self.turn.as_ref().map(Turn::innermost).filter(|_| self.exported.spans)
    }

    /// A review begins: its reviewer is opened next.
    pub fn review_begins(&mut self, at: Nanoseconds) {
        if self.turn.is_none() {
            self.begin_turn(at, names::REVIEW);
        }
    }

    /// Whether the conversation of requests is wanted.
    pub fn wants_content(&self) -> bool {
        self.exported.content == TelemetryContent::Full && (self.exported.spans || self.exported.logs)
    }

    /// Whether arguments and outputs of calls are wanted.
    pub fn wants_calls(&self) -> bool {
        self.exported.content != TelemetryContent::None && (self.exported.spans || self.exported.logs)
    }

    /// Whether the cost of requests is wanted.
    pub fn wants_cost(&self) -> bool {
        self.exported.metrics && self.exported.gen_ai
    }

    /// Whether what requests are made of is wanted.
    pub fn wants_details(&self) -> bool {
        self.exported.spans || self.wants_cost()
    }

    fn begin_turn(&mut self, at: Nanoseconds, name: &'static str) {
        let (above, number) = (self.facts.parent.or(self.above), self.next_number());
        let context = match above {
            Some(above) => above.beside(&[&self.seed, &number]),
            None => SpanContext::root(&[&self.seed, &number]),
        };
        self.last_turn = Some(context);
        self.turn = Some(Turn {
            name,
            context,
            parent: above.map(|above| above.span),
            links: self.facts.parent.into_iter().collect(),
            start: at,
            usage: None,
            cache_write: None,
            error: None,
            compact: None,
            has_answers: false,
        });
    }

    /// A span below the turn, or of a separate trace outside of turns. Gives its parent too.
    fn below(&mut self) -> (SpanContext, Option<SpanContext>) {
        let number = self.next_number();
        let above = self.turn.as_ref().map(Turn::innermost).or(self.facts.parent).or(self.above);
        let context = above
            .map_or_else(|| SpanContext::root(&[&self.seed, &number]), |above| above.beside(&[&self.seed, &number]));
        (context, above)
    }

    fn next_number(&mut self) -> String {
        self.n_spans += 1;
        self.n_spans.to_string()
    }

    fn span(&mut self, span: SpanRecord) {
        if self.exported.spans {
            self.records.push(ExportedRecord::Span(Box::new(span)));
        }
    }

    /// A log event of the Codex CLI, with what all of them have.
    fn log(&mut self, at: Nanoseconds, name: &'static str, attributes: Vec<Attribute>) {
        if !self.exported.logs || !self.exported.codex {
            return;
        }
        let facts = &self.facts;
        let timestamp = Timestamp::from_nanosecond(i128::from(at)).unwrap_or_default();
        let mut all = vec![
            attribute(names::EVENT_NAME, name),
            attribute(names::EVENT_TIMESTAMP, timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
            attribute(names::CONVERSATION_ID, facts.session.as_str()),
            attribute(names::APP_VERSION, facts.version.as_str()),
            attribute(names::ORIGINATOR, facts.originator.as_str()),
            attribute(names::TERMINAL_TYPE, facts.terminal.as_str()),
            attribute(names::MODEL, facts.model.as_str()),
            attribute(names::SLUG, facts.model.as_str()),
        ];
        all.extend(attributes);
        let context = self.current();
        self.records.push(ExportedRecord::Log(LogEvent { at, name, attributes: all, context }));
    }

    /// The attribute for the provider, in the revision of the settings.
    fn provider(&self) -> Attribute {
        let name = match self.exported.semconv {
            SemconvRevision::V1_36 => names::GEN_AI_SYSTEM,
            SemconvRevision::V1_41 => names::GEN_AI_PROVIDER,
        };
        attribute(name, self.facts.provider.as_str())
    }

    fn server(&self) -> impl Iterator<Item = Attribute> + use<> {
        let address = self.facts.server_address.as_deref().map(|it| attribute(names::SERVER_ADDRESS, it));
        let port = self.facts.server_port.map(|it| attribute(names::SERVER_PORT, i64::from(it)));
        address.into_iter().chain(port)
    }

    fn usage(&self, usage: Option<&TokenUsage>, cache_write: Option<i64>) -> Vec<Attribute> {
        let Some(usage) = usage else { return Vec::new() };
        let mut attributes = vec![
            attribute(names::USAGE_INPUT, usage.input_tokens),
            attribute(names::USAGE_OUTPUT, usage.output_tokens),
        ];
        if self.exported.semconv >= SemconvRevision::V1_41 {
            attributes.push(attribute(names::USAGE_CACHE_READ, usage.cached_input_tokens));
            attributes.extend(cache_write.map(|it| attribute(names::USAGE_CACHE_CREATION, it)));
        }
        attributes
    }

    /// The value of a text: itself, or the sign that it is not exported; with its digest if digests are exported.
    fn text(&self, name: &'static str, digest: &'static str, text: Option<&str>, is_shown: bool) -> Vec<Attribute> {
        let shown = text.filter(|_| is_shown).map(|text| self.blanked(text));
        let mut attributes = vec![attribute(name, shown.unwrap_or_else(|| REDACTED.to_owned()))];
        if let (TelemetryContent::Digests, Some(text)) = (self.exported.content, text) {
            attributes.push(attribute(digest, trace::sha256(text)));
        }
        attributes
    }

    /// A text as it is exported: without secrets, and within the limit.
    fn blanked(&self, text: &str) -> String {
        content::cut(&self.blanks.blanked(text)).0.to_owned()
    }

    fn has_full_content(&self) -> bool {
        self.exported.content == TelemetryContent::Full
    }
}

impl Turn {
    /// The span that what happens now belongs to.
    fn innermost(&self) -> SpanContext {
        self.compact.as_ref().map_or(self.context, |part| part.context)
    }
}

/// How many characters a name has at most that the model or a server chose: of tools, calls, replies.
const NAME_CHARS_MAX: usize = 128;

/// A name that the model or a server chose, as far as it looks like one: what is none may be content.
fn chosen(name: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-./:@+".contains(c);
    if !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(is_name) { name } else { UNNAMED }
}

/// The name of what has none.
const UNNAMED: &str = "other";

/// An attribute of the closed list.
fn attribute(name: &'static str, value: impl Into<AttributeValue>) -> Attribute {
    debug_assert!(names::is_attribute(name), "{name} is in no table");
    (name.into(), value.into())
}

/// A span of this program without events.
fn internal(
    context: SpanContext,
    parent: Option<[u8; 8]>,
    name: String,
    start: Nanoseconds,
    end: Nanoseconds,
) -> SpanRecord {
    SpanRecord {
        context,
        parent,
        name,
        kind: SpanKind::Internal,
        start,
        end: end.max(start),
        attributes: Vec::new(),
        events: Vec::new(),
        links: Vec::new(),
        has_failed: false,
    }
}

/// How many milliseconds lie between two times.
fn milliseconds(from: Nanoseconds, to: Nanoseconds) -> u64 {
    to.saturating_sub(from) / MILLISECOND
}

/// How many seconds lie between two times.
#[expect(clippy::cast_precision_loss, reason = "a duration for people")]
fn seconds(from: Nanoseconds, to: Nanoseconds) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}
