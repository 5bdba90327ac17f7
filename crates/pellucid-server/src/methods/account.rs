//! `account/*` and `getAuthStatus`: the account that requests are sent for.
//!
//! Only API keys can be logged in with here. A ChatGPT login that another program stored is shown.
//!
//! Not here: where a login is stored and which logins are allowed (`pellucid_agent::login`).

use std::collections::BTreeMap;

use pellucid_agent::login;
use pellucid_agent::login::LoginError;
use pellucid_config::Config;
use pellucid_model::credentials::StoredLogin;
use pellucid_model::credentials::TokenKeeper;
use pellucid_protocol::secret::Secret;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use uuid::Uuid;

use super::NoParams;
use super::current;
use super::notices::AnswerWithNotices;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::types::notification::AccountLoginCompletedNotification;
use crate::types::notification::AccountUpdatedNotification;
use crate::types::notification::AuthMode;
use crate::types::usage::PlanType;
use crate::types::usage::RateLimitSnapshot;

/// The parameters of `account/read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct GetAccountParams {
    /// Whether tokens are refreshed first. Keys need no refresh.
    pub refresh_token: bool,
}

/// The result of `account/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GetAccountResponse {
    /// The account that requests are sent for; `null` if no account is logged in.
    pub account: Option<Account>,
    /// Whether the configured provider needs an OpenAI login.
    pub requires_openai_auth: bool,
}

/// The account that requests are sent for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Account {
    /// An API key, whose owner is unknown.
    ApiKey {},
    Chatgpt {
        /// The account's email address.
        email: String,
        plan_type: PlanType,
    },
}

/// The parameters of `account/login/start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LoginAccountParams {
    /// An API key.
    ApiKey {
        #[cfg_attr(test, schemars(with = "String"))]
        api_key: Secret,
    },
    /// A sign-in in the browser.
    Chatgpt,
    /// ChatGPT tokens that the client manages.
    ChatgptAuthTokens {
        /// The token for the `Authorization` header.
        #[cfg_attr(test, schemars(with = "String"))]
        access_token: Secret,
        /// The id of the account or workspace.
        chatgpt_account_id: String,
        #[serde(default)]
        chatgpt_plan_type: Option<String>,
    },
}

impl LoginAccountParams {
    /// The experimental part of the request, if it has one.
    pub fn experimental(&self) -> Option<&'static str> {
        matches!(self, Self::ChatgptAuthTokens { .. }).then_some("account/login/start.chatgptAuthTokens")
    }
}

/// The result of `account/login/start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LoginAccountResponse {
    /// The key was stored.
    ApiKey {},
    /// The user continues in the browser.
    Chatgpt {
        /// The id of the sign-in.
        login_id: String,
        /// The page on which the user signs in.
        auth_url: String,
    },
    /// The tokens are used from now on.
    ChatgptAuthTokens {},
}

/// The parameters of `account/login/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CancelLoginAccountParams {
    /// The id of the sign-in to cancel.
    pub login_id: String,
}

/// The result of `account/login/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CancelLoginAccountResponse {
    /// Whether there was such a sign-in.
    pub status: CancelLoginAccountStatus,
}

/// Whether a sign-in was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CancelLoginAccountStatus {
    /// The sign-in was cancelled.
    Canceled,
    /// No sign-in has this id.
    NotFound,
}

/// The result of `account/logout`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LogoutAccountResponse {}

/// The result of `account/rateLimits/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GetAccountRateLimitsResponse {
    /// The limits of the account.
    pub rate_limits: RateLimitSnapshot,
    /// All limits, by their ids.
    pub rate_limits_by_limit_id: Option<BTreeMap<String, RateLimitSnapshot>>,
}

/// The parameters of `getAuthStatus`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct GetAuthStatusParams {
    /// Whether the response should contain the key or token.
    pub include_token: Option<bool>,
    /// Whether tokens are refreshed first. Keys need no refresh.
    pub refresh_token: Option<bool>,
}

