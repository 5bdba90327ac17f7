//! Searches of the server, as items show them.

use pellucid_protocol::item as inner;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// What a search did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WebSearchAction {
    /// Searched.
    Search {
        /// The words.
        query: Option<String>,
        /// Several searches at once.
        queries: Option<Vec<String>>,
    },
    /// Opened a page.
    OpenPage {
        /// Its address.
        url: Option<String>,
    },
    /// Looked for a text in a page.
    FindInPage {
        /// The page's address.
        url: Option<String>,
        /// The text.
        pattern: Option<String>,
    },
    /// Something that this version does not know.
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
