//! See `checks/messages.rs`.

#![no_main]

#[path = "../checks/messages.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
