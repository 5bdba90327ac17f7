//! The calls of a session's tools, as `sessions calls --json` has them.

use std::path::Path;

use pellucid_agent::calls::CallTexts;
use pellucid_agent::calls::Calls;
use pellucid_agent::calls::RecordedCall;
use pellucid_agent::calls::WholeOutput;
use pellucid_agent::patches::PatchedFile;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplaySource;
use pellucid_store::read;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
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
    let calls = read_calls(home, files)?;
    let texts = CallTexts::read(&files.path, call).map_err(|error| failed(&error))?;
    let request = Senders::of(home, files)?.request_at(texts.at);
    whole(home, files, &calls, call, &texts, request)
}

/// All calls that are not within another one: their ids, each with the answer of [`one`].
pub fn every(home: &Path, files: &SessionFiles) -> Result<Vec<(String, Vec<u8>)>, ApiError> {
    let calls = read_calls(home, files)?;
    let texts = CallTexts::read_all(&files.path).map_err(|error| failed(&error))?;
    let senders = Senders::of(home, files)?;
    let none = CallTexts::default();
    let outer = calls.calls.iter().filter(|it| it.within.is_none());
    let answers = outer.map(|it| {
        let texts = texts.get(&it.call).unwrap_or(&none);
        Ok((it.call.clone(), whole(home, files, &calls, &it.call, texts, senders.request_at(texts.at))?))
    });
    answers.collect()
}

fn failed(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::internal("reading the session", error)
}

fn whole(
    home: &Path,
    files: &SessionFiles,
    Calls { calls, .. }: &Calls,
    call: &str,
    texts: &CallTexts,
    request: Option<usize>,
) -> Result<Vec<u8>, ApiError> {
    let is_meant = |it: &&RecordedCall| it.call == call || it.within.as_deref() == Some(call);
    let chosen: Vec<&RecordedCall> = calls.iter().filter(is_meant).collect();
    if chosen.is_empty() {
        return Err(ApiError::not_found("the record has no such call"));
    }
    let kept = WholeOutput::open(home, &files.id, call).map_err(|error| failed(&error))?;
    let kept = match kept {
        None => Value::Null,
        Some(mut kept) => {
            let seen = kept.seen(texts.output.as_deref().unwrap_or_default()).map_err(|error| failed(&error))?;
            let seen: Vec<[u64; 2]> = seen.into_iter().map(|it| [it.start, it.end]).collect();
            json!({ "bytes": kept.bytes, "is_whole": kept.is_whole, "seen": seen })
        }
    };
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
        "kept": kept,
        "request": request,
        "files": files_json(&texts.files),
    })))
}

/// A piece of the whole output of a call.
pub fn output(home: &Path, files: &SessionFiles, call: &str, from: usize) -> Result<Vec<u8>, ApiError> {
    let failed = |error: std::io::Error| ApiError::internal("reading the output", &error);
    let kept = WholeOutput::open(home, &files.id, call).map_err(failed)?;
    let mut kept = kept.ok_or_else(|| ApiError::not_found("no output of this call is kept beside the session"))?;
    let bytes = kept.read(from as u64, TEXT_BYTES_MAX).map_err(failed)?;
    let next = from + bytes.len();
    let is_end = bytes.is_empty() || next as u64 >= kept.bytes;
    // A character that begins at the end of a piece belongs to the next one.
    let whole = if is_end { bytes.len() } else { n_whole(&bytes) };
    let next = (!is_end).then_some(from + whole);
    let text = String::from_utf8_lossy(&bytes[..whole]);
    let (of, is_whole) = (kept.bytes, kept.is_whole);
    Ok(line(
        &json!({ "session": files.id, "call": call, "from": from, "of": of, "is_whole": is_whole, "next": next, "text": text }),
    ))
}

/// How many bytes there are without the beginning of a character at their end.
fn n_whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Where the requests of a session are in its file: the offset of each, with its number.
struct Senders {
    places: Vec<(u64, usize)>,
}

impl Senders {
    fn of(home: &Path, files: &SessionFiles) -> Result<Self, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the record", error);
        let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
        let source = ReplaySource::open(home, &file).map_err(|error| failed(&error))?;
        let numbers = replay::numbers(&source).map_err(|error| failed(&error))?;
        let place = |link: &ChainLink| match &link.entry {
            LogEntry::Request(request) => Some((request.at, *numbers.get(&link.n)?)),
            _ => None,
        };
        Ok(Self { places: source.chain().links.iter().filter_map(place).collect() })
    }

    /// The request whose answer made the call at an offset of the session file.
    fn request_at(&self, at: Option<u64>) -> Option<usize> {
        let at = at?;
        self.places.iter().rev().find(|(from, _)| *from <= at).map(|(_, number)| *number)
    }
}

/// What the patch of a call says of files, as much as fits into an answer.
fn files_json(files: &[PatchedFile]) -> Value {
    let mut left = TEXT_BYTES_MAX;
    let file = |it: &PatchedFile| {
        let mut file = json!(it);
        for hunk in file["hunks"].as_array_mut().into_iter().flatten() {
            let text = hunk["text"].as_str().unwrap_or_default();
            let end = text.floor_char_boundary(left);
            left -= end;
            hunk["text"] = text[..end].into();
        }
        file
    };
    files.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_between_characters() {
        for (bytes, expected) in [("aé".as_bytes(), 3), (b"a\xc3", 1), (b"a\xff\xc3", 3), (b"\xe2\x82", 2), (b"", 0)] {
            assert_eq!(n_whole(bytes), expected, "{bytes:?}");
        }
    }
}
