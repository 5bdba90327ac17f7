//! Tests of the engine through its public API.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

mod allocations;
mod assembly;
mod callable;
mod compactions;
mod computed_packs;
mod corpus;
mod deferred;
mod documents;
mod fixture;
mod gates;
mod given_tools;
mod instruction_files;
mod layouts;
mod memories;
mod one_change;
mod other_systems;
mod pack_mutations;
mod packs;
mod past_sessions;
mod plans;
mod questions;
mod reinjection;
mod requests;
mod skills;
mod tool_lists;
mod transcripts;
mod turns;
mod updates;
mod user_packs;
mod wires;

use fixture::document;
use fixture::facts;
use fixture::model;
use fixture::pack;
use fixture::session_id;
