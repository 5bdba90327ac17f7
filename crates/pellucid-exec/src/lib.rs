//! Processes: runs commands, keeps terminals open, and confines both.
//!
//! - `process`: one command from start to end, with bounded output
//! - `service`: a program that this process talks to over pipes
//! - `waited`: programs that a thread waits for, and programs that run on unattended
//! - `foreground`: programs that take our place at the terminal
//! - `terminal`: processes that outlive a call and can be written to
//! - `dialogue`: processes that are talked to in lines
//! - `pause`: stops confined commands while an unconfined one is decided about or runs
//! - `environment`: the variables of a child
//! - `snapshot`: the settings of a login shell, found out once
//! - `summary`: a short description of a command, for people
//! - `text`: decodes the output of a program
//! - `sandbox`: confines a child; a sandbox turns one argument list into another
//! - `script`: the commands of a shell script
//! - `policy`: rules about commands
//! - `programs`: finds the programs of a command
//! - `quiet_git`: variables that keep `git` from running programs which a repository names
//!
//! Not here: rules about commands (`pellucid-rules`), and who is asked before a command runs (the engine decides, the
//! agent asks).

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

pub mod dialogue;
pub mod environment;
pub mod foreground;
pub mod listener;
pub mod pause;
pub mod process;
pub mod programs;
pub mod quiet_git;
pub mod sandbox;
pub mod script;
pub mod service;
pub mod snapshot;
pub mod summary;
pub mod terminal;
pub mod text;
pub mod waited;

mod before_exec;
#[cfg(target_os = "linux")]
mod cells;
#[cfg(target_os = "linux")]
mod census;
mod command;
#[cfg(target_os = "linux")]
mod guard;
mod spawner;
