//! The situations of a session, as data: its setup, its steps, and the requests that the server must have seen.

mod given;
mod others;
mod placed;
mod plain;
mod shortened;

use super::cell::Cell;
use super::cell::Pack;
use super::stage::Stage;
use super::stage::Step;

/// One situation, for every pack that can be in it.
#[derive(Debug)]
pub struct Situation {
    pub name: &'static str,
    /// What is played, for readers of the table.
    pub about: &'static str,
    /// Why a pack cannot be in it.
    pub impossible: fn(Pack) -> Option<&'static str>,
    pub config: fn(&Stage) -> Config,
    pub steps: fn(Cell) -> Vec<Step>,
    /// How many requests the server gets.
    pub n_requests: fn(Pack) -> usize,
    /// Whether the server really saw it.
    pub happened: fn(&Stage) -> Result<(), String>,
}

/// What a situation's configuration says besides the pack and the provider.
#[derive(Debug, Default)]
pub struct Config {
    /// A pack made from the cell's own, by its folder.
    pub pack: Option<String>,
    /// Keys outside of any table.
    pub top: String,
    pub tables: String,
}

/// The situation exists for every pack.
pub fn possible(_: Pack) -> Option<&'static str> {
    None
}

/// Nothing but the pack and the provider.
pub fn plain(_: &Stage) -> Config {
    Config::default()
}

/// Something must be as said, or it is said that it is not.
pub fn ensure(is_so: bool, what: &str) -> Result<(), String> {
    is_so.then_some(()).ok_or_else(|| what.to_owned())
}

/// All situations, in the order of the table.
pub static SITUATIONS: [Situation; 17] = [
    plain::FIRST_TURN,
    plain::TOOL_CALLS,
    plain::RESUME,
    plain::UNLOADED,
    others::FORK,
    shortened::BY_HAND,
    shortened::BY_ITSELF,
    shortened::MEMORY,
    shortened::WINDOW,
    given::REINJECTION,
    given::INJECTED,
    placed::AT_A_DEPTH,
    others::REVIEW,
    others::CHILD,
    given::IMAGES,
    given::MCP,
    given::DEFERRED,
];
