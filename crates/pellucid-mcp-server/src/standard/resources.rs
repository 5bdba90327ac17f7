//! Stored sessions and their requests as resources.

use std::path::Path;

use pellucid_agent::identity;
use pellucid_agent::replay;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::WantedRequest;
use pellucid_store::find;
use pellucid_store::query::Cursor;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::summary::SessionSummary;
use rmcp::ErrorData;
use rmcp::model::CompleteRequestParams;
use rmcp::model::CompleteResult;
use rmcp::model::CompletionInfo;
use rmcp::model::ListResourcesResult;
use rmcp::model::ReadResourceResult;
use rmcp::model::Reference;
use rmcp::model::Resource;
use rmcp::model::ResourceContents;
use rmcp::model::ResourceTemplate;
use serde_json::json;

/// How the address of a session begins.
const SESSION: &str = "pellucid://session/";

/// The address of any session.
const ANY_SESSION: &str = "pellucid://session/{id}";

/// The address of any request of a session.
const ANY_REQUEST: &str = "pellucid://session/{id}/requests/{n}";

const JSON: &str = "application/json";

/// How many sessions a page has.
const PAGE: usize = 50;

/// How many characters of its first message a session without a name is called by.
const TITLE_CHARS: usize = 80;

/// How many bytes a request may have to be read.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// What an address names.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    Session(String),
    Request(String, usize),
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SESSION)?;
        let (id, rest) = rest.split_once('/').map_or((rest, None), |(id, rest)| (id, Some(rest)));
        let id = identity::parse_session_id(id)?;
        match rest {
            None => Some(Self::Session(id)),
            Some(rest) => {
                let number = rest.strip_prefix("requests/")?.parse().ok()?;
                Some(Self::Request(id, number))
            }
        }
    }
}

fn newest(home: &Path, cursor: Option<Cursor>, limit: usize) -> Vec<SessionSummary> {
    let query = Query { sort: Sort::Updated, cursor, limit, ..Query::default() };
    LocalSessions::new(home).list(&query).sessions
}

/// A page of sessions, the newest first.
pub fn list(home: &Path, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let cursor = cursor.map(str::parse::<Cursor>).transpose();
    let cursor = cursor.map_err(|_| ErrorData::invalid_params("cursor is none that resources/list gave", None))?;
    let mut sessions = newest(home, cursor, PAGE + 1);
    let has_more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next =
        sessions.last().filter(|_| has_more).map(|last| Cursor { seconds: last.updated_at, id: last.id.clone() });
    let mut listed = ListResourcesResult::with_all_items(sessions.iter().map(resource).collect());
    listed.next_cursor = next.map(|cursor| cursor.to_string());
    Ok(listed)
}

fn resource(session: &SessionSummary) -> Resource {
    let first = || session.first_message.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = session.name.clone().unwrap_or_else(first).chars().take(TITLE_CHARS).collect();
    let resource = Resource::new(format!("{SESSION}{}", session.id), &session.id).with_mime_type(JSON);
    let resource = resource.with_description(format!("A session in {}", session.cwd));
    if title.is_empty() { resource } else { resource.with_title(title) }
}

/// The addresses of sessions and requests.
pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(ANY_SESSION, "session")
            .with_title("A stored session")
            .with_description("When it began, where, with which model, how many requests it sent.")
            .with_mime_type(JSON),
        ResourceTemplate::new(ANY_REQUEST, "request")
            .with_title("A request of a session")
            .with_description("The body, byte for byte as it was sent, and the origin of every stretch of it.")
            .with_mime_type(JSON),
    ]
}

/// What an address names.
pub fn read(home: &Path, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found(format!("there is no resource {uri}"), Some(json!({ "uri": uri })));
    let content = |text: String, uri: String| ResourceContents::text(text, uri).with_mime_type(JSON);
    match Address::parse(uri).ok_or_else(missing)? {
        Address::Session(id) => {
            let file = open(home, &id)?.ok_or_else(missing)?;
            let summary = LocalSessions::new(home).summary(&id).map_err(|error| failed(&error))?;
            let mut session = json!(summary);
            session["requests"] = json!(replay::n_requests(home, &file, None).map_err(|error| failed(&error))?);
            Ok(ReadResourceResult::new(vec![content(session.to_string(), uri.to_owned())]))
        }
        Address::Request(id, number) => {
            let file = open(home, &id)?.ok_or_else(missing)?;
            let rebuilt = replay::rebuild(home, &file, WantedRequest::Number(number)).map_err(|error| match error {
                RebuildError::NoSuchRequest { .. } => {
                    ErrorData::resource_not_found(error.to_string(), Some(json!({ "uri": uri })))
                }
                error => failed(&error),
            })?;
            if rebuilt.body.len() > REQUEST_BYTES_MAX {
                let text = format!("the request has {} bytes, which is too long to be read here", rebuilt.body.len());
                return Err(ErrorData::internal_error(text, None));
            }
            let body = String::from_utf8_lossy(&rebuilt.body).into_owned();
            let spans = serde_json::to_string(&rebuilt.report.to_json()).map_err(|error| failed(&error))?;
            let uri = format!("{SESSION}{id}/requests/{number}");
            let contents = vec![content(body, uri.clone()), content(spans, format!("{uri}#spans"))];
            Ok(ReadResourceResult::new(contents))
        }
    }
}

fn open(home: &Path, id: &str) -> Result<Option<SessionFile>, ErrorData> {
    let path = find::anywhere(home, id);
    path.map(|path| read::open_damaged(&path)).transpose().map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// What a value of a template may be, with what is typed at its beginning.
pub fn complete(home: &Path, asked: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let Reference::Resource(template) = &asked.r#ref else { return Ok(CompleteResult::default()) };
    let argument = &asked.argument;
    let values: Vec<String> = match (template.uri.as_str(), argument.name.as_str()) {
        (ANY_SESSION | ANY_REQUEST, "id") => {
            newest(home, None, 10 * PAGE).into_iter().map(|session| session.id).collect()
        }
        (ANY_REQUEST, "n") => {
            let id = asked.context.as_ref().and_then(|context| context.get_argument("id"));
            let file = match id.and_then(|id| identity::parse_session_id(id)) {
                Some(id) => open(home, &id)?,
                None => None,
            };
            let n = file.map(|file| replay::n_requests(home, &file, None)).transpose();
            let n = n.map_err(|error| failed(&error))?.unwrap_or(0);
            (1..=n).map(|number| number.to_string()).collect()
        }
        _ => Vec::new(),
    };
    let mut values: Vec<String> = values.into_iter().filter(|value| value.starts_with(&argument.value)).collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > values.len();
    let completion = CompletionInfo::with_pagination(values, u32::try_from(total).ok(), has_more);
    completion.map(CompleteResult::new).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_session_or_a_request() {
        let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        assert_eq!(Address::parse(&format!("{SESSION}{id}")), Some(Address::Session(id.to_owned())));
        assert_eq!(Address::parse(&format!("{SESSION}{id}/requests/3")), Some(Address::Request(id.to_owned(), 3)));
        for wrong in ["", "pellucid://session/", "pellucid://session/../x", "file:///etc/passwd"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
        for wrong in ["/requests/", "/requests/-1", "/requests/1/2", "/body"] {
            assert_eq!(Address::parse(&format!("{SESSION}{id}{wrong}")), None, "{wrong}");
        }
    }
}
