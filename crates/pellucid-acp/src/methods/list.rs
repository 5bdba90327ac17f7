//! Stored sessions: lists of them, and their names.

use std::sync::Arc;

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::ListSessionsRequest;
use agent_client_protocol::v1::schema::ListSessionsResponse;
use agent_client_protocol::v1::schema::SessionArchiveFilter;
use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::v1::schema::SessionInfo;
use agent_client_protocol::v1::schema::SessionInfoUpdate;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::SetSessionTitleRequest;
use agent_client_protocol::v1::schema::SetSessionTitleResponse;
use pellucid_store::find;
use pellucid_store::names;
use pellucid_store::query::Cursor;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::summary::SessionSummary;
use pellucid_tasks::Task;

use super::Done;
use super::life::known_id;
use crate::server::AcpServer;
use crate::view::cut;
use crate::wire::failed;
use crate::wire::invalid;
use crate::wire::refusal;

/// How many sessions a page has.
const PAGE: usize = 50;

/// How many bytes a title has.
const TITLE_BYTES: usize = 120;

/// The clients whose sessions are listed: those of people and of scripts, but not those that sessions start.
const SOURCES: [&str; 3] = ["cli", "vscode", "exec"];

/// Handles `session/list`: the newest sessions first.
pub async fn list(server: Arc<AcpServer>, asked: ListSessionsRequest) -> Result<Done, Error> {
    if let Some(cwd) = asked.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        return Err(invalid(format!("cwd must be an absolute path, not `{}`", cwd.display())));
    }
    let places: &[bool] = match &asked.archived {
        None | Some(SessionArchiveFilter::Exclude) => &[false],
        Some(SessionArchiveFilter::Only) => &[true],
        Some(SessionArchiveFilter::Include) => &[false, true],
        Some(_) => return Err(invalid("archived is exclude, include or only")),
    };
    let cursor = asked.cursor.as_deref().map(str::parse::<Cursor>).transpose();
    let cursor = cursor.map_err(|_| invalid("cursor is none that session/list gave"))?;
    let home = server.ground.home.clone();
    let listed = Task::blocking("listing sessions", move || {
        let mut stored = LocalSessions::new(&home);
        let mut sessions: Vec<SessionSummary> = Vec::new();
        for archived in places {
            let query = Query {
                archived: *archived,
                sources: SOURCES.map(str::to_owned).to_vec(),
                cwd: asked.cwd.clone(),
                sort: Sort::Updated,
                cursor: cursor.clone(),
                limit: PAGE + 1,
                ..Query::default()
            };
            sessions.extend(stored.list(&query).sessions);
        }
        sessions.sort_by(|one, other| (other.updated_at, &other.id).cmp(&(one.updated_at, &one.id)));
        sessions
    });
    let mut sessions = listed.await.map_err(|error| failed(error.to_string()))?;
    let has_more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next =
        sessions.last().filter(|_| has_more).map(|last| Cursor { seconds: last.updated_at, id: last.id.clone() });
    let shown = sessions.into_iter().map(info).collect();
    Done::new(&ListSessionsResponse::new(shown).next_cursor(next.map(|next| next.to_string())))
}

fn info(summary: SessionSummary) -> SessionInfo {
    let title = summary.name.unwrap_or_else(|| cut(&summary.first_message, TITLE_BYTES));
    let updated = jiff::Timestamp::from_second(summary.updated_at).ok().map(|time| time.to_string());
    SessionInfo::new(SessionId::new(summary.id), summary.cwd)
        .title(title)
        .updated_at(updated)
        .archived(summary.is_archived.then_some(true))
}

/// Handles `session/set_title`: names a session, open or stored.
pub async fn set_title(server: Arc<AcpServer>, asked: SetSessionTitleRequest) -> Result<Done, Error> {
    let id = known_id(&asked.session_id)?;
    let home = &server.ground.home;
    let open = server.find(&id);
    if open.is_none() && find::anywhere(home, &id).is_none() {
        return Err(refusal(ErrorCode::ResourceNotFound, format!("no session with the id {id} is stored")));
    }
    if asked.title.trim().is_empty() {
        return Err(invalid("title must not be empty"));
    }
    let title = names::set(home, &id, &asked.title).map_err(|error| failed(error.to_string()))?;
    let done = Done::new(&SetSessionTitleResponse::new(title.clone()))?;
    Ok(match open {
        Some(session) => done.and(async move {
            session.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))).await;
        }),
        None => done,
    })
}
