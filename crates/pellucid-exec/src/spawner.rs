//! Starting children, and making sure that none is forgotten.
//!
//! Linux ends a child with its parent *thread*, not with its parent process. So all children are
//! made by one thread that lives as long as the process, whatever threads come and go above it.

use std::io;
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

/// A child and its group. Both are ended when this is dropped before the child has ended.
#[derive(Debug)]
pub(crate) struct Child {
    inner: tokio::process::Child,
    group: Pid,
    is_left_alone: bool,
}

impl Child {
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
    }
}

/// Starts a command as the leader of a session of its own.
pub(crate) async fn spawn(mut command: Command, attachment: Attachment) -> io::Result<Child> {
    before_exec::set_up(&mut command, attachment);
    command.kill_on_drop(true);
    let (reply, child) = oneshot::channel();
    let order = Order { command, runtime: Handle::current(), reply };
    let is_taken = thread_of_children()?.send(order).is_ok();
    match child.await {
        Ok(child) if is_taken => child,
        _ => Err(io::Error::other("the thread that starts processes has ended")),
    }
}

struct Order {
    command: Command,
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
    for Order { mut command, runtime, reply } in orders {
        let _guard = runtime.enter();
        let child = start(&mut command);
        // The command holds our copies of what the child reads and writes. They must be closed
        // before anybody waits for the end of these streams.
        drop(command);
        // Who gave the order may have gone; the child is dropped then, and with it its group.
        let _ = reply.send(child);
    }
}

fn start(command: &mut Command) -> io::Result<Child> {
    let inner = command.spawn()?;
    let group = inner.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let group = group.ok_or_else(|| io::Error::other("a new process has no id"))?;
    Ok(Child { inner, group, is_left_alone: false })
}
