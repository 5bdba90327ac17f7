//! Sessions begin, are loaded, resumed and copied; they are closed and archived.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::v1::schema::ArchiveSessionRequest;
use agent_client_protocol::v1::schema::ArchiveSessionResponse;
use agent_client_protocol::v1::schema::AvailableCommandsUpdate;
use agent_client_protocol::v1::schema::CloseSessionRequest;
use agent_client_protocol::v1::schema::CloseSessionResponse;
use agent_client_protocol::v1::schema::DeleteSessionRequest;
use agent_client_protocol::v1::schema::DeleteSessionResponse;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::ForkSessionRequest;
use agent_client_protocol::v1::schema::ForkSessionResponse;
use agent_client_protocol::v1::schema::LoadSessionRequest;
use agent_client_protocol::v1::schema::LoadSessionResponse;
use agent_client_protocol::v1::schema::NewSessionRequest;
use agent_client_protocol::v1::schema::NewSessionResponse;
use agent_client_protocol::v1::schema::ResumeSessionRequest;
use agent_client_protocol::v1::schema::ResumeSessionResponse;
use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::v1::schema::SessionNotification;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::UnarchiveSessionRequest;
use agent_client_protocol::v1::schema::UnarchiveSessionResponse;
use pellucid_agent::fork::MessageOffsets;
use pellucid_agent::identity;
use pellucid_agent::open::Opening;
use pellucid_agent::open::Persistence;
use pellucid_agent::session::server_input::ServerPrompt;
use pellucid_store::find;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoreError;
use pellucid_tasks::Task;
use pellucid_workspace::custom_prompts;

use super::Done;
use crate::agents;
use crate::agents::AgentIntake;
use crate::commands;
use crate::open::ClientPlace;
use crate::open::Opened;
use crate::options::Choices;
use crate::options::Offer;
use crate::past::Past;
use crate::server::AcpServer;
use crate::session::EventFeed;
use crate::session::OpenSession;
use crate::session::PromptsFeed;
use crate::wire;
use crate::wire::failed;
use crate::wire::invalid;
use crate::wire::not_now;
use crate::wire::refusal;

/// How many updates of a stored session are read at a time.
const BATCH: usize = 64;

/// Reads the id of a session.
///
/// # Errors
/// If the text is not an id.
pub fn known_id(id: &SessionId) -> Result<String, Error> {
    identity::parse_session_id(&id.0).ok_or_else(|| invalid(format!("sessionId: `{id}` is not a UUID")))
}

fn unknown(id: &str) -> Error {
    refusal(ErrorCode::ResourceNotFound, format!("no session with the id {id} is stored"))
}

/// Handles `session/new`: opens a session without a history.
pub async fn new(server: Arc<AcpServer>, asked: NewSessionRequest) -> Result<Done, Error> {
    let place = ClientPlace::new(asked.cwd, asked.additional_directories, asked.mcp_servers)?;
    let opening = |_: &Path| Ok(Opening::New { session_id: None, keep: Persistence::File });
    let (session, following, prompts) = open(&server, place, None, opening).await?;
    let (offer, choices) = session.chosen();
    let answer =
        NewSessionResponse::new(session.id.clone()).modes(offer.modes(&choices)).config_options(offer.shown(&choices));
    Ok(Done::new(&answer)?.and(begin(server, session, following, prompts)))
}

/// Handles `session/load`: shows the stored session, then opens it.
pub async fn load(server: Arc<AcpServer>, asked: LoadSessionRequest) -> Result<Done, Error> {
    let place = ClientPlace::new(asked.cwd, asked.additional_directories, asked.mcp_servers)?;
    let id = let_go(&server, &asked.session_id).await?;
    show(&server, &id).await?;
    let (session, following, prompts) = open(&server, place, None, move |home| resumed(home, &id)).await?;
    let (offer, choices) = session.chosen();
    let answer = LoadSessionResponse::new().modes(offer.modes(&choices)).config_options(offer.shown(&choices));
    Ok(Done::new(&answer)?.and(begin(server, session, following, prompts)))
}

/// Handles `session/resume`: opens a stored session without showing it.
pub async fn resume(server: Arc<AcpServer>, asked: ResumeSessionRequest) -> Result<Done, Error> {
    let place = ClientPlace::new(asked.cwd, asked.additional_directories, asked.mcp_servers)?;
    let id = let_go(&server, &asked.session_id).await?;
    let (session, following, prompts) = open(&server, place, None, move |home| resumed(home, &id)).await?;
    let (offer, choices) = session.chosen();
    let answer = ResumeSessionResponse::new().modes(offer.modes(&choices)).config_options(offer.shown(&choices));
    Ok(Done::new(&answer)?.and(begin(server, session, following, prompts)))
}

