//! One login by a person in a browser: metadata, registration, the address to open, the code, the stored token.
//!
//! Not here: opening the browser, reading what a person pastes.

use std::fmt;
use std::future::pending;
use std::time::Duration;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use pellucid_protocol::secret::Secret;
use reqwest::Url;
use rmcp::transport::auth::AuthError;
use rmcp::transport::auth::AuthorizationCallback;
use rmcp::transport::auth::AuthorizationManager;
use rmcp::transport::auth::AuthorizationMetadata;
use rmcp::transport::auth::AuthorizationMetadataSource;
use rmcp::transport::auth::ClientCredentialsConfig;
use rmcp::transport::auth::OAuthClientConfig;
use rmcp::transport::auth::OAuthTokenResponse;
use serde::Deserialize;
use tokio::sync::mpsc;

use super::Grant;
use super::LoginError;
use super::LoginSpec;
use super::callback;
use super::callback::CallbackPage;
use super::callback::Meaning;
use super::callback::Return;
use super::http::LoginHttp;
use super::rules;
use super::rules::Identity;
use super::store::LoginStore;
use super::store::StoredLogin;
use super::words;
use crate::spec::HttpClients;

/// The name under which this client registers.
const CLIENT_NAME: &str = "Pellucid";

/// A login that waits for a person.
pub struct LoginAttempt {
    authority: Authority,
    page: CallbackPage,
    url: String,
    state: String,
    /// The scopes that were requested.
    scopes: Vec<String>,
    client: OAuthClientConfig,
    spec: LoginSpec,
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginAttempt").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What a request of the server showed it wants: the header of its refusal and the scopes that were granted before.
#[derive(Debug, Clone, Default)]
pub(super) struct Challenge {
    pub header: String,
    pub granted: Vec<String>,
}

/// How the server refuses requests, which leads to its authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal<'a> {
    /// The header of a refusal that was seen.
    Seen(&'a str),
    /// The server is asked.
    ToBeSeen,
    /// The scopes that a refusal names do not matter.
    NotNeeded,
}

/// An authorization server, found for a server.
pub(super) struct Authority {
    pub manager: AuthorizationManager,
    pub metadata: AuthorizationMetadata,
    pub http: LoginHttp,
}

impl Authority {
    /// Looks for the authorization server of a server.
    pub(super) async fn find(
        spec: &LoginSpec,
        clients: &HttpClients,
        refusal: Refusal<'_>,
    ) -> Result<Self, LoginError> {
        let url = Url::parse(&spec.url)
            .map_err(|error| LoginError::Failed(format!("its address `{}` is not valid: {error}", spec.url)))?;
        let http = LoginHttp::new(clients.clone(), url.clone(), spec.headers.clone());
        let failed = |error: AuthError| LoginError::Failed(words::sentence(&error, &http));
        let manager = AuthorizationManager::new_with_oauth_http_client(url, std::sync::Arc::new(http.clone())).await;
        let mut manager = manager.map_err(failed)?;
        let challenge = match refusal {
            Refusal::Seen(header) => Some(header.to_owned()),
            Refusal::ToBeSeen => http.challenge().await,
            Refusal::NotNeeded => None,
        };
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
        if let Some(foreign) = http.foreign_resource() {
            let foreign = http.tame(&foreign);
            let text = format!("the server describes another resource, {foreign}; a token for it is not requested");
            return Err(LoginError::Failed(text));
        }
        let found = found.map_err(failed)?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            tracing::info!(
                server = spec.name,
                "the MCP server describes no login; the addresses of 2025-03-26 are tried"
            );
        }
        manager.set_metadata(found.metadata.clone());
        Ok(Self { manager, metadata: found.metadata, http })
    }

    pub(super) fn failed(&self, error: &AuthError) -> LoginError {
        LoginError::Failed(words::sentence(error, &self.http))
    }

