//! See `checks/prompt.rs`.

#![no_main]

#[path = "../checks/prompt.rs"]
mod check;
#[path = "../../crates/pellucid/src/stdin/decode.rs"]
mod decode;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data, decode::decode));
