//! Model input as a library: facts and a pack in, the bytes of a request out, and an origin for every byte.
//!
//! This crate is the front door of the context engine. The names that it exports are stable as `docs/semver.md` says;
//! `pellucid-engine` and `pellucid-protocol` have everything else, which changes with any version.
//!
//! ```
//! use pellucid_context::{Document, Engine, Facts, ModelInfo, SessionId, WireSettings};
//!
//! # fn main() -> Result<(), pellucid_context::EngineError> {
//! let mut facts = Facts::plain("/home/ada/proj", ModelInfo::named("gpt-5.2-codex"));
//! facts.settings.project_document_bytes_max = 32_768;
//! facts.world.project_documents = vec![Document::whole("/home/ada/proj/AGENTS.md", "Use tabs.\n")];
//!
//! let mut session = Engine::builtin("codex")?.begin(facts, WireSettings::new(SessionId::new("example")))?;
//! session.say("hello");
//! let request = session.request();
//! let origin = |text: &str| request.row_with(text).map(|row| row.origin.detail().to_owned());
//! assert_eq!(origin("Use tabs."), Some("/home/ada/proj/AGENTS.md".to_owned()));
//! assert_eq!(request.report().bytes(), request.body().len());
//! # Ok(())
//! # }
//! ```
//!
//! - [`Engine`]: a pack, with what the program around it gives; begins sessions
//! - [`EngineSession`]: one conversation; records what was said and makes requests
//! - [`BuiltRequest`]: the bytes of a request, its [`Report`] and its digest; [`BuiltRequest::diff`] compares two
//! - [`Recording`]: what a session recorded, so that [`Engine::replay`] can make every request again
//! - [`TextSource`], [`FactGate`], [`TextLookup`], [`Counter`]: what a program may bring
//! - [`RequestInput`]: all of it as JSON, for programs in other languages
//!
//! Not here: files of a project, models, tools that run, waiting. The caller gathers facts and sends the bytes.

#![warn(missing_docs)]

mod built;
mod diff;
mod engine;
mod extend;
mod facts_input;
mod input;
mod recording;
mod room;
mod session;

pub use built::BuiltRequest;
pub use diff::BuiltDiff;
pub use diff::RowChange;
pub use diff::RowFate;
pub use engine::Engine;
pub use engine::EngineError;
pub use extend::FactGate;
pub use extend::SourceAsk;
pub use extend::TextLookup;
pub use extend::TextSource;
pub use facts_input::FactsInput;
pub use input::InputError;
pub use input::MessageInput;
pub use input::PackInput;
pub use input::RequestInput;
pub use input::WireInput;
pub use pellucid_engine::continuity::Continuity;
pub use pellucid_engine::digest::Digest;
pub use pellucid_engine::facts::Document;
pub use pellucid_engine::facts::Facts;
pub use pellucid_engine::facts::Provided;
pub use pellucid_engine::fragment::Fragment;
pub use pellucid_engine::fragment::Omission;
pub use pellucid_engine::fragment::Origin;
pub use pellucid_engine::pack::Pack;
pub use pellucid_engine::pack::PackError;
pub use pellucid_engine::pack::PackFiles;
pub use pellucid_engine::reinject::files::FoundFile;
pub use pellucid_engine::reinject::files::HashedText;
pub use pellucid_engine::reinject::files::InjectionInput;
pub use pellucid_engine::report::Report;
pub use pellucid_engine::report::Row;
pub use pellucid_engine::request::WireSettings;
pub use pellucid_engine::source::SourceOutput;
pub use pellucid_engine::tokens::Counter;
pub use pellucid_protocol::id::SessionId;
pub use pellucid_protocol::item::Item;
pub use pellucid_protocol::item::ToolOutput;
pub use pellucid_protocol::model::ModelInfo;
pub use pellucid_protocol::provider::WireApi;
pub use recording::RecordedStep;
pub use recording::Recording;
pub use recording::ReplayError;
pub use recording::Replayed;
pub use room::SummaryQuestion;
pub use room::WindowExceeded;
pub use session::EngineSession;
pub use session::StandingError;
