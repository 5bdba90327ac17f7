//! Lists that take the composer's place: approvals, questions of the model, menus.
//!
//! - `options`: a list with numbered options
//! - `approval`: what a person is asked before a command or a patch, and the answers
//! - `question`: questions of the model, one at a time
//!
//! Not here: the list that opens while typing. That is part of the composer.

pub mod approval;
pub mod options;
pub mod parts;
pub mod question;
