//! Connected apps: how their MCP server is reached, and which apps there are.
//!
//! - here: the token, the apps that the account can use
//! - `directory`: all apps that the service has
//!
//! The token is `CODEX_CONNECTORS_TOKEN`, else the stored login: a key, or the token of a ChatGPT account that the Codex CLI
//! logged in to. It goes to no other address than that of the service, and only over TLS or to this computer.

mod directory;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::apps::TOKEN_VARIABLE;
use pellucid_engine::apps;
use pellucid_engine::digest::Digest;
use pellucid_engine::mcp;
use pellucid_mcp::elicitation::Nobody;
use pellucid_mcp::elicitation::Person;
use pellucid_mcp::servers::Servers;
use pellucid_mcp::spec::HttpReach;
use pellucid_model::credentials::ChatGptLogin;
use pellucid_model::credentials::StoredLogin;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::secret::Secret;

pub use self::directory::Directory;
pub use self::directory::DirectoryApp;
use crate::login;
use crate::mcp::http_clients;
use crate::mcp::specs;
use crate::mcp::us;

/// Apps that no client may use, as the service wants it.
const DISALLOWED: [&str; 5] = [
    "asdk_app_6938a94a61d881918ef32cb999ff937c",
    "connector_2b0a9009c9c64bf9933a3dae3f2b1254",
    "connector_68de829bf7648191acd70a907364c67c",
    "connector_68e004f14af881919eb50893d3d9f523",
    "connector_69272cb413a081919685ec3c88d1744e",
];

/// The beginning of the ids of apps that belong to other programs of the service.
const DISALLOWED_PREFIX: &str = "connector_openai_";

/// Whether lists have an app.
fn is_listed(id: &str) -> bool {
    !id.starts_with(DISALLOWED_PREFIX) && !DISALLOWED.contains(&id)
}

/// What a request to the service proves who asks by.
#[derive(Debug, Clone, Default)]
struct Credentials {
    bearer: Option<Secret>,
    account: Option<String>,
}

impl Credentials {
    fn of(config: &Config, env: &Env) -> Self {
        let given = env.text(TOKEN_VARIABLE).filter(|token| !token.trim().is_empty());
        if let Some(token) = given {
            return Self { bearer: Some(Secret::new(token.trim())), account: None };
        }
        match chatgpt_login(config) {
            Some(login) => Self { bearer: login.access_token, account: login.account_id },
            None => Self { bearer: login::session_key(config, env), account: None },
        }
    }
}

/// The stored login with a ChatGPT account.
fn chatgpt_login(config: &Config) -> Option<ChatGptLogin> {
    match login::stored(config) {
        Ok(Some(StoredLogin::ChatGpt(login))) if login.access_token.is_some() => Some(login),
        _ => None,
    }
}

/// Whether the server of apps is asked with a token.
pub(crate) fn has_token(name: &str, config: &Config, env: &Env) -> bool {
    name == APPS_SERVER && Credentials::of(config, env).bearer.is_some()
}

/// Whose apps are listed: the service and the login.
pub fn account(config: &Config, env: &Env) -> String {
    let Credentials { bearer, account } = Credentials::of(config, env);
    let login = bearer.map_or_else(String::new, |bearer| Digest::of([bearer.reveal().as_bytes()]).to_string());
    format!("{} {} {login}", config.tools.apps.service(), account.unwrap_or_default())
}

/// How the server of apps is reached.
///
/// # Errors
/// Why it is not asked, as text for people.
pub(crate) fn reach(url: &str, config: &Config, env: &Env) -> Result<HttpReach, String> {
    let Credentials { bearer, account } = Credentials::of(config, env);
    let is_here = is_this_computer(url);
    if bearer.is_none() && !is_here {
        return Err(format!(
            "connected apps need a token: `{TOKEN_VARIABLE}` is empty or not set, and no login is stored (`codex login`)"
        ));
    }
    if bearer.is_some() && !is_here && !url.starts_with("https://") {
        return Err(format!("`chatgpt_base_url` leads to {url}, which is not https; the token is not sent there"));
    }
    let headers = account.map(|id| ("ChatGPT-Account-ID".to_owned(), Secret::new(id)));
    Ok(HttpReach { url: url.to_owned(), bearer, headers: headers.into_iter().collect(), login: None })
}

/// Whether an address is on this computer.
fn is_this_computer(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if host.contains('@') {
        return false;
    }
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => host.split(':').next().unwrap_or(host),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An app, as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedApp {
    /// What the service says of the app.
    pub app: DirectoryApp,
    /// The page from which the app can be installed.
    pub install_url: String,
    /// Whether the account can use the app.
    pub is_accessible: bool,
    /// Whether the configuration allows the app.
    pub is_enabled: bool,
}

/// The apps that the account can use, by id, with their names. The server of apps is started for this, and ended.
///
/// # Errors
/// Why the server does not say it, as text for people.
pub async fn accessible(config: &Config, env: &Env) -> Result<BTreeMap<String, String>, String> {
    if !config.features.is_on(Feature::Apps) {
        return Ok(BTreeMap::new());
    }
    let mut specs = specs(config, env);
    specs.retain(|spec| spec.name == APPS_SERVER);
    let nobody: Arc<dyn Person> = Arc::new(Nobody);
    let (servers, _events) = Servers::start(specs, http_clients(), &us(), &nobody);
    servers.settled().await;
    let (failure, tools) = (servers.failures().pop(), mcp::offered(&servers.tools()));
    servers.shut_down().await;
    match failure {
        Some((_, error)) => Err(error),
        None => {
            let apps = apps::apps(&tools).into_iter().filter(|app| is_listed(&app.id));
            Ok(apps.map(|app| (app.id, app.name)).collect())
        }
    }
}

/// All apps: those of the directory, of which the account can use some. As long as the directory is not known, those that the
/// account can use. Accessible ones come first, then they are sorted by name.
pub fn merged(
    directory: Option<&Directory>,
    accessible: &BTreeMap<String, String>,
    disabled: &BTreeSet<String>,
) -> Vec<ListedApp> {
    let mut all: Vec<ListedApp> = match directory {
        Some(directory) => directory.apps.iter().map(|app| listed(app.clone(), accessible.get(&app.id))).collect(),
        None => accessible.iter().map(|(id, name)| listed(DirectoryApp::named(id, name), Some(name))).collect(),
    };
    for app in &mut all {
        app.is_enabled = !disabled.contains(&app.app.id);
    }
    all.sort_by(|a, b| (!a.is_accessible, &a.app.name, &a.app.id).cmp(&(!b.is_accessible, &b.app.name, &b.app.id)));
    all
}

fn listed(mut app: DirectoryApp, accessible: Option<&String>) -> ListedApp {
    // The page of an app in the directory is called as the directory calls the app.
    let install_url = format!("https://chatgpt.com/apps/{}/{}", apps::slug(&app.name), app.id);
    if let Some(name) = accessible.filter(|_| app.name == app.id) {
        app.name.clone_from(name);
    }
    ListedApp { app, install_url, is_accessible: accessible.is_some(), is_enabled: true }
}

#[cfg(test)]
mod tests;
