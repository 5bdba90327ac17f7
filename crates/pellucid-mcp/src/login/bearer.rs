//! Puts the token of a login into requests to a server, and reacts when the server refuses it.
//!
//! A refused token is renewed once. If that does not help, or the token lacks scopes, a person is asked to log in once
//! more, at most twice for the same scopes; without a person the request fails, and the failure names the command.

use std::collections::HashMap;
use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::Stream;
use http::HeaderName;
use http::HeaderValue;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::elicitation::ElicitationRequest;
use reqwest::Url;
use rmcp::ServiceError;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::model::ClientRequest;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use rmcp::transport::streamable_http_client::InsufficientScopeError;
use rmcp::transport::streamable_http_client::SseError;
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use serde_json::json;
use sse_stream::Sse;

use super::LoginError;
use super::attempt::Challenge;
use super::attempt::LoginAttempt;
use super::rules;
use super::tokens::Tokens;
use crate::elicitation::OpenQuestions;

/// How long a person may take to log in during a session.
const PERSON_PATIENCE: Duration = Duration::from_secs(600);

/// How often a person is asked to log in for the same scopes.
const N_ATTEMPTS_MAX: usize = 2;

/// The member of the answer of a person who has logged in.
const LOGGED_IN: &str = "logged_in";

type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Outcome<T, C> = Result<T, StreamableHttpError<<C as StreamableHttpClient>::Error>>;

/// A client whose requests carry the token of a login, if the server has one.
#[derive(Debug, Clone)]
pub(crate) struct Bearer<C> {
    client: C,
    login: Option<Arc<Login>>,
}

#[derive(Debug)]
struct Login {
    tokens: Tokens,
    questions: Arc<OpenQuestions>,
    /// The scopes of each login that a person was asked for, and those that are not asked for again.
    attempts: Mutex<Vec<Vec<String>>>,
}

/// Whether a person may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    Person,
    NoOne,
}

impl Asking {
    /// A person is asked about what a turn wants of the server. While the server starts, no one can answer yet.
    fn about(message: &ClientJsonRpcMessage) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else { return Self::NoOne };
        match request.request {
            ClientRequest::CallToolRequest(_) | ClientRequest::ReadResourceRequest(_) => Self::Person,
            _ => Self::NoOne,
        }
    }
}

impl<C> Bearer<C> {
    /// Adds the token of a login, and asks the person at the server's connection.
    pub(crate) fn new(client: C, tokens: Option<Tokens>, questions: Arc<OpenQuestions>) -> Self {
        let login = tokens.map(|tokens| Arc::new(Login { tokens, questions, attempts: Mutex::default() }));
        Self { client, login }
    }
}

impl<C: StreamableHttpClient + Sync> Bearer<C> {
    async fn sent<T, F>(
        &self,
        given: Option<String>,
        asking: Asking,
        send: impl Fn(Option<String>) -> F,
    ) -> Outcome<T, C>
    where
        F: Future<Output = Outcome<T, C>>,
    {
        let Some(login) = &self.login else { return send(given).await };
        let token = login.tokens.current().await.map_err(|error| failed(&error))?;
        let mut outcome = challenged(send(token.as_ref().map(|token| token.reveal().to_owned())).await);
        if let (Err(StreamableHttpError::AuthRequired(_)), Some(token)) = (&outcome, &token) {
            match login.tokens.renewed(Some(token)).await {
                Ok(new) if new != *token => outcome = challenged(send(Some(new.reveal().to_owned())).await),
                Ok(_) | Err(LoginError::NotLoggedIn | LoginError::Ended(_)) => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        let Some(header) = outcome.as_ref().err().and_then(StreamableHttpError::auth_challenge) else { return outcome };
        if asking == Asking::NoOne || !login.logged_in_again(header).await {
            return outcome;
        }
        match login.tokens.current().await.map_err(|error| failed(&error))? {
            Some(token) => challenged(send(Some(token.reveal().to_owned())).await),
            None => outcome,
        }
    }
}

impl Login {
    /// Asks the person to log in with what the server wants. Whether they did.
    async fn logged_in_again(&self, header: &str) -> bool {
        let spec = self.tokens.spec();
        let wanted = wanted(header, &spec.url);
        let number = {
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            if attempts.iter().filter(|scopes| is_same(scopes, &wanted)).count() >= N_ATTEMPTS_MAX {
                return false;
            }
            attempts.push(wanted.clone());
            attempts.len()
        };
        let granted = self.tokens.stored().ok().flatten().map(|login| login.scopes).unwrap_or_default();
        let challenge = Challenge { header: header.to_owned(), granted };
        let begun = LoginAttempt::answering(spec.clone(), self.tokens.clients(), Some(&challenge)).await;
        let finished = match begun {
            Ok(attempt) => self.questions.while_open(self.asked(attempt, number)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &finished {
            tracing::warn!(server = spec.name, %error, "no one logged in to an MCP server");
        }
        if finished == Err(LoginError::NotLoggedIn) {
            // A person who declines is not asked again.
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            attempts.extend([wanted.clone(), wanted]);
        }
        finished.is_ok()
    }

    async fn asked(&self, attempt: LoginAttempt, number: usize) -> Result<(), LoginError> {
        let name = &self.tokens.spec().name;
        let request = ElicitationRequest {
            server_name: name.clone(),
            id: ElicitationId::Text(format!("login-{number}")),
            message: format!(
                "The MCP server `{name}` needs a login. Open this address in a browser: {}",
                attempt.url()
            ),
            // A value without a default, so that a client that accepts every question by itself does not accept this one.
            schema: json!({
                "type": "object",
                "properties": { LOGGED_IN: { "type": "boolean", "title": "I have logged in" } },
                "required": [LOGGED_IN],
            }),
            url: None,
        };
        let mut finishing = std::pin::pin!(attempt.finish_within(PERSON_PATIENCE, None, |_| {}));
        let mut finished = None;
        let answer = self.questions.ask(request, async { finished = Some(finishing.as_mut().await) }).await;
        let is_answered = answer.content.is_some_and(|content| content[LOGGED_IN] == true);
        match finished {
            Some(finished) => finished,
            None if answer.action == ElicitationAction::Accept && is_answered => finishing.await,
            None => Err(LoginError::NotLoggedIn),
        }
    }
}

/// The scopes that a challenge names.
fn wanted(header: &str, url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    rules::challenge_scopes(WWWAuthenticateParams::parse(header, &url).scope.as_deref())
}

fn is_same(scopes: &[String], others: &[String]) -> bool {
    scopes.iter().collect::<HashSet<_>>() == others.iter().collect::<HashSet<_>>()
}

/// A refusal without a challenge is a refusal, too.
fn challenged<T, E: Error + Send + Sync + 'static>(
    outcome: Result<T, StreamableHttpError<E>>,
) -> Result<T, StreamableHttpError<E>> {
    match outcome {
        Err(StreamableHttpError::UnexpectedServerResponse(text)) if text.starts_with("HTTP 401") => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())))
        }
        outcome => outcome,
    }
}

