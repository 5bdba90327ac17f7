//! The answers that a page about one session asks for, as blocks.
//!
//! The keys are the paths of the interface with the query behind spaces, in the order of its letters: `cost by=part session=ID`.
//! How much is kept depends on sizes alone, so the same session gives the same file.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::timeline::TimelineBy;
use pellucid_protocol::cache::CacheWord;
use pellucid_store::read;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::chunks::Chunks;
use super::chunks::block;
use super::requests::RequestRows;
use crate::answer::Answers;
use crate::bodies::SentBody;
use crate::error::ApiError;
use crate::questions::Question;
use crate::route::OfSession;
use crate::route::Stretch;
use crate::view::SessionFiles;
use crate::view::SessionView;

/// How many bytes of requests are gone through. The last requests come first where a session has more.
const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// How many bytes of requests are compared with each other. Requests that broke the cache come first.
const DIFF_BYTES_MAX: u64 = 48 << 20;

/// What a row counts besides its bytes.
const ROW_BYTES: u64 = 64;

/// The settings that the page can ask the cost under.
const SETTINGS: [&str; 3] = ["ttl=1h", "order=stable-first", "without=tools"];

/// The answers of a session as markup.
#[derive(Debug)]
pub struct KeptAnswers {
    /// What the page needs at once.
    pub first: String,
    /// What the page needs when a request is opened.
    pub rest: String,
}

/// Answers by their keys.
struct Keyed {
    keys: BTreeMap<String, usize>,
    answers: Chunks,
}

