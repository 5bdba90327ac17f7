//! Bubblewrap: another program makes the namespaces, where we may not or where it may and we may
//! not. Inside, the helper adds its own fences and filter.
//!
//! Not here: whether it works (`trial`).

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::process::ExitCode;

use super::HelperError;
use super::Step;
use super::handles;
use super::missing;
use super::missing::Sweeper;
use super::watch;
use crate::sandbox::order::HelperStage;
use crate::sandbox::order::Order;

/// Runs a command through bubblewrap.
pub fn run(mut order: Order) -> Result<ExitCode, HelperError> {
    let agent = watch::agent(&order)?;
    // The roots are checked again inside, after mounting. Here the error message is clearer.
    for root in &order.writable {
        handles::open_root(root)?;
    }
    let sweeper = missing::make(&mut order)?.leave_to_sweeper()?;
    let bubblewrap = order.bubblewrap.clone().unwrap_or_else(|| "/usr/bin/bwrap".into()).into_os_string();
    // Inside, "this program" is another one, so it needs its real name.
    let ourselves = std::fs::read_link(watch::OURSELVES).step("finding this program's file")?;
    let mut command = Command::new(&bubblewrap);
    if let Some(sweeper) = &sweeper {
        // Bubblewrap writes the id of the first process inside to this pipe: the mounts exist until that process
        // ends.
        let pipe = sweeper.pipe();
        rustix::io::fcntl_setfd(pipe, rustix::io::FdFlags::empty()).step("telling the sweeper")?;
        command.args(["--info-fd", &pipe.as_raw_fd().to_string()]);
    }
    command.args(args(&order, &ourselves, rustix::process::geteuid().is_root()));
    let child = watch::spawn(&mut command, &bubblewrap)?;
    let sweeper = sweeper.map(Sweeper::close);
    let status = watch::wait(child, agent.as_ref())?;
    if let Some(sweeper) = sweeper.filter(|_| status.is_some()) {
        watch::wait_for(sweeper);
    }
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
    // A root may be inside of a protected path, such as a work tree in the home folder: the innermost path decides.
    let solid = order.solid().into_iter().map(|path| ("--bind", path));
    let protected = order.protected.iter().filter(|path| order.is_open(path));
    let mut binds: Vec<_> = solid.chain(protected.map(|path| ("--ro-bind-try", path.clone()))).collect();
    binds.sort_by_key(|(_, path)| path.components().count());
    for (kind, path) in binds {
        bind(kind, &path);
    }
    for path in &order.missing {
        args.extend(["--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]);
    }
    if order.fresh_proc {
        args.extend(["--proc", "/proc"].map(OsString::from));
    }
    if let Some(cwd) = &order.cwd {
        args.extend(["--chdir".into(), cwd.into()]);
    }
    args.extend(["--".into(), ourselves.into()]);
    args.extend(HelperStage::Confine(Order { agent: None, cwd: None, bubblewrap: None, ..order.clone() }).to_args());
    args
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use pellucid_files::FileIdentity;

    use super::*;
    use crate::sandbox::Backend;
    use crate::sandbox::roots::WritableFolder;

    fn root(path: &str) -> WritableFolder {
        WritableFolder { path: path.into(), identity: FileIdentity { device: 4, number: 77 } }
    }

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
            writable: vec![root("/tmp/w"), root("/tmp")],
            protected: vec!["/tmp/w/.git".into(), "/tmp/.git".into()],
            missing: vec!["/tmp/w/.codex".into()],
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
            --ro-bind-try /tmp/.git /tmp/.git
            --ro-bind-try /tmp/w/.git /tmp/w/.git
            --tmpfs /tmp/w/.codex
            --remount-ro /tmp/w/.codex
            --proc /proc
            --chdir /w/sub
            -- /opt/pellucid
            --pellucid-sandbox confine
            --backend bubblewrap
            --write 4:77:/tmp/w
            --write 4:77:/tmp
            --protect /tmp/w/.git
            --protect /tmp/.git
            --missing /tmp/w/.codex
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
