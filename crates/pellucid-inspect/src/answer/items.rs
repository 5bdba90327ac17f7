//! The items of a session, with the requests that had them.

use std::ops::Range;

use pellucid_answers::items::SessionItem;
use serde_json::Value;
use serde_json::json;

use super::ANSWER_BYTES_MAX;
use super::Answers;
use super::line;
use super::paging::fitting;
use super::paging::with_list;
use crate::error::ApiError;
use crate::route::Stretch;
use crate::view::SessionFiles;

/// How many items an answer has if nothing is said.
const COUNT: usize = 200;

/// How many items are read at most. An answer cannot have more: each has 200 bytes and more.
const COUNT_MAX: usize = ANSWER_BYTES_MAX / 100;

/// How much of an item's text an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 128 << 10;

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
    /// Some of the items of a session, and how many there are. An index in which they cannot be read is thrown away.
    fn item_page(&self, files: &SessionFiles, range: Range<usize>) -> Result<(Vec<SessionItem>, usize), ApiError> {
        let view = self.view(files)?;
        if let Ok(items) = view.items.page(range.clone()) {
            return Ok((items, view.items.len()));
        }
        drop(view);
        self.views.throw_away(&self.home, files);
        let view = self.view(files)?;
        let items = view.items.page(range);
        let items = items.map_err(|error| ApiError::internal("reading the index of the session", &error))?;
        Ok((items, view.items.len()))
    }

    /// A page of items.
    pub(super) fn items(&self, files: &SessionFiles, stretch: Stretch) -> Result<Vec<u8>, ApiError> {
        let from = stretch.from;
        let wanted = stretch.count.unwrap_or(COUNT).min(COUNT_MAX);
        let (items, of) = self.item_page(files, from..from.saturating_add(wanted))?;
        let (first, wanted) = (from.min(of), items.len());
        fitting(wanted, |count| {
            let next = first + count;
            let next = (next < of).then_some(next);
            let head = json!({ "session": files.id, "from": first, "of": of, "next": next });
            let shown = (first..).zip(&items[..count]);
            with_list(&head, "items", shown.map(|(k, item)| item_json(k, item).to_string()))
        })
    }

    /// One item with its text.
    pub(super) fn item(&self, files: &SessionFiles, k: usize) -> Result<Vec<u8>, ApiError> {
        let (found, of) = self.item_page(files, k..k.saturating_add(1))?;
        let item =
            found.first().ok_or_else(|| ApiError::not_found(format!("there is no item {k}: the session has {of}")))?;
        let sent = self.sent(files, item.first)?;
        let rows = sent.report.rows.iter().enumerate().filter(|(_, row)| row.item == Some(item.place));
        let text: String = rows.map(|(n, _)| sent.text(n).text).collect();
        let mut answer = item_json(k, item);
        answer["session"] = files.id.as_str().into();
        answer["text_bytes"] = text.len().into();
        answer["text"] = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].into();
        Ok(line(&answer))
    }
}
