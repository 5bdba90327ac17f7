//! See `checks/template.rs`.

#![no_main]

#[path = "../checks/template.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
