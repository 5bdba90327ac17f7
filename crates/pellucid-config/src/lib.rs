//! Configuration: files, flags and profiles in, one typed [`Config`] out.
//!
//! [`load()`] reads the layers (system, user, project, flags, managed), merges them, checks every value against the one
//! table of keys in [`keys`], and resolves profile, permissions, features and providers. Every value remembers the file
//! and line it came from.
//!
//! Some values of a project's file apply only once a person has accepted them: [`guard`] says which, [`accepted`] keeps
//! what was accepted.
//!
//! [`edit`] changes the text of a file and keeps its comments, [`verify`] checks the result, and [`user_file`] writes
//! it.
//!
//! Not here: reading documents or skills, and the process environment. Variables arrive through [`Env`], so that a test
//! is a function of its arguments.

#![warn(missing_docs)]

pub mod accepted;
pub mod apps;
pub mod config;
pub mod edit;
pub mod env;
pub mod error;
pub mod guard;
pub mod home;
mod key_variables;
pub mod keys;
pub mod layers;
pub mod load;
pub mod mcp;
pub mod overrides;
mod paths;
pub mod reference;
pub mod requirements;
pub mod user_file;
pub mod value;
pub mod verify;

mod check;
mod features;
mod files;
mod permissions;
mod project;
mod providers;
mod reader;
pub mod telemetry;
mod unknown;

pub use config::Config;
pub use env::Env;
pub use error::ConfigError;
pub use load::HarnessOverrides;
pub use load::LoadOptions;
pub use load::ProjectLayers;
pub use load::SystemPaths;
pub use load::load;
pub use load::load_layers;
pub use load::load_requirements;
pub use overrides::Override;
pub use reference::json_schema;
pub use reference::reference_markdown;