/// Handles `session/fork`: opens a copy of a session.
pub async fn fork(server: Arc<AcpServer>, asked: ForkSessionRequest) -> Result<Done, Error> {
    let place = ClientPlace::new(asked.cwd, asked.additional_directories, asked.mcp_servers)?;
    let id = known_id(&asked.session_id)?;
    let opening = move |home: &Path| {
        let file = stored(home, &id)?;
        let upto = MessageOffsets::read(&file).map_err(|error| failed(error.to_string()))?.end;
        Ok(Opening::Forked { file: Box::new(file), upto, session_id: None, keep: Persistence::File })
    };
    let (session, following, prompts) = open(&server, place, None, opening).await?;
    let (offer, choices) = session.chosen();
    let answer =
        ForkSessionResponse::new(session.id.clone()).modes(offer.modes(&choices)).config_options(offer.shown(&choices));
    Ok(Done::new(&answer)?.and(begin(server, session, following, prompts)))
}

/// Continues a session with another pack: it is closed and opened again. What is chosen otherwise stays.
pub async fn change_pack(server: Arc<AcpServer>, session: Arc<OpenSession>, choices: Choices) -> Result<Offer, Error> {
    let place = session.place.clone();
    let (id, pack) = (session.id.clone(), choices.pack.clone());
    // A pack that cannot be used must not cost the session.
    server.opener().check_pack(&place, &pack)?;
    server.take(&id);
    session.shut_down().await;
    let opening = move |home: &Path| match find::by_id(home, &id) {
        Some(_) => resumed(home, &id),
        None => Ok(Opening::New {
            session_id: Some(pellucid_protocol::id::SessionId::new(id.as_str())),
            keep: Persistence::File,
        }),
    };
    let (opened, following, prompts) = open(&server, place, Some(pack), opening).await?;
    let (offer, _) = opened.chosen();
    opened.submit(pellucid_protocol::operation::Operation::OverrideTurnContext(offer.settings(&choices)?)).await;
    opened.choose(choices);
    following.begin(&server, &opened);
    list_prompts(&server, &opened, prompts);
    Ok(offer)
}

/// Opens a session. Its updates begin with [`begin`].
async fn open(
    server: &Arc<AcpServer>,
    place: ClientPlace,
    pack: Option<String>,
    opening: impl FnOnce(&Path) -> Result<Opening, Error> + Send + 'static,
) -> Result<(Arc<OpenSession>, EventFeed, PromptsFeed), Error> {
    let (opener, of) = (server.opener(), place.clone());
    let (agents, adopted) = AgentIntake::open();
    let opened = Task::blocking("opening a session", move || {
        let opening = opening(&opener.ground.home)?;
        opener.open(&of, pack.as_deref(), opening, agents)
    });
    let mut opened: Opened = opened.await.map_err(|error| failed(error.to_string()))??;
    let started = opened.session.start_servers().await;
    started.map_err(|error| failed(format!("the session cannot be opened: {error}")))?;
    let shown = server.shown(opened.session.config().display.show_raw_reasoning);
    let (session, following, prompts) = OpenSession::run(server, opened, place, shown);
    server.add(session.clone());
    agents::follow_all(server, &session, adopted);
    Ok((session, following, prompts))
}

/// Sends what follows the answer to a client that opened a session.
async fn begin(server: Arc<AcpServer>, session: Arc<OpenSession>, following: EventFeed, prompts: PromptsFeed) {
    show_commands(&server, &session, &[]).await;
    following.begin(&server, &session);
    list_prompts(&server, &session, prompts);
}

/// Sends the commands that a person can type.
async fn show_commands(server: &AcpServer, session: &OpenSession, of_servers: &[ServerPrompt]) {
    let commands = commands::available(&custom_prompts::load(&server.ground.home), of_servers);
    session.update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))).await;
}

/// Sends the commands again once the prompts of the session's servers are known, if there are any.
fn list_prompts(server: &Arc<AcpServer>, session: &Arc<OpenSession>, prompts: PromptsFeed) {
    let Some(prompts) = prompts else { return };
    let (of, session) = (server.clone(), session.clone());
    server.tasks.spawn("listing prompts of MCP servers", async move {
        let listed = prompts.await;
        if !listed.is_empty() && !session.has_ended() {
            show_commands(&of, &session, &listed).await;
        }
    });
}

