//! Running git. This is the one place where the agent does.
//!
//! Each run is confined: nothing can be written but a folder of our own (and, for a snapshot, the repository's objects),
//! there is no network (but for `fetch`), no standard input but what we give, no terminal, and no more output or time than a limit. Where
//! nothing can confine it, it is not run.
//!
//! Not here: what git is given instead of the repository (`private`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::ProtectionBasis;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::SandboxError;
use pellucid_exec::sandbox::WritableFolder;
use pellucid_exec::waited::Waited;
use pellucid_files::FileIdentity;
use pellucid_files::WorkingFolder;
use pellucid_files::dot_git::DOT_GIT;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TrustLevel;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::WaitId;
use rustix::process::WaitIdOptions;
use rustix::process::kill_process_group;
use rustix::process::waitid;

use crate::program;
use crate::program::GitProgram;
use crate::repository::Repository;
use crate::repository::work_tree_root;
use crate::tree::Tree;

/// How much of what git complains of is kept.
const COMPLAINT_BYTES_MAX: u64 = 64 * 1024;

/// Why git is not run, or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The folder is not in a repository.
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// A person does not trust it.
    #[error("{} is marked as untrusted, so git is not run there", .0.display())]
    Untrusted(PathBuf),
    /// The repository was made or exchanged while the agent ran.
    #[error(
        "the repository {} was made or exchanged during this session, so git is not run there until the next session",
        .0.display()
    )]
    Appeared(PathBuf),
    /// The remote cannot be fetched from.
    #[error("{url} cannot be fetched from: {what}")]
    Remote {
        /// The address of the remote.
        url: String,
        /// The problem with the address.
        what: &'static str,
    },
    /// Git is not installed.
    #[error("git was not found in a folder of PATH outside of the project")]
    NoProgram,
    /// No sandbox can confine git.
    #[error("git is not run because nothing can confine it: {0}")]
    Unconfined(#[from] SandboxError),
    /// The repository is of a kind that cannot be copied for git.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The repository, or a file of it.
        path: PathBuf,
        /// The problem with the repository.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file or folder that failed.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Git could not be started.
    #[error("git does not start: {0}")]
    NotStarted(io::Error),
    /// Git ended with an error.
    #[error("git {command}: {said}")]
    Failed {
        /// The command that git was asked for.
        command: String,
        /// The error output of git.
        said: String,
    },
    /// Git took too long.
    #[error("git {command} took longer than {} s", limit.as_secs())]
    TimedOut {
        /// The command that git was asked for.
        command: String,
        /// The time limit that was exceeded.
        limit: Duration,
    },
    /// The output of git was too long.
    #[error("git {command} says more than {} MiB", n_bytes_max >> 20)]
    TooLong {
        /// The command that git was asked for.
        command: String,
        /// The limit of the output, in bytes.
        n_bytes_max: u64,
    },
}

impl GitError {
    /// An error of a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}

/// The settings for running git.
#[derive(Debug)]
pub struct GitSettings {
    /// The sandbox that confines git.
    pub sandbox: Sandbox,
    /// The folder of the agent's own files, in which git gets a folder for each run.
    pub home: PathBuf,
    /// The person's environment. Git gets a few variables of it.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's decision about the project.
    pub trust: Option<TrustLevel>,
    /// Folders that commands may write in: programs there are not used.
    pub writable: Vec<PathBuf>,
}

/// The agent's own git. Copies share what is known.
#[derive(Debug, Clone)]
pub struct Git {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: GitSettings,
    /// The `.git` that each folder had when it was first looked at, if any.
    known: Mutex<BTreeMap<PathBuf, Option<Made>>>,
    has_complained: AtomicBool,
}

/// Identifies an entry of a folder. Inode numbers are used again, times are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Made {
    identity: FileIdentity,
    at: Option<SystemTime>,
}

impl Git {
    /// Git for a session.
    pub fn new(settings: GitSettings) -> Self {
        Self { shared: Arc::new(Shared { settings, known: Mutex::default(), has_complained: AtomicBool::new(false) }) }
    }

