//! Our side of a connection, which answers what a server asks and takes what it reports.

// Servers of the revisions before 2026-07-28 log through the protocol.
#![expect(deprecated)]

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use pellucid_protocol::elicitation::ElicitationAction as Action;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::elicitation::ElicitationRequest;
use reqwest::Url;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::ClientCapabilities;
use rmcp::model::ClientConfig;
use rmcp::model::ElicitRequestParams;
use rmcp::model::ElicitResult;
use rmcp::model::ElicitationAction;
use rmcp::model::ElicitationCapability;
use rmcp::model::ErrorData;
use rmcp::model::FormElicitationCapability;
use rmcp::model::Implementation;
use rmcp::model::ListRootsResult;
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::NumberOrString;
use rmcp::model::ProgressNotificationParam;
use rmcp::model::ProtocolVersion;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::model::Root;
use rmcp::model::RootsCapabilities;
use rmcp::model::UrlElicitationCapability;
use rmcp::service::NotificationContext;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::elicitation::OpenQuestions;
use crate::news::News;
use crate::spec::ClientName;

/// How many bytes of a message of a server are logged.
const LOGGED_MAX: usize = 4096;

/// Our side of the connection to a server.
#[derive(Debug)]
pub(crate) struct Us {
    pub server: String,
    pub name: ClientName,
    pub questions: Arc<OpenQuestions>,
    pub news: Arc<News>,
    /// The folders that the session works in, if servers may know them.
    pub roots: Option<Vec<Root>>,
    /// The revision of the greeting.
    pub revision: ProtocolVersion,
}

/// The address of a folder. Bytes that no address has are written as `%` and two digits.
pub(crate) fn root(folder: &Path) -> Root {
    let mut uri = "file://".to_owned();
    for byte in folder.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            // Writing to a text cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    let root = Root::new(uri);
    match folder.file_name() {
        Some(name) => root.with_name(name.to_string_lossy()),
        None => root,
    }
}

/// Whether an address is that of a page, and names no other kind of program to open it with.
fn is_page(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
}

impl ClientHandler for Us {
    fn get_info(&self) -> ClientConfig {
        let mut asking = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        if self.questions.sees_pages() {
            asking = asking.with_url(UrlElicitationCapability::new());
        }
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(asking);
        capabilities.roots = self.roots.as_ref().map(|_| RootsCapabilities::default());
        let us = Implementation::new(&self.name.name, &self.name.version).with_title(&self.name.title);
        ClientConfig::new(capabilities, us).with_protocol_version(self.revision.clone())
    }

    /// Asks a person on behalf of the server. A question that is not offered is declined.
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (message, schema, url) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema)
                    .map_err(|error| ErrorData::invalid_params(format!("the schema cannot be read: {error}"), None))?;
                (message, schema, None)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. }
                if self.questions.sees_pages() && is_page(&url) =>
            {
                (message, Value::Null, Some(url))
            }
            _ => {
                tracing::warn!(server = self.server, "declined a question of an MCP server that cannot be shown");
                return Ok(ElicitResult::new(ElicitationAction::Decline));
            }
        };
        let id = match context.id {
            NumberOrString::Number(number) => ElicitationId::Number(number),
            NumberOrString::String(text) => ElicitationId::Text(text.to_string()),
        };
        let has_form = url.is_none();
        let request = ElicitationRequest { server_name: self.server.clone(), id, message, schema, url };
        let answer = self.questions.ask(request, context.ct.cancelled()).await;
        let action = match answer.action {
            Action::Accept => ElicitationAction::Accept,
            Action::Decline => ElicitationAction::Decline,
            Action::Cancel => ElicitationAction::Cancel,
        };
        let mut result = ElicitResult::new(action);
        result.content = answer.content.filter(|_| has_form);
        Ok(result)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.clone().unwrap_or_default()))
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        self.news.changed(&context.peer).await;
    }

    async fn on_resource_updated(
        &self,
        resource: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.news.resource_changed(&resource.uri);
    }

    /// A call that makes progress may take longer.
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.questions.progressed();
    }

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let text = match &message.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let shown = &text[..text.floor_char_boundary(LOGGED_MAX)];
        tracing::info!(server = self.server, level = ?message.level, "MCP server log: {shown}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_shown() {
        for (url, expected) in [
            ("https://a.test/b?c=1", true),
            ("http://127.0.0.1:9/", true),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false),
            ("-x", false),
            ("", false),
        ] {
            assert_eq!(is_page(url), expected, "{url}");
        }
    }

    #[test]
    fn folders_have_addresses() {
        let root = root(Path::new("/home/ada/a b%ü"));
        assert_eq!(root.uri, "file:///home/ada/a%20b%25%C3%BC");
        assert_eq!(root.name.as_deref(), Some("a b%ü"));
    }
}
