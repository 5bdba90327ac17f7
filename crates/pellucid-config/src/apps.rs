//! Connected apps as the configuration describes them: where their MCP server is, and which apps are switched off.
//!
//! Not here: who asks the server (`pellucid-agent`), and which tools are offered (`pellucid-engine`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::keys::default;
use crate::mcp::McpServer;
use crate::mcp::McpTransport;
use crate::reader::Reader;
use crate::value::Table;
use crate::value::Value;

/// The variable with the token for the server of connected apps.
pub const TOKEN_VARIABLE: &str = "CODEX_CONNECTORS_TOKEN";

/// How long the server may take to start.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// Services whose address lacks the folder of their interface for programs.
const CHATGPT: [&str; 2] = ["https://chatgpt.com", "https://chat.openai.com"];

/// The service of connected apps, and which apps are switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSettings {
    /// The address of the service behind a login.
    pub base_url: String,
    /// The ids of apps that are switched off.
    pub disabled: BTreeSet<String>,
}

impl AppSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        let entries = reader.table("apps").into_iter().flat_map(Table::iter);
        let is_off = |table: &Table| table.get("enabled").and_then(Value::as_bool) == Some(false);
        let disabled =
            entries.filter(|entry| entry.value.as_table().is_some_and(is_off)).map(|entry| entry.key.clone());
        Self {
            base_url: reader.text("chatgpt_base_url").unwrap_or_else(|| default::text("chatgpt_base_url").to_owned()),
            disabled: disabled.collect(),
        }
    }

    /// The address of the service, without a slash at its end.
    pub fn service(&self) -> String {
        let url = self.base_url.trim_end_matches('/');
        let is_bare = CHATGPT.iter().any(|host| url.starts_with(host)) && !url.contains("/backend-api");
        if is_bare { format!("{url}/backend-api") } else { url.to_owned() }
    }

    /// The MCP server with the tools of all apps.
    pub fn server(&self) -> McpServer {
        let url = self.service();
        let url = if url.contains("/backend-api") {
            format!("{url}/wham/apps")
        } else if url.contains("/api/codex") {
            format!("{url}/apps")
        } else {
            format!("{url}/api/codex/apps")
        };
        let transport = McpTransport::Http {
            url,
            bearer_token_env_var: None,
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
        };
        McpServer { startup_timeout: Some(STARTUP_TIMEOUT), ..McpServer::reached_by(transport) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_url(base_url: &str, expected: &str) {
        let settings = AppSettings { base_url: base_url.to_owned(), disabled: BTreeSet::new() };
        let McpTransport::Http { url, .. } = settings.server().transport else { unreachable!() };
        assert_eq!(url, expected);
    }

    #[test]
    fn the_address_follows_from_that_of_the_service() {
        check_url("http://h/backend-api", "http://h/backend-api/wham/apps");
        check_url("http://h/backend-api/", "http://h/backend-api/wham/apps");
        check_url("http://h/", "http://h/api/codex/apps");
        check_url("http://h/x/", "http://h/x/api/codex/apps");
        check_url("http://h/api/codex/", "http://h/api/codex/apps");
        check_url("http://h/y/api/codex/z", "http://h/y/api/codex/z/apps");
        check_url("https://chatgpt.com/backend-api/", "https://chatgpt.com/backend-api/wham/apps");
        check_url("https://chatgpt.com", "https://chatgpt.com/backend-api/wham/apps");
        check_url("https://chat.openai.com/", "https://chat.openai.com/backend-api/wham/apps");
    }
}
