//! The providers that are always there.
//!
//! Not here: those of the configuration, and how a provider becomes an address
//! ([`crate::endpoint`]).

use std::collections::BTreeMap;

use pellucid_protocol::provider::Provider;

/// The address of a provider that names none.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The same for providers of the Messages wire.
pub const MESSAGES_BASE_URL: &str = "https://api.anthropic.com/v1";

/// The ports where local servers listen unless told otherwise, with how they are started.
pub const LOCAL_SERVERS: [(u16, &str, &str); 2] =
    [(11434, "Ollama", "ollama serve"), (1234, "LM Studio", "lms server start")];

/// The ids of the built-in providers, in the order of documentation.
pub const BUILTIN_IDS: [&str; 3] = ["openai", "ollama", "lmstudio"];

/// A built-in provider, as the environment shapes it.
///
/// `version` is this program's own, which the `openai` provider tells its server.
pub fn builtin(id: &str, version: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<Provider> {
    match id {
        "openai" => Some(openai(version, env)),
        "ollama" => Some(local(11434, env)),
        "lmstudio" => Some(local(1234, env)),
        _ => None,
    }
}

fn openai(version: &str, env: &dyn Fn(&str) -> Option<String>) -> Provider {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    Provider {
        name: "OpenAI".to_owned(),
        base_url: non_blank(env("OPENAI_BASE_URL")),
        http_headers: Some(map(&[("version", version)])),
        env_http_headers: Some(map(&[
            ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
            ("OpenAI-Project", "OPENAI_PROJECT"),
        ])),
        requires_openai_auth: true,
        supports_websockets: true,
        ..Provider::default()
    }
}

fn local(default_port: u16, env: &dyn Fn(&str) -> Option<String>) -> Provider {
    let base_url = non_blank(env("CODEX_OSS_BASE_URL")).unwrap_or_else(|| {
        let port = env("CODEX_OSS_PORT").and_then(|port| port.trim().parse().ok()).unwrap_or(default_port);
        format!("http://localhost:{port}/v1")
    });
    Provider { name: "gpt-oss".to_owned(), base_url: Some(base_url), ..Provider::default() }
}

pub(crate) fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_base_url(id: &str, variables: &[(&str, &str)], expected: Option<&str>) {
        let env = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let provider = builtin(id, "1.2.3", &env).unwrap();
        assert_eq!(provider.base_url.as_deref(), expected);
    }

    #[test]
    fn the_environment_moves_openai() {
        check_base_url("openai", &[], None);
        check_base_url("openai", &[("OPENAI_BASE_URL", " ")], None);
        check_base_url("openai", &[("OPENAI_BASE_URL", "http://x/v1")], Some("http://x/v1"));
    }

    #[test]
    fn the_environment_moves_local_servers() {
        check_base_url("ollama", &[], Some("http://localhost:11434/v1"));
        check_base_url("lmstudio", &[], Some("http://localhost:1234/v1"));
        check_base_url("ollama", &[("CODEX_OSS_PORT", "99")], Some("http://localhost:99/v1"));
        check_base_url("ollama", &[("CODEX_OSS_PORT", "no")], Some("http://localhost:11434/v1"));
        check_base_url(
            "lmstudio",
            &[("CODEX_OSS_PORT", "99"), ("CODEX_OSS_BASE_URL", "http://box/v1")],
            Some("http://box/v1"),
        );
    }

    #[test]
    fn openai_tells_the_version_and_other_ids_are_unknown() {
        let provider = builtin("openai", "1.2.3", &|_| None).unwrap();
        assert_eq!(provider.http_headers.unwrap()["version"], "1.2.3");
        assert!(provider.requires_openai_auth && provider.supports_websockets);
        assert_eq!(builtin("mock", "1.2.3", &|_| None), None);
        assert!(BUILTIN_IDS.iter().all(|id| builtin(id, "1", &|_| None).is_some()));
    }
}
