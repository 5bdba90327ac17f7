//! The record of requests that another program sent.
//!
//! Their bytes are kept as they came: what surrounds the items as a frame, and of the items those that the request before
//! does not have. So a record grows by what is new.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::digest::RequestDigest;
use pellucid_engine::encode::Span;
use pellucid_engine::origins;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::watched::WatchedItem;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::FORMAT;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::Stretch;

use super::SentLog;
use crate::identity::VERSION;

/// A request that another program sends.
#[derive(Debug)]
pub struct WatchedSend<'a> {
    /// How many bytes the session file has.
    pub at: u64,
    /// The name of the turn.
    pub turn: &'a str,
    /// The bytes around the items.
    pub frame: &'a Frame,
    /// The items of the request before.
    pub before: &'a [WatchedItem],
    /// The items of the request.
    pub items: &'a [WatchedItem],
    /// The digests of the request.
    pub account: &'a RequestDigest,
    /// Where the request differs from the one before, if it does.
    pub cache_break: Option<CacheBreak>,
    /// When the request was sent.
    pub sent_at: Moment,
    /// What is kept besides the body.
    pub head: entry::WatchedRequest,
}

impl SentLog {
    /// Notes that another program sends the requests of the session. The line is written with the first request.
    pub fn open_watched(&mut self, session: &SessionId, program: entry::WatchedProgram, terms: entry::RequestTerms) {
        self.opened = Some(entry::OpenedEntry {
            format: FORMAT,
            session: session.to_string(),
            version: VERSION.to_owned(),
            how: How::New,
            at: 0,
            ids: serde_json::to_value(ItemIds::Hidden).unwrap_or_default(),
            truncation: TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX },
            summaries: None,
            origins_from: Some(0),
            parent: None,
            files: None,
            blanked: None,
            terms: Some(Box::new(terms)),
            watched: Some(Box::new(program)),
        });
    }

    /// Writes a request with what is new in it. Gives the number of its line.
    pub fn request_watched(&mut self, send: WatchedSend<'_>) -> Option<u64> {
        let WatchedSend { at, turn, frame, before, items, account, cache_break, sent_at, head } = send;
        let n_kept = before.iter().zip(items).take_while(|(a, b)| a.bytes == b.bytes && a.lead == b.lead).count();
        self.keep_watched_origins(at, &items[n_kept..]);
        let stretches = self.watched_stretches(before, items, n_kept);
        let is_same = match &stretches[..] {
            [] => before.is_empty(),
            [Stretch::Before { from: 0, n }] => *n == before.len() as u64,
            _ => false,
        };
        if !is_same {
            self.write(LogEntry::Shown(entry::ShownEntry { at, items: stretches }));
        }
        let frame = self.frame(frame);
        let marks = account.marks.iter().map(|mark| (mark.n_items as u64, mark.end as u64, mark.beginning.short()));
        let request = entry::RequestEntry {
            turn: turn.to_owned(),
            purpose: Purpose::Answer,
            at,
            frame,
            bytes: account.bytes as u64,
            items: account.n_items as u64,
            body: account.body.to_string(),
            marks: marks.collect(),
            cache_break,
            sent_at: Some(sent_at.to_string()),
            files: None,
            watched: Some(Box::new(head)),
            injections: Vec::new(),
        };
        self.write(LogEntry::Request(Box::new(request)))
    }

    /// Writes where the bytes of items came from that the record does not have yet.
    fn keep_watched_origins(&mut self, at: u64, items: &[WatchedItem]) {
        let mut new: Vec<(origins::ItemKey, Arc<[Span]>)> = Vec::new();
        for (key, item) in Transcript::watched_keys(items).into_iter().zip(items) {
            if self.kept.get(&key).is_none_or(|known| *known != item.spans) {
                self.kept.insert(key.clone(), item.spans.clone());
                new.push((key, item.spans.clone()));
            }
        }
        if new.is_empty() {
            return;
        }
        let keys = new.iter().map(|(key, _)| (key.bytes as u64, key.digest.clone())).collect();
        let lists: Vec<&[Span]> = new.iter().map(|(_, spans)| &**spans).collect();
        let spans = self.log.keep("", &origins::write(&lists));
        self.write(LogEntry::Origins(entry::OriginsEntry { from: at, at, items: keys, spans }));
    }

    /// The items as runs of those before, and new ones. The first `n_kept` are those before.
    fn watched_stretches(&mut self, before: &[WatchedItem], items: &[WatchedItem], n_kept: usize) -> Vec<Stretch> {
        let mut places: BTreeMap<(&[u8], &str), usize> = BTreeMap::new();
        for (n, item) in before.iter().enumerate().skip(n_kept) {
            places.entry((&item.bytes, &item.lead)).or_insert(n);
        }
        let mut stretches = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let place = if n < n_kept { Some(n) } else { places.get(&(&*item.bytes, &*item.lead)).copied() };
            let Some(place) = place else {
                let text = format!("{}{}", item.lead, String::from_utf8_lossy(&item.bytes));
                stretches.push(Stretch::Item(self.log.keep("", &text)));
                continue;
            };
            match stretches.last_mut() {
                Some(Stretch::Before { from, n }) if *from + *n == place as u64 => *n += 1,
                _ => stretches.push(Stretch::Before { from: place as u64, n: 1 }),
            }
        }
        stretches
    }
}
