//! The requests of a login: bounded, within the same server when redirected, and what they showed.
//!
//! The SDK asks for requests; what they carry and bring is noted here: secrets that no error may repeat, and documents
//! about a resource that is not the server.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_protocol::secret::Secret;
use reqwest::Url;
use rmcp::transport::auth::OAuthHttpClient;
use rmcp::transport::auth::OAuthHttpClientError;
use rmcp::transport::auth::OAuthHttpClientFuture;
use rmcp::transport::auth::OAuthHttpRequest;
use serde_json::Value;
use serde_json::json;

use super::rules;
use crate::spec::HttpClients;

/// A longer answer is refused.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The members of requests and answers that are secret.
const SECRET_MEMBERS: [&str; 9] = [
    "access_token",
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "id_token",
    "refresh_token",
    "registration_access_token",
];

/// Sends the requests of a login.
#[derive(Debug, Clone)]
pub(super) struct LoginHttp {
    clients: HttpClients,
    server: Url,
    /// Headers of the configuration, which only the server receives.
    headers: Arc<BTreeMap<String, Secret>>,
    noted: Arc<Mutex<Noted>>,
}

/// What the requests of a login showed.
#[derive(Debug, Default)]
struct Noted {
    secrets: Vec<Secret>,
    resource: Option<String>,
    foreign: Option<String>,
}

impl LoginHttp {
    pub(super) fn new(clients: HttpClients, server: Url, headers: BTreeMap<String, Secret>) -> Self {
        let noted = Noted { secrets: headers.values().cloned().collect(), ..Noted::default() };
        Self { clients, server, headers: Arc::new(headers), noted: Arc::new(Mutex::new(noted)) }
    }

    /// The resource for which tokens are requested, as the server describes it.
    pub(super) fn resource(&self) -> String {
        self.noted().resource.clone().unwrap_or_else(|| self.server.to_string())
    }

    /// A resource that is not the server, although the server's description names it.
    pub(super) fn foreign_resource(&self) -> Option<String> {
        self.noted().foreign.clone()
    }

    /// Adds a text that no error may repeat.
    pub(super) fn conceal(&self, secret: &Secret) {
        self.noted().secrets.push(secret.clone());
    }

    /// A text for people in which no secret is left.
    pub(super) fn tame(&self, text: &str) -> String {
        rules::tame(text, self.noted().secrets.iter().map(Secret::reveal))
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_sent(&self, body: &[u8]) {
        // The body of another kind of request has no members in this notation.
        let Ok(body) = std::str::from_utf8(body) else { return };
        let Ok(members) = Url::parse(&format!("x:?{body}")) else { return };
        for (name, value) in members.query_pairs().filter(|(name, _)| SECRET_MEMBERS.contains(&name.as_ref())) {
            let _is_name_of_secret = name;
            self.conceal(&Secret::new(value));
        }
    }

    fn note_received(&self, is_document: bool, body: &[u8]) {
        let Ok(answer) = serde_json::from_slice::<Value>(body) else { return };
        for secret in SECRET_MEMBERS.iter().filter_map(|name| answer.get(name)?.as_str()) {
            self.conceal(&Secret::new(secret));
        }
        if let Some(resource) = rules::described_resource(&answer).filter(|_| is_document) {
            let is_ours = Url::parse(resource).is_ok_and(|resource| rules::is_ours(&self.server, &resource));
            let mut noted = self.noted();
            let noted = if is_ours { &mut noted.resource } else { &mut noted.foreign };
            *noted = Some(resource.to_owned());
        }
    }

    /// Asks the server for its tools without a token, and returns the challenge with which the server refuses. Many
    /// servers refuse only requests of the protocol, and some answer the greeting to everyone.
    pub(super) async fn challenge(&self) -> Option<String> {
        let question = json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {} });
        let client = self.clients.get(self.server.as_str()).ok()?;
        let mut request = client.post(self.server.clone()).timeout(PATIENCE);
        for (name, value) in self.headers.iter() {
            request = request.header(name, value.reveal());
        }
        let accepted = "application/json, text/event-stream";
        let response = request.header(http::header::ACCEPT, accepted).json(&question).send().await.ok()?;
        if response.status() != http::StatusCode::UNAUTHORIZED {
            return None;
        }
        let challenges = response.headers().get_all(http::header::WWW_AUTHENTICATE);
        let mut challenges = challenges.iter().filter_map(|value| value.to_str().ok());
        challenges.find(|it| it.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))).map(str::to_owned)
    }

    async fn sent(&self, request: OAuthHttpRequest) -> Result<Answer, OAuthHttpClientError> {
        let patience = request.timeout.unwrap_or(PATIENCE).min(PATIENCE);
        let mut request = reqwest::Request::try_from(request.request)?;
        let url = request.url().clone();
        if url.origin() == self.server.origin() {
            for (name, value) in self.headers.iter() {
                let name = http::HeaderName::try_from(name)?;
                let value = http::HeaderValue::try_from(value.reveal())?;
                // What the protocol sends is stronger.
                request.headers_mut().entry(name).or_insert(value);
            }
        }
        let is_document = request.method() == reqwest::Method::GET;
        if let Some(body) = request.body().and_then(reqwest::Body::as_bytes) {
            self.note_sent(body);
        }
        *request.timeout_mut() = Some(patience);
        let mut response =
            self.clients.get(url.as_str())?.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut answer = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if chunk.len() > ANSWER_BYTES_MAX - body.len() {
                return Err(io::Error::other(format!("the answer has more than {ANSWER_BYTES_MAX} bytes")).into());
            }
            body.extend_from_slice(&chunk);
        }
        self.note_received(is_document, &body);
        Ok(answer.body(body)?)
    }
}

type Answer = http::Response<Vec<u8>>;

impl OAuthHttpClient for LoginHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.sent(request))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::auth::tests::http_clients;

    #[test]
    fn secrets_of_requests_and_answers_are_noted() {
        let http = LoginHttp::new(http_clients(), Url::parse("http://h/mcp").unwrap(), BTreeMap::new());
        http.note_sent(b"grant_type=authorization_code&code=the%20secret%20code&client_id=visible");
        http.note_received(
            false,
            json!({"access_token": "planted-token", "scope": "all-scopes"}).to_string().as_bytes(),
        );
        expect!["[secret] visible [secret] all-scopes authorization_code"]
            .assert_eq(&http.tame("the secret code visible planted-token all-scopes authorization_code"));
    }

    #[test]
    fn a_foreign_resource_is_noted() {
        let http = LoginHttp::new(http_clients(), Url::parse("http://h/a/mcp").unwrap(), BTreeMap::new());
        let describe = |resource: &str| {
            let document = json!({"resource": resource, "authorization_servers": ["http://as"]});
            http.note_received(true, document.to_string().as_bytes());
        };
        assert_eq!(http.resource(), "http://h/a/mcp");
        describe("http://h/a");
        assert_eq!((http.resource().as_str(), http.foreign_resource()), ("http://h/a", None));
        describe("http://evil/a");
        assert_eq!(
            (http.resource().as_str(), http.foreign_resource().as_deref()),
            ("http://h/a", Some("http://evil/a"))
        );
    }
}
