//! The items of a session, with the requests that had them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::items::ItemFacts;
use pellucid_answers::items::SessionItem;
use pellucid_answers::items::SessionItems;
use pellucid_engine::encode::Span;
use pellucid_store::read;
use serde_json::Value;
use serde_json::json;

use super::Answers;
use super::line;
use super::paging::fitting;
use super::paging::with_list;
use crate::error::ApiError;
use crate::route::Stretch;
use crate::view::SessionFiles;
use crate::view::Stamp;

/// How many items an answer has if nothing is said.
const COUNT: usize = 200;

/// How much of an item's text an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 128 << 10;

/// The items of a session, with its files as they were when the items were read.
type KeptItems = (SessionFiles, Stamp, Arc<Vec<SessionItem>>);

/// The items of the session that was asked about last.
#[derive(Debug, Default)]
pub struct ItemLists {
    kept: Mutex<Option<KeptItems>>,
}

impl ItemLists {
    fn of(&self, home: &Path, files: &SessionFiles) -> Result<Arc<Vec<SessionItem>>, ApiError> {
        let stamp = files.stamp();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((of, then, items)) if of == files && *then == stamp => Ok(items.clone()),
            _ => {
                let items = Arc::new(read_items(home, files)?);
                *kept = Some((files.clone(), stamp, items.clone()));
                Ok(items)
            }
        }
    }
}

/// Goes through the requests of a session. An item is looked at once, however many requests share its bytes.
fn read_items(home: &Path, files: &SessionFiles) -> Result<Vec<SessionItem>, ApiError> {
    let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
    let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
    let mut items = SessionItems::default();
    // Items by the address of their spans, which are held so that no later item has the same address.
    let mut known: BTreeMap<usize, (Arc<ItemFacts>, Arc<[Span]>)> = BTreeMap::new();
    let walked = replay::walk(home, &file, &mut |walked| {
        if let WalkedBytes::Proved(mut proved) = walked.bytes {
            let of_request = proved.items();
            let mut body = None;
            let mut seen = Vec::with_capacity(of_request.len());
            for (range, item) in of_request {
                let address = Arc::as_ptr(&item.spans).cast::<()>() as usize;
                let (facts, _) = known.entry(address).or_insert_with(|| {
                    let body = body.get_or_insert_with(|| proved.body());
                    let facts = ItemFacts::of(item.kind, item.role.as_ref(), &item.spans, &body[range]);
                    (Arc::new(facts), item.spans.clone())
                });
                seen.push(facts.clone());
            }
            items.add(walked.number, &seen);
        }
        ControlFlow::Continue(())
    });
    walked.map_err(|error| failed(&error))?;
    Ok(items.finish())
}

fn item_json(k: usize, item: &SessionItem) -> Value {
    let facts = &item.facts;
    json!({
        "k": k,
        "type": facts.kind,
        "role": facts.role,
        "author": facts.author,
        "part": facts.part,
        "bytes": facts.bytes,
        "first": item.first,
        "last": item.last,
        "call": facts.call,
        "preview": facts.preview,
    })
}

impl Answers {
    /// A page of items.
    pub(super) fn items(&self, files: &SessionFiles, stretch: Stretch) -> Result<Vec<u8>, ApiError> {
        let items = self.item_lists.of(&self.home, files)?;
        let of = items.len();
        let first = stretch.from.min(of);
        let wanted = stretch.count.unwrap_or(COUNT).min(of - first);
        fitting(wanted, |count| {
            let next = first + count;
            let next = (next < of).then_some(next);
            let head = json!({ "session": files.id, "from": first, "of": of, "next": next });
            let shown = items.iter().enumerate().skip(first).take(count);
            with_list(&head, "items", shown.map(|(k, item)| item_json(k, item).to_string()))
        })
    }

    /// One item with its text.
    pub(super) fn item(&self, files: &SessionFiles, k: usize) -> Result<Vec<u8>, ApiError> {
        let items = self.item_lists.of(&self.home, files)?;
        let of = items.len();
        let item =
            items.get(k).ok_or_else(|| ApiError::not_found(format!("there is no item {k}: the session has {of}")))?;
        let sent = self.bodies.get(&self.home, files, item.first)?;
        let rows = sent.report.rows.iter().zip(sent.texts());
        let text: String =
            rows.filter(|(row, _)| row.item == Some(item.place)).map(|(_, content)| content.text.as_str()).collect();
        let mut answer = item_json(k, item);
        answer["session"] = files.id.as_str().into();
        answer["text_bytes"] = text.len().into();
        answer["text"] = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].into();
        Ok(line(&answer))
    }
}
