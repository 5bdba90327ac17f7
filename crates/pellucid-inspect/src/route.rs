//! From method, path and query to what is asked for. Nothing is read here.

use http::Method;
use pellucid_answers::timeline::TimelineBy;
use pellucid_store::query::Cursor;
use pellucid_store::query::Sort;

use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::query::Query;
use crate::query::unescaped;
use crate::questions::Question;
use crate::questions::SearchQuestion;
use crate::questions::WhyAbout;

/// How the paths of the interface begin.
const API: &str = "/api/v1/";

/// How the paths of the page's files begin.
const PAGE: &str = "/page/";

/// Where a page begins, and how much of it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The place of the first element.
    pub from: usize,
    /// How many elements are wanted, if that is said.
    pub count: Option<usize>,
}

/// The conditions of a list of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionsAsked {
    /// Only sessions behind this one.
    pub cursor: Option<Cursor>,
    /// How many at most.
    pub limit: Option<usize>,
    /// A text of the name or of the first message, or the beginning of an id.
    pub text: Option<String>,
    /// Only sessions of this folder.
    pub cwd: Option<String>,
    /// Only sessions that were used since then.
    pub since: Option<String>,
    /// Whether archived sessions are listed instead.
    pub archived: bool,
    /// By what sessions are ordered.
    pub sort: Sort,
}

/// What is asked of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRequest {
    /// The head of its report.
    Head,
    /// The rows of its report.
    Rows(Stretch),
    /// The bytes of its body.
    Body,
    /// Its text with escapes undone.
    Text {
        /// Only the rows of this item.
        item: Option<usize>,
        /// The first row.
        from: usize,
        /// How many bytes of that row's text are left out.
        offset: usize,
    },
    /// What the model does not see.
    Absent,
}

/// What is asked of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfSession {
    /// The summary of the session.
    Summary,
    /// Its requests as columns.
    Timeline {
        /// The requests that are wanted.
        stretch: Stretch,
        /// What distinguishes cells.
        by: TimelineBy,
    },
    /// Something of one of its requests.
    Request {
        /// The number of the request, from 1.
        number: usize,
        /// What is asked of it.
        what: OfRequest,
    },
    /// The items that its requests had.
    Items(Stretch),
    /// One of these items, with its text.
    Item(usize),
    /// The summaries that took the place of its history.
    Compactions,
    /// One of these summaries, with its text.
    Compaction(usize),
    /// The calls of its tools.
    Calls(Stretch),
    /// One call and those within it.
    Call(String),
    /// A piece of the whole output of a call.
    CallOutput {
        /// The id of the call.
        call: String,
        /// The first byte of the piece.
        from: usize,
    },
    /// What came of the provider's cache.
    Breaks,
    /// Whether its requests can be rebuilt.
    Proof,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The page itself.
    Index,
    /// A file of the page.
    PageFile(String),
    /// The versions, and what is allowed.
    Hello,
    /// A list of sessions.
    Sessions(SessionsAsked),
    /// Something of one session, which is named by its id, the beginning of its id or its name.
    Session {
        /// The name of the session.
        session: String,
        /// What is asked of it.
        what: OfSession,
    },
    /// A question that a command answers.
    Question(Question),
    /// What happens to a session from now on.
    Events {
        /// The name of the session.
        session: String,
    },
    /// A session in one file; the body of the request says which.
    Export,
    /// A copy of a session up to a request; the body of the request says which.
    Fork,
}

/// A request that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// What is asked for.
    pub asked: Asked,
    /// Whether secrets are shown.
    pub reveals: bool,
}

/// Finds out what is asked for.
///
/// # Errors
/// When the path does not exist, does not take the method, or does not take a key of the query.
pub fn route(method: &Method, path: &str, query: &str) -> Result<Route, ApiError> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if !is_read && *method != Method::POST {
        return Err(wrong_method());
    }
    let mut query = Query::parse(query)?;
    let reveals = query.take_switch("reveal")?;
    let asked = match path {
        "/" => Asked::Index,
        _ => match (path.strip_prefix(PAGE), path.strip_prefix(API)) {
            (Some(name), _) => Asked::PageFile(name.to_owned()),
            (None, Some(rest)) => api(rest, &mut query)?,
            (None, None) => return Err(no_such_path()),
        },
    };
    if is_read == matches!(asked, Asked::Export | Asked::Fork) {
        return Err(wrong_method());
    }
    query.done()?;
    Ok(Route { asked, reveals })
}

fn no_such_path() -> ApiError {
    ApiError::not_found("there is no such path")
}

fn wrong_method() -> ApiError {
    ApiError::new(ErrorCode::MethodNotAllowed, "the path does not take this method")
}

