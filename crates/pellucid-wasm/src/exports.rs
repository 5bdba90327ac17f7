//! The functions that a WebAssembly host calls.
//!
//! The host asks for room (`pellucid_room`), writes a question of that length there, calls `pellucid_answer`, and reads as many
//! bytes as that returns from `pellucid_answer_at`. The room and the answer stay until the next question, so the host
//! frees nothing.

#![allow(
    unsafe_code,
    reason = "a name that the host calls is `no_mangle`, which counts as unsafe; there is no unsafe block"
)]

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use crate::answer::answer;

#[derive(Debug)]
struct Shared {
    question: Vec<u8>,
    answer: Vec<u8>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { question: Vec::new(), answer: Vec::new() });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a question of so many bytes and returns where it is.
#[unsafe(no_mangle)]
pub extern "C" fn pellucid_room(len: usize) -> *const u8 {
    let mut shared = shared();
    shared.question = vec![0; len];
    shared.question.as_ptr()
}

/// Answers the question that was written into the room, and returns how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn pellucid_answer() -> usize {
    let mut shared = shared();
    let question = std::mem::take(&mut shared.question);
    shared.answer = answer(&question);
    shared.answer.len()
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn pellucid_answer_at() -> *const u8 {
    shared().answer.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_what_is_in_the_room_can_be_read() {
        pellucid_room(5);
        shared().question.copy_from_slice(b"wrong");
        let len = pellucid_answer();
        assert_eq!(shared().answer.len(), len);
        assert_eq!(pellucid_answer_at(), shared().answer.as_ptr());
        assert!(shared().answer.starts_with(b"{\"error\":"));
    }
}
