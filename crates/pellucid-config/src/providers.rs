//! The providers of models: the built-in ones, those of the configuration, and the chosen one.
//!
//! Not here: sending requests to them.

use std::collections::BTreeMap;

use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::LMSTUDIO_PORT;
use pellucid_protocol::provider::OLLAMA_PORT;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::secret::Secret;

use crate::env::Env;
use crate::error::ConfigError;
use crate::keys::default;
use crate::reader::Reader;
use crate::reader::map;
use crate::value::Table;
use crate::value::Value;

/// The provider that is used if none is configured.
pub(crate) const DEFAULT: &str = default::text("model_provider");

/// Providers that were built in once, and their replacements.
const REMOVED: &[(&str, &str)] = &[("ollama-chat", "ollama")];

/// All providers by id. Those of the configuration cannot replace a built-in one.
pub(crate) fn all(reader: &Reader<'_>, env: &Env) -> BTreeMap<String, Provider> {
    let mut providers = built_in(env);
    if let (Some(provider), Some(url)) = (providers.get_mut(DEFAULT), reader.text("openai_base_url")) {
        provider.base_url = Some(url).filter(|url| !url.trim().is_empty()).or_else(|| provider.base_url.take());
    }
    for entry in reader.table("model_providers").into_iter().flat_map(Table::iter) {
        if let Some(table) = entry.value.as_table() {
            providers.entry(entry.key.clone()).or_insert_with(|| configured(table));
        }
    }
    providers
}

/// The provider with this id.
pub(crate) fn choose(providers: &BTreeMap<String, Provider>, id: &str) -> Result<Provider, ConfigError> {
    providers.get(id).cloned().ok_or_else(|| match REMOVED.iter().find(|(old, _)| *old == id) {
        Some((old, new)) => ConfigError::RemovedProvider { old: (*old).to_owned(), new },
        None => ConfigError::UnknownProvider(id.to_owned()),
    })
}

fn built_in(env: &Env) -> BTreeMap<String, Provider> {
    [(DEFAULT, openai(env)), ("ollama", local(env, OLLAMA_PORT)), ("lmstudio", local(env, LMSTUDIO_PORT))]
        .map(|(id, provider)| (id.to_owned(), provider))
        .into()
}

fn openai(env: &Env) -> Provider {
    let pairs = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    };
    Provider {
        name: "OpenAI".to_owned(),
        base_url: env.text("OPENAI_BASE_URL"),
        http_headers: pairs(&[("version", env!("CARGO_PKG_VERSION"))]),
        env_http_headers: pairs(&[
            ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
            ("OpenAI-Project", "OPENAI_PROJECT"),
        ]),
        requires_openai_auth: true,
        supports_websockets: true,
        ..Provider::default()
    }
}

fn local(env: &Env, default_port: u16) -> Provider {
    let base_url = env.text("CODEX_OSS_BASE_URL").unwrap_or_else(|| {
        let port = env.text("CODEX_OSS_PORT").and_then(|port| port.parse().ok()).unwrap_or(default_port);
        format!("http://localhost:{port}/v1")
    });
    Provider { name: "gpt-oss".to_owned(), base_url: Some(base_url), ..Provider::default() }
}

/// The sections of a request, without repetitions.
fn sections(value: &Value) -> Option<Vec<ReadSection>> {
    let words = value.as_list()?.iter().filter_map(Value::as_str);
    let mut sections = Vec::new();
    for section in words.filter_map(ReadSection::from_word) {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    Some(sections)
}

fn configured(table: &Table) -> Provider {
    let text = |key| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let count = |key| table.get(key).and_then(Value::as_integer).and_then(|number| number.try_into().ok());
    let flag = |key| table.get(key).and_then(Value::as_bool);
    Provider {
        name: text("name").unwrap_or_default(),
        base_url: text("base_url"),
        env_key: text("env_key"),
        env_key_instructions: text("env_key_instructions"),
        experimental_bearer_token: text("experimental_bearer_token").map(Secret::new),
        wire_api: text("wire_api").and_then(|word| WireApi::from_word(&word)).unwrap_or_default(),
        chat_developer_role: text("chat_developer_role").and_then(|word| DeveloperRole::from_word(&word)),
        max_output_tokens: count("max_output_tokens"),
        cache_order: table.get("cache_order").and_then(sections),
        cache_seconds: count("cache_seconds"),
        query_params: table.get("query_params").and_then(map),
        http_headers: table.get("http_headers").and_then(map),
        env_http_headers: table.get("env_http_headers").and_then(map),
        request_max_retries: count("request_max_retries"),
        stream_max_retries: count("stream_max_retries"),
        stream_idle_timeout_ms: count("stream_idle_timeout_ms"),
        requires_openai_auth: flag("requires_openai_auth")
            .unwrap_or(const { default::flag("model_providers.<id>.requires_openai_auth") }),
        supports_websockets: flag("supports_websockets")
            .unwrap_or(const { default::flag("model_providers.<id>.supports_websockets") }),
    }
}
