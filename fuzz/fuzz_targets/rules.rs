//! See `checks/rules.rs`.

#![no_main]

#[path = "../checks/rules.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
