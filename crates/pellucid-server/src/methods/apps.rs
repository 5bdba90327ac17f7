//! `app/list`: the connected apps of the service, and those of them that the account can use.
//!
//! Both lists are asked for at the same time. Clients are notified of what is known as soon as it has an app that can be used.
//! The lists are kept for an hour, for the account that they are of.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use std::time::Instant;

use pellucid_agent::apps;
use pellucid_agent::apps::Directory;
use pellucid_agent::apps::ListedApp;
use pellucid_config::Config;
use pellucid_protocol::feature::Feature;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::current;
use super::paging::page;
use super::thread::parse_id;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::server::held;
use crate::types::app::AppInfo;
use crate::types::notification::AppListUpdatedNotification;
use crate::types::notification::ServerNotification;

/// How long the lists may take.
const LIMIT: Duration = Duration::from_secs(90);

/// How long the lists are kept.
const KEPT: Duration = Duration::from_secs(3600);

/// The parameters of `app/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AppsListParams {
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// The largest number of apps in a page.
    pub limit: Option<u32>,
    /// The thread whose settings apply.
    pub thread_id: Option<String>,
    /// Whether the account's service is asked again instead of a cache.
    pub force_refetch: bool,
}

/// The result of `app/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppsListResponse {
    pub data: Vec<AppInfo>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// The apps that an account can use, by id, with their names.
type Accessible = BTreeMap<String, String>;

/// The lists that are kept.
#[derive(Debug, Default)]
pub(crate) struct KeptApps(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    account: String,
    until: Instant,
    accessible: Accessible,
    directory: Directory,
}

impl KeptApps {
    /// The lists of an account, unless they are too old.
    fn get(&self, account: &str) -> Option<(Accessible, Directory)> {
        let kept = held(&self.0);
        let kept = kept.as_ref().filter(|kept| kept.account == account && Instant::now() < kept.until)?;
        Some((kept.accessible.clone(), kept.directory.clone()))
    }

    fn keep(&self, account: String, accessible: Accessible, directory: Directory) {
        *held(&self.0) = Some(Kept { account, until: Instant::now() + KEPT, accessible, directory });
    }
}

/// Handles `app/list`.
///
/// # Errors
/// When the cursor is not one that this method returned, the id is not a thread's, or a list cannot be had.
pub async fn list(server: &Server, params: AppsListParams) -> Result<AppsListResponse, RpcError> {
    let cwd = match &params.thread_id {
        Some(id) => {
            parse_id(id)?;
            server.loaded(id).ok().map(|thread| thread.settings.cwd.clone())
        }
        None => None,
    };
    let config = current(server, cwd.as_deref().map(Path::new))?;
    if !config.features.is_on(Feature::Apps) {
        return Ok(AppsListResponse { data: Vec::new(), next_cursor: None });
    }
    if let Some(cursor) = params.cursor.as_deref().filter(|cursor| cursor.parse::<usize>().is_err()) {
        return Err(RpcError::invalid(format!("invalid cursor: {cursor}")));
    }
    let late = |_| RpcError::internal(format!("failed to list apps: no answer within {} s", LIMIT.as_secs()));
    let listed = timeout(LIMIT, lists(server, &config, params.force_refetch)).await.map_err(late)?;
    let data = listed.map_err(|error| RpcError::internal(format!("failed to list apps: {error}")))?;
    let page = page(data, params.cursor.as_deref(), params.limit, "apps")?;
    Ok(AppsListResponse { data: page.entries, next_cursor: page.next_cursor })
}

/// All apps. Clients are notified of those that are known meanwhile.
async fn lists(server: &Server, config: &Config, is_asked_again: bool) -> Result<Vec<AppInfo>, String> {
    let (env, disabled) = (&server.ground.env, &config.tools.apps.disabled);
    let account = apps::account(config, env);
    let kept = server.apps.get(&account);
    if let Some((accessible, directory)) = &kept {
        notify(server, &infos(apps::merged(Some(directory), accessible, disabled))).await;
    }
    let (accessible, directory) = match kept.filter(|_| !is_asked_again) {
        Some(lists) => lists,
        None => {
            let accessible = async {
                let accessible = apps::accessible(config, env).await?;
                let known = infos(apps::merged(None, &accessible, disabled));
                // With the directory the list may become shorter.
                if !known.is_empty() {
                    notify(server, &known).await;
                }
                Ok::<_, String>(accessible)
            };
            // The account's own apps are reported even if there is no directory.
            let (accessible, directory) = tokio::join!(accessible, Directory::fetch(config));
            let lists = (accessible?, directory?);
            server.apps.keep(account, lists.0.clone(), lists.1.clone());
            lists
        }
    };
    let all = infos(apps::merged(Some(&directory), &accessible, disabled));
    notify(server, &all).await;
    Ok(all)
}

async fn notify(server: &Server, data: &[AppInfo]) {
    let update = AppListUpdatedNotification { data: data.to_vec() };
    server.notify_all(&ServerNotification::AppListUpdated(update)).await;
}

fn infos(apps: Vec<ListedApp>) -> Vec<AppInfo> {
    apps.into_iter().map(info).collect()
}

/// An app as the protocol describes it. What has another form than the protocol's is left out.
fn info(listed: ListedApp) -> AppInfo {
    let ListedApp { app, install_url, is_accessible, is_enabled } = listed;
    AppInfo {
        id: app.id,
        name: app.name,
        description: app.description,
        logo_url: app.logo_url,
        logo_url_dark: app.logo_url_dark,
        distribution_channel: app.distribution_channel,
        branding: read(app.branding),
        app_metadata: read(app.app_metadata),
        labels: app.labels,
        install_url: Some(install_url),
        is_accessible,
        is_enabled,
    }
}

fn read<T: DeserializeOwned>(value: Option<Value>) -> Option<T> {
    serde_json::from_value(value?).ok()
}
