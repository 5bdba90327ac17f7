//! The terminal client: a conversation with a session, drawn inline below the terminal's scrollback.
//!
//! - `key`, `keymap`: keys, and what each does
//! - `input`: from the terminal's bytes to keys, pastes and answers
//! - `screen`: from lines to the terminal's bytes, with history in the terminal's scrollback
//! - `text`: widths, wrapping, colours, Markdown and diffs
//! - `cells`: the transcript, one kind of cell in each file
//! - `composer`: the message that is being written
//! - `commands`: the commands that begin with `/`
//! - `lists`: approvals, questions of the model and menus
//! - `pager`, `picker`: pages of text, and the list of stored sessions
//! - `look`: what the model will see
//! - `past`: what was said and sent before, and taking it back
//! - `app`: the state of the client
//! - `before`: questions before a session begins
//! - `host`: what the client asks of the program around it
//! - `turn_view`: a turn that is watched without a composer, for `exec`
//! - `terminal`, `run`: the terminal itself, and the driver that connects all of it
//!
//! State is pure: an event goes in, a new state and effects come out. Drawing reads the state and writes nothing else.

pub mod app;
pub mod before;
pub mod cells;
pub mod commands;
pub mod composer;
pub mod host;
pub mod input;
pub mod key;
pub mod keymap;
pub mod lists;
pub mod look;
pub mod pager;
pub mod past;
pub mod picker;
pub mod run;
pub mod screen;
pub mod terminal;
pub mod text;
pub mod turn_view;