    /// Notes which repository there is for a folder. One that is made or exchanged later is not this one, so this is
    /// to be called before the session's first command.
    pub fn note(&self, cwd: &Path) {
        self.note_all(cwd);
    }

    /// Notes the `.git` entries at a folder and all above it, and says whether they are those that were noted before.
    fn note_all(&self, cwd: &Path) -> bool {
        let here = WorkingFolder::find();
        let real = || cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let cwd = if here.is(cwd) { Cow::Borrowed(cwd) } else { Cow::Owned(real()) };
        let mut known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_same = true;
        for folder in cwd.ancestors() {
            let found = here.reach(folder).join(DOT_GIT).symlink_metadata().ok();
            let found = found.map(|it| Made { identity: FileIdentity::from(&it), at: it.created().ok() });
            is_same &= *known.entry(folder.to_owned()).or_insert(found) == found;
        }
        is_same
    }

    /// Whether the reason why git is not run was not reported yet. The call marks it as reported.
    pub fn is_first_complaint(&self) -> bool {
        !self.shared.has_complained.swap(true, Ordering::Relaxed)
    }

    /// The work tree of a folder, if git may be run there.
    ///
    /// # Errors
    /// If there is no repository, the user does not trust it, or it was made during this session.
    pub(crate) fn tree(&self, cwd: &Path) -> Result<Tree<'_>, GitError> {
        let none = || GitError::NoRepository(cwd.to_owned());
        if self.shared.settings.trust == Some(TrustLevel::Untrusted) {
            return Err(GitError::Untrusted(work_tree_root(cwd).ok_or_else(none)?));
        }
        let is_same = self.note_all(cwd);
        let repository = Repository::discover(cwd).ok_or_else(none)?;
        if !is_same {
            return Err(GitError::Appeared(repository.root));
        }
        let cwd = cwd.canonicalize().map_err(GitError::file(cwd))?;
        Ok(Tree::new(self, repository, &cwd))
    }

    /// The version of the user's git.
    ///
    /// # Errors
    /// If git is not installed, or nothing can confine it.
    pub fn version(&self, cwd: &Path) -> Result<String, GitError> {
        let program = self.program(cwd)?;
        let ask = Ask { cwd: Path::new("/"), ..Ask::new(&["--version"]) };
        let said = self.run(&program, &ask, BTreeMap::new(), &[])?;
        Ok(said.checked(&ask)?.trim().to_owned())
    }

    pub(crate) fn settings(&self) -> &GitSettings {
        &self.shared.settings
    }

    /// The git program for a project.
    pub(crate) fn program(&self, project: &Path) -> Result<GitProgram, GitError> {
        let settings = self.settings();
        let mut avoided = settings.writable.clone();
        avoided.push(project.to_owned());
        program::find(&settings.variables, &avoided).ok_or(GitError::NoProgram)
    }

    /// Runs git confined. It may write in these folders.
    pub(crate) fn run(
        &self,
        program: &GitProgram,
        ask: &Ask<'_>,
        variables: BTreeMap<OsString, OsString>,
        writable: &[PathBuf],
    ) -> Result<Said, GitError> {
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: ask.has_network,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let roots: Result<Vec<WritableFolder>, _> = writable.iter().map(|path| WritableFolder::find(path)).collect();
        let ground = ProtectionBasis { protection: Protection::Off, ..ProtectionBasis::default() };
        let confinement =
            self.settings().sandbox.confinement(&policy, &roots.map_err(GitError::NotStarted)?, &ground)?;
        let mut argv = vec![program.path.clone().into_os_string()];
        argv.extend(ask.words.iter().map(OsString::from));
        let argv = confinement.wrap(argv, ask.cwd)?;
        let mut env = variables;
        env.insert("PATH".into(), program.folders.clone());
        let waited = Waited { argv, cwd: ask.cwd.to_owned(), env, has_input: !ask.input.is_empty() };
        finish(waited.start().map_err(GitError::NotStarted)?, ask)
    }
}

