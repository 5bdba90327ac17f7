//! Starting children, and making sure that none is forgotten.
//!
//! Linux ends a child with its parent *thread*, not with its parent process. So all children are made by one thread
//! that lives as long as the process, whatever threads come and go above it. A confined command for which namespaces
//! are ready needs none of this: it is sent to them.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::process;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process_group;
use tokio::process::ChildStderr;
use tokio::process::ChildStdin;
use tokio::process::ChildStdout;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::before_exec;
use crate::before_exec::Attachment;
#[cfg(target_os = "linux")]
use crate::cells;
#[cfg(target_os = "linux")]
use crate::cells::Inmate;
use crate::command::Command;
#[cfg(target_os = "linux")]
use crate::guard;
#[cfg(target_os = "linux")]
use crate::pause;
#[cfg(target_os = "linux")]
use crate::pause::Kind;
#[cfg(target_os = "linux")]
use crate::pause::Root;
#[cfg(target_os = "linux")]
use crate::pause::Start;
use crate::pause::Tree;
#[cfg(target_os = "linux")]
use crate::sandbox::Backend;

/// A child and its group. Both are ended when this is dropped before the child has ended.
#[derive(Debug)]
pub(crate) struct Child {
    process: Process,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// All its processes, if it is confined.
    #[cfg(target_os = "linux")]
    tree: Option<Arc<Tree>>,
}

#[derive(Debug)]
enum Process {
    /// A child of ours that leads a group.
    Own {
        inner: tokio::process::Child,
        group: Pid,
        is_left_alone: bool,
        /// Whether its session ends with us even if we have no time to end it.
        #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "processes are guarded on Linux"))]
        is_guarded: bool,
    },
    /// A command in a cell that was ready for it.
    #[cfg(target_os = "linux")]
    Inmate(Inmate),
}

/// One of the three standard files of a child.
#[derive(Debug)]
pub(crate) enum Plug {
    /// An empty input, or a discarded output.
    Nothing,
    /// A pipe to us.
    Pipe,
    /// A file that is open already.
    File(OwnedFd),
}

impl From<Plug> for Stdio {
    fn from(plug: Plug) -> Self {
        match plug {
            Plug::Nothing => Self::null(),
            Plug::Pipe => Self::piped(),
            Plug::File(file) => file.into(),
        }
    }
}

impl Child {
    /// The id of the child, until its end was noticed.
    pub(crate) fn id(&self) -> Option<u32> {
        match &self.process {
            Process::Own { inner, .. } => inner.id(),
            #[cfg(target_os = "linux")]
            Process::Inmate(inmate) => inmate.id(),
        }
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits for the end of the child. May be asked again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.process {
            Process::Own { inner, .. } => inner.wait().await,
            #[cfg(target_os = "linux")]
            Process::Inmate(inmate) => inmate.wait().await,
        }
    }

    /// For how long it was paused. May be asked while it is waited for.
    pub(crate) fn time_paused(&self) -> impl Fn() -> Duration + use<> {
        #[cfg(target_os = "linux")]
        let tree = self.tree.clone();
        #[cfg(not(target_os = "linux"))]
        let tree: Option<Arc<Tree>> = None;
        move || tree.as_ref().map(|it| it.time_paused()).unwrap_or_default()
    }

    /// Ends the child and everything in its group, at once.
    ///
    /// A group that is gone already is what was wanted.
    pub(crate) fn kill_group(&self) {
        #[cfg(target_os = "linux")]
        if let Some(tree) = self.tree.as_ref().filter(|it| it.must_be_searched()) {
            // Whether it worked or not, the group is ended below.
            let _is_ended = tree.end();
        }
        match &self.process {
            Process::Own { group, .. } => drop(kill_process_group(*group, Signal::KILL)),
            #[cfg(target_os = "linux")]
            Process::Inmate(inmate) => inmate.kill(),
        }
    }

    /// Asks the child and everything in its group to end.
    pub(crate) fn terminate_group(&self) {
        match &self.process {
            Process::Own { group, .. } => drop(kill_process_group(*group, Signal::TERM)),
            #[cfg(target_os = "linux")]
            Process::Inmate(inmate) => inmate.terminate(),
        }
    }

