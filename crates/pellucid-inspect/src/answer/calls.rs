//! The calls of a session's tools, as `sessions calls --json` has them.

use std::path::Path;

use pellucid_agent::calls::Calls;
use pellucid_agent::calls::RecordedCall;
use pellucid_store::lines::Forwards;
use pellucid_store::read;
use pellucid_store::read::RecordKind;
use serde_json::Value;
use serde_json::json;

use super::line;
use super::paging::fitting;
use super::paging::with_list;
use crate::error::ApiError;
use crate::route::Stretch;
use crate::view::SessionFiles;

/// How many calls an answer has if nothing is said.
const COUNT: usize = 200;

/// How much of a call's arguments or output an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 64 << 10;

fn read_calls(home: &Path, files: &SessionFiles) -> Result<Calls, ApiError> {
    Calls::read(home, &files.path).map_err(|error| ApiError::internal("reading the record", &error))
}

/// A page of calls.
pub fn list(home: &Path, files: &SessionFiles, stretch: Stretch) -> Result<Vec<u8>, ApiError> {
    let Calls { calls, broken } = read_calls(home, files)?;
    let of = calls.len();
    let first = stretch.from.min(of);
    let wanted = stretch.count.unwrap_or(COUNT).min(of - first);
    fitting(wanted, |count| {
        let next = first + count;
        let next = (next < of).then_some(next);
        let head = json!({ "session": files.id, "from": first, "of": of, "next": next, "broken": broken });
        with_list(&head, "calls", calls[first..first + count].iter().map(|call| json!(call).to_string()))
    })
}

/// A call, those within it, and what went in and came out.
pub fn one(home: &Path, files: &SessionFiles, call: &str) -> Result<Vec<u8>, ApiError> {
    let Calls { calls, .. } = read_calls(home, files)?;
    let is_meant = |it: &&RecordedCall| it.call == call || it.within.as_deref() == Some(call);
    let chosen: Vec<&RecordedCall> = calls.iter().filter(is_meant).collect();
    if chosen.is_empty() {
        return Err(ApiError::not_found("the record has no such call"));
    }
    let texts = texts(&files.path, call).map_err(|error| ApiError::internal("reading the session", &error))?;
    let cut =
        |text: &Option<String>| text.as_ref().map(|text| text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned());
    Ok(line(&json!({
        "session": files.id,
        "calls": chosen,
        "grounds": chosen.iter().map(|it| it.grounds_text()).collect::<Vec<_>>(),
        "arguments": cut(&texts.arguments),
        "arguments_bytes": texts.arguments.as_ref().map(String::len),
        "output": cut(&texts.output),
        "output_bytes": texts.output.as_ref().map(String::len),
    })))
}

/// What the session file has of a call.
#[derive(Debug, Default)]
struct CallTexts {
    arguments: Option<String>,
    output: Option<String>,
}

/// Searches a session file for the items of a call.
fn texts(path: &Path, call: &str) -> std::io::Result<CallTexts> {
    let mut texts = CallTexts::default();
    let mut lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
    while let Some(line) = lines.next_line()? {
        let Some((RecordKind::ResponseItem, payload)) = read::split(line.bytes) else {
            continue;
        };
        if !payload.windows(call.len()).any(|window| window == call.as_bytes()) {
            continue;
        }
        let Ok(item) = serde_json::from_slice::<Value>(payload) else {
            continue;
        };
        if item["call_id"] != call {
            continue;
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match item.get("output") {
            Some(output) => texts.output = Some(text(output)),
            None => {
                let input = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key));
                texts.arguments = input.map(text);
            }
        }
    }
    Ok(texts)
}