/// A stored session that is to be opened. If it is open, it is closed first.
async fn let_go(server: &AcpServer, id: &SessionId) -> Result<String, Error> {
    let id = known_id(id)?;
    if let Some(session) = server.find(&id) {
        if session.is_busy() {
            return Err(not_now(format!("session {id} works on a prompt; cancel it or wait for its end")));
        }
        server.take(&id);
        session.shut_down().await;
    }
    if find::by_id(&server.ground.home, &id).is_none() {
        return Err(unknown(&id));
    }
    Ok(id)
}

fn stored(home: &Path, id: &str) -> Result<SessionFile, Error> {
    let path = find::by_id(home, id).ok_or_else(|| unknown(id))?;
    read::open(&path).map_err(|error| failed(error.to_string()))
}

fn resumed(home: &Path, id: &str) -> Result<Opening, Error> {
    Ok(Opening::Resumed { file: Box::new(stored(home, id)?), keep: Persistence::File })
}

/// Sends the updates of a stored session.
async fn show(server: &AcpServer, id: &str) -> Result<(), Error> {
    let cannot = |error: &dyn std::fmt::Display| failed(format!("the session cannot be read: {error}"));
    let path: PathBuf = find::by_id(&server.ground.home, id).ok_or_else(|| unknown(id))?;
    let shown = server.shown(false);
    let lane = server.connection.lane.beside();
    let opened = Task::blocking("reading a session", move || Past::open(&path, shown));
    let mut past = Some(opened.await.map_err(|error| cannot(&error))?.map_err(|error| cannot(&error))?);
    while let Some(mut reading) = past.take() {
        let read = Task::blocking("reading a session", move || {
            let mut updates = Vec::new();
            while updates.len() < BATCH {
                match reading.next()? {
                    Some(more) => updates.extend(more),
                    None => return Ok((updates, None)),
                }
            }
            Ok::<_, std::io::Error>((updates, Some(reading)))
        });
        let (updates, rest) = read.await.map_err(|error| cannot(&error))?.map_err(|error| cannot(&error))?;
        for update in updates {
            let update = SessionNotification::new(SessionId::new(id), update);
            lane.send(wire::notification("session/update", &update)).await;
        }
        past = rest;
    }
    Ok(())
}

/// Handles `session/close`: cancels the prompt and lets the session go.
pub async fn close(server: Arc<AcpServer>, asked: CloseSessionRequest) -> Result<Done, Error> {
    let id = known_id(&asked.session_id)?;
    let session = server.session(&id)?;
    server.take(&id);
    session.shut_down().await;
    Done::new(&CloseSessionResponse::new())
}

/// Handles `session/delete`: the session is archived. Nothing is deleted for good.
pub async fn delete(server: Arc<AcpServer>, asked: DeleteSessionRequest) -> Result<Done, Error> {
    put_away(&server, &asked.session_id).await?;
    Done::new(&DeleteSessionResponse::new())
}

/// Handles `session/archive`: moves a session into the archive.
pub async fn archive(server: Arc<AcpServer>, asked: ArchiveSessionRequest) -> Result<Done, Error> {
    put_away(&server, &asked.session_id).await?;
    Done::new(&ArchiveSessionResponse::new())
}

async fn put_away(server: &AcpServer, id: &SessionId) -> Result<(), Error> {
    let id = known_id(id)?;
    let open = server.take(&id);
    if let Some(session) = &open {
        session.shut_down().await;
    }
    match LocalSessions::new(&server.ground.home).archive(&id) {
        // A session without a message has no file.
        Err(StoreError::NotFound { .. }) if open.is_some() => Ok(()),
        outcome => outcome.map(drop).map_err(|error| from_store(&error, &id)),
    }
}

/// Handles `session/unarchive`: takes a session out of the archive.
pub async fn unarchive(server: Arc<AcpServer>, asked: UnarchiveSessionRequest) -> Result<Done, Error> {
    let id = known_id(&asked.session_id)?;
    let taken = LocalSessions::new(&server.ground.home).unarchive(&id);
    taken.map_err(|error| from_store(&error, &id))?;
    Done::new(&UnarchiveSessionResponse::new())
}

fn from_store(error: &StoreError, id: &str) -> Error {
    match error {
        StoreError::NotFound { .. } => {
            refusal(ErrorCode::ResourceNotFound, format!("{error}")).data(serde_json::json!({ "sessionId": id }))
        }
        other => failed(other.to_string()),
    }
}
