//! The context engine for JavaScript.
//!
//! [`answer`] takes a question as JSON and gives the answer as JSON. `exports` has the functions that a WebAssembly host calls,
//! and the two buffers that it shares with them.
//!
//! Not here: what JavaScript programs call (`npm/engine`), and what a request is made from (`pellucid-context`).

#![warn(missing_docs)]

mod answer;
mod exports;

pub use answer::answer;
