//! zig as a compiler of C for another processor, as scripts that Cargo can call.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Scripts that stand for a compiler and an archiver.
#[derive(Debug)]
pub struct Scripts {
    pub compiler: PathBuf,
    pub archiver: PathBuf,
}

/// How zig is started: as a program, or as a package of Python.
const STARTS: [&str; 2] = ["zig", "python3 -m ziglang"];

/// Writes the scripts of a target into `folder`.
pub fn scripts(target: &str, folder: &Path) -> Result<Scripts> {
    let runs = |start: &&&str| {
        let mut words = start.split(' ');
        let mut zig = Command::new(words.next().unwrap_or_default());
        zig.args(words).arg("version").output().is_ok_and(|it| it.status.success())
    };
    let Some(zig) = STARTS.iter().find(runs) else {
        bail!("zig is not installed either; `pip install ziglang` is enough");
    };
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let write = |name: &str, text: String| -> Result<PathBuf> {
        let path = folder.join(format!("{name}-{target}"));
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    Ok(Scripts {
        compiler: write("cc", compiler(zig, target))?,
        archiver: write("ar", format!("#!/bin/sh\nexec {zig} ar \"$@\"\n"))?,
    })
}

/// A script that leaves out Cargo's name of the target, which zig does not know, and the checks that zig adds by itself.
fn compiler(zig: &str, target: &str) -> String {
    let target = target.replace("-unknown-", "-");
    format!(
        "#!/bin/sh\nn=$#\nwhile [ \"$n\" -gt 0 ]; do\n  case $1 in --target=*) ;; *) set -- \"$@\" \"$1\" ;; esac\n  shift\n  \
         n=$((n - 1))\ndone\nexec {zig} cc -target {target} -fno-sanitize=undefined \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_leaves_out_the_name_of_the_target_and_keeps_every_other_word() {
        let script = compiler("printf '%s|'", "aarch64-unknown-linux-musl");
        let said = Command::new("sh").args(["-c", &script, "sh", "-O2", "--target=x", "a b", "-c"]).output().unwrap();
        let expected = "cc|-target|aarch64-linux-musl|-fno-sanitize=undefined|-O2|a b|-c|";
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
    }
}
