//! `--version --verbose`: what the program was built from, for reports about it.

use pellucid_engine::visible::visible;

use crate::print;
use crate::start::ProgramFailure;

/// The allocator: the one of the target's C library, unless that is musl's.
const ALLOCATOR: &str =
    if cfg!(target_env = "musl") { concat!("mimalloc ", env!("PELLUCID_MIMALLOC")) } else { "system" };

/// The variable by which npm's launcher says who installed it.
const INSTALLED_BY: &str = "PELLUCID_INSTALLED_BY";

/// Whether the libraries of the system are in the program.
const LINKED: &str = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

/// Whether `--verbose` is among the arguments. The parser stops at `--version`, so it does not say what follows.
pub fn is_verbose() -> bool {
    std::env::args_os().any(|it| it == "--verbose")
}

pub fn run() -> Result<(), ProgramFailure> {
    print::out(&text())
}

fn text() -> String {
    let commit = option_env!("PELLUCID_COMMIT").unwrap_or("not recorded (`cargo xtask package` records it)");
    let mut rows = vec![
        ("commit", commit.to_owned()),
        ("target", format!("{}, {LINKED}", env!("PELLUCID_TARGET"))),
        ("profile", format!("{}, opt-level {}", env!("PELLUCID_PROFILE"), env!("PELLUCID_OPT_LEVEL"))),
        ("compiler", env!("PELLUCID_COMPILER").to_owned()),
        ("allocator", ALLOCATOR.to_owned()),
        ("packs", pellucid_engine::pack::Pack::builtin_names().join(", ")),
        ("sandbox", if cfg!(target_os = "linux") { "namespaces, Landlock, seccomp" } else { "none" }.to_owned()),
        ("http", concat!("reqwest ", env!("PELLUCID_REQWEST"), ", hyper ", env!("PELLUCID_HYPER")).to_owned()),
        ("tls", concat!("rustls ", env!("PELLUCID_RUSTLS"), ", ring ", env!("PELLUCID_RING")).to_owned()),
        ("sqlite", concat!("libsqlite3-sys ", env!("PELLUCID_LIBSQLITE3_SYS"), ", embedded").to_owned()),
        ("zstd", concat!("zstd-sys ", env!("PELLUCID_ZSTD_SYS")).to_owned()),
        ("mcp", concat!("rmcp ", env!("PELLUCID_RMCP")).to_owned()),
        ("rules", concat!("starlark ", env!("PELLUCID_STARLARK")).to_owned()),
        ("shell scripts", concat!("tree-sitter-bash ", env!("PELLUCID_TREE_SITTER_BASH")).to_owned()),
    ];
    if let Ok(manager) = std::env::var(INSTALLED_BY) {
        rows.push(("installed by", visible(&manager).into_owned()));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default() + 1;
    let rows: String = rows.iter().map(|(name, value)| format!("{:width$} {value}\n", format!("{name}:"))).collect();
    format!("pellucid {}\n{rows}", env!("CARGO_PKG_VERSION"))
}
