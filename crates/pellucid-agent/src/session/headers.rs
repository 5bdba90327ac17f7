//! The headers of a session's requests.

use pellucid_protocol::id::TurnId;
use pellucid_protocol::provider::WireApi;

use super::Session;
use crate::metadata;
use crate::metadata::Repositories;

impl Session {
    /// The headers that a request of this session has besides those of the provider and the wire.
    ///
    /// Only requests on the Responses wire describe the turn: servers of the other wires do not ask for it, so they do not
    /// receive the state of a repository.
    pub(crate) fn headers(&self, turn: &TurnHeaders<'_>) -> Vec<(String, String)> {
        match self.setup.provider.wire_api {
            WireApi::Responses => {}
            WireApi::Chat => {
                let mut headers = self.own_headers();
                headers.push(("session_id".to_owned(), self.setup.session_id.to_string()));
                return headers;
            }
            WireApi::Messages => return self.own_headers(),
        }
        let facts = &self.setup.gathered.facts;
        let sandbox = metadata::sandbox_word(&facts.settings.sandbox_policy, &facts.settings.features);
        let mut headers = vec![
            ("session_id", self.setup.session_id.to_string()),
            ("x-codex-turn-metadata", metadata::header(turn.turn_id, turn.repositories, sandbox)),
        ];
        let beta = facts.settings.features.beta_keys().collect::<Vec<_>>().join(",");
        if !beta.is_empty() {
            headers.push(("x-codex-beta-features", beta));
        }
        if let Some(state) = turn.state {
            headers.push(("x-codex-turn-state", state.to_owned()));
        }
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        self.own_headers().into_iter().chain(headers).collect()
    }

    /// The headers that name this program, and the kind of an agent.
    pub(crate) fn own_headers(&self) -> Vec<(String, String)> {
        let identity = &self.setup.identity;
        let mut headers = vec![
            ("originator".to_owned(), identity.originator.clone()),
            ("user-agent".to_owned(), identity.user_agent.clone()),
        ];
        if let Some(kind) = self.setup.origin.header() {
            headers.push(("x-openai-subagent".to_owned(), kind.to_owned()));
        }
        headers.extend(self.log.traceparent().map(|it| ("traceparent".to_owned(), it)));
        headers
    }
}

/// What a turn adds to the headers of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnHeaders<'a> {
    pub turn_id: &'a TurnId,
    pub repositories: &'a Repositories,
    pub state: Option<&'a str>,
}