fn api(path: &str, query: &mut Query) -> Result<Asked, ApiError> {
    let segments = path.split('/').map(segment).collect::<Result<Vec<String>, ApiError>>()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    Ok(match segments.as_slice() {
        ["hello"] => Asked::Hello,
        ["sessions"] => Asked::Sessions(sessions(query)?),
        ["sessions", session, rest @ ..] => {
            Asked::Session { session: (*session).to_owned(), what: of_session(rest, query)? }
        }
        ["diff"] => Asked::Question(Question::Diff { a: reference(query, "a")?, b: reference(query, "b")? }),
        ["why"] => Asked::Question(why(query)?),
        ["packs"] => {
            Asked::Question(Question::Packs { message: query.take("message")?, has_texts: query.take_switch("texts")? })
        }
        ["cost"] => Asked::Question(cost(query)?),
        ["search"] => Asked::Question(Question::Search(search(query)?)),
        ["events"] => Asked::Events { session: needed(query, "session")? },
        ["export"] => Asked::Export,
        ["fork"] => Asked::Fork,
        _ => return Err(no_such_path()),
    })
}

/// A segment of a path with its escapes undone. It names something and is never a path itself.
fn segment(text: &str) -> Result<String, ApiError> {
    let text = unescaped(text)?;
    let is_name = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\\', '\0']);
    if is_name { Ok(text) } else { Err(no_such_path()) }
}

fn stretch(query: &mut Query, first: usize) -> Result<Stretch, ApiError> {
    let from = query.take_number("from")?.unwrap_or(first).max(first);
    Ok(Stretch { from, count: query.take_number("count")? })
}

fn of_session(rest: &[&str], query: &mut Query) -> Result<OfSession, ApiError> {
    Ok(match rest {
        [] => OfSession::Summary,
        ["timeline"] => {
            let stretch = stretch(query, 1)?;
            let by = match query.take("by")? {
                None => TimelineBy::default(),
                Some(word) => TimelineBy::of_word(&word).ok_or_else(|| {
                    ApiError::bad(format!("`by` takes part, source, role, tool or author, not `{word}`"))
                })?,
            };
            OfSession::Timeline { stretch, by }
        }
        ["requests", number, rest @ ..] => {
            let number = number.parse().ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| ApiError::not_found("requests have numbers from 1 on"))?;
            OfSession::Request { number, what: of_request(rest, query)? }
        }
        ["items"] => OfSession::Items(stretch(query, 0)?),
        ["items", k] => OfSession::Item(k.parse().map_err(|_| ApiError::not_found("items have numbers from 0 on"))?),
        ["compactions"] => OfSession::Compactions,
        ["compactions", k] => {
            let k = k.parse().map_err(|_| ApiError::not_found("compactions have numbers from 1 on"))?;
            OfSession::Compaction(k)
        }
        ["calls"] => OfSession::Calls(stretch(query, 0)?),
        ["calls", call] => OfSession::Call((*call).to_owned()),
        ["calls", call, "output"] => {
            OfSession::CallOutput { call: (*call).to_owned(), from: query.take_number("from")?.unwrap_or(0) }
        }
        ["breaks"] => OfSession::Breaks,
        ["proof"] => OfSession::Proof,
        _ => return Err(no_such_path()),
    })
}

fn of_request(rest: &[&str], query: &mut Query) -> Result<OfRequest, ApiError> {
    Ok(match rest {
        [] => OfRequest::Head,
        ["rows"] => OfRequest::Rows(stretch(query, 0)?),
        ["body"] => OfRequest::Body,
        ["text"] => OfRequest::Text {
            item: query.take_number("item")?,
            from: query.take_number("from")?.unwrap_or(0),
            offset: query.take_number("offset")?.unwrap_or(0),
        },
        ["absent"] => OfRequest::Absent,
        _ => return Err(no_such_path()),
    })
}

fn sessions(query: &mut Query) -> Result<SessionsAsked, ApiError> {
    let cursor = query.take("cursor")?.map(|text| text.parse()).transpose();
    let sort = match query.take("sort")?.as_deref() {
        None | Some("updated") => Sort::Updated,
        Some("created") => Sort::Created,
        Some(word) => return Err(ApiError::bad(format!("`sort` takes updated or created, not `{word}`"))),
    };
    Ok(SessionsAsked {
        cursor: cursor.map_err(|_| ApiError::bad("`cursor` takes the `next` of another page"))?,
        limit: query.take_number("limit")?,
        text: query.take("q")?.filter(|text| !text.is_empty()),
        cwd: query.take("cwd")?,
        since: query.take("since")?,
        archived: query.take_switch("archived")?,
        sort,
    })
}

fn needed(query: &mut Query, key: &str) -> Result<String, ApiError> {
    query.take(key)?.ok_or_else(|| ApiError::bad(format!("`{key}` is missing")))
}

/// The name of a request. Files of the machine are named by commands only.
fn reference(query: &mut Query, key: &str) -> Result<String, ApiError> {
    let name = needed(query, key)?;
    if name.starts_with("file:") {
        return Err(ApiError::bad(format!("`{key}`: a request in a file is looked at by commands only")));
    }
    Ok(name)
}

