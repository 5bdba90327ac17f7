//! The texts in place of an input: standing texts, the phase's prompt, the input.
//!
//! An input that is one text becomes one longer text. An input of several items keeps its items, and the texts are
//! separate items in front of them.
//!
//! Not here: when there is something to put in front ([`super::ReinjectState::decide`]).

use super::layout::ReinjectLayout;
use crate::fragment::Fragment;
use crate::pack::Pack;

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

/// Texts of the pack around an injection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvelopeTexts {
    /// The paragraph before it; empty for none.
    pub before: Vec<Fragment>,
    /// The paragraph between it and the input; empty for none.
    pub after: Vec<Fragment>,
}

impl EnvelopeTexts {
    /// The texts that a pack has for a layout.
    pub fn of(pack: &Pack, layout: &ReinjectLayout) -> Self {
        let text = |file: &Option<String>| file.as_ref().map(|file| pack.template(file).text()).unwrap_or_default();
        Self { before: text(&layout.before), after: text(&layout.after) }
    }
}

/// Puts texts before an input, each as a separate paragraph.
pub fn wrap<I>(
    injected: Option<Vec<Fragment>>,
    words: &EnvelopeTexts,
    phase: Option<Vec<Fragment>>,
    said: EnvelopeInput<I>,
) -> EnvelopeOutput<I> {
    let gap = || Fragment::layout(GAP);
    let after = words.after.as_slice();
    let after = if injected.is_some() && !after.is_empty() { after } else { &[] };
    let injected = injected.map(|texts| {
        let before = words.before.iter().cloned();
        let between = (!words.before.is_empty()).then(gap);
        before.chain(between).chain(texts).collect::<Vec<_>>()
    });
    let mut texts: Vec<Vec<Fragment>> = injected.into_iter().chain(phase).collect();
    if let (Some(last), false) = (texts.last_mut(), after.is_empty()) {
        last.push(gap());
        last.extend(after.iter().cloned());
    }
    match said {
        EnvelopeInput::Text(said) => {
            let mut all = Vec::new();
            for text in texts {
                all.extend(text);
                all.push(gap());
            }
            all.push(said);
            EnvelopeOutput::Text(all)
        }
        EnvelopeInput::Items(items) => {
            if let (Some(last), false) = (texts.last_mut(), after.is_empty()) {
                last.push(gap());
            }
            EnvelopeOutput::Items { texts, items }
        }
    }
}
