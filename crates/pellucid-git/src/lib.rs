//! Git: reads a repository's files, and is the one place where the agent runs git.
//!
//! A repository can name programs that git starts by itself: filters, monitors, hooks, drivers, helpers. Opening a
//! folder does not mean trusting them. So git never sees the repository's configuration: it is run on a private
//! folder that holds the repository's index and references and the few settings that name no program (`private`),
//! behind the sandbox, without network (`run`).
//!
//! - `repository`, `refs`, `remotes`: facts, without running anything
//! - `program`: finds git
//! - `private`: the folder that git is given instead of `.git`
//! - `run`: runs git
//! - `objects`, `files`: the content of a commit, and of a work tree
//! - `status`: whether there are changes, and which
//! - `ghost`: snapshots, and restoring them
//! - `apply`: applies a diff to files
//! - `history`: where branches diverge, and changes that no remote has
//! - `revision`: files as a revision has them
//! - `fetch`: files as a tag of another repository has them
//!
//! Not here: what the facts are used for, and where a `.git` leads (`pellucid_files::dot_git`).

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

pub mod apply;
pub mod fetch;
mod files;
pub mod ghost;
pub mod history;
mod objects;
mod private;
mod program;
mod refs;
mod remotes;
mod repository;
pub mod revision;
mod run;
mod status;
mod tree;

pub use refs::Head;
pub use repository::Repository;
pub use repository::work_tree_root;
pub use run::Git;
pub use run::GitError;
pub use run::GitSettings;
pub use status::has_changes;
