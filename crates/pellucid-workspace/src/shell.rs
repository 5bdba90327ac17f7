//! The user's shell: its family, which the model sees, and its path, which runs commands.
//!
//! The login shell of the user database counts, not `$SHELL`, which a parent process may have set
//! for its own purposes. `$SHELL` is asked only for a user who is in no database we can read.
//!
//! Not here: running anything.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::Environment;

/// The shell of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// The language of the shell.
    pub family: ShellFamily,
    /// The path of the executable.
    pub path: PathBuf,
}

/// The languages of shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellFamily {
    /// The Z shell, `zsh`.
    Zsh,
    /// The Bourne-again shell, `bash`.
    Bash,
    /// Any plain POSIX shell.
    Sh,
    /// PowerShell, `pwsh` or `powershell`.
    PowerShell,
    /// The command prompt of Windows.
    Cmd,
}

impl ShellFamily {
    /// The name that the model sees.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Zsh => "zsh",
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::PowerShell => "powershell",
            Self::Cmd => "cmd",
        }
    }

    /// The family of an executable, by its name without extensions.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        match name.split('.').next()? {
            "zsh" => Some(Self::Zsh),
            "bash" => Some(Self::Bash),
            "sh" => Some(Self::Sh),
            "pwsh" | "powershell" => Some(Self::PowerShell),
            "cmd" => Some(Self::Cmd),
            _ => None,
        }
    }

    /// The names of its executable, and its usual path if the search path does not have it.
    const fn places(self) -> (&'static [&'static str], Option<&'static str>) {
        match self {
            Self::Zsh => (&["zsh"], Some("/bin/zsh")),
            Self::Bash => (&["bash"], Some("/bin/bash")),
            Self::Sh => (&["sh"], Some("/bin/sh")),
            Self::PowerShell => (&["pwsh", "powershell"], Some("/usr/local/bin/pwsh")),
            Self::Cmd => (&["cmd"], None),
        }
    }
}

/// The shell of the user who runs this process.
pub fn user_shell(environment: &Environment<'_>) -> Shell {
    let login = match current_user_id() {
        Some(id) => login_shell(&fs::read("/etc/passwd").unwrap_or_default(), id),
        None => None,
    };
    let login = login.or_else(|| environment("SHELL").map(PathBuf::from));
    choose(login.as_deref(), environment)
}

/// The shell to use for a user with this login shell.
fn choose(login: Option<&Path>, environment: &Environment<'_>) -> Shell {
    let search_path = environment("PATH");
    let find = |family| find(family, login, search_path.as_deref());

    if cfg!(windows) {
        return find(ShellFamily::PowerShell)
            .unwrap_or_else(|| Shell { family: ShellFamily::Cmd, path: "cmd.exe".into() });
    }
    let [first, second] = if cfg!(target_os = "macos") {
        [ShellFamily::Zsh, ShellFamily::Bash]
    } else {
        [ShellFamily::Bash, ShellFamily::Zsh]
    };
    login
        .and_then(ShellFamily::of)
        .and_then(find)
        .or_else(|| find(first))
        .or_else(|| find(second))
        .unwrap_or_else(|| Shell { family: ShellFamily::Sh, path: "/bin/sh".into() })
}

/// A shell of this family: the login shell itself if it is one and exists, else the first on the search path, else
/// the usual one.
fn find(family: ShellFamily, login: Option<&Path>, search_path: Option<&OsStr>) -> Option<Shell> {
    let (names, usual) = family.places();
    let login = login.filter(|path| ShellFamily::of(path) == Some(family) && path.is_absolute() && path.is_file());
    let path = login
        .map(Path::to_path_buf)
        .or_else(|| names.iter().find_map(|name| find_executable(name, search_path?)))
        .or_else(|| usual.map(PathBuf::from).filter(|path| path.is_file()))?;
    Some(Shell { family, path })
}

fn find_executable(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name).with_extension(std::env::consts::EXE_EXTENSION))
        .find(|path| is_executable(path))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The real user id, from the kernel's own account of this process.