/// The result of `getAuthStatus`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GetAuthStatusResponse {
    /// How requests are authenticated; `null` if no account is logged in.
    pub auth_method: Option<AuthMode>,
    /// The key or token, if the client asked for it.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub auth_token: Option<Secret>,
    /// Whether the configured provider needs an OpenAI login.
    pub requires_openai_auth: Option<bool>,
}

/// Handles `account/read`.
///
/// # Errors
/// When the stored login cannot be read.
pub async fn read(server: &Server, _params: GetAccountParams) -> Result<GetAccountResponse, RpcError> {
    let config = current(server, None)?;
    let requires_openai_auth = config.model.provider.requires_openai_auth;
    let stored = if requires_openai_auth { stored(&config)? } else { None };
    let account = stored.map(|stored| match stored {
        StoredLogin::ApiKey(_) => Account::ApiKey {},
        StoredLogin::ChatGpt(login) => {
            Account::Chatgpt { email: login.email.unwrap_or_default(), plan_type: plan(login.plan.as_deref()) }
        }
    });
    Ok(GetAccountResponse { account, requires_openai_auth })
}

/// Handles `account/login/start`.
///
/// # Errors
/// When the login is not allowed, not supported, or cannot be stored.
pub async fn login_start(
    server: &Server,
    params: LoginAccountParams,
) -> Result<AnswerWithNotices<LoginAccountResponse>, RpcError> {
    let config = current(server, None)?;
    match params {
        LoginAccountParams::ApiKey { api_key } => {
            login::log_in(&config, &api_key).map_err(|error| refused(&error))?;
            let completed = AccountLoginCompletedNotification { login_id: None, success: true, error: None };
            let updated = AccountUpdatedNotification { auth_mode: Some(AuthMode::ApiKey) };
            Ok(AnswerWithNotices {
                result: LoginAccountResponse::ApiKey {},
                notices: vec![completed.into(), updated.into()],
            })
        }
        LoginAccountParams::Chatgpt | LoginAccountParams::ChatgptAuthTokens { .. } => {
            login::allow_chatgpt(&config).map_err(|error| refused(&error))?;
            Err(RpcError::invalid(
                "signing in with ChatGPT is not supported; log in with an API key: \
                 `account/login/start` with the type `apiKey`, or `pellucid login --with-api-key`",
            ))
        }
    }
}

/// Handles `account/login/cancel`.
///
/// # Errors
/// When the id is not a sign-in's.
pub async fn login_cancel(
    _server: &Server,
    params: CancelLoginAccountParams,
) -> Result<CancelLoginAccountResponse, RpcError> {
    let id = params.login_id;
    Uuid::parse_str(&id).map_err(|_| RpcError::invalid(format!("invalid login id: {id}")))?;
    // A login with a key is complete at once, so there is never a sign-in to cancel.
    Ok(CancelLoginAccountResponse { status: CancelLoginAccountStatus::NotFound })
}

/// Handles `account/logout`.
///
/// # Errors
/// When the stored login cannot be removed.
pub async fn logout(server: &Server, _params: NoParams) -> Result<AnswerWithNotices<LogoutAccountResponse>, RpcError> {
    login::log_out(&current(server, None)?).map_err(|error| RpcError::internal(format!("logout failed: {error}")))?;
    let updated = AccountUpdatedNotification { auth_mode: None };
    Ok(AnswerWithNotices { result: LogoutAccountResponse {}, notices: vec![updated.into()] })
}

/// Handles `account/rateLimits/read`.
///
/// # Errors
/// Always: only ChatGPT accounts have limits, and Pellucid does not ask for them.
pub async fn rate_limits_read(server: &Server, _params: NoParams) -> Result<GetAccountRateLimitsResponse, RpcError> {
    Err(match stored(&current(server, None)?)? {
        None => RpcError::invalid("codex account authentication required to read rate limits"),
        Some(StoredLogin::ApiKey(_)) => RpcError::invalid("chatgpt authentication required to read rate limits"),
        Some(StoredLogin::ChatGpt(_)) => {
            RpcError::internal("reading the limits of a ChatGPT account is not supported; log in with an API key")
        }
    })
}

