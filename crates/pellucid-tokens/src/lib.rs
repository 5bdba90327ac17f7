//! Exact token counts, for models whose encoding is known.
//!
//! The table of the encoding is in the binary in the form in which it is used: nothing is unpacked, and a program
//! that never counts reads none of it.
//!
//! - `pieces`: a text in pieces that no token spans; `ascii` is the short way for most of them
//! - `merge`: the tokens of a piece
//! - `table`, `class`, `hash`: the tokens and the kinds of characters
//!
//! Not here: the estimate that decides about sizes and truncation (`pellucid_engine::tokens`).

#![warn(missing_docs)]

mod ascii;
mod class;
mod hash;
mod merge;
mod pieces;
mod table;

use std::cell::RefCell;

use pellucid_engine::tokens::Counter;

use crate::merge::Merger;

/// The encoding whose table this build carries.
const TABLE: &str = "o200k_base";

/// The encoding of models that speak in the harmony format: the same table, other control tokens.
const HARMONY: &str = "o200k_harmony";

/// How the names of models begin, and their encoding. The first that fits counts.
const FAMILIES: [(&str, &str); 15] = [
    ("gpt-oss", HARMONY),
    ("gpt-5", TABLE),
    ("gpt-4.1", TABLE),
    ("gpt-4.5", TABLE),
    ("gpt-4o", TABLE),
    ("chatgpt-4o", TABLE),
    ("o1", TABLE),
    ("o3", TABLE),
    ("o4-mini", TABLE),
    ("codex-mini", TABLE),
    ("codex-auto", TABLE),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-35", "cl100k_base"),
    ("text-embedding", "cl100k_base"),
];

/// Counts with a model's own encoding.
#[derive(Debug)]
pub struct Exact {
    encoding: &'static str,
    merger: RefCell<Merger>,
}

/// Why there is no exact count for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEncoding {
    /// The encoding of the model is not known.
    #[error("the encoding of the model `{model}` is not known")]
    Unknown {
        /// The name of the model.
        model: String,
    },
    /// The encoding is known, but its table is not part of this build.
    #[error("the model `{model}` uses the encoding {encoding}, which this build does not carry (it has {TABLE})")]
    NotCarried {
        /// The name of the model.
        model: String,
        /// The name of the encoding.
        encoding: &'static str,
    },
}

impl Exact {
    fn new(encoding: &'static str) -> Self {
        Self { encoding, merger: RefCell::default() }
    }

    /// The counter of a model. Names as providers spell them (`openai/gpt-5`) are understood.
    ///
    /// # Errors
    /// When the model's encoding is unknown or not carried.
    pub fn for_model(model: &str) -> Result<Self, NoEncoding> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        let family = FAMILIES.iter().find(|(family, _)| name.starts_with(family));
        match family {
            Some((_, encoding @ (TABLE | HARMONY))) => Ok(Self::new(encoding)),
            Some((_, encoding)) => Err(NoEncoding::NotCarried { model: model.to_owned(), encoding }),
            None => Err(NoEncoding::Unknown { model: model.to_owned() }),
        }
    }
}

impl Counter for Exact {
    fn name(&self) -> &str {
        self.encoding
    }

    fn count(&self, text: &str) -> usize {
        // Control tokens cannot be smuggled in as text: their spelling counts as what it is.
        let mut merger = self.merger.borrow_mut();
        pieces::pieces(text).map(|(at, len)| merger.count(text.as_bytes(), at, len)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    /// Checks a count against that of another implementation.
    #[track_caller]
    fn check_count(text: &str) {
        let expected = tiktoken::get_encoding(TABLE).unwrap().count(text);
        assert_eq!(Exact::new(TABLE).count(text), expected, "{text:?}");
    }

    #[test]
    fn real_texts_count_as_elsewhere() {
        check_count(include_str!("lib.rs"));
        check_count(include_str!("class.rs"));
        check_count(include_str!("../../../docs/config.schema.json"));
        check_count(include_str!("../../../docs/tokens.md"));
        check_count(&"日本語の文章です。漢字とかな、ａｌｐｈａ。한국어 문장. 中文句子，没有空格".repeat(3));
    }

    #[test]
    fn a_piece_of_any_length_is_counted_soon() {
        check_count(&"ab".repeat(10_000));
        check_count(&" ".repeat(20_001));
        check_count(&"\n".repeat(5_000));
        check_count(&"=".repeat(4_097));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn any_text_counts_as_elsewhere(text in any::<String>()) {
            check_count(&text);
        }

        #[test]
        fn texts_that_are_hard_to_cut_count_as_elsewhere(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    " ", "  ", "\n", "\r\n", "\t", "\u{a0}", "\u{3000}", "a", "Z", "the", "Don", "'s", "'S", "'ll",
                    "'RE", "'ſ", "'", "\"", "/", "//", ".", "...", "1", "1234", "५", "Ⅷ", "é", "É", "ǅ", "ʰ", "日本",
                    "语", "한국", "\u{301}", "\u{200d}", "🙂", "👩‍💻", "ß", "İ", "()", "{}", "\u{0}", "\u{1c}", "\u{85}",
                    "<|endoftext|>",
                ]),
                0..24,
            ),
        ) {
            check_count(&parts.concat());
        }
    }
}
