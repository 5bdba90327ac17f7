//! Records: what an observer makes and an exporter sends.

use std::borrow::Cow;

use crate::names::Instrument;
use crate::trace::SpanContext;

/// A time in nanoseconds of Unix time.
pub type Nanoseconds = u64;

/// One thing to export.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportedRecord {
    /// A log event.
    Log(LogEvent),
    /// A span that is over.
    Span(Box<SpanRecord>),
    /// A figure of a metric.
    Measurement(Measurement),
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A single text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Yes or no.
    Flag(bool),
    /// Several texts in their order.
    Texts(Vec<String>),
}

/// A name and its value. Names are those of [`crate::names`].
pub type Attribute = (Cow<'static, str>, AttributeValue);

/// A log event.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// When it happened.
    pub at: Nanoseconds,
    /// The name of the event.
    pub name: &'static str,
    /// The attributes of the event.
    pub attributes: Vec<Attribute>,
    /// The span that it belongs to, if spans are exported.
    pub context: Option<SpanContext>,
}

/// What a span is to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of this program.
    Internal,
    /// A request to another program.
    Client,
}

/// A span that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRecord {
    /// The ids of the span.
    pub context: SpanContext,
    /// The span above it.
    pub parent: Option<[u8; 8]>,
    /// What people read.
    pub name: String,
    /// What the span is to its neighbours.
    pub kind: SpanKind,
    /// When the work began.
    pub start: Nanoseconds,
    /// When the work was over.
    pub end: Nanoseconds,
    /// The attributes of the span.
    pub attributes: Vec<Attribute>,
    /// What happened meanwhile.
    pub events: Vec<SpanNote>,
    /// Spans of other traces or sessions that it belongs to.
    pub links: Vec<SpanContext>,
    /// Whether the work failed.
    pub has_failed: bool,
}

/// Something that happened within a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanNote {
    /// When it happened.
    pub at: Nanoseconds,
    /// The name of what happened.
    pub name: &'static str,
    /// The attributes of the event.
    pub attributes: Vec<Attribute>,
}

/// A figure of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The metric that the figure belongs to.
    pub metric: &'static Instrument,
    /// The figure: what is added to a counter, or one value of a distribution.
    pub value: f64,
    /// What the figure is about.
    pub attributes: Vec<Attribute>,
}

impl AttributeValue {
    /// How many bytes the value takes, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Texts(texts) => texts.iter().map(String::len).sum(),
            Self::Int(_) | Self::Float(_) | Self::Flag(_) => 8,
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for AttributeValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// What every attribute takes besides its bytes.
const ATTRIBUTE_BYTES: usize = 64;

/// What every record takes besides its attributes.
const RECORD_BYTES: usize = 256;

impl ExportedRecord {
    /// How many bytes the record takes in memory, about.
    pub fn size(&self) -> usize {
        let of = |attributes: &[Attribute]| -> usize {
            attributes.iter().map(|(name, value)| name.len() + value.size() + ATTRIBUTE_BYTES).sum()
        };
        RECORD_BYTES
            + match self {
                Self::Log(log) => of(&log.attributes),
                Self::Span(span) => {
                    let events: usize = span.events.iter().map(|event| ATTRIBUTE_BYTES + of(&event.attributes)).sum();
                    of(&span.attributes) + span.name.len() + events
                }
                Self::Measurement(measurement) => of(&measurement.attributes),
            }
    }
}
