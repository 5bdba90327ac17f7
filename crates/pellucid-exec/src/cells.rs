//! Cells: namespaces that are ready before the command comes.
//!
//! A confined command is an argument list that begins with our helper. Starting that program for each command takes
//! longer than most commands do, and so does arranging its files. So for each set of limits there is one helper, the
//! keeper, which arranges the files once and makes cells: one is always ready, and a command is sent to it. The
//! argument list still describes the command, and where no cell is available, that list is started directly.
//!
//! A keeper shows the mounts of the time when it began, so it is ended when mounts change: for the next command, and
//! because an unmounted disk stays in use for as long as a namespace shows it. The protected paths are part of the
//! limits, and each cell checks that they are still the same.
//!
//! Not here: what cells are made of (`sandbox/helper/keeper.rs`, `sandbox/helper/cell.rs`).

use std::fs::File;
use std::io;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pellucid_tasks::Task;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::fs::MemfdFlags;
use rustix::net::AddressFamily;
use rustix::net::SocketFlags;
use rustix::net::SocketType;
use rustix::process::Signal;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::before_exec::Attachment;
use crate::command::Command;
use crate::pause::Kind;
use crate::pause::Root;
use crate::sandbox::Backend;
use crate::sandbox::cell;
use crate::sandbox::cell::CellCommand;
use crate::sandbox::cell::CellMessage;
use crate::sandbox::order::HelperStage;
use crate::sandbox::order::Order;

/// How many sets of limits have a keeper at the same time.
const KEEPERS_MAX: usize = 4;

/// How often a cell that turns out to be out of date, or a keeper that is gone, is replaced.
const ATTEMPTS: usize = 2;

/// The keepers, the one used last at the end.
static KEEPERS: Mutex<Vec<Arc<Keeper>>> = Mutex::new(Vec::new());

/// Whether the first keeper could not make a single cell. It is then not tried again: commands start without.
static IS_HOPELESS: AtomicBool = AtomicBool::new(false);

/// Whether a cell was ever made. A keeper that cannot is then about its own limits, such as a root that was replaced.
static HAS_WORKED: AtomicBool = AtomicBool::new(false);

/// How long a keeper may take to provide a cell, and a cell to answer. A slower one, say because a disk does not
/// answer, is not waited for: a command has a separate time limit, which counts from its start.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long is waited for the end of a keeper. One with a command that was left running continues until we have ended.
const PATIENCE_AT_END: Duration = Duration::from_millis(200);

/// A command that runs in a cell. All of the cell ends when this is dropped, unless it is to be left alone.
#[derive(Debug)]
pub(crate) struct Inmate {
    socket: UnixStream,
    /// The first process of the cell.
    first: OwnedFd,
    id: u32,
    status: Option<ExitStatus>,
    is_left_alone: bool,
}

impl Drop for Inmate {
    fn drop(&mut self) {
        if !self.is_left_alone {
            self.kill();
        }
    }
}

