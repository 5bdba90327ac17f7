//! How the program is linked: released for Linux, at a fixed address.
//!
//! The default position-independent program is relocated by the loader at every start, table by table: with tables as
//! large as ours that took a third of a start, and of every command that runs through the sandbox's helper. Stack,
//! heap and libraries are still placed at random.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