    /// The command has ended, and processes that it left running in its group may continue.
    pub(crate) fn leave_alone(&mut self) {
        match &mut self.process {
            Process::Own { is_left_alone, .. } => *is_left_alone = true,
            #[cfg(target_os = "linux")]
            Process::Inmate(inmate) => inmate.leave_alone(),
        }
    }
}

#[cfg(target_os = "linux")]
impl Child {
    /// The process above all of its processes, if it is confined in this way.
    fn root(&self, backend: Backend) -> Option<Root> {
        match &self.process {
            Process::Own { group, .. } => Root::new(group.as_raw_nonzero().get(), Kind::Helper(backend)),
            Process::Inmate(inmate) => inmate.root().ok(),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Process::Own { is_left_alone: false, .. } = &self.process {
            self.kill_group();
        }
        #[cfg(target_os = "linux")]
        if let Process::Own { group, is_guarded: true, .. } = &self.process {
            guard::forget(*group);
        }
        #[cfg(target_os = "linux")]
        if let Some(tree) = &self.tree
            && let Some(root) = tree.remains()
        {
            pause::left_behind(root, tree.writable.clone());
        }
    }
}

/// Starts a command as the leader of a new session. `plugs` are its standard input, output and error.
pub(crate) async fn spawn(command: &Command, plugs: [Plug; 3], attachment: Attachment) -> io::Result<Child> {
    #[cfg(target_os = "linux")]
    if let Some(order) = command.order() {
        // From here on a pause waits for this, until it is known what is to be paused.
        let start = Start::begin(order.writable.into_iter().map(|root| root.path).collect()).await;
        let mut child = match in_cell(command, plugs, attachment).await? {
            Ok(child) => child,
            Err(plugs) => on_thread(command, plugs, attachment).await?,
        };
        child.tree = child.root(order.backend).map(|root| start.done(root));
        return Ok(child);
    }
    on_thread(command, plugs, attachment).await
}

/// Has the thread of children start a command.
async fn on_thread(command: &Command, plugs: [Plug; 3], attachment: Attachment) -> io::Result<Child> {
    let guarding = command.guarding();
    let mut command = command.to_tokio()?;
    let [stdin, stdout, stderr] = plugs;
    command.stdin(stdin).stdout(stdout).stderr(stderr).kill_on_drop(true);
    let (reply, child) = oneshot::channel();
    let order = Order { command, attachment, guarding, runtime: Handle::current(), reply };
    let is_taken = thread_of_children()?.send(Box::new(move || order.carry_out())).is_ok();
    match child.await {
        Ok(child) if is_taken => child,
        _ => Err(not_started()),
    }
}

/// Has the thread of children start a program for a caller that waits on a thread. It leads a session that ends with us.
pub(crate) fn spawn_waited(mut command: process::Command, guarding: Guarding) -> io::Result<process::Child> {
    on_thread_waited(move || {
        before_exec::set_up(&mut command, Attachment::Nothing, guarding.listener());
        command.spawn()
    })
}

/// Has the thread of children start a program that runs unattended and may outlive Pellucid.
pub(crate) fn spawn_left_alone(mut command: tokio::process::Command) -> io::Result<()> {
    let runtime = Handle::current();
    on_thread_waited(move || {
        let _entered = runtime.enter();
        // The runtime takes note of its end.
        command.spawn().map(drop)
    })
}

/// Has the thread of children do something, and waits for that on this thread.
fn on_thread_waited<T: Send + 'static>(start: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (reply, child) = mpsc::sync_channel(1);
    // The sender of the order waits for the reply.
    let order = Box::new(move || drop(reply.send(start())));
    thread_of_children()?.send(order).map_err(|_ended| not_started())?;
    child.recv().map_err(|_panicked| not_started())?
}

fn not_started() -> io::Error {
    io::Error::other("the thread that starts processes could not start this one")
}

