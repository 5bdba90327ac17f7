//! Recognises argument lists that are a shell with a script.

use std::path::Path;

/// The script, if this is one of the shells that we can read, with nothing but its script.
pub(super) fn script(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, flag, script] if is_flag(flag) && is_posix(shell) => Some(script),
        _ => None,
    }
}

fn is_flag(flag: &str) -> bool {
    matches!(flag, "-lc" | "-c")
}

/// Whether a program is bash, zsh or sh by its name, without folders and extensions.
fn is_posix(program: &str) -> bool {
    let mut path = Path::new(program);
    loop {
        if matches!(path.to_str(), Some("bash" | "zsh" | "sh")) {
            return true;
        }
        match path.file_stem().map(Path::new) {
            Some(stem) if stem != path => path = stem,
            _ => return false,
        }
    }
}

/// The script of any shell that a patch may be given to.
pub(super) fn patch_script(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, flag, script] if reads_patch(shell, flag) => Some(script),
        [shell, skipped, flag, script]
            if is_powershell(shell) && is_no_profile(skipped) && reads_patch(shell, flag) =>
        {
            Some(script)
        }
        _ => None,
    }
}

fn reads_patch(shell: &str, flag: &str) -> bool {
    match name(shell).as_str() {
        "bash" | "zsh" | "sh" => is_flag(flag),
        "pwsh" | "powershell" => flag.eq_ignore_ascii_case("-command"),
        "cmd" => flag.eq_ignore_ascii_case("/c"),
        _ => false,
    }
}

fn is_powershell(shell: &str) -> bool {
    matches!(name(shell).as_str(), "pwsh" | "powershell")
}

fn is_no_profile(flag: &str) -> bool {
    flag.eq_ignore_ascii_case("-noprofile")
}

fn name(shell: &str) -> String {
    let stem = Path::new(shell).file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or_default().to_ascii_lowercase()
}
