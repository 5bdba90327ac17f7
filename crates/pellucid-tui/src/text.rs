//! Text as a terminal shows it: widths, wrapping, colours, Markdown, diffs. Values in, styled lines out.
//!
//! - `clean`: makes text of models, tools and files harmless and bounded
//! - `width`, `wrap`: display columns, and lines that fit into them
//! - `palette`: the colours that this terminal can show and a person can read
//! - `markdown`, `blocks`, `inline`, `table`: Markdown as styled lines, parsed by `pulldown-cmark`
//! - `code`: code in colours
//! - `stream`: a text that is still arriving; gives each finished line once
//! - `diff`: unified diffs with line numbers and changed words

mod blocks;
pub mod clean;
pub mod code;
pub mod diff;
mod inline;
pub mod markdown;
pub mod palette;
pub mod stream;
mod table;
pub mod width;
pub mod wrap;
