//! What is in every package: the program, pages of the manual, completions, licences.
//!
//! Pages and scripts are made by a program that runs here: the packaged one, or one that was built for this machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::archive::{Effort, gzip};
use super::entry::Entry;
use crate::program;
use crate::scratch::Scratch;

/// Each shell, and where a system looks for its completions below `share`.
pub const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/pellucid"),
    ("zsh", "zsh/site-functions/_pellucid"),
    ("fish", "fish/vendor_completions.d/pellucid.fish"),
    ("elvish", "pellucid/completions/pellucid.elv"),
    ("powershell", "pellucid/completions/pellucid.ps1"),
];

/// The files about the project that belong into every package.
const PAPERS: &[&str] = &["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"];

/// Everything except the program, below `share`, in order of the paths.
pub fn shared(runs_here: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (shell, path) in COMPLETIONS {
        let script = program::text_of(Command::new(runs_here).args(["completion", shell]))?;
        entries.push(Entry::text(*path, script));
    }
    let scratch = Scratch::new()?;
    program::text_of(Command::new(runs_here).arg("man").arg("--to").arg(scratch.path()))?;
    let pages = std::fs::read_dir(scratch.path()).context("the pages of the manual are in their folder")?;
    for page in pages {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        let bytes = gzip(&std::fs::read(page.path())?, Effort::Small)?;
        entries.push(Entry { path: format!("man/man1/{name}.gz"), is_program: false, bytes });
    }
    for name in PAPERS {
        entries.push(Entry::of_file(format!("doc/pellucid/{name}"), &program::root().join(name))?);
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// The files below `/usr` or another prefix.
pub fn installed(program: &[u8], shared: &[Entry]) -> Vec<Entry> {
    let mut entries = vec![Entry::program("bin/pellucid", program.to_vec())];
    entries.extend(shared.iter().map(|it| it.below("share")));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_program_and_what_it_shares() {
        let shared = [Entry::text("man/man1/pellucid.1.gz", "page")];
        let entries = installed(b"program", &shared);
        let list: Vec<String> = entries.iter().map(|it| format!("{} {:o}", it.path, it.mode())).collect();
        assert_eq!(list, ["bin/pellucid 755", "share/man/man1/pellucid.1.gz 644"]);
    }
}
