//! See `checks/apply.rs`.

#![no_main]

#[path = "../checks/apply.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
