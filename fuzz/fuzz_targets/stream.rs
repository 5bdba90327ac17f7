//! See `checks/stream.rs`.

#![no_main]

#[path = "../checks/stream.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