/// Starts a command in a cell. `None` if the command is not for cells, or no cell is available.
///
/// # Errors
/// Fails if the command's folder cannot be entered, or it is unknown whether the command has begun.
pub(crate) async fn start(
    command: &Command,
    attachment: Attachment,
    files: [BorrowedFd<'_>; 3],
) -> io::Result<Option<Inmate>> {
    if IS_HOPELESS.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let Some((limits, told)) = order_of(command, attachment) else { return Ok(None) };
    let Some(words) = told.to_bytes() else { return Ok(None) };
    for _ in 0..ATTEMPTS {
        let Ok(keeper) = keeper_for(&command.argv[0], &limits) else { return Ok(None) };
        let taken = timeout(PATIENCE, keeper.take()).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let begun = match taken {
            // A command that may have begun is not started a second time.
            Ok(cell) => cell.begin(&words, files, PATIENCE).await?,
            Err(_) => None,
        };
        match begun {
            Some((inmate, CellMessage::Begins)) => {
                keeper.prepare();
                return Ok(Some(inmate));
            }
            Some((_, CellMessage::NotEntered(errno))) => {
                keeper.prepare();
                return Err(io::Error::from_raw_os_error(errno));
            }
            Some((_, CellMessage::OutOfDate | CellMessage::Ended(_))) => dismiss(&keeper),
            None => {
                dismiss(&keeper);
                if !keeper.has_made_one.load(Ordering::Relaxed) {
                    IS_HOPELESS.store(!HAS_WORKED.load(Ordering::Relaxed), Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }
    Ok(None)
}

/// The limits of a command that is for a cell, and the command itself.
fn order_of(command: &Command, attachment: Attachment) -> Option<(Order, CellCommand)> {
    let order = command.order()?;
    // A command that outlives this process is not started in a cell.
    if order.backend != Backend::Namespaces || order.agent != Some(std::process::id()) {
        return None;
    }
    let env = command.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let told = CellCommand { attachment, cwd: command.cwd.clone(), argv: order.command, env };
    Some((Order { command: Vec::new(), ..order }, told))
}

fn keepers() -> MutexGuard<'static, Vec<Arc<Keeper>>> {
    // Every change under the lock is done in one step.
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keeper for these limits, with what is mounted now.
fn keeper_for(helper: &str, limits: &Order) -> io::Result<Arc<Keeper>> {
    let mut keepers = keepers();
    keepers.retain(|it| !it.is_outdated());
    let at = keepers.iter().position(|it| it.limits == *limits && it.helper == helper);
    let keeper = match at {
        Some(at) => keepers.remove(at),
        None => Arc::new(Keeper::start(helper, limits)?),
    };
    if keepers.len() >= KEEPERS_MAX {
        keepers.remove(0);
    }
    keepers.push(Arc::clone(&keeper));
    Ok(keeper)
}

/// Lets keepers go, and waits for those to end that have no command any more: they remove what protected their commands.
pub(crate) async fn let_go() {
    let ending: Vec<_> = std::mem::take(&mut *keepers());
    for keeper in ending {
        // A keeper that another task is about to use ends later.
        let Ok(mut keeper) = Arc::try_unwrap(keeper) else { continue };
        let Some(mut process) = keeper.process.take() else { continue };
        drop(keeper);
        let _ = timeout(PATIENCE_AT_END, process.wait()).await;
    }
}

fn dismiss(keeper: &Arc<Keeper>) {
    keepers().retain(|it| !Arc::ptr_eq(it, keeper));
}

/// A process that makes cells for commands with the same limits. It ends with this.
#[derive(Debug)]
struct Keeper {
    helper: String,
    limits: Order,
    socket: OwnedFd,
    /// An open list of mounts, which becomes readable when mounts change.
    mounts: File,
    demand: Mutex<Demand>,
    has_made_one: AtomicBool,
    /// Lets it go when mounts change and no command comes.
    _watch: Task<()>,
    process: Option<tokio::process::Child>,
}

/// Lets keepers go that show what is not mounted any more, as soon as mounts change.
async fn watch_mounts(mounts: pipe::Receiver) {
    // A list that has changed is at fault; it can always be read.
    if mounts.ready(Interest::ERROR).await.is_ok() {
        keepers().retain(|it| !it.is_outdated());
    }
}

#[derive(Debug, Default)]
struct Demand {
    /// Cells that were asked for and have not come.
    n_asked: usize,
    /// The number of tasks that wait for a cell.
    n_waiting: usize,
}

impl Keeper {
    fn start(helper: &str, limits: &Order) -> io::Result<Self> {
        let open_mounts = || File::open("/proc/self/mountinfo");
        // Each file reports a change once, so the check and the wait need separate files. `from_file_unchecked` skips
        // the check that the file is a pipe.
        let (mounts, watched) = (open_mounts()?, pipe::Receiver::from_file_unchecked(open_mounts()?)?);
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        let mut command = tokio::process::Command::new(helper);
        command.args(HelperStage::Keep(limits.clone()).to_args());
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        // The working folder `/` keeps no other folder busy, and a separate group keeps the keys of our terminal from
        // the keeper. It ends when our end of the socket is gone, and is not killed: it may have placeholders to
        // remove.
        command.current_dir("/").env_clear().process_group(0);
        let process = command.spawn()?;
        let (helper, limits) = (helper.to_owned(), limits.clone());
        let (demand, has_made_one) = (Mutex::default(), AtomicBool::new(false));
        let _watch = Task::spawn("watching mounts", watch_mounts(watched));
        Ok(Self { helper, limits, socket, mounts, demand, has_made_one, _watch, process: Some(process) })
    }

    fn demand(&self) -> MutexGuard<'_, Demand> {
        // Every change under the lock is done in one step.
        self.demand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something was mounted or unmounted since it began.
    fn is_outdated(&self) -> bool {
        let mut watched = [PollFd::new(&self.mounts, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(rustix::event::poll(&mut watched, Some(&now)), Ok(0))
    }

    /// Asks for so many cells that `n_wanted` are to come.
    fn ask(&self, demand: &mut Demand, n_wanted: usize) -> io::Result<()> {
        while demand.n_asked < n_wanted {
            cell::send(&self.socket, cell::ANOTHER, &[])?;
            demand.n_asked += 1;
        }
        Ok(())
    }

    /// Has a cell made for the command that comes next.
    fn prepare(&self) {
        let mut demand = self.demand();
        let n_wanted = demand.n_waiting + 1;
        // Should it be gone, the next command will notice.
        let _ = self.ask(&mut demand, n_wanted);
    }

    /// Takes a cell, as soon as there is one.
    async fn take(&self) -> io::Result<Cell> {
        let waiting = Waiting::begin(self)?;
        if let Some(cell) = self.taken(cell::receive(&self.socket))? {
            return Ok(cell);
        }
        // Several tasks may wait; each needs a separate file to be woken.
        let socket = as_stream(self.socket.try_clone()?)?;
        loop {
            socket.readable().await?;
            let received = socket.try_io(Interest::READABLE, || cell::receive(&self.socket));
            if let Some(cell) = self.taken(received)? {
                drop(waiting);
                return Ok(cell);
            }
        }
    }

    fn taken(&self, received: io::Result<(Vec<u8>, Vec<OwnedFd>)>) -> io::Result<Option<Cell>> {
        let (bytes, files) = match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            result => result?,
        };
        let id = <[u8; 4]>::try_from(bytes.as_slice()).map(u32::from_ne_bytes);
        let files = <[OwnedFd; 2]>::try_from(files);
        let (Ok(id), Ok([socket, first])) = (id, files) else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        };
        self.has_made_one.store(true, Ordering::Relaxed);
        HAS_WORKED.store(true, Ordering::Relaxed);
        let mut demand = self.demand();
        demand.n_asked = demand.n_asked.saturating_sub(1);
        Ok(Some(Cell { socket, first, id }))
    }
}

/// A socket that can be waited for. What the name says of streams is not so: messages stay whole.
fn as_stream(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Counts a task that waits for a cell.
struct Waiting<'a>(&'a Keeper);

impl<'a> Waiting<'a> {
    fn begin(keeper: &'a Keeper) -> io::Result<Self> {
        let mut demand = keeper.demand();
        demand.n_waiting += 1;
        let waiting = Self(keeper);
        let n_wanted = demand.n_waiting;
        let asked = keeper.ask(&mut demand, n_wanted);
        drop(demand);
        asked.map(|()| waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.demand().n_waiting -= 1;
    }
}

/// A place for a command.
#[derive(Debug)]
struct Cell {
    socket: OwnedFd,
    first: OwnedFd,
    id: u32,
}

impl Cell {
    /// Sends the command to the cell, and waits for the answer. `None` if the command has surely not begun there, and
    /// will not.
    ///
    /// # Errors
    /// Fails if the command has begun or may yet begin, although the cell did not answer in time.
    async fn begin(
        self,
        words: &[u8],
        files: [BorrowedFd<'_>; 3],
        patience: Duration,
    ) -> io::Result<Option<(Inmate, CellMessage)>> {
        let Self { socket, first, id } = self;
        let Ok(told) = in_memory(words) else { return Ok(None) };
        let [stdin, stdout, stderr] = files;
        if cell::send(&socket, cell::BEGIN, &[told.as_fd(), stdin, stdout, stderr]).is_err() {
            return Ok(None);
        }
        let inmate = Inmate { socket: as_stream(socket)?, first, id, status: None, is_left_alone: false };
        let said = match timeout(patience, inmate.hear()).await {
            Ok(Ok(said)) => said,
            _ => {
                // A process that has ended cannot begin the command any more, and its earlier messages can still be
                // read.
                inmate.kill();
                timeout(PATIENCE, inmate.over()).await.map_err(io::Error::from)??;
                match inmate.hear().await {
                    Ok(Some(CellMessage::Begins)) => return Err(io::ErrorKind::TimedOut.into()),
                    // The cell ended before it read the command.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
                    said => said?,
                }
            }
        };
        Ok(said.map(|said| (inmate, said)))
    }
}

fn in_memory(words: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("command", MemfdFlags::CLOEXEC)?);
    file.write_all(words)?;
    Ok(file)
}

impl Inmate {
    /// The id of the cell's first process.
    pub(crate) fn id(&self) -> Option<u32> {
        self.status.is_none().then_some(self.id)
    }

    /// The ancestor of all processes of the cell.
    pub(crate) fn root(&self) -> io::Result<Root> {
        Ok(Root { handle: self.first.try_clone()?, id: self.id.cast_signed(), kind: Kind::First })
    }

    /// The next thing that the cell says; nothing if there will be none.
    async fn hear(&self) -> io::Result<Option<CellMessage>> {
        loop {
            self.socket.readable().await?;
            match self.socket.try_io(Interest::READABLE, || cell::receive(&self.socket)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Ok(CellMessage::from_bytes(&received?.0)),
            }
        }
    }

    /// Waits for the end of the command. May be asked again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = match self.hear().await {
            Ok(Some(CellMessage::Ended(status))) => ExitStatus::from_raw(status),
            _ => {
                // The first process is gone without a word, so it was ended by force.
                self.over().await?;
                ExitStatus::from_raw(libc::SIGKILL)
            }
        };
        self.status = Some(status);
        Ok(status)
    }

    /// Waits for the end of the first process, which is complete when all others of the cell have ended.
    async fn over(&self) -> io::Result<()> {
        // `from_file_unchecked` skips the check that the file is a pipe. The handle is waited for just like a pipe.
        let first = pipe::Receiver::from_file_unchecked(File::from(self.first.try_clone()?))?;
        first.readable().await
    }

    /// The command has ended, and processes that it left running may continue.
    pub(crate) fn leave_alone(&mut self) {
        self.is_left_alone = true;
    }

    /// Ends everything in the cell, at once. One that is empty already is what was wanted.
    pub(crate) fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.first, Signal::KILL);
    }

    /// Asks the command and its group to end.
    pub(crate) fn terminate(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.first, Signal::TERM);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Pid;
    use rustix::process::PidfdFlags;

    use super::*;

    /// A cell that has said this, and nothing after it.
    fn silent_cell(said: Option<CellMessage>) -> (Cell, std::process::Child) {
        let (socket, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        if let Some(said) = said {
            rustix::io::write(&theirs, &said.to_bytes()).unwrap();
        }
        let process = Command::new("sleep").arg("100000").stdin(theirs).spawn().unwrap();
        let first = rustix::process::pidfd_open(Pid::from_child(&process), PidfdFlags::empty()).unwrap();
        (Cell { socket, first, id: process.id() }, process)
    }

    #[tokio::test]
    async fn a_command_that_was_not_begun_in_time_never_will_be() {
        let null = File::open("/dev/null").unwrap();
        let files = [null.as_fd(), null.as_fd(), null.as_fd()];
        let (cell, mut process) = silent_cell(None);
        let begun = cell.begin(b"", files, Duration::ZERO).await.unwrap();
        assert!(begun.is_none(), "{begun:?}");
        assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[tokio::test]
    async fn a_command_that_begins_is_not_ended() {
        let null = File::open("/dev/null").unwrap();
        let files = [null.as_fd(), null.as_fd(), null.as_fd()];
        let (cell, mut process) = silent_cell(Some(CellMessage::Begins));
        let begun = cell.begin(b"", files, PATIENCE).await.unwrap();
        assert!(matches!(begun, Some((_, CellMessage::Begins))), "{begun:?}");
        assert_eq!(process.try_wait().unwrap(), None);
        drop(begun);
        assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
