//! The pure core of Pellucid: facts in, request bytes out, and an account of every byte.
//!
//! Programs that make requests use the crate `pellucid-context`, whose names are stable. The modules here serve the program, and
//! change with any version.
//!
//! - [`facts`]: the facts of a turn
//! - [`pack`], [`template`], [`gate`], [`source`], [`computed`]: how model input is put together, as data
//! - [`fragment`], [`encode`]: text with its origin, and bytes with theirs
//! - [`assemble`]: the first context
//! - [`update`], [`compaction`]: messages about changes, and how a long history is summarised
//! - [`reinject`], [`memory`]: texts that are repeated, and memories of a long conversation
//! - [`memories`]: memories of past sessions for later sessions
//! - [`skills`]: instructions on disk that are used on demand
//! - [`custom_prompt`]: prompts of the user with placeholders
//! - [`transcript`], [`chunks`], [`user_message`]: the conversation, encoded once
//! - [`boundary`], [`exec_output`]: the meaning of items, and how they are shown
//! - [`request`], [`tool_list`], `wire`: a request in shared pieces, in each API format (a "wire")
//! - [`report`], [`tokens`]: the parts of a request, and their sizes
//! - `reading`, [`continuity`], [`cache_verdict`]: a request in the order in which the model reads it, how it
//!   continues the request before, and the provider's verdict about its cache
//! - [`increment`], [`digest`]: the items that a request adds to the one before, and its digests
//! - [`turn`], [`call`], [`turn_item`], [`meter`]: the turn as a state machine
//! - [`mcp`]: the tools of servers, by the names that models call
//! - [`server_input`]: their prompts and resources in a person's input
//! - [`elicitation`]: the forms of servers, as questions and as values
//! - [`agent_status`]: the status of an agent that another one started
//! - [`approval`]: which commands and patches run, which are asked about, which are refused
//! - [`injection`], [`window`]: items that layouts and callers inject, and histories within a budget
//! - [`bootstrap`], [`prompt_sizes`], [`utf16`]: the first files of an assistant in chats, and the sizes of its prompt
//! - [`host`]: texts and conditions of the program that uses the engine as a library
//! - [`hidden`]: characters in instruction files that people do not see
//! - [`visible`]: text as a terminal may show it
//! - [`documents`]: how instruction files share a budget, import others, join later and change
//! - [`cut`]: how much of a text is used, and where it is cut
//! - [`prices`]: what tokens cost, by model and date
//! - [`js_number`]: reading numbers as JavaScript does
//!
//! Not here: files, clocks, environment, network, waiting. Whatever varies arrives as an argument,
//! so the same facts always give the same bytes. A lint enforces this (`clippy.toml` in this folder).

#![warn(missing_docs)]

pub mod agent_status;
pub mod approval;
pub mod apps;
pub mod assemble;
pub mod bm25;
pub mod bootstrap;
pub mod boundary;
pub mod cache_verdict;
pub mod call;
pub mod carried;
pub mod chunks;
pub mod command_line;
pub mod compaction;
pub mod computed;
pub mod continuity;
pub mod custom_prompt;
pub mod cut;
pub mod deferred;
pub mod digest;
pub mod documents;
pub mod elicitation;
pub mod encode;
pub mod exec_output;
pub mod facts;
pub mod file_chunks;
pub mod file_states;
pub mod file_version;
pub mod fragment;
pub mod gate;
pub mod hidden;
pub mod host;
pub mod increment;
pub mod injection;
pub mod js_number;
pub mod least;
pub mod loss;
pub mod mcp;
pub mod memories;
pub mod memory;
pub mod meter;
pub mod not_utf8;
pub mod notice;
pub mod origins;
pub mod pack;
mod path;
pub mod presets;
pub mod prices;
pub mod prompt_sizes;
mod reading;
pub mod reinject;
pub mod report;
pub mod request;
pub mod request_name;
pub mod review;
pub mod schema;
pub mod server_input;
pub mod skills;
pub mod source;
pub mod template;
pub mod tokens;
pub mod tool_list;
pub mod transcript;
pub mod turn;
pub mod turn_item;
pub mod update;
pub mod user_command;
pub mod user_message;
pub mod utf16;
pub mod visible;
pub mod watched;
pub mod window;
pub mod wire;
