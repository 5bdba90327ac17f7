//! The list of sessions, and one of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::cost::UsedPrice;
use pellucid_answers::cost::money_json;
use pellucid_answers::figures::RequestFigures;
use pellucid_engine::prices::PriceTable;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::called;
use pellucid_store::parent;
use pellucid_store::parent::ParentSession;
use pellucid_store::query::Page;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::reconstructed;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::ReplyEntry;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use serde_json::Value;
use serde_json::json;

use super::Answers;
use super::line;
use super::paging::fitting;
use super::paging::with_list;
use crate::error::ApiError;
use crate::route::SessionsAsked;
use crate::view::SessionFiles;
use crate::view::Stamp;

/// How many sessions a page has if nothing is said, and at most.
const LIMIT: usize = 50;
const LIMIT_MAX: usize = 200;

/// How long a record may be to be read for a list.
const RECORD_BYTES_MAX: u64 = 8 << 20;

/// Of how many sessions the totals are kept.
const N_TOTALS_MAX: usize = 4096;

/// What the record of a session adds up to.
#[derive(Debug, Clone)]
struct RecordTotals {
    n_requests: usize,
    n_breaks: usize,
    usage: UsageSplit,
    /// What its own requests cost; absent where the price is unknown.
    cost: Option<Money>,
}

/// The totals of sessions, kept until their files change.
#[derive(Debug, Default)]
pub struct Totals {
    kept: Mutex<KeptTotals>,
}

/// Totals by the ids of their sessions, and the prices that they were made with.
#[derive(Debug, Default)]
struct KeptTotals {
    prices: PriceTable,
    sessions: BTreeMap<String, (Stamp, Option<RecordTotals>)>,
}

impl Totals {
    /// What the record of a session adds up to; absent if there is none, or if it is too long for a list.
    fn of(&self, home: &Path, files: &SessionFiles, stamp: Stamp, prices: &PriceTable) -> Option<RecordTotals> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.sessions.len() >= N_TOTALS_MAX || kept.prices != *prices {
            *kept = KeptTotals { prices: prices.clone(), sessions: BTreeMap::new() };
        }
        if let Some((_, known)) = kept.sessions.get(&files.id).filter(|(of, _)| *of == stamp) {
            return known.clone();
        }
        let totals = files.record.as_deref().and_then(|record| RecordTotals::read(home, record, prices));
        kept.sessions.insert(files.id.clone(), (stamp, totals.clone()));
        totals
    }
}

impl RecordTotals {
    fn read(home: &Path, record: &Path, prices: &PriceTable) -> Option<Self> {
        let length = std::fs::metadata(record).ok()?.len();
        if length > RECORD_BYTES_MAX {
            return None;
        }
        let chain = Chain::read(record).ok()?;
        let models = replay::models(home, &chain);
        let replies = chain.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Reply(reply) => Some((reply.request, &**reply)),
            _ => None,
        });
        let replies: BTreeMap<u64, &ReplyEntry> = replies.collect();
        let mut figures = Vec::new();
        for link in &chain.links {
            if let LogEntry::Request(request) = &link.entry {
                let model = models.get(&link.n).map_or("", String::as_str);
                figures.push(RequestFigures::of(figures.len() + 1, model, request, replies.get(&link.n).copied()));
            }
        }
        let (n_breaks, usage) = (chain.cache_breaks().count(), chain.usage());
        Some(Self { n_requests: figures.len(), n_breaks, usage, cost: CacheAnswer::of(&figures, prices).cost })
    }

    fn to_json(&self) -> Value {
        json!({ "requests": self.n_requests, "breaks": self.n_breaks, "usage": self.usage })
    }
}

impl Answers {
    /// A page of sessions.
    pub(super) fn sessions(&self, asked: &SessionsAsked) -> Result<Vec<u8>, ApiError> {
        let since = asked.since.as_deref().map(since).transpose()?;
        let limit = asked.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let query = Query {
            archived: asked.archived,
            cwd: asked.cwd.as_ref().map(PathBuf::from),
            search: asked.text.clone(),
            sort: asked.sort,
            cursor: asked.cursor.clone(),
            limit,
            ..Query::default()
        };
        let page = {
            let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            index.refresh(Duration::ZERO, &mut |_| {});
            index.list(&query)
        };
        let page = used_since(self.with_id(page, asked), since, asked.sort);
        let mut listed = parent::page_json(&page).map_err(|error| ApiError::internal("listing sessions", &error))?;
        let mut elements = Vec::with_capacity(page.sessions.len());
        for (value, summary) in listed["sessions"].as_array_mut().into_iter().flatten().zip(&page.sessions) {
            let files = SessionFiles::new(&self.home, &summary.id, self.home.join(&summary.path));
            self.add_known(value, &files)?;
            elements.push(value.to_string());
        }
        let make = |count: usize| {
            let next = match page.sessions.get(count.wrapping_sub(1)) {
                Some(last) if count < elements.len() => {
                    json!(pellucid_store::query::Cursor { seconds: asked.sort.key(last), id: last.id.clone() })
                }
                _ => json!(page.next),
            };
            with_list(&json!({ "next": next }), "sessions", elements[..count].iter().cloned())
        };
        fitting(elements.len(), make)
    }

