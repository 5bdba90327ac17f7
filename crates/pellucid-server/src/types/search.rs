//! Web searches that the provider runs, as items show them.

use pellucid_protocol::item as inner;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// What a web search did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WebSearchAction {
    /// The model searched the web.
    Search {
        /// The query, if there was one.
        query: Option<String>,
        /// The queries, if there were several at once.
        queries: Option<Vec<String>>,
    },
    /// The model opened a page.
    OpenPage { url: Option<String> },
    /// The model searched a page for a text.
    FindInPage {
        url: Option<String>,
        /// The text that was searched for.
        pattern: Option<String>,
    },
    /// An action that this version does not know.
    #[serde(other)]
    Other,
}

impl From<inner::WebSearchAction> for WebSearchAction {
    fn from(action: inner::WebSearchAction) -> Self {
        match action {
            inner::WebSearchAction::Search { query, queries } => Self::Search { query, queries },
            inner::WebSearchAction::OpenPage { url } => Self::OpenPage { url },
            inner::WebSearchAction::FindInPage { url, pattern } => Self::FindInPage { url, pattern },
            inner::WebSearchAction::Other => Self::Other,
        }
    }
}
