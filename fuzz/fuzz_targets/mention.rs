//! See `checks/mention.rs`.

#![no_main]

#[path = "../checks/mention.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
