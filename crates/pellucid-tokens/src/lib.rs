//! Exact token counts, for models whose encoding is known.
//!
//! The table of an encoding is unpacked when the first text is counted, which takes about a tenth
//! of a second and 30 MB; a program that never counts pays for neither.
//!
//! Not here: the estimate that decides about sizes and truncation (`pellucid_engine::tokens`).

#![warn(missing_docs)]

use pellucid_engine::tokens::Counter;
use tiktoken::CoreBpe;

/// The table that this build carries.
const TABLE: &str = "o200k_base";

/// The encoding of models that speak in the harmony format: the same table, other control tokens.
const HARMONY: &str = "o200k_harmony";

/// Counts with a model's own encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    encoding: &'static str,
}

/// Why there is no exact count for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEncoding {
    /// Nobody has said how the model cuts texts.
    #[error("the encoding of the model `{model}` is not known")]
    Unknown {
        /// Which model.
        model: String,
    },
    /// It is known, but its table is not part of this build.
    #[error("the model `{model}` uses the encoding {encoding}, which this build does not carry (it has {TABLE})")]
    NotCarried {
        /// Which model.
        model: String,
        /// Its encoding.
        encoding: &'static str,
    },
}

impl Exact {
    /// The counter of a model. Names as providers spell them (`openai/gpt-5`) are understood.
    ///
    /// # Errors
    /// When the model's encoding is unknown or not carried.
    pub fn for_model(model: &str) -> Result<Self, NoEncoding> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let encoding = if is_codex(name) { Some(TABLE) } else { tiktoken::model_to_encoding(name) };
        match encoding {
            Some(encoding @ (TABLE | HARMONY)) => Ok(Self { encoding }),
            Some(encoding) => Err(NoEncoding::NotCarried { model: model.to_owned(), encoding }),
            None => Err(NoEncoding::Unknown { model: model.to_owned() }),
        }
    }

    /// The table, unpacked at the first call.
    fn table() -> &'static CoreBpe {
        tiktoken::get_encoding(TABLE).expect("the feature that carries the table is on")
    }
}

/// Models that are named after what they do and not after their family.
fn is_codex(name: &str) -> bool {
    ["codex-mini", "codex-auto"].iter().any(|family| name.starts_with(family))
}

impl Counter for Exact {
    fn name(&self) -> &str {
        self.encoding
    }

    fn count(&self, text: &str) -> usize {
        // Control tokens cannot be smuggled in as text: their spelling counts as what it is.
        Self::table().count(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_model(model: &str, expected: &str) {
        let actual = match Exact::for_model(model) {
            Ok(exact) => exact.name().to_owned(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(actual, expected);
    }

    #[test]
    fn models_are_known_by_their_families() {
        for model in ["gpt-5.2-codex", "gpt-5.3-codex-spark", "gpt-4.1", "o3", "o4-mini", "codex-mini-latest"] {
            check_model(model, "o200k_base");
        }
        check_model("openai/gpt-oss-20b", "o200k_harmony");
        check_model("test-model", "error: the encoding of the model `test-model` is not known");
        check_model(
            "gpt-4-turbo",
            "error: the model `gpt-4-turbo` uses the encoding cl100k_base, which this build does not carry (it has o200k_base)",
        );
    }

    /// Figures that three implementations agree on.
    #[test]
    fn counts_are_those_of_the_encoding() {
        let exact = Exact::for_model("gpt-5").unwrap();
        let cases = [
            ("", 0),
            ("hello world", 2),
            ("Hello, world!", 4),
            ("    indented\n\n\n", 4),
            ("日本語", 2),
            ("<|endoftext|>", 7),
        ];
        for (text, tokens) in cases {
            assert_eq!(exact.count(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn a_text_costs_no_more_than_its_parts() {
        let exact = Exact::for_model("gpt-5").unwrap();
        let text = include_str!("lib.rs");
        let lines: usize = text.split_inclusive('\n').map(|line| exact.count(line)).sum();
        let whole = exact.count(text);
        assert!(whole <= lines, "{whole} of {lines}");
        assert!(whole.abs_diff(text.len() / 4) < text.len() / 8, "{whole} of {} bytes", text.len());
    }
}
