//! Prompts, and what a user chooses for the turns to come.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::ConfigOptionUpdate;
use agent_client_protocol::v1::schema::CurrentModeUpdate;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::NoticeSeverity;
use agent_client_protocol::v1::schema::PromptRequest;
use agent_client_protocol::v1::schema::PromptResponse;
use agent_client_protocol::v1::schema::RequestId;
use agent_client_protocol::v1::schema::SessionConfigOptionValue;
use agent_client_protocol::v1::schema::SessionInfoUpdate;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::SetSessionConfigOptionRequest;
use agent_client_protocol::v1::schema::SetSessionConfigOptionResponse;
use agent_client_protocol::v1::schema::SetSessionModeRequest;
use agent_client_protocol::v1::schema::SetSessionModeResponse;
use agent_client_protocol::v1::schema::StopReason;
use pellucid_agent::skills;
use pellucid_config::HarnessOverrides;
use pellucid_protocol::operation::Operation;
use pellucid_store::names;
use pellucid_workspace::custom_prompts;

use super::Answer;
use super::Done;
use super::later;
use super::life::change_pack;
use super::value;
use crate::commands;
use crate::commands::Meaning;
use crate::commands::TellTopic;
use crate::input;
use crate::options;
use crate::options::Change;
use crate::server::AcpServer;
use crate::session::OpenSession;
use crate::session::first_text;
use crate::view::cut;
use crate::wire::failed;
use crate::wire::not_now;

/// How many bytes a title has.
const TITLE_BYTES: usize = 120;

/// Handles `session/prompt`: a turn, or something that a command with a slash does.
pub async fn prompt(server: &Arc<AcpServer>, id: &RequestId, asked: PromptRequest) -> Answer {
    let begun = begin(server, id, &asked);
    let (session, meaning, turn, is_first) = match begun {
        Ok(begun) => begun,
        Err(error) => return Answer::Now(Err(error)),
    };
    if is_first
        && let Some(text) = first_text(&asked.prompt)
        && names::name_of(&server.ground.home, &session.id).is_none()
        && !session.path.as_deref().is_some_and(Path::exists)
    {
        let named = SessionInfoUpdate::new().title(cut(text, TITLE_BYTES));
        session.update(SessionUpdate::SessionInfoUpdate(named)).await;
    }
    match meaning {
        Meaning::Does(operation) => {
            session.work_on(turn, operation).await;
            Answer::Given
        }
        Meaning::Tells(topic) => {
            let server = server.clone();
            later(async move {
                let told = tell(&server, &session, topic).await;
                if let Ok(text) = &told {
                    session.say(text).await;
                }
                session.drop_prompt();
                told?;
                Done::new(&PromptResponse::new(StopReason::EndTurn).usage(session.usage()))
            })
        }
    }
}

/// A prompt that was understood, with the turn that it begins.
type Begun = (Arc<OpenSession>, Meaning, pellucid_protocol::id::TurnId, bool);

fn begin(server: &AcpServer, id: &RequestId, asked: &PromptRequest) -> Result<Begun, Error> {
    let session = server.session(&asked.session_id.0)?;
    let items = input::input(&asked.prompt, &session.place.cwd)?;
    let is_command = first_text(&asked.prompt).is_some_and(|text| text.starts_with('/'));
    let prompts = if is_command { custom_prompts::load(&server.ground.home) } else { Vec::new() };
    let meaning = commands::meaning(items, &prompts)?;
    let (turn, is_first) = session.begin_prompt(id)?;
    Ok((session, meaning, turn, is_first))
}

