//! Bubblewrap: another program makes the namespaces, where we may not or where it may and we may
//! not. Inside, the helper adds its own fences and filter.
//!
//! Not here: whether it works (`trial`).

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::process::ExitCode;

use super::HelperError;
use super::Step;
use super::watch;
use crate::sandbox::order::Order;
use crate::sandbox::order::Stage;

/// Runs a command through bubblewrap.
pub fn run(order: &Order) -> Result<ExitCode, HelperError> {
    let agent = watch::agent(order)?;
    let bubblewrap = order.bubblewrap.clone().unwrap_or_else(|| "/usr/bin/bwrap".into()).into_os_string();
    // Inside, "this program" is another one, so it needs its real name.
    let ourselves = std::fs::read_link(watch::OURSELVES).step("finding this program's file")?;
    let mut command = Command::new(&bubblewrap);
    command.args(args(order, &ourselves, rustix::process::geteuid().is_root()));
    let child = watch::spawn(&mut command, &bubblewrap)?;
    let status = watch::wait(child, agent.as_ref())?;
    Ok(watch::end_like(status))
}

/// Bubblewrap's arguments. It ends with its parent, which is us.
pub fn args(order: &Order, ourselves: &Path, is_root: bool) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["--die-with-parent", "--unshare-pid", "--unshare-ipc"].map(OsString::from).to_vec();
    if !order.network {
        args.push("--unshare-net".into());
    }
    // Only the superuser has something to lose or to keep.
    if is_root {
        args.extend(["--cap-drop", "ALL"].map(OsString::from));
        for kept in ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"] {
            args.extend(["--cap-add".into(), kept.into()]);
        }
    }
    let mut bind = |kind: &str, path: &Path| args.extend([kind.into(), path.into(), path.into()]);
    bind("--ro-bind", Path::new("/"));
    // Without this devices could not be opened at all; the fences say which may be written.
    bind("--dev-bind", Path::new("/dev"));
    for root in order.solid() {
        bind("--bind", &root);
    }
    for path in &order.protected {
        bind("--ro-bind", path);
    }
    if order.fresh_proc {
        args.extend(["--proc", "/proc"].map(OsString::from));
    }
    if let Some(cwd) = &order.cwd {
        args.extend(["--chdir".into(), cwd.into()]);
    }
    args.extend(["--".into(), ourselves.into()]);
    args.extend(Stage::Confine(Order { agent: None, cwd: None, bubblewrap: None, ..order.clone() }).to_args());
    args
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::sandbox::Backend;

    #[track_caller]
    fn check(order: &Order, is_root: bool, expected: &Expect) {
        let args = args(order, Path::new("/opt/pellucid"), is_root);
        let text: Vec<_> = args.iter().map(|it| it.to_str().unwrap()).collect();
        expected.assert_eq(&text.join(" ").replace(" --", "\n--"));
    }

    #[test]
    fn everything_is_read_only_but_roots_and_in_them_what_is_protected() {
        let order = Order {
            cwd: Some("/w/sub".into()),
            writable: vec!["/tmp/w".into(), "/tmp".into()],
            protected: vec!["/tmp/w/.git".into()],
            ..Order::new(Backend::Bubblewrap, vec!["sh".into()])
        };
        check(
            &order,
            false,
            &expect![[r#"
            --die-with-parent
            --unshare-pid
            --unshare-ipc
            --unshare-net
            --ro-bind / /
            --dev-bind /dev /dev
            --bind /tmp /tmp
            --bind /tmp/w /tmp/w
            --ro-bind /tmp/w/.git /tmp/w/.git
            --proc /proc
            --chdir /w/sub
            -- /opt/pellucid
            --pellucid-sandbox confine
            --backend bubblewrap
            --write /tmp/w
            --write /tmp
            --protect /tmp/w/.git
            -- sh"#]],
        );
    }

    #[test]
    fn the_superuser_keeps_little() {
        let order = Order { network: true, fresh_proc: false, ..Order::new(Backend::Bubblewrap, vec!["sh".into()]) };
        check(
            &order,
            true,
            &expect![[r#"
            --die-with-parent
            --unshare-pid
            --unshare-ipc
            --cap-drop ALL
            --cap-add CAP_CHOWN
            --cap-add CAP_DAC_OVERRIDE
            --cap-add CAP_FOWNER
            --cap-add CAP_FSETID
            --ro-bind / /
            --dev-bind /dev /dev
            -- /opt/pellucid
            --pellucid-sandbox confine
            --backend bubblewrap
            --network
            --no-proc
            -- sh"#]],
        );
    }
}