fn why(query: &mut Query) -> Result<Question, ApiError> {
    let request = reference(query, "ref")?;
    let mut about = Vec::new();
    about.extend(query.take("file")?.map(WhyAbout::File));
    about.extend(query.take("text")?.map(WhyAbout::Text));
    about.extend(query.take_number("byte")?.map(WhyAbout::Byte));
    about.extend(query.take("part")?.map(WhyAbout::Part));
    about.extend(query.take("tool")?.map(WhyAbout::Tool));
    about.extend(query.take("skill")?.map(WhyAbout::Skill));
    about.extend(query.take("call")?.map(WhyAbout::Call));
    match (about.pop(), about.is_empty()) {
        (Some(about), true) => Ok(Question::Why { about, request }),
        _ => Err(ApiError::bad("one of file, text, byte, part, tool, skill and call is asked about")),
    }
}

fn cost(query: &mut Query) -> Result<Question, ApiError> {
    let sessions = query.take_all("session");
    if sessions.is_empty() || sessions.iter().any(|it| it.starts_with("file:")) {
        return Err(ApiError::bad("`session` takes a stored session"));
    }
    Ok(Question::Cost { sessions, by: query.take("by")?, settings: query.take_all("as") })
}

fn search(query: &mut Query) -> Result<SearchQuestion, ApiError> {
    Ok(SearchQuestion {
        pattern: needed(query, "q")?,
        sessions: query.take_all("session"),
        is_fixed: query.take_switch("fixed")?,
        ignores_case: query.take_switch("ignore_case")?,
        role: query.take("role")?,
        part: query.take("part")?,
        source: query.take("source")?,
        tool: query.take("tool")?,
        since: query.take("since")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str) -> Result<Asked, (ErrorCode, String)> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let found = route(&Method::GET, path, query);
        found.map(|it| it.asked).map_err(|error| (error.code, error.message))
    }

    #[test]
    fn paths_lead_to_what_is_asked_for() {
        let of = |what| Ok(Asked::Session { session: "S".to_owned(), what });
        let stretch = |from, count| Stretch { from, count };
        assert_eq!(asked("/"), Ok(Asked::Index));
        assert_eq!(asked("/page/app.js"), Ok(Asked::PageFile("app.js".to_owned())));
        assert_eq!(asked("/api/v1/hello"), Ok(Asked::Hello));
        assert_eq!(asked("/api/v1/sessions/S"), of(OfSession::Summary));
        assert_eq!(
            asked("/api/v1/sessions/S/timeline?from=3&count=2&by=tool"),
            of(OfSession::Timeline { stretch: stretch(3, Some(2)), by: TimelineBy::Tool })
        );
        assert_eq!(
            asked("/api/v1/sessions/S/requests/7/rows?from=5"),
            of(OfSession::Request { number: 7, what: OfRequest::Rows(stretch(5, None)) })
        );
        assert_eq!(asked("/api/v1/sessions/S/calls/a%20b"), of(OfSession::Call("a b".to_owned())));
        assert_eq!(
            asked("/api/v1/why?ref=S%237&byte=12"),
            Ok(Asked::Question(Question::Why { about: WhyAbout::Byte(12), request: "S#7".to_owned() }))
        );
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let not_found = |target: &str| {
            assert_eq!(asked(target), Err((ErrorCode::NotFound, "there is no such path".to_owned())), "{target}");
        };
        for target in [
            "/api/v1",
            "/api/v1/",
            "/api/v2/hello",
            "/api/v1/hello/",
            "/api/v1/sessions/",
            "/api/v1/sessions/..",
            "/api/v1/sessions/%2e%2e",
            "/api/v1/sessions/a%2Fb",
            "/api/v1/sessions/a%5cb",
            "/api/v1/sessions/S/requests/1/body/x",
            "/etc/passwd",
            "//",
        ] {
            not_found(target);
        }
        let bad = |target: &str, message: &str| {
            assert_eq!(asked(target), Err((ErrorCode::BadRequest, message.to_owned())), "{target}");
        };
        bad("/api/v1/hello?x=1", "unknown query key `x`");
        bad("/api/v1/diff?a=now&b=file:/etc/passwd", "`b`: a request in a file is looked at by commands only");
        bad("/api/v1/diff?a=now", "`b` is missing");
        bad("/api/v1/why?ref=now", "one of file, text, byte, part, tool, skill and call is asked about");
        bad("/api/v1/why?ref=now&byte=1&part=x", "one of file, text, byte, part, tool, skill and call is asked about");
    }

    #[test]
    fn methods_that_a_path_does_not_take_are_refused() {
        let code = |method: Method, path: &str| route(&method, path, "").map_err(|error| error.code);
        for method in [Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH, Method::TRACE] {
            assert_eq!(code(method, "/api/v1/hello"), Err(ErrorCode::MethodNotAllowed));
        }
        assert_eq!(code(Method::POST, "/api/v1/hello"), Err(ErrorCode::MethodNotAllowed));
        assert_eq!(code(Method::POST, "/"), Err(ErrorCode::MethodNotAllowed));
        assert_eq!(code(Method::GET, "/api/v1/export"), Err(ErrorCode::MethodNotAllowed));
        assert_eq!(code(Method::GET, "/api/v1/fork"), Err(ErrorCode::MethodNotAllowed));
        assert!(code(Method::POST, "/api/v1/fork").is_ok());
        assert!(code(Method::POST, "/api/v1/export").is_ok());
        assert!(code(Method::HEAD, "/api/v1/hello").is_ok());
    }
}
