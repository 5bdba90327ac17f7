//! Making what is missing, replacing what is linked, and reaching repositories and the home folder below a root.

use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::Attempt;
use super::Failure;
use super::Leaks;
use super::Tried;
use super::attempt;
use super::files::open_writing;
use super::files::write;

const MISSING: &str = "missing-protected-folder";
const NESTED: &str = "nested-repositories";

pub const ATTEMPTS: &[Attempt] = &[
    attempt("first-settings", "the first settings of a project", |_| make(Path::new("mid/bare/.codex")))
        .gap(MISSING)
        .writing(),
    attempt("first-link", "a link where a skill would be looked for", |_| {
        let link = "mid/bare/.agents";
        taken(symlink("../../src", link))?;
        Ok(fs::remove_file(link)?)
    })
    .gap(MISSING)
    .writing(),
    attempt("first-rename", "a prepared folder under the name of settings", |_| {
        fs::create_dir_all("src/prepared")?;
        taken(fs::rename("src/prepared", "mid/bare/.pellucid"))?;
        Ok(fs::remove_dir("mid/bare/.pellucid")?)
    })
    .gap(MISSING)
    .writing(),
    attempt("first-after-removal", "removing what keeps the name first", |_| {
        let path = Path::new("mid/bare/.codex");
        match fs::remove_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        make(path)
    })
    .gap(MISSING)
    .writing(),
    attempt("first-after-unmount", "unmounting it first", |_| {
        match rustix::mount::unmount("mid/bare/.codex", UnmountFlags::DETACH) {
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => make(Path::new("mid/bare/.codex")),
            Err(error) => Err(error.into()),
        }
    })
    .writing(),
    attempt("first-elsewhere", "another working folder with settings in its place", |_| {
        fs::rename("mid/bare", "mid/away")?;
        make(Path::new("mid/bare/.codex"))
    })
    .writing(),
    attempt("file-replaced", "a folder in place of a file of that name", |_| {
        fs::remove_file("mid/.agents")?;
        Ok(fs::create_dir("mid/.agents")?)
    })
    .writing(),
    attempt("linked-settings", "settings behind a link", |_| write(Path::new("mid/.codex/config.toml"))).writing(),
    attempt("linked-target", "moving away what a link leads to", |_| Ok(fs::rename("settings", "src/settings")?))
        .writing(),
    attempt("linked-replaced", "another link in its place", |_| {
        fs::remove_file("mid/.codex")?;
        Ok(symlink("../src", "mid/.codex")?)
    })
    .gap("linked-protected-folder")
    .leaks(Leaks::Mounts)
    .writing(),
    attempt("home-settings", "the settings of this program", |_| write(Path::new("home/config.toml"))).writing(),
    attempt("home-replaced", "another home folder", |_| {
        fs::rename("home", "src/home")?;
        Ok(fs::create_dir("home")?)
    })
    .writing(),
    attempt("submodule-hook", "a hook of a submodule", |_| write(Path::new("known/.git/hooks/post-checkout")))
        .gap(NESTED)
        .writing(),
    attempt("submodule-config", "the configuration of a submodule", |_| {
        open_writing(Path::new("known/.git/config"), OpenOptions::new().append(true))
    })
    .gap(NESTED)
    .writing(),
    attempt("submodule-info", "the attributes of a submodule, for which there is no folder", |_| {
        make(Path::new("known/.git/info"))
    })
    .gap(NESTED)
    .writing(),
    attempt("submodule-replaced", "another repository in place of a submodule's", |_| {
        fs::rename("known/.git", "known/old")?;
        Ok(fs::rename("known/old", "known/.git")?)
    })
    .gap(NESTED)
    .writing(),
    attempt("unknown-hook", "a hook of an unknown repository", |_| {
        write(Path::new("src/nested/.git/hooks/post-checkout"))
    })
    .gap(NESTED)
    .leaks(Leaks::All)
    .writing(),
];

/// Makes a folder with a file in it, and takes both away again.
fn make(folder: &Path) -> Tried {
    fs::create_dir_all(folder)?;
    write(&folder.join("config.toml"))?;
    Ok(fs::remove_dir(folder)?)
}

/// A name that is taken is a denial here: without a sandbox the path does not exist.
fn taken(result: io::Result<()>) -> Tried {
    match result {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::Denied(error.to_string())),
        other => Ok(other?),
    }
}
