//! The lines above the parts of a report.

use pellucid_agent::sandbox::SandboxReport;
use pellucid_agent::session::Session;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::report::Report;
use pellucid_protocol::cache::CacheChange;
use pellucid_protocol::usage::UsageSplit;

use crate::replay::paid_again;
use crate::style::number;
use crate::style::thousands;

/// The lines above the table of a report.
#[derive(Debug, Default)]
pub struct Head {
    /// A line above all others: why this request is not an ordinary one.
    pub first: Option<String>,
    pub model: String,
    pub pack: Option<String>,
    pub usage: UsageSplit,
    pub sandbox: Option<SandboxReport>,
    pub notes: Vec<String>,
}

impl Head {
    /// The lines for a stored session.
    pub fn of(session: &Session) -> Self {
        let (model, pack) = (session.facts().settings.model.slug.clone(), Some(session.pack().name.clone()));
        Self { model, pack, usage: session.usage_split(), ..Self::default() }
    }
}

/// The line with the size of a request, its model and its pack.
pub fn request_line(head: &Head, report: &Report) -> String {
    let (bytes, tokens) = (number(report.bytes()), number(report.tokens()));
    let tokens = match &report.counted_by {
        encoding if report.is_counted() => format!("{tokens} tokens by {encoding}"),
        _ => format!("about {tokens} tokens"),
    };
    let pack = head.pack.as_ref().map_or_else(String::new, |pack| format!(", pack {pack}"));
    format!("request: {bytes} bytes, {tokens}; model {}{pack}", head.model)
}

fn counted_tokens(tokens: i64) -> String {
    let ending = if tokens == 1 { "" } else { "s" };
    format!("{} token{ending}", thousands(tokens))
}

/// Token counts of requests as a line for people: cached, sent without the cache, answered.
pub fn usage_text(usage: &UsageSplit) -> String {
    let read = format!("{} read from the cache", counted_tokens(usage.cached_read));
    let written = usage.cache_write.map_or_else(String::new, |it| format!(", {} written to it", thousands(it)));
    format!("{read}{written}, {} sent without it, {} answered", thousands(usage.uncached), thousands(usage.output))
}

/// How the request continues the one before, which is what providers cache.
pub fn continuity_line(continuity: &Continuity) -> String {
    let (kept, of) = (number(continuity.kept_bytes), number(continuity.previous_bytes));
    let mut text = match &continuity.broken {
        None if continuity.is_shortened => {
            format!("shortens the request before: {kept} of the {of} bytes that the model read of it are kept\n")
        }
        None => format!("extends the request before: all {of} bytes that the model read of it are kept\n"),
        Some(broken) => format!(
            "differs from the request before, in {} ({}): {kept} of the {of} bytes that the model read of it are kept; {}\n",
            broken.part,
            broken.cause.as_str(),
            paid_again(broken.tokens_rebilled)
        ),
    };
    for change in &continuity.changes {
        text += &format!("  {}\n", change_text(change));
    }
    text
}

/// Describes a part of the request that changed since the request before.
pub fn change_text(change: &CacheChange) -> String {
    let source = if change.source.is_empty() { String::new() } else { format!(", from {}", change.source) };
    let unread = if change.is_read { "" } else { " (taken as not read by the model)" };
    format!("{}: {}{source}{unread}", change.how, change.part)
}