    /// A login as it is stored.
    pub(super) fn login(
        &self,
        spec: &LoginSpec,
        client_id: &str,
        secret: Option<&str>,
        answer: &OAuthTokenResponse,
        asked: &[String],
    ) -> Result<StoredLogin, LoginError> {
        let token: Token = serde_json::to_value(answer)
            .and_then(serde_json::from_value)
            .map_err(|_| LoginError::Failed("the answer of the authorization server is not a token".to_owned()))?;
        let scopes = token.scope.map_or_else(|| asked.to_vec(), |scope| rules::challenge_scopes(Some(&scope)));
        let lifetime = token.expires_in.map(|seconds| seconds.saturating_mul(1000));
        Ok(StoredLogin {
            server_name: spec.name.clone(),
            server_url: spec.url.clone(),
            client_id: client_id.to_owned(),
            access_token: token.access_token,
            expires_at: lifetime.map(|lifetime| now().saturating_add(lifetime)),
            refresh_token: token.refresh_token,
            scopes,
            issuer: self.metadata.issuer.clone(),
            client_secret: secret.map(Secret::new),
        })
    }

    /// Gets a token with the secret of the configured client.
    pub(super) async fn client_credentials(mut self, spec: &LoginSpec) -> Result<StoredLogin, LoginError> {
        let (Some(client_id), Some(secret)) = (&spec.client_id, spec.secret()?) else {
            return Err(LoginError::Failed(format!(
                "`grant = \"client_credentials\"` needs `client_id` and `client_secret_env_var` in [mcp_servers.{}.oauth]",
                spec.name
            )));
        };
        self.http.conceal(&secret);
        let named = self.manager.select_initial_scopes(&[]).await;
        let scopes: Vec<String> = rules::together(if spec.scopes.is_empty() { &named } else { &spec.scopes }, &[]);
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: client_id.clone(),
            client_secret: secret.reveal().to_owned(),
            scopes: scopes.clone(),
            resource: Some(self.http.resource()),
        };
        let prepared = self.manager.validate_client_credentials_metadata(&config);
        let prepared = prepared.and_then(|()| self.manager.configure_client_credentials(&config));
        prepared.map_err(|error| self.failed(&error))?;
        let answer = self.manager.exchange_client_credentials(&config).await.map_err(|error| self.failed(&error))?;
        // The secret stays where the configuration has it.
        self.login(spec, client_id, None, &answer, &scopes)
    }
}

/// The token of an answer.
#[derive(Deserialize)]
struct Token {
    access_token: Secret,
    expires_in: Option<u64>,
    refresh_token: Option<Secret>,
    scope: Option<String>,
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Gets a token without a person, as `grant = "client_credentials"` says, and stores it.
///
/// # Errors
/// If the authorization server gives no token, or the token cannot be stored.
pub async fn log_in_alone(spec: &LoginSpec, clients: &HttpClients) -> Result<(), LoginError> {
    let login = Authority::find(spec, clients, Refusal::ToBeSeen).await?.client_credentials(spec).await?;
    LoginStore::in_home(&spec.home).put(&login).await
}

impl LoginAttempt {
    /// Prepares a login: finds the authorization server, makes this client known to it and listens for the browser.
    ///
    /// # Errors
    /// If the server offers no login, or the authorization server refuses this client.
    pub async fn begin(spec: LoginSpec, clients: &HttpClients) -> Result<Self, LoginError> {
        Self::answering(spec, clients, None).await
    }

    /// The same, for a server that refused a request.
    pub(super) async fn answering(
        spec: LoginSpec,
        clients: &HttpClients,
        challenge: Option<&Challenge>,
    ) -> Result<Self, LoginError> {
        if spec.grant == Grant::ClientCredentials {
            let text = "its configuration says `grant = \"client_credentials\"`, for which no browser is opened";
            return Err(LoginError::Failed(text.to_owned()));
        }
        let configured_secret = spec.secret()?;
        let refusal = challenge.map_or(Refusal::ToBeSeen, |challenge| Refusal::Seen(&challenge.header));
        let mut authority = Authority::find(&spec, clients, refusal).await?;
        let named = authority.manager.select_initial_scopes(&[]).await;
        let wanted = match challenge {
            Some(challenge) => rules::together(&rules::together(&spec.scopes, &challenge.granted), &named),
            None => spec.scopes.clone(),
        };
        let scopes = rules::scopes(&wanted, named, &authority.metadata);
        let page = CallbackPage::listen(spec.callback_port).await.map_err(|error| {
            let port = spec.callback_port.map_or_else(|| "a free port".to_owned(), |port| format!("port {port}"));
            LoginError::Failed(format!(
                "{port} of this computer, to which the browser returns, cannot be used: {error}"
            ))
        })?;
        let client = authority.client(&spec, configured_secret, &page.address(), &scopes).await?;
        let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let url = authority.manager.get_authorization_url(&asked).await.map_err(|error| authority.failed(&error))?;
        let state = Url::parse(&url)
            .ok()
            .and_then(|url| url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned()));
        let state = state.ok_or_else(|| LoginError::Failed("the address of the login has no state".to_owned()))?;
        Ok(Self { authority, page, url, state, scopes, client, spec })
    }

