//! The folders that commands may write in, in the order in which the model sees them.
//!
//! Not here: enforcing it. Two roots may name the same folder; nothing is merged, because the
//! list shows what was configured.

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::normal;
use pellucid_protocol::settings::SandboxPolicy;

/// The writable roots of a workspace policy; every other policy has none to name.
///
/// `tmpdir` is the value of `$TMPDIR`. Programs take it from the folder in which this process runs, so a relative one
/// is made absolute there, and it is named without `.`, `..` and a slash at its end.
pub fn writable_roots(policy: &SandboxPolicy, cwd: &Path, tmpdir: Option<&OsStr>) -> Vec<PathBuf> {
    let SandboxPolicy::WorkspaceWrite { writable_roots, exclude_tmpdir_env_var, exclude_slash_tmp, .. } = policy else {
        return Vec::new();
    };

    let mut roots = writable_roots.clone();
    roots.push(cwd.to_path_buf());
    if cfg!(unix) && !exclude_slash_tmp {
        let tmp = Path::new("/tmp");
        if tmp.is_dir() {
            roots.push(tmp.to_path_buf());
        }
    }
    if !exclude_tmpdir_env_var && let Some(tmpdir) = tmpdir {
        // An empty value adds nothing, and neither does a value when the working folder is gone.
        roots.extend(std::path::absolute(tmpdir).ok().map(|tmpdir| normal(&tmpdir)));
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(exclude_tmpdir_env_var: bool, exclude_slash_tmp: bool) -> SandboxPolicy {
        SandboxPolicy::WorkspaceWrite {
            writable_roots: vec!["/opt".into(), "/proj".into()],
            network_access: false,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        }
    }

    fn check(policy: &SandboxPolicy, tmpdir: Option<&str>, expected: &[&str]) {
        let roots = writable_roots(policy, Path::new("/proj"), tmpdir.map(OsStr::new));
        assert_eq!(roots, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn configured_first_then_cwd_then_temporary_folders() {
        check(&workspace(false, false), Some("/var/t"), &["/opt", "/proj", "/proj", "/tmp", "/var/t"]);
    }

    #[test]
    fn nothing_is_merged() {
        check(&workspace(false, false), Some("/tmp"), &["/opt", "/proj", "/proj", "/tmp", "/tmp"]);
    }

    #[test]
    fn exclusions() {
        check(&workspace(true, false), Some("/var/t"), &["/opt", "/proj", "/proj", "/tmp"]);
        check(&workspace(false, true), Some("/var/t"), &["/opt", "/proj", "/proj", "/var/t"]);
        check(&workspace(true, true), Some("/var/t"), &["/opt", "/proj", "/proj"]);
    }

    #[test]
    fn an_empty_tmpdir_is_no_root() {
        for tmpdir in [None, Some("")] {
            check(&workspace(false, true), tmpdir, &["/opt", "/proj", "/proj"]);
        }
    }

    #[test]
    fn tmpdir_is_named_by_its_own_parts() {
        let here = std::env::current_dir().unwrap();
        let inside = |name: &str| here.join(name).to_string_lossy().into_owned();
        for (tmpdir, expected) in [
            ("/var/t/", "/var/t".to_owned()),
            ("/var//./t/../u/.", "/var/u".to_owned()),
            ("/../var", "/var".to_owned()),
            ("/", "/".to_owned()),
            ("t/u/", inside("t/u")),
            ("./t/..//u", inside("u")),
        ] {
            let roots = writable_roots(&workspace(false, true), Path::new("/proj"), Some(OsStr::new(tmpdir)));
            // Compared as texts, because paths compare without what is left out here.
            assert_eq!(roots.last().unwrap().to_string_lossy(), expected, "{tmpdir}");
        }
    }

    #[test]
    fn other_policies_name_no_root() {
        check(&SandboxPolicy::ReadOnly, Some("/var/t"), &[]);
        check(&SandboxPolicy::DangerFullAccess, Some("/var/t"), &[]);
    }
}
