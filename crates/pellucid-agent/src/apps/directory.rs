//! The directory of all connected apps that the service has: asked for page by page, with the token of a ChatGPT account.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use pellucid_config::Config;
use pellucid_model::Transport;
use pellucid_model::credentials::ChatGptLogin;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::chatgpt_login;
use super::is_listed;
use super::is_this_computer;

/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest page that is read.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// How many pages are read.
const PAGES_MAX: usize = 200;

/// Plans whose accounts belong to a workspace, which has apps that others do not see.
const WORKSPACE_PLANS: [&str; 4] = ["team", "business", "enterprise", "edu"];

/// All apps that the service has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Directory {
    /// The apps, each id once.
    pub apps: Vec<DirectoryApp>,
}

/// What the directory says of an app.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct DirectoryApp {
    /// The id of the app.
    pub id: String,
    /// The name of the app; the id if the directory has none.
    pub name: String,
    /// A sentence that describes the app.
    #[serde(default)]
    pub description: Option<String>,
    /// The address of the app's logo.
    #[serde(default, alias = "logoUrl")]
    pub logo_url: Option<String>,
    /// The address of the logo for dark backgrounds.
    #[serde(default, alias = "logoUrlDark")]
    pub logo_url_dark: Option<String>,
    /// The channel through which the app is distributed.
    #[serde(default, alias = "distributionChannel")]
    pub distribution_channel: Option<String>,
    /// The developer of the app.
    #[serde(default)]
    pub branding: Option<Value>,
    /// The app's entry in the directory.
    #[serde(default, alias = "appMetadata")]
    pub app_metadata: Option<Value>,
    /// Labels of the app.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    visibility: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    apps: Vec<DirectoryApp>,
    #[serde(default, alias = "nextToken")]
    next_token: Option<String>,
}

impl DirectoryApp {
    /// An app of which only the name is known.
    pub fn named(id: &str, name: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// Takes over what this entry lacks and another one of the same app has.
    fn complete(&mut self, other: Self) {
        if self.name.trim().is_empty() {
            self.name = other.name;
        }
        if is_blank(self.description.as_deref()) && !is_blank(other.description.as_deref()) {
            self.description = other.description;
        }
        self.logo_url = self.logo_url.take().or(other.logo_url);
        self.logo_url_dark = self.logo_url_dark.take().or(other.logo_url_dark);
        self.distribution_channel = self.distribution_channel.take().or(other.distribution_channel);
        self.branding = self.branding.take().or(other.branding);
        self.app_metadata = self.app_metadata.take().or(other.app_metadata);
        self.labels = self.labels.take().or(other.labels);
    }

    /// The entry with trimmed texts.
    fn trimmed(mut self) -> Self {
        let name = self.name.trim();
        self.name = if name.is_empty() { self.id.clone() } else { name.to_owned() };
        self.description = self.description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        self
    }
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

impl Directory {
    /// Asks the service.
    ///
    /// # Errors
    /// Why there is no directory, as text for people.
    pub async fn fetch(config: &Config) -> Result<Self, String> {
        let none = "the directory of apps needs a ChatGPT login, and none is stored; `codex login` of the Codex CLI stores one";
        let login = chatgpt_login(config).ok_or(none)?;
        let service = config.tools.apps.service();
        let mut found = Vec::new();
        let (mut token, mut seen): (Option<String>, BTreeSet<String>) = (None, BTreeSet::new());
        for n in 0.. {
            if n == PAGES_MAX {
                return Err(format!("the directory of apps has more than {PAGES_MAX} pages"));
            }
            let token_part = token.as_deref().map(|token| format!("&token={}", encoded(token))).unwrap_or_default();
            let url = format!("{service}/connectors/directory/list?tier=categorized{token_part}");
            let page = page(&url, &login).await?;
            found.extend(page.apps);
            token = page.next_token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
            match &token {
                Some(token) if !seen.insert(token.clone()) => {
                    return Err("the directory of apps names the same page twice".to_owned());
                }
                Some(_) => {}
                None => break,
            }
        }
        if login.plan.as_deref().is_some_and(|plan| WORKSPACE_PLANS.contains(&plan)) {
            // Accounts without such a list have an error here.
            let of_workspace = page(&format!("{service}/connectors/directory/list_workspace"), &login).await;
            found.extend(of_workspace.map(|page| page.apps).unwrap_or_default());
        }
        Ok(Self::of(found))
    }

    /// The directory of these entries: each id once, without those that are hidden or not for clients like this one.
    pub(super) fn of(found: Vec<DirectoryApp>) -> Self {
        let mut apps: BTreeMap<String, DirectoryApp> = BTreeMap::new();
        for app in found.into_iter().filter(|app| app.visibility.as_deref() != Some("HIDDEN") && is_listed(&app.id)) {
            match apps.get_mut(&app.id) {
                Some(known) => known.complete(app),
                None => {
                    apps.insert(app.id.clone(), app);
                }
            }
        }
        Self { apps: apps.into_values().map(DirectoryApp::trimmed).collect() }
    }
}

/// Asks for a page.
async fn page(url: &str, login: &ChatGptLogin) -> Result<Page, String> {
    if !url.starts_with("https://") && !is_this_computer(url) {
        return Err(format!("`chatgpt_base_url` leads to {url}, which is not https; the token is not sent there"));
    }
    let mut request = Transport::http_client(url)?.get(url);
    if let Some(token) = &login.access_token {
        request = request.bearer_auth(token.reveal());
    }
    if let Some(account) = &login.account_id {
        request = request.header("chatgpt-account-id", account);
    }
    let read = async {
        let mut response = request.send().await.map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("the service answered with status {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
            body.extend_from_slice(&chunk);
            if body.len() > PAGE_BYTES_MAX {
                return Err(format!("a page of the directory has more than {PAGE_BYTES_MAX} bytes"));
            }
        }
        // The text of the error could quote the page.
        serde_json::from_slice(&body).map_err(|_| "a page of the directory of apps cannot be read".to_owned())
    };
    let late = |_| format!("the directory of apps did not answer within {} s", PAGE_TIMEOUT.as_secs());
    timeout(PAGE_TIMEOUT, read).await.map_err(late)?
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|it| if is_plain(it) { char::from(it).to_string() } else { format!("%{it:02X}") }).collect()
}
