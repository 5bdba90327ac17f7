//! What clients can ask for, one function to a method.
//!
//! A plain method is a function of the server and its parameters:
//! `async fn config_read(server: &Server, params: ConfigReadParams) -> Result<ConfigReadResponse, RpcError>`.
//! One that has something to tell to clients afterwards returns it beside its result ([`notice::Told`]).
//!
//! Families: [`account`], [`catalog`], [`command`], [`config`], [`files`], [`mcp`], [`skills`]; [`warnings`] is what
//! a client is told once it has said hello. Not here: threads and turns.

pub mod catalog;
pub mod config;
pub mod notice;
mod paging;

use std::path::Path;

use pellucid_config::Config;
use pellucid_config::HarnessOverrides;

use crate::rpc::RpcError;
use crate::server::Server;

/// The configuration for a folder, or for that of the server.
fn current(server: &Server, cwd: Option<&Path>) -> Result<Config, RpcError> {
    server
        .ground
        .config(cwd, Vec::new(), HarnessOverrides::default())
        .map_err(|error| RpcError::invalid(format!("error deriving config: {}", error.brief())))
}

#[cfg(test)]
mod fixture;
