//! The toy world: words are tokens, vectors count words, summaries come from a list.

use std::sync::OnceLock;

use pellucid_engine::memory::ask::{MemoryAnswer, MemoryQuestion, SummaryMessage};
use pellucid_engine::memory::request;
use pellucid_engine::memory::texts::MemoryTexts;
use pellucid_engine::pack::Pack;
use pellucid_engine::tokens::Counter;

/// The placeholder for our words.
pub const PROMPT: &str = "{{DEFAULT_PROMPT}}";

/// The texts of the pack around what is remembered.
pub fn texts() -> &'static MemoryTexts {
    static TEXTS: OnceLock<MemoryTexts> = OnceLock::new();
    TEXTS.get_or_init(|| MemoryTexts::of(&Pack::builtin("risuai").expect("the pack is built in")))
}

/// A token is a run of characters that are not blank.
pub struct Words;

impl Counter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }
}

/// Answers questions, and records them.
pub struct Toy {
    vocab: Vec<String>,
    summaries: Vec<String>,
    embed_fails: bool,
    cleans: Cleans,
    /// Every request for a summary.
    pub asked: Vec<Vec<SummaryMessage>>,
    /// Every text whose vector was asked for, each once.
    pub embedded: Vec<String>,
}

/// Whether a blank summary counts as failed where several are asked for together.
#[derive(Clone, Copy, PartialEq)]
pub enum Cleans {
    Yes,
    No,
}

impl Toy {
    pub fn new(vocab: Vec<String>, summaries: Vec<String>, embed_fails: bool, cleans: Cleans) -> Self {
        Self { vocab, summaries, embed_fails, cleans, asked: Vec::new(), embedded: Vec::new() }
    }

    pub fn answer(&mut self, question: &MemoryQuestion) -> MemoryAnswer {
        match question {
            MemoryQuestion::Summaries(requests) => {
                let mut answers = Vec::new();
                for messages in requests {
                    let answer = self.summary(messages);
                    let is_blank = || answer.as_ref().is_ok_and(|text| request::cleaned(text).is_err());
                    let failed = answer.is_err() || (self.cleans == Cleans::Yes && is_blank());
                    answers.push(answer);
                    if failed {
                        // A summary that has not begun is cancelled.
                        break;
                    }
                }
                answers.resize(requests.len(), Err("canceled".into()));
                MemoryAnswer::Summaries(answers)
            }
            MemoryQuestion::Vectors { texts, .. } if self.embed_fails => {
                let _ = texts;
                MemoryAnswer::Vectors(Err("the embedder is dead".into()))
            }
            MemoryQuestion::Vectors { texts, .. } => {
                for text in texts {
                    if !self.embedded.contains(text) {
                        self.embedded.push(text.clone());
                    }
                }
                MemoryAnswer::Vectors(Ok(texts.iter().map(|text| vector(text, &self.vocab)).collect()))
            }
        }
    }

    fn summary(&mut self, messages: &[SummaryMessage]) -> Result<String, String> {
        self.asked.push(messages.to_vec());
        let number = self.asked.len();
        match self.summaries.get(number - 1).map(String::as_str) {
            Some("!fail") => Err("the request failed".into()),
            Some("!empty") => Ok("  ".into()),
            Some(text) => Ok(text.into()),
            None => Ok(format!("auto summary {number}")),
        }
    }
}

/// The count of each word of the vocabulary, then a one.
pub fn vector(text: &str, vocab: &[String]) -> Vec<f32> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !matches!(c, 'a'..='z' | '0'..='9')).collect();
    let counts = vocab.iter().map(|word| words.iter().filter(|it| **it == word.as_str()).count() as f32);
    counts.chain([1.0]).collect()
}