fn failed<E: Error + Send + Sync + 'static>(error: &LoginError) -> StreamableHttpError<E> {
    StreamableHttpError::Io(io::Error::other(error.clone()))
}

/// What to do about a request that failed because of the login; absent if it failed for another reason.
pub(crate) fn remedy(error: &ServiceError, tokens: Option<&Tokens>) -> Option<String> {
    let ServiceError::TransportSend(sending) = error else { return None };
    remedy_of_sending(sending, tokens)
}

/// The same for a message that could not be sent.
pub(crate) fn remedy_of_sending(sending: &DynamicTransportError, tokens: Option<&Tokens>) -> Option<String> {
    let spec = tokens?.spec();
    let mut cause: Option<&(dyn Error + 'static)> = Some(sending.error.as_ref());
    while let Some(error) = cause {
        if error.is::<AuthRequiredError>() {
            let (name, command) = (&spec.name, spec.command(&[]));
            return Some(format!("the MCP server `{name}` needs a login; run `{command}`"));
        }
        if let Some(error) = error.downcast_ref::<InsufficientScopeError>() {
            let granted = tokens.and_then(|tokens| tokens.stored().ok().flatten());
            let granted = granted.map(|login| login.scopes).unwrap_or_default();
            let wanted = wanted(&error.www_authenticate_header, &spec.url);
            // A server chooses its scopes, and the command may be copied to a shell.
            let is_plain = |scope: &String| scope.chars().all(|it| it.is_ascii_alphanumeric() || "-_.:/".contains(it));
            let scopes: Vec<String> = rules::together(&granted, &wanted).into_iter().filter(is_plain).collect();
            let (name, command) = (&spec.name, spec.command(&scopes));
            return Some(format!("the login at the MCP server `{name}` does not cover this; run `{command}`"));
        }
        cause = error.source();
    }
    None
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for Bearer<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse, C> {
        let asking = Asking::about(&message);
        let send =
            |token| self.client.post_message(uri.clone(), message.clone(), session.clone(), token, headers.clone());
        self.sent(token, asking, send).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Outcome<StreamableHttpPostResponse, C> {
        let asking = Asking::about(&message);
        let send = |token| {
            let (uri, message, session) = (uri.clone(), message.clone(), session.clone());
            self.client.post_message_with_max_sse_event_size(uri, message, session, token, headers.clone(), max)
        };
        self.sent(token, asking, send).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<(), C> {
        let send = |token| self.client.delete_session(uri.clone(), session.clone(), token, headers.clone());
        self.sent(token, Asking::NoOne, send).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<Events, C> {
        let send = |token| self.client.get_stream(uri.clone(), session.clone(), last.clone(), token, headers.clone());
        self.sent(token, Asking::NoOne, send).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Outcome<Events, C> {
        let send = |token| {
            let (uri, session, last) = (uri.clone(), session.clone(), last.clone());
            self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), max)
        };
        self.sent(token, Asking::NoOne, send).await
    }
}
