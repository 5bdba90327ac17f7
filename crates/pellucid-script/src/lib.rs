//! Templates and conditions of packs: Jinja's syntax, evaluated over values that carry their origin.
//!
//! The parser is minijinja's. The evaluator is this crate's, because in it there is no text without an origin: what a
//! template writes, what a filter cuts out, what a loop joins is made of pieces that know where their bytes come from
//! ([`Text`]). A string of an ordinary interpreter forgets that as soon as it is joined to another.
//!
//! Evaluation reads nothing but the values it is given ([`Roots`]) and always ends: there are no loops but those over
//! lists, and steps, bytes and depth are bounded ([`Limits`]). An error names the file, line and column.
//!
//! - `text`: pieces with their origins, and what can be done with them
//! - `value`: what expressions are evaluated to
//! - `code`, `parse`: a program in this crate's own form, and how minijinja's becomes it
//! - `run`, `expression`: the evaluator; `filters` and `tests_of_values` are its vocabulary
//!
//! Not here: which facts there are, and what an origin is. The engine decides both.

mod code;
mod expression;
mod filters;
mod parse;
mod run;
mod tests_of_values;
mod text;
mod value;

pub use code::Program;
pub use filters::FILTERS;
pub use run::LeftOut;
pub use run::Limits;
pub use run::Rendered;
pub use run::Roots;
pub use run::evaluate;
pub use run::is_true;
pub use run::render;
pub use tests_of_values::TESTS;
pub use text::Provenance;
pub use text::Text;
pub use value::Value;

/// Where in a file something is wrong, and what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ScriptError {
    /// The file, as the program was named when it was parsed.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

#[cfg(test)]
mod tests;
