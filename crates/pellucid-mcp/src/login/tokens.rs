//! The token for requests to a server: taken from the store, renewed 30 s before it ends.
//!
//! Processes that share a login renew its token one after the other, and each looks first whether another one has done
//! so: authorization servers that rotate refresh tokens take each of them once. A new token is stored before it is used.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_protocol::secret::Secret;
use rmcp::transport::auth::AuthError;
use rmcp::transport::auth::CredentialStore;
use rmcp::transport::auth::InMemoryCredentialStore;
use rmcp::transport::auth::OAuthClientConfig;
use rmcp::transport::auth::StoredCredentials;
use serde_json::json;

use super::Grant;
use super::LoginError;
use super::LoginSpec;
use super::attempt::Authority;
use super::attempt::Refusal;
use super::attempt::now;
use super::rules;
use super::rules::Freshness;
use super::store::LoginStore;
use super::store::StoredLogin;
use super::words;
use crate::spec::HttpClients;

/// The tokens of one server.
#[derive(Debug, Clone)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    spec: LoginSpec,
    clients: HttpClients,
    store: LoginStore,
    /// The newest tokens that were sent, which errors must not repeat.
    given: Mutex<Vec<Secret>>,
}

/// As many tokens are remembered as errors can still repeat.
const N_GIVEN_MAX: usize = 8;

impl Tokens {
    /// The tokens of a server.
    pub fn of(spec: LoginSpec, clients: HttpClients) -> Self {
        let store = LoginStore::in_home(&spec.home);
        Self(Arc::new(Inner { spec, clients, store, given: Mutex::default() }))
    }

    pub(super) fn spec(&self) -> &LoginSpec {
        &self.0.spec
    }

    pub(super) fn clients(&self) -> &HttpClients {
        &self.0.clients
    }

    /// The token to send. Absent if no one has logged in, or the login has ended: the server then says whether it
    /// needs a login.
    ///
    /// # Errors
    /// If the stored logins cannot be read, or a token that has ended could not be renewed for now.
    pub async fn current(&self) -> Result<Option<Secret>, LoginError> {
        let token = self.looked_up().await?;
        if let Some(token) = &token {
            self.remember(token);
        }
        Ok(token)
    }

    /// Whether a login is stored.
    pub fn is_stored(&self) -> bool {
        match self.stored() {
            Ok(login) => login.is_some(),
            Err(error) => {
                tracing::warn!(server = self.0.spec.name, %error, "the login of an MCP server cannot be read");
                false
            }
        }
    }

    /// The tokens that were sent.
    pub(crate) fn given(&self) -> Vec<Secret> {
        self.0.given.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, token: &Secret) {
        let mut given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.contains(token) {
            given.push(token.clone());
            let n_old = given.len().saturating_sub(N_GIVEN_MAX);
            given.drain(..n_old);
        }
    }

    async fn looked_up(&self) -> Result<Option<Secret>, LoginError> {
        let login = self.stored()?;
        let (login, freshness) = match login {
            Some(login) => {
                let freshness = rules::freshness(login.expires_at, now());
                (login, freshness)
            }
            None if self.0.spec.grant == Grant::ClientCredentials => return self.renewed(None).await.map(Some),
            None => return Ok(None),
        };
        if freshness == Freshness::Fresh {
            return Ok(Some(login.access_token));
        }
        match self.renewed(Some(&login.access_token)).await {
            Ok(token) => Ok(Some(token)),
            // What still works for some seconds is used.
            Err(error) if freshness == Freshness::EndsSoon => {
                tracing::warn!(server = self.0.spec.name, %error, "the token of an MCP server is not renewed");
                Ok(Some(login.access_token))
            }
            Err(LoginError::NotLoggedIn | LoginError::Ended(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A token in place of one that has ended or that the server refused.
    ///
    /// # Errors
    /// If a person has to log in again, or the token could not be renewed for now.
    pub(super) async fn renewed(&self, old: Option<&Secret>) -> Result<Secret, LoginError> {
        let token = self.renewed_in_turn(old).await?;
        self.remember(&token);
        Ok(token)
    }

    async fn renewed_in_turn(&self, old: Option<&Secret>) -> Result<Secret, LoginError> {
        let Inner { spec, store, .. } = &*self.0;
        let _held = store.lock_refresh(&spec.name, &spec.url).await?;
        let login = self.stored()?;
        // Another process, or a person, was quicker.
        if let Some(login) = login.as_ref().filter(|login| Some(&login.access_token) != old)
            && rules::freshness(login.expires_at, now()) == Freshness::Fresh
        {
            return Ok(login.access_token.clone());
        }
        let new = match (spec.grant, login) {
            (Grant::ClientCredentials, _) => {
                Authority::find(spec, &self.0.clients, Refusal::ToBeSeen).await?.client_credentials(spec).await?
            }
            (Grant::Code, Some(login)) => match self.refreshed(&login).await {
                // The other program does not wait for our lock, and may have spent the refresh token meanwhile.
                Err(LoginError::Ended(why)) => match self.stored()? {
                    Some(newer) if newer.access_token != login.access_token => return Ok(newer.access_token),
                    _ => return Err(LoginError::Ended(why)),
                },
                refreshed => refreshed?,
            },
            (Grant::Code, None) => return Err(LoginError::NotLoggedIn),
        };
        store.put(&new).await?;
        Ok(new.access_token)
    }

    /// The login with a new token from the authorization server.
    async fn refreshed(&self, login: &StoredLogin) -> Result<StoredLogin, LoginError> {
        let Inner { spec, clients, .. } = &*self.0;
        let Some(refresh_token) = &login.refresh_token else {
            return Err(LoginError::Ended("there is no token to renew it with".to_owned()));
        };
        let mut authority = Authority::find(spec, clients, Refusal::NotNeeded).await?;
        if !rules::is_same_issuer(login.issuer.as_deref(), authority.metadata.issuer.as_deref()) {
            return Err(LoginError::Ended("the server has another authorization server now".to_owned()));
        }
        let secret = match spec.secret()? {
            Some(secret) => Some(secret),
            None => login.client_secret.clone(),
        };
        let mut client = OAuthClientConfig::new(&login.client_id, &spec.url);
        if let Some(secret) = secret.filter(|_| rules::takes_secret(&authority.metadata)) {
            authority.http.conceal(&secret);
            client = client.with_client_secret(secret.reveal());
        }
        authority.http.conceal(refresh_token);
        authority.manager.configure_client(client).map_err(|error| authority.failed(&error))?;
        let answer = json!({
            "access_token": login.access_token.reveal(),
            "token_type": "bearer",
            "refresh_token": refresh_token.reveal(),
        });
        let answer = serde_json::from_value(answer).map_err(|error| LoginError::Failed(error.to_string()))?;
        let stored = StoredCredentials::new(login.client_id.clone(), Some(answer), login.scopes.clone(), None);
        let memory = InMemoryCredentialStore::new();
        memory.save(stored).await.map_err(|error| authority.failed(&error))?;
        authority.manager.set_credential_store(memory);
        let answer = authority.manager.refresh_token().await.map_err(|error| match error {
            AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired => {
                LoginError::Ended(words::sentence(&error, &authority.http))
            }
            error => authority.failed(&error),
        })?;
        let given = login.client_secret.as_ref().map(Secret::reveal);
        authority.login(spec, &login.client_id, given, &answer, &login.scopes)
    }

    /// The stored login.
    pub(super) fn stored(&self) -> Result<Option<StoredLogin>, LoginError> {
        self.0.store.get(&self.0.spec.name, &self.0.spec.url)
    }
}
