//! The environment of the program: the variables of the home folder's `.env` over the process's,
//! as in the Codex CLI.
//!
//! Keys that begin with `CODEX_` or `PELLUCID_` are not taken from the file: it is in the folder that such keys name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use pellucid_config::Env;

/// The process's environment, with the values of the home folder's `.env` in front of it.
pub fn with_dotenv(home: &Path) -> Env {
    Env::process().with(read(&home.join(".env")))
}

fn read(path: &Path) -> BTreeMap<String, OsString> {
    let Ok(text) = pellucid_files::read(path, pellucid_files::TEXT_BYTES_MAX) else {
        return BTreeMap::new();
    };
    let entries = dotenvy::from_read_iter(text.as_slice());
    let is_ours = |name: &str| {
        let name = name.to_ascii_uppercase();
        name.starts_with("CODEX_") || name.starts_with("PELLUCID_")
    };
    entries.flatten().filter(|(name, _)| !is_ours(name)).map(|(name, value)| (name, value.into())).collect()
}
