//! See `checks/script.rs`.

#![no_main]

#[path = "../checks/script.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
