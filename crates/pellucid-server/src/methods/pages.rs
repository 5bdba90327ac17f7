//! `thread/turns/list` and `thread/items/list`: what a thread has been, page by page.
//!
//! A cursor is the index of a turn or item in the whole list, and whether that one belongs to the page: `5:with`, `5:from`.

use pellucid_store::find;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::thread;
use super::thread::parse_id;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::types::item::ThreadItem;
use crate::types::thread::Turn;
use crate::types::thread::TurnItemsView;
use crate::types::thread::TurnStatus;

/// How many entries a page has if the client does not say; and at most.
const PAGE: usize = 25;
const PAGE_MAX: usize = 100;

/// The order of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SortDirection {
    /// The oldest first.
    Asc,
    /// The newest first.
    Desc,
}

/// The parameters of `thread/turns/list`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListParams {
    pub thread_id: String,
    /// A cursor of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The largest number of turns in a page.
    #[serde(default)]
    pub limit: Option<u32>,
    /// The order; by default the newest first.
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
    /// Which items of each turn are in the page; by default the first input and the last answer.
    #[serde(default)]
    pub items_view: Option<TurnItemsView>,
}

/// A page of turns.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListResponse {
    pub data: Vec<Turn>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
    /// The cursor for the other order, whose page begins with the first turn of this one.
    pub backwards_cursor: Option<String>,
}

/// Lists the turns of a thread, page by page.
pub async fn turns(server: &Server, params: ThreadTurnsListParams) -> Result<ThreadTurnsListResponse, RpcError> {
    let turns = stored(server, &params.thread_id, "thread/turns/list")?;
    let direction = params.sort_direction.unwrap_or(SortDirection::Desc);
    let page = page(turns.len(), params.cursor.as_deref(), params.limit, direction)?;
    let view = params.items_view.unwrap_or(TurnItemsView::Summary);
    let mut turns: Vec<Option<Turn>> = turns.into_iter().map(Some).collect();
    let data = page.indices.iter().filter_map(|index| Some(seen(turns.get_mut(*index)?.take()?, view))).collect();
    Ok(ThreadTurnsListResponse { data, next_cursor: page.next, backwards_cursor: page.backwards })
}

/// A turn with the items of a view.
fn seen(mut turn: Turn, view: TurnItemsView) -> Turn {
    let keeps = |index: usize, items: &[ThreadItem]| match view {
        TurnItemsView::Full => true,
        TurnItemsView::NotLoaded => false,
        TurnItemsView::Summary => {
            let input = items.iter().position(|item| matches!(item, ThreadItem::UserMessage { .. }));
            let answer = items.iter().rposition(|item| matches!(item, ThreadItem::AgentMessage { .. }));
            Some(index) == input || Some(index) == answer
        }
    };
    let kept: Vec<usize> = (0..turn.items.len()).filter(|index| keeps(*index, &turn.items)).collect();
    if let Some(times) = &mut turn.times {
        times.items_view = Some(view);
        times.item_times = kept.iter().map(|index| times.item_times.get(*index).copied().flatten()).collect();
    }
    let mut items: Vec<Option<ThreadItem>> = turn.items.into_iter().map(Some).collect();
    turn.items = kept.iter().filter_map(|index| items.get_mut(*index)?.take()).collect();
    turn
}

/// The parameters of `thread/items/list`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    pub thread_id: String,
    /// Only items of this turn.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// A cursor of the page before, or an item of the turn that is not in the page.
    #[serde(default)]
    pub cursor: Option<ThreadItemsListCursor>,
    /// The largest number of items in a page.
    #[serde(default)]
    pub limit: Option<u32>,
    /// The order; by default the oldest first.
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
}

/// Where a page of items begins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum ThreadItemsListCursor {
    /// A cursor of the page before.
    Page(String),
    /// Behind this item.
    #[serde(rename_all = "camelCase")]
    Item {
        /// The item, which is not in the page.
        item_id: String,
    },
}

/// A page of items.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListResponse {
    pub data: Vec<ThreadItemEntry>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
    /// The cursor for the other order, whose page begins with the first item of this one.
    pub backwards_cursor: Option<String>,
}

/// An item with its turn.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemEntry {
    pub turn_id: String,
    pub item: ThreadItem,
    /// When the item began; session files do not say so.
    pub started_at_ms: Option<i64>,
    /// When the item was recorded, in milliseconds of Unix time.
    pub completed_at_ms: Option<i64>,
}

/// Lists the items of a thread or of one turn, page by page.
pub async fn items(server: &Server, params: ThreadItemsListParams) -> Result<ThreadItemsListResponse, RpcError> {
    let turns = stored(server, &params.thread_id, "thread/items/list")?;
    let direction = params.sort_direction.unwrap_or(SortDirection::Asc);
    let is_meant = |turn: &Turn| params.turn_id.as_ref().is_none_or(|id| *id == turn.id);
    let mut entries: Vec<Option<ThreadItemEntry>> = Vec::new();
    for Turn { id, items, times, .. } in turns.into_iter().filter(is_meant) {
        let times = times.map(|times| times.item_times).unwrap_or_default();
        entries.extend(items.into_iter().enumerate().map(|(index, item)| {
            let completed_at_ms = times.get(index).copied().flatten();
            Some(ThreadItemEntry { turn_id: id.clone(), item, started_at_ms: None, completed_at_ms })
        }));
    }
    let cursor = match params.cursor {
        None => None,
        Some(ThreadItemsListCursor::Page(cursor)) => Some(cursor),
        Some(ThreadItemsListCursor::Item { .. }) if params.turn_id.as_ref().is_none_or(String::is_empty) => {
            return Err(RpcError::invalid("a cursor with an item needs the `turnId` of that item"));
        }
        Some(ThreadItemsListCursor::Item { item_id }) => {
            let at = entries.iter().position(|entry| entry.as_ref().is_some_and(|it| it.item.id() == item_id));
            let at = at.ok_or_else(|| RpcError::invalid(format!("invalid cursor: the turn has no item {item_id}")))?;
            Some(Cursor { index: at, is_with: false }.shown())
        }
    };
    let page = page(entries.len(), cursor.as_deref(), params.limit, direction)?;
    let data = page.indices.iter().filter_map(|index| entries.get_mut(*index)?.take()).collect();
    Ok(ThreadItemsListResponse { data, next_cursor: page.next, backwards_cursor: page.backwards })
}

