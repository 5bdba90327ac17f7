//! See `checks/chat.rs`.

#![no_main]

#[path = "../checks/chat.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
