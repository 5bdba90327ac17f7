//! The requests of a session as columns.

use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::cache::CacheRow;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::timeline::TimelineBy;
use pellucid_answers::timeline::TimelineCell;
use pellucid_engine::prices::PriceTable;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::line;
use super::paging::fitting;
use crate::error::ApiError;
use crate::route::Stretch;
use crate::view::SessionView;
use crate::view::ViewedRequest;

/// How many requests an answer has if nothing is said.
const COUNT: usize = 1000;

/// A request with what is known of it.
struct Column<'v> {
    request: &'v ViewedRequest,
    figures: Option<&'v RequestFigures>,
    cache: Option<&'v CacheRow>,
    cells: &'v [TimelineCell],
}

/// The columns of a session's requests.
pub fn timeline(
    view: &SessionView,
    prices: &PriceTable,
    stretch: Stretch,
    by: TimelineBy,
) -> Result<Vec<u8>, ApiError> {
    let cache = CacheAnswer::of(&view.figures, prices);
    let (names, cells) = view.cells.by(by);
    let of = view.requests.len();
    let first = (stretch.from - 1).min(of);
    let wanted = stretch.count.unwrap_or(COUNT).min(of - first);
    let make = |count: usize| {
        let columns = view.requests[first..first + count].iter().zip(&cells[first..first + count]);
        let columns: Vec<Column<'_>> = columns
            .map(|(request, cells)| Column {
                request,
                figures: view.figures_of(request),
                cache: request.figures.and_then(|at| cache.rows.get(at)),
                cells,
            })
            .collect();
        let next = first + count + 1;
        let mut answer = json!({
            "session": view.files.id,
            "by": by.word(),
            "from": first + 1,
            "of": of,
            "next": (next <= of).then_some(next),
            "estimated": view.is_estimated,
        });
        if let Some(answer) = answer.as_object_mut() {
            add_columns(answer, &columns);
            answer.insert("names".to_owned(), json!(names));
            let shown = first + 1..next + usize::from(next > of);
            let marks: Vec<_> = view.marks.iter().filter(|mark| shown.contains(&mark.n)).collect();
            answer.insert("marks".to_owned(), json!(marks));
        }
        line(&answer)
    };
    fitting(wanted, make)
}

fn add_columns(answer: &mut Map<String, Value>, columns: &[Column<'_>]) {
    let mut add = |name: &str, value: &dyn Fn(&Column<'_>) -> Value| {
        answer.insert(name.to_owned(), columns.iter().map(value).collect());
    };
    let usage = |column: &Column<'_>| column.figures.and_then(|it| it.usage);
    add("n", &|it| json!(it.request.number));
    add("at", &|it| json!(it.figures.and_then(|it| it.sent_at.as_ref())));
    add("first_event_at", &|it| json!(it.request.first_event_at));
    add("done_at", &|it| json!(it.request.done_at));
    add("bytes", &|it| json!(it.figures.map_or(0, |it| it.bytes)));
    add("tokens", &|it| json!(it.figures.map_or(0, |it| it.tokens)));
    add("read", &|it| json!(usage(it).map(|usage| usage.cached_read)));
    add("written", &|it| json!(usage(it).and_then(|usage| usage.cache_write)));
    add("uncached", &|it| json!(usage(it).map(|usage| usage.uncached)));
    add("output", &|it| json!(usage(it).map(|usage| usage.output)));
    let cost = |column: &Column<'_>| column.cache.and_then(|it| it.cost.clone());
    add("price", &|it| json!(cost(it).map(|cost| cost.decimal())));
    add("currency", &|it| json!(cost(it).map(|cost| cost.currency)));
    add("verdict", &|it| json!(it.figures.map_or("unknown", |it| it.verdict.verdict.as_str())));
    add("detail", &|it| json!(it.cache.map(CacheRow::detail).unwrap_or_default()));
    add("kept", &|it| json!(it.cache.map_or(0, |it| it.kept)));
    add("rebilled", &|it| json!(it.cache.map_or(0, |it| it.rebilled)));
    add("purpose", &|it| json!(it.figures.map_or("answer", |it| it.purpose.as_str())));
    add("turn", &|it| json!(it.figures.map_or("", |it| it.turn.as_str())));
    add("model", &|it| json!(it.figures.map_or("", |it| it.model.as_str())));
    add("proved", &|it| json!(it.request.why.is_none()));
    add("failure", &|it| json!(it.figures.and_then(|it| it.failure.as_ref())));
    let cell = |cell: &TimelineCell| [cell.name, cell.bytes, cell.tokens];
    add("cells", &|it| it.cells.iter().map(|it| json!(cell(it))).collect());
}