/// The turns of a thread's session file, the oldest first, with their times.
fn stored(server: &Server, thread_id: &str, method: &str) -> Result<Vec<Turn>, RpcError> {
    let id = parse_id(thread_id)?;
    let loaded = server.find_loaded(&id);
    let path = match &loaded {
        Some(loaded) => loaded.path.clone().filter(|path| path.exists()),
        None => find::anywhere(&server.ground.home, &id),
    };
    let Some(path) = path else {
        return Err(RpcError::invalid(match loaded {
            Some(loaded) if loaded.path.is_none() => format!("ephemeral threads do not support {method}"),
            Some(_) => {
                format!("thread {id} is not materialized yet; {method} is unavailable before first user message")
            }
            None => format!("thread not loaded: {id}"),
        }));
    };
    let mut turns = thread::timed_turns_of(&path)?;
    let active = loaded.and_then(|loaded| loaded.active_turn());
    for turn in turns.iter_mut().filter(|turn| active.as_ref().is_some_and(|active| active.as_str() == turn.id)) {
        turn.status = TurnStatus::InProgress;
        if let Some(times) = &mut turn.times {
            (times.completed_at, times.duration_ms) = (None, None);
        }
    }
    Ok(turns)
}

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    index: usize,
    /// Whether the page has the entry of the index.
    is_with: bool,
}

impl Cursor {
    fn shown(self) -> String {
        format!("{}:{}", self.index, if self.is_with { "with" } else { "from" })
    }

    fn read(text: &str) -> Option<Self> {
        let (index, way) = text.split_once(':')?;
        let is_with = match way {
            "with" => true,
            "from" => false,
            _ => return None,
        };
        Some(Self { index: index.parse().ok()?, is_with })
    }
}

/// The entries of a page, by index, and the cursors of its neighbours.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    indices: Vec<usize>,
    next: Option<String>,
    backwards: Option<String>,
}

fn page(n: usize, cursor: Option<&str>, limit: Option<u32>, direction: SortDirection) -> Result<Page, RpcError> {
    let limit = limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(usize::MAX)).clamp(1, PAGE_MAX);
    let cursor = match cursor {
        None => None,
        Some(text) => Some(Cursor::read(text).ok_or_else(|| RpcError::invalid(format!("invalid cursor: {text}")))?),
    };
    let is_in = |index: &usize| {
        cursor.is_none_or(|cursor| match direction {
            SortDirection::Asc => *index > cursor.index || (cursor.is_with && *index == cursor.index),
            SortDirection::Desc => *index < cursor.index || (cursor.is_with && *index == cursor.index),
        })
    };
    let mut indices: Vec<usize> = match direction {
        SortDirection::Asc => (0..n).filter(is_in).take(limit + 1).collect(),
        SortDirection::Desc => (0..n).rev().filter(is_in).take(limit + 1).collect(),
    };
    let has_more = indices.len() > limit;
    indices.truncate(limit);
    let next = indices.last().filter(|_| has_more).map(|index| Cursor { index: *index, is_with: false }.shown());
    let backwards = indices.first().map(|index| Cursor { index: *index, is_with: true }.shown());
    Ok(Page { indices, next, backwards })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_page(n: usize, cursor: Option<&str>, limit: Option<u32>, direction: SortDirection, expected: &Expect) {
        let found = match page(n, cursor, limit, direction) {
            Ok(Page { indices, next, backwards }) => format!("{indices:?} next {next:?} backwards {backwards:?}"),
            Err(error) => error.message,
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn pages_follow_each_other_in_both_directions() {
        let (asc, desc) = (SortDirection::Asc, SortDirection::Desc);
        check_page(3, None, Some(2), desc, &expect![[r#"[2, 1] next Some("1:from") backwards Some("2:with")"#]]);
        check_page(3, Some("1:from"), Some(2), desc, &expect![[r#"[0] next None backwards Some("0:with")"#]]);
        check_page(3, Some("2:with"), Some(2), asc, &expect![[r#"[2] next None backwards Some("2:with")"#]]);
        check_page(3, None, None, asc, &expect![[r#"[0, 1, 2] next None backwards Some("0:with")"#]]);
        check_page(3, Some("0:from"), Some(0), asc, &expect![[r#"[1] next Some("1:from") backwards Some("1:with")"#]]);
        check_page(0, None, None, asc, &expect!["[] next None backwards None"]);
        check_page(3, Some("99:with"), None, asc, &expect!["[] next None backwards None"]);
    }

    #[test]
    fn a_cursor_is_one_that_we_gave() {
        for cursor in ["", "1", "x:with", "1:on", "-1:with"] {
            let refused = page(3, Some(cursor), None, SortDirection::Asc).unwrap_err();
            assert_eq!(refused.message, format!("invalid cursor: {cursor}"));
        }
    }
}
