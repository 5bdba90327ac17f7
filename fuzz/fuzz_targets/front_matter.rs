//! See `checks/front_matter.rs`.

#![no_main]

#[path = "../checks/front_matter.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
