//! See `checks/patch.rs`.

#![no_main]

#[path = "../checks/patch.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
