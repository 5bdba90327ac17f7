//! Answers to questions about requests: values in, values out.
//!
//! A command, the terminal and the page draw what is computed here, so each figure has one function. Reading files,
//! finding sessions and printing belong to the clients.
//!
//! - `inspected`: a request to be asked about, with its bytes and the origin of each
//! - `figures`: sizes, charges and cache verdicts of sent requests
//! - `bisect`: at which commit, request or part an answer changes
//! - `capsule`: a session in one file for people and for another machine
//! - `certificate`: whether the next request of a session extends the last one
//! - `cache`: why something is paid for again
//! - `compaction`: what a summary does to a history, and what is lost by it
//! - `cost`: what requests cost, by part, and what they would cost under another setting
//! - `diff`: what changed between two requests, and what that does to the provider's cache
//! - `forecast`: what a turn will cost before it begins
//! - `inherited`: what an agent's request has from the session that started it
//! - `items`: the items of a session, each with the requests that had it
//! - `lock`: what the first request in a project is made of, and what changed since it was locked
//! - `mcp_shares`: what the tools of each MCP server take up in a request
//! - `overview`: what fills a request, in a few groups
//! - `packs`: the same facts under several packs
//! - `panel`: the rows of a request, with cost and cache
//! - `reconstructed`: what a request was made of, as far as a session file without a record has it
//! - `seen`: what the model has been shown of files, and whether they are still so
//! - `shared`: which items a request has in common with the request before
//! - `tree`: the parts of a request by size, nested by origin
//! - `why`: why something is in a request, or is not
//! - `grep`: which requests contain a text
//! - `timeline`: what the requests of a session are made of, request by request
//! - `transcript`: what was said, called, printed and paid in a session
//! - `schemas`: the JSON Schemas of the answers

pub mod bisect;
pub mod cache;
pub mod capsule;
pub mod certificate;
pub mod compaction;
pub mod cost;
pub mod diff;
pub mod figures;
pub mod forecast;
pub mod grep;
pub mod inherited;
pub mod inspected;
pub mod items;
pub mod lock;
pub mod mcp_shares;
pub mod overview;
pub mod packs;
pub mod panel;
pub mod reconstructed;
pub mod schemas;
pub mod seen;
pub mod shared;
pub mod timeline;
pub mod transcript;
pub mod tree;
mod whole;
pub mod why;
