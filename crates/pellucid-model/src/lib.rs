//! Access to models: which models there are, how providers are reached, and how replies are decoded.
//!
//! [`Model::ask`] takes the bytes of a request and returns a [`Reply`], a stream of
//! [`ReplyEvent`](pellucid_protocol::reply::ReplyEvent)s that is the same for a server and for the embedded scripted
//! model. Retries before a stream begins happen here.
//!
//! Not here: what a request contains (`pellucid-engine`), when to retry after an interrupted stream and what a reply
//! leads to (`pellucid-agent`), reading the configuration (`pellucid-config`).

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::needless_pass_by_value, reason = "check helpers take what they expect by value"))]

mod body;
pub mod budget;
pub mod catalogue;
pub mod chat;
pub mod compression;
pub mod credentials;
mod decoder;
mod embeddings;
pub mod endpoint;
pub mod failure;
mod held;
pub mod key_origin;
pub mod local;
pub mod messages;
pub mod model;
pub mod models_cache;
mod overflow;
mod progress;
pub mod provider;
pub mod rate_limit;
pub mod recording;
mod redactor;
pub mod response_headers;
pub mod responses;
mod retry;
pub mod script;
pub mod socket;
pub mod sse;
pub mod transport;
mod trouble;
mod usage_limit;

pub use budget::Budget;
pub use budget::BudgetLimits;
pub use catalogue::Catalogue;
pub use endpoint::Endpoint;
pub use model::Ask;
pub use model::Model;
pub use model::ProviderSummary;
pub use model::Reply;
pub use pellucid_protocol::secret::Secret;
pub use recording::Tape;
pub use script::Script;
pub use transport::Transport;