/// Handles `getAuthStatus`.
///
/// # Errors
/// When the stored login cannot be read.
pub async fn auth_status(server: &Server, params: GetAuthStatusParams) -> Result<GetAuthStatusResponse, RpcError> {
    let config = current(server, None)?;
    let requires_openai_auth = config.model.provider.requires_openai_auth;
    let stored = if requires_openai_auth { stored(&config)? } else { None };
    let (auth_method, token) = match stored {
        None => (None, None),
        Some(StoredLogin::ApiKey(key)) => (Some(AuthMode::ApiKey), Some(key)),
        Some(StoredLogin::ChatGpt(login)) => {
            let mode = match login.keeper {
                TokenKeeper::Program => AuthMode::Chatgpt,
                TokenKeeper::Client => AuthMode::ChatgptAuthTokens,
            };
            (Some(mode), login.access_token)
        }
    };
    let auth_token = token.filter(|_| params.include_token.unwrap_or(false));
    Ok(GetAuthStatusResponse { auth_method, auth_token, requires_openai_auth: Some(requires_openai_auth) })
}

fn stored(config: &Config) -> Result<Option<StoredLogin>, RpcError> {
    login::stored(config).map_err(|error| RpcError::internal(error.to_string()))
}

fn refused(error: &LoginError) -> RpcError {
    match error {
        LoginError::KeyDisabled | LoginError::ChatGptDisabled | LoginError::EmptyKey | LoginError::NoKeyring { .. } => {
            RpcError::invalid(error.to_string())
        }
        LoginError::Credentials(_) => RpcError::internal(format!("failed to save api key: {error}")),
    }
}

