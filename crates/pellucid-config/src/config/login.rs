//! Settings of logins.

use crate::config::CredentialStore;
use crate::config::LoginMethod;
use crate::config::sourced::not_blank;
use crate::keys::default::word_or_default;
use crate::reader::Reader;

/// How a login is stored and which are allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct LoginSettings {
    /// The only kind of login that is allowed.
    pub forced_method: Option<LoginMethod>,
    /// The only workspace that is allowed.
    pub forced_workspace_id: Option<String>,
    /// Where the login is stored.
    pub store: CredentialStore,
}

impl LoginSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            forced_method: reader.word("forced_login_method", LoginMethod::from_word),
            forced_workspace_id: reader.text("forced_chatgpt_workspace_id").and_then(|id| not_blank(&id)),
            store: word_or_default!(reader, "cli_auth_credentials_store", CredentialStore),
        }
    }
}
