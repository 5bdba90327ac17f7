//! Changing what stays read-only under a writable root.

use std::fs;
use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rustix::mount::UnmountFlags;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use super::files::open_writing;
use super::files::write;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("git-config", "the repository's configuration", |_| append(".git/config")).writing(),
    attempt("git-config-by-git", "the same by git itself", |_| git_config()).writing(),
    attempt("git-hook", "a new hook", |_| hook()).writing(),
    attempt("git-hook-rename", "a hook by renaming its example", |_| {
        Ok(fs::rename(".git/hooks/pre-commit.sample", ".git/hooks/pre-commit")?)
    })
    .writing(),
    attempt("git-hook-move", "a hook by moving a file there", |_| {
        Ok(fs::rename("src/lib.rs", ".git/hooks/pre-commit")?)
    })
    .writing(),
    attempt("git-hard-link", "the configuration by a second name", |_| {
        fs::hard_link(".git/config", "src/config")?;
        append("src/config")
    })
    .writing(),
    attempt("git-symlink", "the configuration through a link", |_| {
        symlink("../.git/config", "src/config-link")?;
        append("src/config-link")
    })
    .writing(),
    attempt("git-proc-cwd", "the configuration below `/proc/self/cwd`", |_| append("/proc/self/cwd/.git/config"))
        .writing(),
    attempt("git-delete", "removing the configuration", |_| Ok(fs::remove_file(".git/config")?)).writing(),
    attempt("git-replace", "moving the repository away to make another", |_| Ok(fs::rename(".git", "src/git")?))
        .writing(),
    attempt("git-exchange", "exchanging the repository for another folder", |_| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        Ok(rustix::fs::renameat_with(rustix::fs::CWD, ".git", rustix::fs::CWD, "src", flags)?)
    })
    .writing(),
    attempt("git-unmount", "unmounting what protects the repository", |_| {
        match rustix::mount::unmount(".git", UnmountFlags::DETACH) {
            // Without protection there is nothing to unmount.
            Ok(()) | Err(rustix::io::Errno::INVAL) => append(".git/config"),
            Err(error) => Err(error.into()),
        }
    })
    .writing(),
    attempt("git-chmod", "the permissions of the configuration", |_| {
        Ok(fs::set_permissions(".git/config", fs::Permissions::from_mode(0o666))?)
    })
    .gap("metadata")
    .writing(),
    attempt("codex-settings", "settings of an agent in `.codex`", |_| append(".codex/config.toml")).writing(),
    attempt("pellucid-settings", "settings of an agent in `.pellucid`", |_| write(Path::new(".pellucid/config.toml")))
        .writing(),
    attempt("agents-skill", "a skill in `.agents`", |_| write(Path::new(".agents/skills/SKILL.md"))).writing(),
];

fn append(path: &str) -> Tried {
    open_writing(Path::new(path), OpenOptions::new().append(true))
}

fn hook() -> Tried {
    let path = Path::new(".git/hooks/post-checkout");
    fs::write(path, "#!/bin/sh\n")?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

fn git_config() -> Tried {
    let args = ["config", "--file", ".git/config", "core.fsmonitor", "true"];
    fs::metadata(".git")?;
    match Command::new("git").args(args).output() {
        Err(error) => Err(Failure::Skipped(format!("git: {error}"))),
        Ok(output) if fs::read_to_string(".git/config")?.contains("fsmonitor") => {
            drop(output);
            Ok(())
        }
        // The control's configuration is no configuration; what counts is whether git could lock it.
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_reached = said.contains("bad config");
            if is_reached { Ok(()) } else { Err(Failure::Denied(said)) }
        }
    }
}
