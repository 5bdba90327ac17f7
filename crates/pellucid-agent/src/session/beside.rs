//! A copy of a session, to see what it would send next while the session stays as it is.
//!
//! The copy has everything that decides a request. It writes no files, starts no servers and runs no calls; the bytes of a
//! long history are shared with the session.

use std::sync::Mutex;

use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::SettingsChange;
use pellucid_store::recorder::Recorder;

use super::Session;
use super::TurnPreview;
use crate::context_events::ContextEvents;
use crate::jobs::Jobs;
use crate::log::Log;
use crate::mcp::Attached;
use crate::sent::SentLog;
use crate::session::mcp::ServerSwitch;

/// A copy of a session, to see what it would send next.
#[derive(Debug)]
pub struct SessionCopy {
    session: Session,
    /// Whether a turn of the session was running.
    is_in_turn: bool,
}

/// What a session would send next.
#[derive(Debug)]
pub struct ComingRequest {
    /// The copy that made the request, for reports. It is of no other use afterwards.
    pub session: Session,
    /// The request with its report.
    pub next: TurnPreview,
    /// MCP servers that are still starting and whose tools are those that they listed last.
    pub recalled: Vec<String>,
    /// MCP servers that are still starting and whose tools are not known.
    pub unknown: Vec<String>,
    /// Whether a turn is running, so that its further outputs come before the input.
    pub is_in_turn: bool,
}

impl Session {
    /// A copy to be looked at.
    pub fn copy(&mut self) -> SessionCopy {
        self.copied(false)
    }

    /// A copy to be looked at, made while a turn runs.
    pub(crate) fn copy_in_turn(&mut self) -> SessionCopy {
        self.copied(true)
    }

    fn copied(&mut self, is_in_turn: bool) -> SessionCopy {
        // The next request would read it too, and every further copy is spared the reading.
        self.requests.recall_for_client(&self.setup);
        let context_events = ContextEvents::default();
        context_events.join();
        let mut setup = self.setup.clone();
        setup.side = setup.side.read_only();
        setup.context_events = context_events;
        setup.phases = setup.phases.copied();
        let session = Self {
            setup,
            conversation: self.conversation.clone(),
            log: Log::new(Recorder::none(), SentLog::none(), None),
            jobs: Jobs::sharing(self.jobs.toolbox.clone()),
            servers: self.servers.as_ref().map(Attached::lent),
            server_switch: ServerSwitch::default(),
            requests: self.requests.clone(),
            framed: Mutex::default(),
            notices: self.notices.clone(),
            shortening: self.shortening.clone(),
            last_turn: self.last_turn.clone(),
            placing: self.placing,
            skills: self.skills.clone(),
            given: self.given.clone(),
            named_apps: self.named_apps.clone(),
            habits: self.habits.copied(),
            injected: self.injected.clone(),
            memories: None,
        };
        SessionCopy { session, is_in_turn }
    }
}

impl SessionCopy {
    /// The copy as a session, to be changed without a trace in the session that it is of.
    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// The history, item by item.
    pub fn items(&self) -> Vec<Item> {
        self.session.items()
    }

    /// The id of the session.
    pub fn id(&self) -> &str {
        self.session.id().as_str()
    }

    /// What the session would send next if a client changed these settings and then sent these inputs. Without inputs the
    /// request has everything but a message.
    ///
    /// # Errors
    /// Why nothing would be sent.
    pub fn next(mut self, change: Option<SettingsChange>, inputs: &[UserInput]) -> Result<ComingRequest, String> {
        let (mut recalled, mut unknown) = (Vec::new(), Vec::new());
        self.session.learn_server_tools();
        if self.session.servers.as_ref().is_some_and(|attached| !attached.are_known()) {
            (recalled, unknown) = self.session.recall_server_tools();
        }
        let next = if self.is_in_turn {
            self.session.steered_request(inputs)?
        } else {
            if let Some(change) = change {
                self.session.change_settings(change);
            }
            self.session.next_request(inputs, None)?
        };
        Ok(ComingRequest { session: self.session, next, recalled, unknown, is_in_turn: self.is_in_turn })
    }
}
