//! Frames of requests, instructions, facts and states of files that sessions of one process hold together.
//!
//! Sessions of a server mostly have equal instructions. Each session makes and encodes them for itself, and then holds those of
//! another session if they are the same, so a thousand sessions have them in memory once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::file_states::FileStates;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::request::Frame;

use crate::shared_facts::SharedFacts;

/// How many different ones are remembered. Sessions differ by folder, model and pack.
const N_KNOWN_MAX: usize = 8;

/// What was made last, all different.
#[derive(Debug, Clone, Default)]
pub struct SharedFrames(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// No two have the same bytes before the items.
    frames: VecDeque<Frame>,
    instructions: VecDeque<Arc<[Fragment]>>,
    facts: VecDeque<SharedFacts>,
    files: VecDeque<Arc<FileStates>>,
}

impl SharedFrames {
    /// The same frame in the memory of a known one, as far as both are equal.
    pub(crate) fn share(&self, frame: Frame) -> Frame {
        let known = &mut self.known().frames;
        match used(known, |it| it.head_bytes() == frame.head_bytes()) {
            Some(known) => frame.sharing(known),
            None => {
                remember(known, frame.clone());
                frame
            }
        }
    }

    /// The same instructions in the memory of known ones.
    pub(crate) fn instructions(&self, instructions: &[Fragment]) -> Arc<[Fragment]> {
        let known = &mut self.known().instructions;
        if let Some(known) = used(known, |it| **it == *instructions) {
            return known.clone();
        }
        let new: Arc<[Fragment]> = instructions.into();
        remember(known, new.clone());
        new
    }

    /// The same facts in the memory of known ones.
    pub(crate) fn facts(&self, facts: &SharedFacts) -> SharedFacts {
        let known = &mut self.known().facts;
        if let Some(known) = used(known, |it| it == facts) {
            return known.clone();
        }
        remember(known, facts.clone());
        facts.clone()
    }

    /// The same states of files in the memory of known ones.
    pub(crate) fn files(&self, files: FileStates) -> Arc<FileStates> {
        let known = &mut self.known().files;
        if let Some(known) = used(known, |it| **it == files) {
            return known.clone();
        }
        let new = Arc::new(files);
        remember(known, new.clone());
        new
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A known value. It becomes the last one, so that those are forgotten that were not used for longest.
fn used<T>(known: &mut VecDeque<T>, is_it: impl Fn(&T) -> bool) -> Option<&T> {
    let at = known.iter().position(is_it)?;
    let it = known.remove(at)?;
    known.push_back(it);
    known.back()
}

fn remember<T>(known: &mut VecDeque<T>, new: T) {
    if known.len() == N_KNOWN_MAX {
        known.pop_front();
    }
    known.push_back(new);
}

#[cfg(test)]
mod tests {
    use pellucid_engine::encode::Encoded;
    use pellucid_engine::encode::Span;
    use pellucid_engine::facts::Facts;
    use pellucid_engine::fragment::Origin;
    use pellucid_engine::transcript::View;
    use pellucid_protocol::model::ModelInfo;

    use super::*;

    fn encoded(text: &str) -> Encoded {
        Encoded { bytes: text.into(), spans: vec![Span::unknown(text.len())] }
    }

    fn frame(head: &str, tail: &str) -> Frame {
        Frame::recorded(View::default(), encoded(head), encoded(tail))
    }

    fn is_held(one: &Frame, other: &Frame) -> bool {
        std::ptr::eq(one.head_bytes().as_ptr(), other.head_bytes().as_ptr())
    }

    #[test]
    fn sessions_with_equal_instructions_hold_them_once() {
        let shared = SharedFrames::default();
        let one = shared.share(frame("{[", "],1}"));
        let other = shared.clone().share(frame("{[", "],2}"));
        assert!(is_held(&one, &other));
        assert_eq!(&other.tail_bytes()[..], b"],2}");
        assert!(!is_held(&one, &SharedFrames::default().share(frame("{[", "],1}"))));
    }

    #[test]
    fn few_frames_are_remembered_and_those_that_are_used_stay() {
        let shared = SharedFrames::default();
        let first = shared.share(frame("first", ""));
        let second = shared.share(frame("second", ""));
        for n in 0..N_KNOWN_MAX - 2 {
            let _other = shared.share(frame(&format!("{n}"), ""));
        }
        assert!(is_held(&first, &shared.share(frame("first", ""))));
        let _one_more = shared.share(frame("one more", ""));
        assert!(is_held(&first, &shared.share(frame("first", ""))));
        assert!(!is_held(&second, &shared.share(frame("second", ""))));
        assert_eq!(shared.known().frames.len(), N_KNOWN_MAX);
    }

    #[test]
    fn equal_facts_are_held_once_and_a_change_is_of_one_session_alone() {
        let shared = SharedFrames::default();
        let facts = |cwd: &str| SharedFacts::from(Facts::plain(cwd, ModelInfo::builtin().remove(0)));
        let one = shared.facts(&facts("/a"));
        let mut other = shared.facts(&facts("/a"));
        assert!(one.is_held_with(&other) && !one.is_held_with(&shared.facts(&facts("/b"))));
        other.settings.cwd = "/c".to_owned();
        assert_eq!((one.settings.cwd.as_str(), other.settings.cwd.as_str()), ("/a", "/c"));
        assert!(!one.is_held_with(&other));
    }

    #[test]
    fn instructions_are_shared_with_their_origins() {
        let shared = SharedFrames::default();
        let said = |text: &str, origin| vec![Fragment { origin, text: text.to_owned() }];
        let one = shared.instructions(&said("be brief", Origin::Layout));
        assert!(Arc::ptr_eq(&one, &shared.instructions(&said("be brief", Origin::Layout))));
        assert!(!Arc::ptr_eq(&one, &shared.instructions(&said("be brief", Origin::User))));
        assert_eq!(*shared.instructions(&said("be long", Origin::Layout)), *said("be long", Origin::Layout));
    }
}