    /// The address at which the person logs in.
    pub fn url(&self) -> &str {
        &self.url
    }

    async fn finish(
        self,
        mut pasted: Option<mpsc::Receiver<String>>,
        refused: impl Fn(&str),
    ) -> Result<(), LoginError> {
        let Self { authority, page, state, scopes, client, spec, .. } = self;
        let paste = async {
            loop {
                let line = match &mut pasted {
                    Some(lines) => lines.recv().await,
                    None => pending().await,
                };
                let Some(line) = line else {
                    pending::<()>().await;
                    continue;
                };
                match callback::meaning(&line, &state) {
                    Meaning::Ended(returned) => return returned,
                    Meaning::OtherLogin => refused("this address belongs to another login"),
                    Meaning::OtherPage => refused("this is not the address to which the browser returned"),
                }
            }
        };
        let returned = tokio::select! {
            returned = page.returned(&state) => {
                returned.map_err(|error| LoginError::Failed(format!("the browser cannot return: {error}")))?
            }
            returned = paste => returned,
        };
        let address = match returned {
            Return::Code(address) => address,
            Return::Refused(error) => {
                let error = authority.http.tame(&error);
                return Err(LoginError::Failed(format!("the authorization server refused: {error}")));
            }
        };
        let callback = AuthorizationCallback::from_redirect_url(&address).map_err(|error| authority.failed(&error))?;
        authority.http.conceal(&Secret::new(callback.code.as_str()));
        let issuer = callback.issuer.as_deref();
        let exchanged =
            authority.manager.exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer).await;
        let answer = exchanged.map_err(|error| authority.failed(&error))?;
        // A configured secret stays where the configuration has it.
        let given = client.client_secret.as_deref().filter(|_| spec.client_secret.is_none());
        let login = authority.login(&spec, &client.client_id, given, &answer, &scopes)?;
        LoginStore::in_home(&spec.home).put(&login).await
    }

    /// Waits until the person has logged in, and stores the token. The address to which the browser returned may also
    /// be pasted; what is pasted and not that address is reported to `refused`.
    ///
    /// # Errors
    /// If the time is over, the authorization server refuses or is another one than its metadata says, or the token
    /// cannot be stored.
    pub async fn finish_within(
        self,
        limit: Duration,
        pasted: Option<mpsc::Receiver<String>>,
        refused: impl Fn(&str),
    ) -> Result<(), LoginError> {
        let finished = tokio::time::timeout(limit, self.finish(pasted, refused)).await;
        let late = |_| LoginError::Failed(format!("no one logged in within {} s", limit.as_secs()));
        finished.map_err(late)?
    }
}

impl Authority {
    /// Makes this client known: by the configured id, or by registering.
    async fn client(
        &mut self,
        spec: &LoginSpec,
        configured_secret: Option<Secret>,
        address: &str,
        scopes: &[String],
    ) -> Result<OAuthClientConfig, LoginError> {
        let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let mut client = match rules::identity(spec.client_id.as_deref(), &self.metadata) {
            Identity::Known(id) => {
                let mut client = OAuthClientConfig::new(id, address);
                client.client_secret = configured_secret.map(|secret| secret.reveal().to_owned());
                client
            }
            Identity::Register => {
                if self.metadata.registration_endpoint.is_none() {
                    return Err(LoginError::Failed(format!(
                        "the authorization server registers no clients; give it a client that it knows by `client_id` \
                         in [mcp_servers.{}.oauth]",
                        spec.name
                    )));
                }
                let registered = self.manager.register_client(CLIENT_NAME, address, &asked).await;
                registered.map_err(|error| self.failed(&error))?
            }
        };
        if !rules::takes_secret(&self.metadata) {
            client.client_secret = None;
        }
        if let Some(secret) = &client.client_secret {
            self.http.conceal(&Secret::new(secret.as_str()));
        }
        self.manager.configure_client(client.clone()).map_err(|error| self.failed(&error))?;
        Ok(client)
    }
}
