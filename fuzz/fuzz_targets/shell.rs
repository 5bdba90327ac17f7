//! See `checks/shell.rs`.

#![no_main]

#[path = "../checks/shell.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
