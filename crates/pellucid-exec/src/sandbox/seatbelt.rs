//! The sandbox of macOS: a profile in its own notation, and the argument list that applies it.
//!
//! Everything is closed; what a command needs is opened. Later rules win, so folders are opened
//! first and closed again after.
//!
//! Not here: trying it. The tool belongs to the system.

use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

/// The system's tool. By its full name: a project could put another one on the `PATH`.
pub const TOOL: &str = "/usr/bin/sandbox-exec";

/// The rules that every program needs to run at all.
const BASE: &str = include_str!("seatbelt/base.sbpl");

/// The rules for network access: connections, and the services that resolve names and check certificates.
const NETWORK: &str = include_str!("seatbelt/network.sbpl");

/// The profile. Paths are not in it: it names parameters, so no path has to be quoted.
pub fn profile(n_roots: usize, n_protected: usize, network: bool) -> String {
    let mut text = BASE.to_owned();
    if n_roots > 0 {
        text += "\n; writable roots\n";
        for at in 0..n_roots {
            text += &format!("(allow file-write* (subpath (param \"{}\")))\n", root(at));
        }
    }
    if n_protected > 0 {
        text += "\n; what is protected in them\n";
        for at in 0..n_protected {
            text += &format!("(deny file-write* (subpath (param \"{}\")))\n", spared(at));
        }
    }
    if network {
        text += NETWORK;
    }
    text
}

/// The argument list that runs a command under the profile.
pub fn wrap(argv: Vec<OsString>, roots: &[PathBuf], protected: &[PathBuf], network: bool) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![TOOL.into(), "-p".into(), profile(roots.len(), protected.len(), network).into()];
    args.extend(roots.iter().enumerate().map(|(at, path)| parameter(&root(at), path)));
    args.extend(protected.iter().enumerate().map(|(at, path)| parameter(&spared(at), path)));
    args.push("--".into());
    args.extend(argv);
    args
}

fn root(at: usize) -> String {
    format!("WRITABLE_ROOT_{at}")
}

fn spared(at: usize) -> String {
    format!("PROTECTED_{at}")
}

fn parameter(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("-D{name}="));
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn nothing_is_writable_by_default() {
        let profile = profile(0, 0, false);
        assert_eq!(profile, BASE);
        assert!(!profile.contains("network-outbound"));
        assert_eq!(profile.matches('(').count(), profile.matches(')').count());
    }

    #[test]
    fn roots_are_opened_and_what_is_protected_is_closed_after() {
        let profile = profile(2, 1, true);
        let own = profile.strip_prefix(BASE).and_then(|it| it.strip_suffix(NETWORK)).unwrap();
        expect![[r#"

            ; writable roots
            (allow file-write* (subpath (param "WRITABLE_ROOT_0")))
            (allow file-write* (subpath (param "WRITABLE_ROOT_1")))

            ; what is protected in them
            (deny file-write* (subpath (param "PROTECTED_0")))
        "#]]
        .assert_eq(own);
        assert_eq!(profile.matches('(').count(), profile.matches(')').count());
    }

    #[test]
    fn paths_are_parameters() {
        let args = wrap(vec!["echo".into()], &["/w (1)".into()], &["/w (1)/.git".into()], false);
        assert_eq!(args[..2], ["/usr/bin/sandbox-exec", "-p"]);
        assert_eq!(args[3..], ["-DWRITABLE_ROOT_0=/w (1)", "-DPROTECTED_0=/w (1)/.git", "--", "echo"]);
        assert!(!args[2].to_str().unwrap().contains("/w"));
    }
}
