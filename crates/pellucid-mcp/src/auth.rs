//! How requests to an MCP server are authenticated: by a token, by a login, or not at all.

use std::time::Duration;

use pellucid_protocol::mcp::McpAuthStatus;
use reqwest::Url;
use serde::Deserialize;

use crate::login::tokens::Tokens;
use crate::spec::HttpClients;
use crate::spec::HttpReach;
use crate::spec::Reach;

/// How long a server may take to answer whether it offers a login.
const PATIENCE: Duration = Duration::from_secs(5);

const WELL_KNOWN: &str = ".well-known/oauth-authorization-server";

/// How requests to a server are authenticated. A server that is reached over HTTP without a token is asked whether it
/// offers a login.
pub async fn status(reach: &Result<Reach, String>, http: &HttpClients) -> McpAuthStatus {
    match reach {
        Ok(Reach::Http(reach)) if reach.has_authorization() => McpAuthStatus::BearerToken,
        Ok(Reach::Http(reach)) if reach.login.as_ref().is_some_and(Tokens::is_stored) => McpAuthStatus::OAuth,
        Ok(Reach::Http(reach)) if has_login(reach, http).await => McpAuthStatus::NotLoggedIn,
        _ => McpAuthStatus::Unsupported,
    }
}

/// A server's description of its login. A server that offers a login gives both addresses.
#[derive(Deserialize)]
struct Metadata {
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
}

/// Whether a server offers a login.
async fn has_login(reach: &HttpReach, http: &HttpClients) -> bool {
    let Ok(client) = http.get(&reach.url) else { return false };
    for url in places(&reach.url) {
        let request = client.get(url).header("MCP-Protocol-Version", "2024-11-05").timeout(PATIENCE);
        let Ok(response) = request.send().await else { continue };
        if !response.status().is_success() {
            continue;
        }
        let Ok(body) = response.bytes().await else { continue };
        if let Ok(metadata) = serde_json::from_slice::<Metadata>(&body)
            && metadata.authorization_endpoint.is_some()
            && metadata.token_endpoint.is_some()
        {
            return true;
        }
    }
    false
}

/// The addresses at which a server may describe its login.
fn places(url: &str) -> Vec<Url> {
    let Ok(base) = Url::parse(url) else { return Vec::new() };
    let path = base.path().trim_matches('/').to_owned();
    let paths = if path.is_empty() {
        vec![format!("/{WELL_KNOWN}")]
    } else {
        vec![format!("/{WELL_KNOWN}/{path}"), format!("/{path}/{WELL_KNOWN}"), format!("/{WELL_KNOWN}")]
    };
    let at = |path: String| {
        let mut url = base.clone();
        url.set_query(None);
        url.set_path(&path);
        url
    };
    paths.into_iter().map(at).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use pellucid_protocol::secret::Secret;
    use pellucid_testkit::MockReply;
    use pellucid_testkit::MockServer;

    use super::*;

    /// Clients for addresses of this computer.
    pub(crate) fn http_clients() -> HttpClients {
        HttpClients::new(|_| {
            // Fails only if a provider is installed already, which is as good.
            drop(rustls::crypto::ring::default_provider().install_default());
            reqwest::Client::builder().build().map_err(|error| error.to_string())
        })
    }

    fn reach(url: String, headers: &[&str]) -> Result<Reach, String> {
        let headers = headers.iter().map(|name| ((*name).to_owned(), Secret::new("x"))).collect();
        Ok(Reach::Http(HttpReach { url, bearer: None, headers, login: None }))
    }

    #[test]
    fn logins_are_looked_for_in_three_places() {
        let places = |url| places(url).iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            places("http://h:1/a/mcp?x=1"),
            [
                "http://h:1/.well-known/oauth-authorization-server/a/mcp",
                "http://h:1/a/mcp/.well-known/oauth-authorization-server",
                "http://h:1/.well-known/oauth-authorization-server",
            ]
        );
        assert_eq!(places("http://h/"), ["http://h/.well-known/oauth-authorization-server"]);
    }

    #[tokio::test]
    async fn a_server_with_a_login_is_told_from_others() {
        let http = http_clients();
        let metadata = r#"{"authorization_endpoint":"http://a","token_endpoint":"http://t"}"#;
        let server = MockServer::start(vec![MockReply::status(404, "{}"), MockReply::status(200, metadata)]);
        let url = || server.base_url().replace("/v1", "/mcp");
        assert_eq!(status(&reach(url(), &[]), &http).await, McpAuthStatus::NotLoggedIn);
        assert_eq!(status(&reach(url(), &["AUTHORIZATION"]), &http).await, McpAuthStatus::BearerToken);
        assert_eq!(status(&reach(url(), &[]), &http).await, McpAuthStatus::Unsupported);
        assert_eq!(status(&Err("no".to_owned()), &http).await, McpAuthStatus::Unsupported);
    }
}
