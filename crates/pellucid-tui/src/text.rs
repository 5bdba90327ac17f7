//! Text as a terminal shows it: widths, wrapping, colours, Markdown, diffs. Values in, styled lines out.
//!
//! - `clean`: makes text of models, tools and files harmless and bounded
//! - `width`, `wrap`: display columns, and lines that fit into them
//! - `palette`: the colours that this terminal can show and a person can read
//! - `inline`, `markdown`, `table`: Markdown as styled lines, one source line after the other
//! - `stream`: a text that is still arriving; gives each finished line once
//! - `diff`: unified diffs with line numbers and changed words

pub mod clean;
pub mod diff;
pub mod inline;
pub mod markdown;
pub mod palette;
pub mod stream;
pub mod table;
pub mod width;
pub mod wrap;