    /// The page with the sessions whose id begins with the text that is searched for.
    fn with_id(&self, mut page: Page, asked: &SessionsAsked) -> Page {
        let is_id = |text: &&String| text.len() >= 4 && text.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit());
        let Some(text) = asked.text.as_ref().filter(is_id).filter(|_| asked.cursor.is_none()) else {
            return page;
        };
        let beginning = text.to_ascii_lowercase();
        let sessions = LocalSessions::new(&self.home);
        let mut ids = called::ids(&self.home);
        ids.retain(|id| id.starts_with(&beginning) && page.sessions.iter().all(|it| it.id != *id));
        let found = ids.into_iter().filter_map(|id| sessions.summary(&id).ok());
        page.sessions.splice(0..0, found.filter(|it| it.is_archived == asked.archived).take(LIMIT_MAX));
        page
    }

    /// Adds what is known of a session besides its summary.
    fn add_known(&self, value: &mut Value, files: &SessionFiles) -> Result<(), ApiError> {
        let stamp = files.stamp();
        let totals = self.totals.of(&self.home, files, stamp, &self.prices()?);
        value["record"] = json!(stamp.has_record());
        value["totals"] = totals.as_ref().map(RecordTotals::to_json).unwrap_or_default();
        value["cost"] = money_json(totals.and_then(|totals| totals.cost).as_ref());
        let proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        value["proof"] = json!(proofs.get(&files.id).filter(|(of, _)| *of == stamp).map(|(_, word)| word));
        Ok(())
    }

    /// The summary of a session with its counts, usage and cost.
    pub(super) fn summary(&self, files: &SessionFiles) -> Result<Vec<u8>, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
        let view = self.view(files)?;
        let prices = self.prices()?;
        let summary = LocalSessions::new(&self.home).summary(&files.id).map_err(|error| failed(&error))?;
        let page = Page { sessions: vec![summary], next: None };
        let mut listed = parent::page_json(&page).map_err(|error| failed(&error))?;
        let mut session = listed["sessions"][0].take();
        self.add_known(&mut session, files)?;
        let cache = CacheAnswer::of(&view.figures, &prices);
        let mut usage = UsageSplit::default();
        view.figures.iter().filter_map(|it| it.usage.as_ref()).for_each(|it| usage.add(it));
        let mut turns: Vec<&str> = view.figures.iter().map(|it| it.turn.as_str()).collect();
        turns.dedup();
        let mut models: Vec<&str> = Vec::new();
        for figures in &view.figures {
            if !figures.model.is_empty() && !models.contains(&figures.model.as_str()) {
                models.push(&figures.model);
            }
        }
        let last = view.requests.last();
        Ok(line(&json!({
            "session": session,
            "children": self.children(&files.id, &view.started),
            "counts": {
                "requests": view.requests.len(),
                "turns": turns.len(),
                "items": last.map_or(0, |it| it.items),
                "calls": view.n_calls,
                "compactions": view.n_compactions,
                "breaks": cache.n_breaks,
            },
            "model": models.last(),
            "models": models,
            "pack": last.and_then(|it| it.pack.as_ref()),
            "wire": last.and_then(|it| it.format.as_ref()),
            "bytes": view.figures.iter().map(|it| it.bytes).sum::<u64>(),
            "usage": usage,
            "cost": money_json(cache.cost.as_ref()),
            "cost_rebilled": money_json(cache.cost_rebilled.as_ref()),
            "tokens_rebilled": cache.tokens_rebilled,
            "prices": UsedPrice::to_json(&cache.prices),
            "record": view.has_record,
            "estimated": view.is_estimated,
            "reconstructed": reconstructed::is_marked(&self.home),
            "anchor": view.state.anchor,
            "sealed_at": view.state.sealed_at,
            "redacted": view.state.is_redacted,
            "filled": view.state.is_filled,
            "torn": view.state.torn,
            "broken": view.state.broken,
        })))
    }

    /// The sessions that were forked from a session or started by it.
    fn children(&self, id: &str, started: &[String]) -> Vec<Value> {
        let mut children: Vec<(String, &'static str)> = started.iter().map(|id| (id.clone(), "started")).collect();
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.refresh(Duration::ZERO, &mut |_| {});
        for archived in [false, true] {
            let all = index.list(&Query { archived, limit: usize::MAX, ..Query::default() });
            for summary in &all.sessions {
                let parent = ParentSession::of_summary(summary).filter(|parent| parent.id == id);
                if let Some(parent) = parent.filter(|_| children.iter().all(|(known, _)| *known != summary.id)) {
                    children.push((summary.id.clone(), parent.how));
                }
            }
        }
        children.sort();
        children.into_iter().map(|(id, how)| json!({ "id": id, "how": how })).collect()
    }
}

/// A time or a date, in seconds of Unix time.
fn since(text: &str) -> Result<i64, ApiError> {
    let date = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let time = text.parse::<Timestamp>().ok().or_else(|| date().map(|it| it.timestamp()));
    let time = time.ok_or_else(|| ApiError::bad(format!("`since` takes a date or a time in UTC, not `{text}`")))?;
    Ok(time.as_second())
}

/// The sessions of a page that were used since a time.
fn used_since(mut page: Page, since: Option<i64>, sort: Sort) -> Page {
    let Some(since) = since else {
        return page;
    };
    let n = page.sessions.len();
    page.sessions.retain(|it| it.updated_at >= since);
    if sort == Sort::Updated && page.sessions.len() < n {
        page.next = None;
    }
    page
}
