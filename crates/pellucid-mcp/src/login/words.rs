//! Errors of the SDK as sentences for people.
//!
//! Texts of servers are in some of them, so each goes through [`LoginHttp::tame`].

use std::error::Error;

use rmcp::transport::auth::AuthError;

use super::http::LoginHttp;

/// What went wrong, without secrets and control characters.
pub(super) fn sentence(error: &AuthError, http: &LoginHttp) -> String {
    let text = match error {
        AuthError::PkceUnsupported => "the authorization server does not support PKCE with S256".to_owned(),
        AuthError::NoAuthorizationSupport => "the server offers no login".to_owned(),
        AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => {
            format!("the authorization server should be {expected_issuer}, but names itself {received_issuer}")
        }
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
            format!("the authorization server should be {expected_issuer}, but does not name itself")
        }
        AuthError::MetadataError(text) => format!("the description of the login cannot be used: {text}"),
        AuthError::RegistrationFailed(text) => format!("this client could not register: {text}"),
        AuthError::AuthorizationFailed(text) => format!("the authorization failed: {text}"),
        AuthError::TokenExchangeFailed(text) | AuthError::ClientCredentialsError(text) => {
            format!("no token was given: {text}")
        }
        AuthError::TokenRefreshRejected(text) => format!("the token was not renewed: {text}"),
        AuthError::TokenRefreshFailed(text) => format!("the token could not be renewed: {text}"),
        AuthError::CredentialStoreError(text) => text.clone(),
        AuthError::InvalidScope(text) => format!("the authorization server does not offer what is needed: {text}"),
        other => {
            let mut text = other.to_string();
            let mut cause = other.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            text
        }
    };
    http.tame(&text)
}