impl Keyed {
    /// Keeps an answer. A refusal is an answer too.
    fn put(&mut self, key: String, answer: Result<Vec<u8>, ApiError>) -> Value {
        let text = match answer {
            Ok(text) => String::from_utf8(text).unwrap_or_default(),
            Err(error) => error.line(),
        };
        self.keys.insert(key, self.answers.push(text.trim_end()));
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Keeps a list page by page. `ask` gets where a page begins.
    fn put_pages(&mut self, key: &str, first: usize, ask: impl Fn(usize) -> Result<Vec<u8>, ApiError>) {
        let mut next = Some(first);
        while let Some(from) = next {
            let page = self.put(format!("{key} from={from}"), ask(from));
            next = page["next"].as_u64().and_then(|next| usize::try_from(next).ok()).filter(|next| *next > from);
        }
    }
}

/// Everything that a page about a session asks for.
///
/// # Errors
/// When the session cannot be read.
pub fn of(answers: &Answers, session: &str, about: &Value) -> Result<KeptAnswers, ApiError> {
    let files = answers.session(session)?;
    let view = answers.view(&files)?;
    let id = &files.id;
    let mut keyed = Keyed { keys: BTreeMap::new(), answers: Chunks::new('a') };
    // The summary has the verdict of the proof.
    let proof = answers.of_session(id, &OfSession::Proof);
    keyed.put("hello".to_owned(), Ok(answers.hello_of(about)));
    keyed.put(format!("sessions/{id}"), answers.of_session(id, &OfSession::Summary));
    for (by, word) in TimelineBy::ALL {
        let ask = |from| answers.of_session(id, &OfSession::Timeline { stretch: Stretch { from, count: None }, by });
        keyed.put_pages(&format!("sessions/{id}/timeline by={word}"), 1, ask);
    }
    keyed.answers.close();
    keyed.put(format!("sessions/{id}/proof"), proof);
    keyed.put(format!("sessions/{id}/breaks"), answers.of_session(id, &OfSession::Breaks));
    costs(answers, id, &mut keyed);
    let compactions = answers.of_session(id, &OfSession::Compactions);
    keyed.put(format!("sessions/{id}/compactions"), compactions);
    for k in 1..=view.n_compactions {
        keyed.put(format!("sessions/{id}/compactions/{k}"), answers.of_session(id, &OfSession::Compaction(k)));
    }
    let ask = |from| answers.of_session(id, &OfSession::Calls(Stretch { from, count: None }));
    keyed.put_pages(&format!("sessions/{id}/calls"), 0, ask);
    for (call, answer) in answers.every_call(&files)? {
        keyed.put(format!("sessions/{id}/calls/{call}"), Ok(answer));
    }
    let mut requests = Chunks::new('q');
    let mut rows = RequestRows::default();
    let n_kept = add_requests(answers, &files, &view, &mut keyed, &mut requests, &mut rows)?;
    let directory = json!({
        "answers": keyed.keys,
        "starts": { "a": keyed.answers.starts, "q": requests.starts, "r": rows.rows.starts, "t": rows.texts.starts },
        "requests": n_kept,
    });
    Ok(KeptAnswers {
        first: block("directory", &directory.to_string()) + &keyed.answers.markup(),
        rest: requests.markup() + &rows.rows.markup() + &rows.texts.markup(),
    })
}

/// What the session cost by everything that the page can group it by, and under each setting.
fn costs(answers: &Answers, id: &str, keyed: &mut Keyed) {
    let ask = |by: &str, settings: Vec<String>| {
        answers.ask(&Question::Cost { sessions: vec![id.to_owned()], by: Some(by.to_owned()), settings })
    };
    for by in ["part", "source", "tool", "request", "turn"] {
        keyed.put(format!("cost by={by} session={id}"), ask(by, Vec::new()));
    }
    for setting in SETTINGS {
        keyed.put(format!("cost as={setting} by=part session={id}"), ask("part", vec![setting.to_owned()]));
    }
}

/// The requests whose bytes are kept: all, or as many of the last ones as may be gone through.
fn kept_numbers(view: &SessionView) -> BTreeSet<usize> {
    let mut left = REQUEST_BYTES_MAX;
    let bytes =
        |number: usize| view.requests.get(number - 1).and_then(|it| view.figures_of(it)).map_or(0, |it| it.bytes);
    let fits = |number: &usize| {
        let cost = bytes(*number) + ROW_BYTES * 1024;
        left = left.saturating_sub(cost);
        left > 0
    };
    (1..=view.requests.len()).rev().take_while(fits).collect()
}

/// The requests that are compared, each with the one that it continues.
fn compared(view: &SessionView, cache: &CacheAnswer, kept: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    let mut rows: Vec<_> = cache.rows.iter().filter(|it| it.before.is_some() && kept.contains(&it.number)).collect();
    rows.sort_by_key(|it| (it.verdict.verdict != CacheWord::Broken, it.number));
    let bytes =
        |number: usize| view.requests.get(number - 1).and_then(|it| view.figures_of(it)).map_or(0, |it| it.bytes);
    let mut left = DIFF_BYTES_MAX;
    let mut pairs = BTreeMap::new();
    for row in rows {
        let before = row.before.filter(|before| kept.contains(before));
        let Some(before) = before else { continue };
        let cost = bytes(before) + bytes(row.number);
        if cost <= left {
            left -= cost;
            pairs.insert(row.number, before);
        }
    }
    pairs
}

/// Adds every request: its head, what the model does not see, its rows, and how it differs from the one before. Gives how many
/// have their bytes.
fn add_requests(
    answers: &Answers,
    files: &SessionFiles,
    view: &SessionView,
    keyed: &mut Keyed,
    requests: &mut Chunks,
    rows: &mut RequestRows,
) -> Result<usize, ApiError> {
    let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
    let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
    let (prices, today) = (answers.prices()?, Timestamp::now().to_string());
    let cache = CacheAnswer::of(&view.figures, &prices);
    let kept = kept_numbers(view);
    let pairs = compared(view, &cache, &kept);
    let needed: BTreeSet<usize> = pairs.iter().flat_map(|(b, a)| [*a, *b]).collect();
    let mut waiting: BTreeMap<usize, Inspected> = BTreeMap::new();
    let mut last: Option<(Arc<SentBody>, Vec<[usize; 2]>)> = None;
    let mut n_kept = 0;
    let walked = replay::walk(answers.home(), &file, &mut |walked| {
        let number = walked.number;
        if !kept.contains(&number) {
            requests.push("null");
            return ControlFlow::Continue(());
        }
        let found = match walked.bytes {
            WalkedBytes::Proved(proved) => {
                let (request, mut report) = (proved.request().clone(), proved.report());
                report.changed_files = proved.changed_files();
                if needed.contains(&number) {
                    let name = format!("{}#{number}", files.id);
                    let model = proved.model().unwrap_or_default();
                    waiting.insert(number, Inspected::of_body(&name, &model, proved.wire(), &request.body(), &report));
                }
                let asked = proved.model().map(|model| (model, proved.wire()));
                let sent = Arc::new(SentBody::walked(number, request, report, asked));
                let ranges = rows.add(&sent);
                Some((sent, ranges))
            }
            WalkedBytes::Again(again) => last.take().filter(|(sent, _)| sent.number == again),
            WalkedBytes::Unknown(_) => None,
        };
        if let Some(before) = pairs.get(&number)
            && let (Some(a), Some(b)) = (waiting.get(before), waiting.get(&number))
        {
            let key = format!("diff a={} b={}", a.name, b.name);
            let diff = RequestDiff::of(a, b);
            let again = diff.cost_again(&prices, &today);
            keyed.put(key, Ok(diff.to_json_with(again.as_ref()).to_string().into_bytes()));
        }
        waiting.retain(|waiting, _| pairs.range(number + 1..).any(|(b, a)| a == waiting || b == waiting));
        n_kept += usize::from(found.is_some());
        requests.push(&request_json(answers, files, view, number, found.as_ref()).to_string());
        last = found;
        ControlFlow::Continue(())
    });
    walked.map_err(|error| failed(&error))?;
    // Of a session of another program only figures are known.
    for number in requests.len() + 1..=view.requests.len() {
        requests.push(&request_json(answers, files, view, number, None).to_string());
    }
    Ok(n_kept)
}

fn request_json(
    answers: &Answers,
    files: &SessionFiles,
    view: &SessionView,
    number: usize,
    found: Option<&(Arc<SentBody>, Vec<[usize; 2]>)>,
) -> Value {
    let value = |answer: Result<Vec<u8>, ApiError>| -> Value {
        let text = answer.unwrap_or_else(|error| error.line().into_bytes());
        serde_json::from_slice(&text).unwrap_or_default()
    };
    let mut request = Map::new();
    request.insert("head".to_owned(), value(answers.head(view, number, found.map(|(sent, _)| sent.clone()))));
    if let Some((sent, ranges)) = found {
        request.insert("absent".to_owned(), value(answers.absent(files, sent)));
        request.insert("rows".to_owned(), json!(ranges));
    }
    Value::Object(request)
}
