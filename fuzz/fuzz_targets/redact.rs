//! See `checks/redact.rs`.

#![no_main]

#[path = "../checks/redact.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