/// Starts a command in a cell. Returns the plugs if no cell is available.
#[cfg(target_os = "linux")]
async fn in_cell(command: &Command, plugs: [Plug; 3], attachment: Attachment) -> io::Result<Result<Child, [Plug; 3]>> {
    if command.guarding() != Guarding::Itself {
        return Ok(Err(plugs));
    }
    let (mut ours, mut theirs) = ([None, None, None], Vec::with_capacity(3));
    for (at, plug) in plugs.iter().enumerate() {
        theirs.push(match plug {
            Plug::Nothing => OwnedFd::from(File::options().read(true).write(true).open("/dev/null")?),
            Plug::File(file) => file.try_clone()?,
            Plug::Pipe => {
                let (reader, writer) = io::pipe()?;
                let (our, their): (OwnedFd, OwnedFd) =
                    if at == 0 { (writer.into(), reader.into()) } else { (reader.into(), writer.into()) };
                ours[at] = Some(our);
                their
            }
        });
    }
    let [stdin, stdout, stderr] = theirs.as_slice() else { return Ok(Err(plugs)) };
    let files = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let Some(inmate) = cells::start(command, attachment, files).await? else { return Ok(Err(plugs)) };
    let [stdin, stdout, stderr] = ours;
    let child = Child {
        process: Process::Inmate(inmate),
        stdin: stdin.map(|it| ChildStdin::from_std(it.into())).transpose()?,
        stdout: stdout.map(|it| ChildStdout::from_std(it.into())).transpose()?,
        stderr: stderr.map(|it| ChildStderr::from_std(it.into())).transpose()?,
        tree: None,
    };
    Ok(Ok(child))
}

/// What ends the session of a child when we are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarding {
    /// Our guard process ends the session.
    Guard,
    /// The child, because it is a sandbox that watches us.
    Itself,
}

impl Guarding {
    /// The pipe that the child writes its id to before its program begins.
    fn listener(self) -> Option<BorrowedFd<'static>> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guard => guard::listener(),
            _ => None,
        }
    }
}

struct Order {
    command: tokio::process::Command,
    attachment: Attachment,
    guarding: Guarding,
    /// The runtime that will watch over the child.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Order {
    fn carry_out(self) {
        let Self { mut command, attachment, guarding, runtime, reply } = self;
        let _entered = runtime.enter();
        let guard_pipe = guarding.listener();
        before_exec::set_up(command.as_std_mut(), attachment, guard_pipe);
        let child = start(&mut command, guard_pipe.is_some());
        // The command holds our copies of what the child reads and writes. They must be closed before a task waits
        // for the end of these streams.
        drop(command);
        // The sender of the order may be gone; then the child is dropped, and with it its group.
        let _ = reply.send(child);
    }
}

/// Something that the thread of children does.
type Errand = Box<dyn FnOnce() + Send>;

fn thread_of_children() -> io::Result<&'static mpsc::Sender<Errand>> {
    static ERRANDS: OnceLock<io::Result<mpsc::Sender<Errand>>> = OnceLock::new();
    let errands = ERRANDS.get_or_init(|| {
        let (errands, received) = mpsc::channel();
        #[expect(
            clippy::disallowed_methods,
            reason = "this thread lives as long as the process: children end with it"
        )]
        thread::Builder::new().name("children".to_owned()).spawn(move || serve(&received))?;
        Ok(errands)
    });
    errands.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

fn serve(errands: &mpsc::Receiver<Errand>) {
    for errand in errands {
        // All children end with this thread, so a panic ends the one errand: its reply is dropped, and the caller gets an
        // error.
        let _is_logged_by_the_hook = catch_unwind(AssertUnwindSafe(errand));
    }
}

fn start(command: &mut tokio::process::Command, is_guarded: bool) -> io::Result<Child> {
    let mut inner = command.spawn()?;
    let group = inner.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let group = group.ok_or_else(|| io::Error::other("a new process has no id"))?;
    let (stdin, stdout, stderr) = (inner.stdin.take(), inner.stdout.take(), inner.stderr.take());
    let process = Process::Own { inner, group, is_left_alone: false, is_guarded };
    let child = Child {
        process,
        stdin,
        stdout,
        stderr,
        #[cfg(target_os = "linux")]
        tree: None,
    };
    Ok(child)
}