/// The text that a client receives, without the model.
async fn tell(server: &AcpServer, session: &OpenSession, topic: TellTopic) -> Result<String, Error> {
    Ok(match topic {
        TellTopic::Status => {
            let (_, choices) = session.chosen();
            let effort = choices.effort.map_or_else(|| "the model's default".to_owned(), |effort| effort.to_string());
            let tokens = session.usage().map_or_else(|| "none yet".to_owned(), |usage| usage.total_tokens.to_string());
            format!(
                "- session: {}\n- folder: {}\n- model: {}\n- effort: {effort}\n- mode: {}\n- pack: {}\n- tokens: {tokens}\n",
                session.id,
                session.place.cwd.display(),
                choices.model,
                choices.mode(),
                choices.pack,
            )
        }
        TellTopic::Servers => {
            let servers = session.servers().await;
            let line = |server: &pellucid_protocol::mcp::McpServerStatus| {
                let tools: Vec<&str> = server.tools.keys().map(String::as_str).collect();
                let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
                format!("- {}: {tools}\n", server.name)
            };
            let lines: String = servers.iter().map(line).collect();
            if lines.is_empty() { "No MCP server is configured.\n".to_owned() } else { lines }
        }
        TellTopic::Skills => {
            let config = server.ground.config(Some(&session.place.cwd), Vec::new(), HarnessOverrides::default());
            let (config, _) = config.map_err(|error| failed(error.report()))?;
            let skills = skills::search(&config, &server.ground.env).load();
            let enabled = skills.all().iter().filter(|skill| skill.is_enabled());
            let lines: String = enabled.map(|skill| format!("- {}: {}\n", skill.name, skill.description)).collect();
            if lines.is_empty() { "There are no skills.\n".to_owned() } else { lines }
        }
    })
}

/// Handles `session/set_mode`: chooses a mode for the turns to come.
pub async fn set_mode(server: &Arc<AcpServer>, asked: SetSessionModeRequest) -> Answer {
    let chosen = SessionConfigOptionValue::ValueId { value: asked.mode_id.0.to_string().into() };
    let choice = choose(server, &asked.session_id.0, options::MODE, &chosen).await;
    match choice {
        Ok((session, _)) => {
            let (offer, choices) = session.chosen();
            let update = ConfigOptionUpdate::new(offer.shown(&choices));
            session.update(SessionUpdate::ConfigOptionUpdate(update)).await;
            Answer::Now(value(&SetSessionModeResponse::new()))
        }
        Err(error) => Answer::Now(Err(error)),
    }
}

/// Handles `session/set_config_option`. The answer has all options again.
pub async fn set_option(server: &Arc<AcpServer>, asked: SetSessionConfigOptionRequest) -> Answer {
    let option = asked.config_id.0.to_string();
    match choose(server, &asked.session_id.0, &option, &asked.value).await {
        Ok((session, Some(pack))) => {
            let server = server.clone();
            later(async move {
                let (offer, choices) = session.chosen();
                let choices = offer.with_pack(&choices, &pack);
                let offer = change_pack(server, session, choices.clone()).await?;
                Done::new(&SetSessionConfigOptionResponse::new(offer.shown(&choices)))
            })
        }
        Ok((session, None)) => {
            let (offer, choices) = session.chosen();
            if option == options::MODE {
                let update = CurrentModeUpdate::new(choices.mode().to_owned());
                session.update(SessionUpdate::CurrentModeUpdate(update)).await;
            }
            Answer::Now(value(&SetSessionConfigOptionResponse::new(offer.shown(&choices))))
        }
        Err(error) => Answer::Now(Err(error)),
    }
}

/// Chooses a value. Gives the pack, if another one is chosen: that takes longer.
async fn choose(
    server: &AcpServer,
    id: &str,
    option: &str,
    chosen: &SessionConfigOptionValue,
) -> Result<(Arc<OpenSession>, Option<String>), Error> {
    let session = server.session(id)?;
    let (offer, before) = session.chosen();
    let (choices, change) = offer.choose(&before, option, chosen)?;
    match change {
        Change::Nothing => Ok((session, None)),
        Change::Pack(_) if session.is_busy() => {
            Err(not_now(format!("session {id} works on a prompt; another pack can be chosen when it is over")))
        }
        Change::Pack(pack) => Ok((session, Some(pack))),
        Change::Settings(change) => {
            session.submit(Operation::OverrideTurnContext(change)).await;
            let has_other_model = choices.model != before.model;
            session.choose(choices);
            let tokens = session.usage().map_or(0, |usage| usage.input_tokens);
            if has_other_model && tokens > 0 {
                let text = "another model has no cache of this conversation, so the next request pays for all of it";
                session.note(NoticeSeverity::Info, text.to_owned()).await;
            }
            Ok((session, None))
        }
    }
}
