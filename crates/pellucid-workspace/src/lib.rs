//! Reads the world into facts: instruction files, standing texts, skills, shell, writable roots, images, host.
//!
//! Everything here looks at the disk or at an environment that the caller hands in, and returns
//! plain values. Nothing starts a process.
//!
//! Not here: git (`pellucid-git`), and what the facts are used for. Budgets are spent and texts are decoded by
//! `pellucid-engine`; configuration is read by `pellucid-config`.

pub mod bootstrap_files;
pub mod bounds;
pub mod cache;
pub mod changes;
pub mod custom_prompts;
pub mod documents;
mod glob;
pub mod images;
pub mod injection_files;
mod mime;
pub mod os;
pub mod pack_files;
pub mod pack_import;
pub mod roots;
pub mod shell;
pub mod skills;
pub mod standing_files;
pub mod terminal;
mod whole_hash;

#[cfg(test)]
use pellucid_testkit::fixture;

use std::ffi::OsString;

/// Looks up an environment variable. The caller decides which environment that is.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;
