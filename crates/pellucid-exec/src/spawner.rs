//! Starting children, and making sure that none is forgotten.
//!
//! Linux ends a child with its parent *thread*, not with its parent process. So all children are
//! made by one thread that lives as long as the process, whatever threads come and go above it.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;

use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process_group;
use tokio::process::ChildStderr;
use tokio::process::ChildStdin;
use tokio::process::ChildStdout;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::before_exec;
use crate::before_exec::Attachment;
#[cfg(target_os = "linux")]
use crate::guard;

/// A child and its group. Both are ended when this is dropped before the child has ended.
#[derive(Debug)]
pub(crate) struct Child {
    inner: tokio::process::Child,
    group: Pid,
    is_left_alone: bool,
    /// Whether its session ends with us even if we have no time to end it.
    is_guarded: bool,
}

impl Child {
    /// Its id, until its end was noticed.
    pub(crate) fn id(&self) -> Option<u32> {
        self.inner.id()
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.inner.stdin.take()
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.inner.stdout.take()
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.inner.stderr.take()
    }

    /// Waits for the end of the child. May be asked again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.inner.wait().await
    }

    /// Ends the child and everything in its group, at once.
    ///
    /// A group that is gone already is what was wanted.
    pub(crate) fn kill_group(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    /// Asks the child and everything in its group to end.
    pub(crate) fn terminate_group(&self) {
        let _ = kill_process_group(self.group, Signal::TERM);
    }

    /// The command is over, and what it left running in its group may go on.
    pub(crate) fn leave_alone(&mut self) {
        self.is_left_alone = true;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_left_alone {
            self.kill_group();
        }
        #[cfg(target_os = "linux")]
        if self.is_guarded {
            guard::forget(self.group);
        }
    }
}

/// Starts a command as the leader of a session of its own.
pub(crate) async fn spawn(mut command: Command, attachment: Attachment, guarding: Guarding) -> io::Result<Child> {
    command.kill_on_drop(true);
    let (reply, child) = oneshot::channel();
    let order = Order { command, attachment, guarding, runtime: Handle::current(), reply };
    let is_taken = thread_of_children()?.send(order).is_ok();
    match child.await {
        Ok(child) if is_taken => child,
        _ => Err(io::Error::other("the thread that starts processes has ended")),
    }
}

/// Who ends the session of a child when we are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarding {
    /// Our guard.
    Guard,
    /// The child, because it is a sandbox that watches us.
    Itself,
}

struct Order {
    command: Command,
    attachment: Attachment,
    guarding: Guarding,
    /// The runtime that will watch over the child.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

fn thread_of_children() -> io::Result<&'static mpsc::Sender<Order>> {
    static ORDERS: OnceLock<io::Result<mpsc::Sender<Order>>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (orders, received) = mpsc::channel();
        thread::Builder::new().name("children".to_owned()).spawn(move || serve(&received))?;
        Ok(orders)
    });
    orders.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

fn serve(orders: &mpsc::Receiver<Order>) {
    for Order { mut command, attachment, guarding, runtime, reply } in orders {
        let _entered = runtime.enter();
        let told = match guarding {
            Guarding::Guard => listener(),
            Guarding::Itself => None,
        };
        before_exec::set_up(&mut command, attachment, told);
        let child = start(&mut command, told.is_some());
        // The command holds our copies of what the child reads and writes. They must be closed
        // before anybody waits for the end of these streams.
        drop(command);
        // Who gave the order may have gone; the child is dropped then, and with it its group.
        let _ = reply.send(child);
    }
}

/// Who hears of children that are to be guarded.
fn listener() -> Option<BorrowedFd<'static>> {
    #[cfg(target_os = "linux")]
    let listener = guard::listener();
    #[cfg(not(target_os = "linux"))]
    let listener = None;
    listener
}

fn start(command: &mut Command, is_guarded: bool) -> io::Result<Child> {
    let inner = command.spawn()?;
    let group = inner.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let group = group.ok_or_else(|| io::Error::other("a new process has no id"))?;
    Ok(Child { inner, group, is_left_alone: false, is_guarded })
}
