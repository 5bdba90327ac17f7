//! See `checks/computed.rs`.

#![no_main]

#[path = "../checks/computed.rs"]
mod check;
#[path = "../../crates/pellucid-engine/tests/it/fixture.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod fixture;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data, &fixture::facts()));