/// A question to git.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// The arguments that git is given.
    pub words: Vec<OsString>,
    /// The command in a few words, for people.
    pub command: &'a str,
    /// The working folder of git.
    pub cwd: &'a Path,
    /// The standard input of git.
    pub input: &'a [u8],
    /// The time limit of the command.
    pub limit: Duration,
    /// The limit of the output, in bytes.
    pub n_bytes_max: u64,
    /// Whether git may use the network.
    pub has_network: bool,
}

impl<'a> Ask<'a> {
    /// A question that takes a moment.
    pub fn new(words: &[&'a str]) -> Self {
        Self {
            words: words.iter().map(OsString::from).collect(),
            command: words.first().copied().unwrap_or_default(),
            cwd: Path::new("/"),
            input: &[],
            limit: Duration::from_secs(30),
            n_bytes_max: 16 << 20,
            has_network: false,
        }
    }
}

/// The output of git.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; absent if a signal ended it.
    pub code: Option<i32>,
    /// The standard output of git.
    pub stdout: Vec<u8>,
    /// The standard error, cut to a limit.
    pub stderr: String,
}

impl Said {
    /// The standard output, if git succeeded.
    pub fn bytes(self, ask: &Ask<'_>) -> Result<Vec<u8>, GitError> {
        match self.code {
            Some(0) => Ok(self.stdout),
            _ => Err(GitError::Failed { command: ask.command.to_owned(), said: self.stderr.trim_end().to_owned() }),
        }
    }

    /// The same as text.
    pub fn checked(self, ask: &Ask<'_>) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes(ask)?).into_owned())
    }
}

/// Gives a process its input, reads what it says, and ends it when it takes too long or says too much.
fn finish(mut child: Child, ask: &Ask<'_>) -> Result<Said, GitError> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let end = || {
        // A process that has ended by itself cannot be killed, which has the same result.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    };
    let (over, is_over) = mpsc::channel::<()>();
    let (stdout, stderr, is_late) = thread::scope(|scope| {
        let timer = scope.spawn(move || {
            let is_late = is_over.recv_timeout(ask.limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                end();
            }
            is_late
        });
        // If git does not read all of it, the exit code and standard error say why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(ask.input)));
        let complaints = scope.spawn(|| {
            let mut stderr = stderr?;
            let (kept, _) = read_up_to(&mut stderr, COMPLAINT_BYTES_MAX);
            // The rest is read and dropped, so that a full pipe does not block git.
            let _ = io::copy(&mut stderr, &mut io::sink());
            Some(kept)
        });
        let said = stdout.map(|stdout| read_up_to(stdout, ask.n_bytes_max.saturating_add(1)));
        if said.as_ref().is_some_and(|(_, is_more)| *is_more) {
            end();
        }
        let complaints = complaints.join().ok().flatten();
        // The process is not reaped until its code is read below, so that its id cannot belong to another process.
        let _ = group.map(|group| waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        drop(over);
        (said, complaints, timer.join().unwrap_or(true))
    });
    let status = child.wait().map_err(GitError::NotStarted)?;
    let command = || ask.command.to_owned();
    if is_late {
        return Err(GitError::TimedOut { command: command(), limit: ask.limit });
    }
    let (stdout, is_more) = stdout.unwrap_or_default();
    if is_more {
        return Err(GitError::TooLong { command: command(), n_bytes_max: ask.n_bytes_max });
    }
    let stderr = String::from_utf8_lossy(&stderr.unwrap_or_default()).into_owned();
    Ok(Said { code: status.code(), stdout, stderr })
}

/// Reads a pipe up to a limit, and says whether it was reached.
fn read_up_to(mut pipe: impl Read, n_bytes_max: u64) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    // A pipe that cannot be read has nothing more to say.
    let _ = pipe.by_ref().take(n_bytes_max).read_to_end(&mut kept);
    let is_more = kept.len() as u64 == n_bytes_max;
    (kept, is_more)
}
