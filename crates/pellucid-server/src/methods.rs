//! What clients can ask for, one function to a method.
//!
//! A plain method is a function of the server and its parameters:
//! `async fn config_read(server: &Server, params: ConfigReadParams) -> Result<ConfigReadResponse, RpcError>`.
//! One that has something to tell to clients afterwards returns it beside its result ([`notice::Told`]).
//!
//! Families: [`account`], [`catalog`], [`command`], [`config`], [`files`], [`mcp`], [`skills`]; [`warnings`] is what
//! a client is told once it has said hello. Not here: threads and turns.

pub mod config;
pub mod notice;
mod paging;

#[cfg(test)]
mod fixture;