fn plan(plan: Option<&str>) -> PlanType {
    plan.and_then(|plan| PlanType::from_word(&plan.to_lowercase())).unwrap_or(PlanType::Unknown)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;
    use serde_json::json;

    use super::*;
    use crate::methods::fixture::World;
    use crate::methods::fixture::world;

    async fn login(world: &World, params: Value) -> String {
        let params = serde_json::from_value(params).unwrap();
        let announced = login_start(&world.server, params).await;
        world.answer(announced.map(|announced| json!([announced.result, announced.notices])))
    }

    async fn status(world: &World, include_token: bool) -> String {
        let params = GetAuthStatusParams { include_token: Some(include_token), refresh_token: None };
        let account = read(&world.server, GetAccountParams::default()).await.unwrap();
        let status = auth_status(&world.server, params).await.unwrap();
        json!([account, status]).to_string()
    }

    #[tokio::test]
    async fn a_key_is_stored_and_removed() {
        let world = world(&[], &[]);
        expect![[r#"[{"account":null,"requiresOpenaiAuth":true},{"authMethod":null,"authToken":null,"requiresOpenaiAuth":true}]"#]].assert_eq(&status(&world, true).await);
        expect![[r#"
            [
              {
                "type": "apiKey"
              },
              [
                {
                  "method": "account/login/completed",
                  "params": {
                    "loginId": null,
                    "success": true,
                    "error": null
                  }
                },
                {
                  "method": "account/updated",
                  "params": {
                    "authMode": "apikey"
                  }
                }
              ]
            ]"#]]
        .assert_eq(&login(&world, json!({"type": "apiKey", "apiKey": "sk-test"})).await);
        expect![[r#"[{"account":{"type":"apiKey"},"requiresOpenaiAuth":true},{"authMethod":"apikey","authToken":null,"requiresOpenaiAuth":true}]"#]].assert_eq(&status(&world, false).await);
        expect![[r#"[{"account":{"type":"apiKey"},"requiresOpenaiAuth":true},{"authMethod":"apikey","authToken":"sk-test","requiresOpenaiAuth":true}]"#]].assert_eq(&status(&world, true).await);
        let announced = logout(&world.server, NoParams {}).await.unwrap();
        expect![[r#"[{},[{"method":"account/updated","params":{"authMode":null}}]]"#]]
            .assert_eq(&json!([announced.result, announced.notices]).to_string());
        assert!(!world.path("home/auth.json").exists());
        assert!(logout(&world.server, NoParams {}).await.is_ok());
    }

    #[tokio::test]
    async fn other_logins_are_refused() {
        let world = world(&[], &[]);
        expect!["-32600: signing in with ChatGPT is not supported; log in with an API key: `account/login/start` with the type `apiKey`, or `pellucid login --with-api-key`"].assert_eq(&login(&world, json!({"type": "chatgpt"})).await);
        expect!["-32600: the API key is empty"]
            .assert_eq(&login(&world, json!({"type": "apiKey", "apiKey": " "})).await);
        let tokens = json!({"type": "chatgptAuthTokens", "accessToken": "x", "chatgptAccountId": "y"});
        assert!(login(&world, tokens).await.starts_with("-32600: signing in with ChatGPT is not supported"));
    }

    #[tokio::test]
    async fn the_configuration_may_allow_one_kind_only() {
        let accounts = world(&[], &["forced_login_method=chatgpt"]);
        expect![[r#"-32600: API key login is disabled: the configuration says forced_login_method = "chatgpt""#]]
            .assert_eq(&login(&accounts, json!({"type": "apiKey", "apiKey": "sk"})).await);
        let keys = world(&[], &["forced_login_method=api"]);
        expect![[r#"-32600: ChatGPT login is disabled: the configuration says forced_login_method = "api""#]]
            .assert_eq(&login(&keys, json!({"type": "chatgpt"})).await);
    }

    #[tokio::test]
    async fn a_provider_without_login_has_no_account() {
        let world = world(
            &[
                (
                    "home/config.toml",
                    "model_provider = \"m\"\n[model_providers.m]\nname = \"M\"\nbase_url = \"http://127.0.0.1:9\"\n",
                ),
                ("home/auth.json", r#"{"OPENAI_API_KEY":"sk-test"}"#),
            ],
            &[],
        );
        expect![[r#"[{"account":null,"requiresOpenaiAuth":false},{"authMethod":null,"authToken":null,"requiresOpenaiAuth":false}]"#]].assert_eq(&status(&world, true).await);
    }

    #[tokio::test]
    async fn limits_belong_to_accounts() {
        let world = world(&[], &[]);
        expect!["-32600: codex account authentication required to read rate limits"]
            .assert_eq(&world.answer(rate_limits_read(&world.server, NoParams {}).await));
        login(&world, json!({"type": "apiKey", "apiKey": "sk-test"})).await;
        expect!["-32600: chatgpt authentication required to read rate limits"]
            .assert_eq(&world.answer(rate_limits_read(&world.server, NoParams {}).await));
    }

    #[tokio::test]
    async fn there_is_no_sign_in_to_give_up() {
        let world = world(&[], &[]);
        let cancel = async |id: &str| {
            let params = CancelLoginAccountParams { login_id: id.to_owned() };
            world.answer(login_cancel(&world.server, params).await)
        };
        expect!["-32600: invalid login id: x"].assert_eq(&cancel("x").await);
        expect![[r#"
            {
              "status": "notFound"
            }"#]]
        .assert_eq(&cancel("6f1d7c3e-0000-4000-8000-000000000000").await);
    }

    #[test]
    fn plans_are_known_by_name() {
        assert_eq!(plan(Some("Plus")), PlanType::Plus);
        assert_eq!(plan(Some("guest")), PlanType::Unknown);
        assert_eq!(plan(None), PlanType::Unknown);
    }
}
