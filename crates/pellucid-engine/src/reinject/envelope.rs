//! The texts in place of an input: standing texts, the phase's prompt, the input.
//!
//! An input that is one text becomes one longer text. An input of several items keeps its items, and the texts are
//! separate items in front of them.
//!
//! Not here: when there is something to put in front ([`super::ReinjectState::decide`]).

use std::ops::Range;

use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::utf16;

/// The text between two texts.
const GAP: &str = "\n\n";

/// The input of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvelopeInput<I> {
    /// The input is one text.
    Text(Fragment),
    /// Several items, or one item that is not a text.
    Items(Vec<I>),
}

/// The input with the injected texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvelopeOutput<I> {
    /// One text with everything in it.
    Text(Vec<Fragment>),
    /// The injected texts, then the unchanged items.
    Items {
        /// The injected texts, one item each.
        texts: Vec<Vec<Fragment>>,
        /// The items of the input.
        items: Vec<I>,
    },
}

/// The parts of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeLayer {
    /// The instructions of the workspace.
    Instructions,
    /// The rules of the workspace.
    Rules,
    /// The prompt of the current phase.
    Phase,
    /// The input of the user.
    User,
}

impl EnvelopeLayer {
    /// The word for the layer in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Rules => "rules",
            Self::Phase => "phase",
            Self::User => "user",
        }
    }
}

/// Puts texts before an input, each as a separate paragraph.
pub fn wrap<I>(
    injected: Option<Vec<Fragment>>,
    phase: Option<Vec<Fragment>>,
    said: EnvelopeInput<I>,
) -> EnvelopeOutput<I> {
    let texts = injected.into_iter().chain(phase);
    match said {
        EnvelopeInput::Text(said) => {
            let mut all = Vec::new();
            for text in texts {
                all.extend(text);
                all.push(Fragment::layout(GAP));
            }
            all.push(said);
            EnvelopeOutput::Text(all)
        }
        EnvelopeInput::Items(items) => EnvelopeOutput::Items { texts: texts.collect(), items },
    }
}

/// Texts that the variant `current` puts around what it injects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvelopeTexts {
    /// The text that says who the agent is.
    pub alias: Vec<Fragment>,
    /// The text that says that the input follows.
    pub separator: Vec<Fragment>,
}

/// Whether a soul goes beside the input rather than before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The back end takes instructions of the developer.
    Developer,
    /// Nothing is sent beside the envelope.
    Nothing,
}

/// The input in the envelope of the variant `current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enveloped<I> {
    /// Instructions of the developer, if they change.
    pub developer: Option<Vec<Fragment>>,
    /// In place of the input.
    pub sent: EnvelopeOutput<I>,
}

/// Puts what the variant `current` injects before an input.
pub fn wrap_current<I>(
    injected: Option<Vec<Fragment>>,
    words: &EnvelopeTexts,
    beside: Beside,
    said: EnvelopeInput<I>,
) -> Enveloped<I> {
    let Some(injected) = injected else {
        return Enveloped { developer: None, sent: wrap(None, None, said) };
    };
    let paragraph = |first: &[Fragment], second: Vec<Fragment>| {
        let mut text = first.to_vec();
        text.push(Fragment::layout(GAP));
        text.extend(second);
        text
    };
    let soul = if beside == Beside::Developer { find_soul(&concat(&injected)) } else { None };
    let (developer, mut front) = match soul {
        Some(soul) => {
            let developer = paragraph(&words.alias, slice(&injected, soul.inside));
            let rest: Vec<Fragment> =
                slice(&injected, soul.before).into_iter().chain(slice(&injected, soul.after)).collect();
            if rest.is_empty() {
                return Enveloped { developer: Some(developer), sent: wrap(None, None, said) };
            }
            (Some(developer), rest)
        }
        None => (None, paragraph(&words.alias, injected)),
    };
    front.extend(words.separator.iter().cloned());
    let sent = match said {
        EnvelopeInput::Text(said) => {
            front.push(said);
            EnvelopeOutput::Text(front)
        }
        EnvelopeInput::Items(items) => EnvelopeOutput::Items { texts: vec![front], items },
    };
    Enveloped { developer, sent }
}

/// The position of a soul in a text.
struct Soul {
    inside: Range<usize>,
    before: Range<usize>,
    after: Range<usize>,
}

fn find_soul(text: &str) -> Option<Soul> {
    const OPEN: &str = "<soul>";
    const CLOSE: &str = "</soul>";
    let open = text.find(OPEN)?;
    let close = open + text[open..].find(CLOSE)?;
    let trimmed = |range: Range<usize>| {
        let inner = utf16::trim(&text[range.clone()]);
        let start = range.start + (text[range].find(inner).unwrap_or(0));
        start..start + inner.len()
    };
    let after = trimmed(close + CLOSE.len()..text.len());
    // The text after the soul keeps its distance to the text before, unless the text before is empty.
    let before = if after.is_empty() { trimmed(0..open) } else { 0..open };
    Some(Soul { inside: trimmed(open + OPEN.len()..close), before, after })
}

/// A range of the bytes that fragments have together, with its origins.
fn slice(fragments: &[Fragment], range: Range<usize>) -> Vec<Fragment> {
    let mut slice = Vec::new();
    let mut at = 0;
    for fragment in fragments {
        let end = at + fragment.text.len();
        let (from, to) = (range.start.max(at), range.end.min(end));
        if from < to {
            let origin = match &fragment.origin {
                Origin::File { path, range, size } => {
                    let start = range.start + (from - at) as u64;
                    Origin::File { path: path.clone(), range: start..start + (to - from) as u64, size: *size }
                }
                other => other.clone(),
            };
            slice.push(Fragment { origin, text: fragment.text[from - at..to - at].to_owned() });
        }
        at = end;
    }
    slice
}
