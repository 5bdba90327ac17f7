//! See `checks/rollout.rs`.

#![no_main]

#[path = "../checks/rollout.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
