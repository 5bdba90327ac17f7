//! Where the key of a request comes from, and what to do when it is rejected or missing.

use pellucid_protocol::provider::WireApi;

/// Where the key of a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOrigin {
    /// An environment variable, by its name.
    Variable(String),
    /// The provider's token in the configuration.
    Written,
    /// The login in the home folder.
    Login,
    /// The headers or parameters of the provider's settings, judging by their names.
    Settings,
    /// Nowhere: the request has no key.
    Nowhere(WireApi),
}

impl KeyOrigin {
    /// What to do when the key is rejected.
    pub fn advice(&self) -> String {
        match self {
            Self::Variable(name) => format!("the key comes from the variable `{name}`: set it to a valid key"),
            Self::Written => "the key is the provider's `experimental_bearer_token` in config.toml: write a valid one \
                              there"
                .to_owned(),
            Self::Login => {
                "the key is from `pellucid login`: log in with a valid one (`pellucid login --with-api-key`)".to_owned()
            }
            Self::Settings => "the key is in the headers or parameters that config.toml has for the provider: write a \
                               valid one there"
                .to_owned(),
            Self::Nowhere(wire) => format!("no key was sent: {}", missing_key_advice(*wire)),
        }
    }
}

/// What to do when there is no key for a provider of this wire.
pub fn missing_key_advice(wire: WireApi) -> &'static str {
    match wire {
        WireApi::Responses | WireApi::Chat => {
            "pipe a key into `pellucid login --with-api-key`, or set the variable CODEX_API_KEY"
        }
        WireApi::Messages => "write the name of a variable as `env_key` of the provider in config.toml, and set it",
    }
}