fn current_user_id() -> Option<u32> {
    user_id_of_status(&fs::read_to_string("/proc/self/status").ok()?)
}

fn user_id_of_status(status: &str) -> Option<u32> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}

/// The last field of the user's entry; empty if the entry says nothing, absent without an entry.
fn login_shell(passwd: &[u8], user_id: u32) -> Option<PathBuf> {
    passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<_> = line.split(|byte| *byte == b':').collect();
        let [_, _, id, _, _, _, shell] = fields[..] else {
            return None;
        };
        let id: u32 = std::str::from_utf8(id).ok()?.parse().ok()?;
        (id == user_id).then(|| PathBuf::from(String::from_utf8_lossy(shell).trim_end().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::fixture::Fixture;

    /// Chooses among fake executables; `$` is replaced by their folder.
    fn check(executables: &str, login: Option<&str>, search_path: &str, expected: &str) {
        let fixture = Fixture::new(executables);
        for line in executables.lines() {
            let path = fixture.path(line.split(':').next().unwrap());
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let root = fixture.root().to_str().unwrap();
        let search_path = OsString::from(search_path.replace('$', root));
        let login = login.map(|login| PathBuf::from(login.replace('$', root)));
        let environment = |name: &str| (name == "PATH").then(|| search_path.clone());
        let shell = choose(login.as_deref(), &environment);
        let shown = format!("{} {}", shell.family.as_str(), fixture.shown(shell.path.to_str().unwrap()));
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_usable_login_shell_is_taken_as_it_is() {
        check("x/zsh: #\ny/zsh: #", Some("$/y/zsh"), "$/x", "zsh $/y/zsh");
        check("y/sh: #", Some("$/y/sh"), "$/x", "sh $/y/sh");
        check("y/pwsh: #", Some("$/y/pwsh"), "$/x", "powershell $/y/pwsh");
    }

    #[test]
    fn a_missing_login_shell_is_replaced_by_one_of_its_family() {
        check("x/zsh: #\nx/bash: #", Some("$/gone/zsh"), "$/x", "zsh $/x/zsh");
    }

    #[test]
    fn an_unusable_login_shell_gives_way_to_bash() {
        check("x/zsh: #\nx/bash: #", Some("$/y/fish"), "$/x", "bash $/x/bash");
        check("x/bash: #", Some(""), "$/x", "bash $/x/bash");
        check("x/bash: #", None, "$/none:$/x", "bash $/x/bash");
    }

    #[test]
    fn families_by_name() {
        for (path, family) in [
            ("/bin/zsh", Some("zsh")),
            ("bash", Some("bash")),
            ("/bin/bash.exe", Some("bash")),
            ("/bin/sh.x.y", Some("sh")),
            ("/opt/pwsh", Some("powershell")),
            ("powershell.exe", Some("powershell")),
            ("cmd.exe", Some("cmd")),
            ("/bin/dash", None),
            ("/bin/rbash", None),
            ("/usr/bin/fish", None),
            ("", None),
        ] {
            assert_eq!(ShellFamily::of(Path::new(path)).map(ShellFamily::as_str), family, "{path}");
        }
    }

    #[test]
    fn login_shells_by_user_id() {
        let passwd = b"root:x:0:0:root:/root:/bin/bash\n# note\nbroken:line\nada:x:1000:1000:Ada,,,:/home/ada:/usr/bin/zsh\nbot:x:7:7:::\n";
        let shell = |id| login_shell(passwd, id).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(shell(0).as_deref(), Some("/bin/bash"));
        assert_eq!(shell(1000).as_deref(), Some("/usr/bin/zsh"));
        assert_eq!(shell(7).as_deref(), Some(""));
        assert_eq!(shell(4), None);
    }

    #[test]
    fn the_real_user_id_comes_first() {
        assert_eq!(user_id_of_status("Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t5\n"), Some(1000));
        assert_eq!(user_id_of_status("Name:\tx\n"), None);
    }
}
