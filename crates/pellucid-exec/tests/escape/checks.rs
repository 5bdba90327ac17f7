//! Further duties of a sandbox: let work be done, pass on how it ends, end with the agent, and fall back without
//! letting go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::libc;
use pellucid_exec::process;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::HELPER_FAILED;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::ProtectionBasis;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_exec::terminal::ProcessStreams;
use pellucid_exec::terminal::Terminal;
use pellucid_exec::terminal::Terminals;
use pellucid_protocol::settings::SandboxPolicy;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::process::Signal;
use seccompiler::SeccompAction;
use seccompiler::SeccompCmpArgLen;
use seccompiler::SeccompCmpOp;
use seccompiler::SeccompCondition;
use seccompiler::SeccompFilter;
use seccompiler::SeccompRule;

use crate::attempts::Outcome;
use crate::pausing;
use crate::suite;
use crate::suite::Way;
use crate::suite::ourselves;
use crate::suite::sandbox;
use crate::suite::workspace_write;
use crate::world::Services;
use crate::world::World;

pub type Checked = Result<(), String>;
pub type Check = fn(Backend, Way) -> Checked;

/// Runs them; says how many failed.
pub fn run(backends: &[Backend]) -> usize {
    let checks: [(&str, Check); 9] = [
        ("work can be done", work),
        ("the end is passed on", endings),
        ("the agent's end is the command's end", killed_agent),
        ("what is left running ends with the agent", killed_agent_later),
        ("a root in a root is protected", nested_roots),
        ("protection can be switched off", unprotected),
        ("network access opens the network only", network),
        ("nothing is writable under read-only", read_only),
        ("under read-only a refusal reads as one", refusal),
    ];
    let mut n_failed = 0;
    let mut tell = |name: &str, result: Checked| match result {
        Ok(()) => println!("ok: {name}"),
        Err(why) => {
            n_failed += 1;
            println!("FAILED: {name}: {why}");
        }
    };
    for backend in backends {
        for way in Way::of(*backend) {
            for (name, check) in checks {
                tell(&format!("{backend} {}: {name}", way.as_str()), check(*backend, *way));
            }
        }
    }
    for backend in backends {
        pausing::run(*backend, &mut tell);
    }
    if backends.contains(&Backend::Namespaces) {
        tell("namespaces are ready before the command comes", ready());
        tell("what is ready is replaced when it is out of date", out_of_date());
        tell("commands in places that were ready do not see each other", apart());
        tell("in a place that was ready all ends when time is up", over_time());
        tell("in a place that was ready there can be a terminal", terminal());
        tell("a place that is ready holds no disk that was unmounted", unmounted());
    }
    if backends.contains(&Backend::Landlock) {
        tell("without namespaces Landlock confines", without_namespaces());
    }
    n_failed
}

pub fn confined(backend: Backend, policy: &SandboxPolicy, roots: &[PathBuf], command: &[&str]) -> Vec<OsString> {
    protected(backend, policy, roots, Protection::On, command)
}

fn protected(
    backend: Backend,
    policy: &SandboxPolicy,
    roots: &[PathBuf],
    protection: Protection,
    command: &[&str],
) -> Vec<OsString> {
    let cwd = roots.last().unwrap();
    let ground = ProtectionBasis { protection, cwd: cwd.clone(), project_root: cwd.clone(), homes: Vec::new() };
    let confinement =
        sandbox(WantedBackend::Only(backend)).confinement(policy, &suite::pinned(roots), &ground).unwrap();
    confinement.wrap(command.iter().map(OsString::from).collect(), cwd).unwrap()
}

#[track_caller]
pub fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Checked {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// Runs a script and compares what it says.
fn script(on: (Backend, Way), policy: &SandboxPolicy, protection: Protection, text: &str, expected: &str) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let (backend, way) = on;
    let output = way.output(&world, &protected(backend, policy, &roots, protection, &["sh", "-c", text]));
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    same(&format!("said (and on standard error {errors:?})"), said.trim(), expected)
}

fn work(backend: Backend, way: Way) -> Checked {
    let policy = workspace_write(false);
    let everyday = "echo 1 > src/new && cat src/new && rm src/new && mkdir src/folder && mv src/lib.rs src/folder/lib.rs \
                    && echo x >> top.txt && head -c 1 /etc/passwd > /dev/null && echo 2 | cat && (echo 3) \
                    && echo 4 > /dev/stdout && test -d .git && cat .git/config";
    script((backend, way), &policy, Protection::On, everyday, "1\n2\n3\n4\nbefore")?;
    if backend != Backend::Landlock {
        script((backend, way), &policy, Protection::On, "echo 1 > new && mv new newer && cat newer && rm newer", "1")?;
    }
    Ok(())
}

fn read_only(backend: Backend, way: Way) -> Checked {
    let text = "echo 1 > src/new; echo 2 > new; chmod 600 src/lib.rs; touch src/lib.rs; cat src/lib.rs";
    script((backend, way), &SandboxPolicy::ReadOnly, Protection::On, text, "before")
}

/// The error of a refusal by fences differs from that by mounts, and fences alone confine the working directory if
/// they suffice.
fn refusal(backend: Backend, way: Way) -> Checked {
    let abi = sandbox(WantedBackend::Only(backend)).findings().landlock_abi;
    let expected = if abi.is_some_and(|abi| abi >= 3) { "Permission denied" } else { "Read-only file system" };
    let text = "export LC_ALL=C; (echo 1 > new) 2>&1 | sed 's/.*: //'; (mkdir folder) 2>&1 | sed 's/.*: //'";
    script((backend, way), &SandboxPolicy::ReadOnly, Protection::On, text, &format!("{expected}\n{expected}"))
}

fn unprotected(backend: Backend, way: Way) -> Checked {
    let text = "echo after > .git/config && cat .git/config && echo 1 > new && cat new";
    script((backend, way), &workspace_write(false), Protection::Off, text, "after\n1")
}

fn endings(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let ended = |command: &[&str]| way.output(&world, &confined(backend, &SandboxPolicy::ReadOnly, &roots, command));
    same("status", &ended(&["sh", "-c", "exit 7"]).status.code(), &Some(7))?;
    let status = ended(&["sh", "-c", "kill -9 $$"]).status;
    // Bubblewrap says it as shells do.
    let expected = if backend == Backend::Bubblewrap { (None, Some(128 + 9)) } else { (Some(9), None) };
    same("signal or status", &(status.signal(), status.code()), &expected)?;
    let missing = ended(&["no-such-program-anywhere"]);
    same("status of a missing program", &missing.status.code(), &Some(HELPER_FAILED))?;
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    let is_plain = said.contains("\"no-such-program-anywhere\" could not be started") && !said.contains("sandbox");
    if is_plain { Ok(()) } else { Err(format!("a missing program is reported as {said:?}")) }
}

/// Plays an agent that runs a confined command, passes on what it says, and waits.
pub fn be_agent(backend: &str, way: &str, command: &[&str]) -> ExitCode {
    let backend = Backend::from_word(backend).unwrap();
    let root = std::env::current_dir().unwrap();
    let confined = confined(backend, &workspace_write(false), std::slice::from_ref(&root), command);
    let status = if way == Way::ByAgent.as_str() {
        let env = std::env::vars_os().collect();
        suite::by_agent(&confined, root, env, Some(|bytes| print!("{}", String::from_utf8_lossy(bytes)))).status
    } else {
        Command::new(&confined[0]).args(&confined[1..]).stdin(Stdio::null()).status().unwrap()
    };
    println!("{status}");
    // Runs until the parent ends it.
    loop {
        std::thread::park();
    }
}

fn killed_agent(backend: Backend, way: Way) -> Checked {
    for signal in [Signal::KILL, Signal::TERM] {
        let text = "setsid sleep 100000 & sleep 100000 & echo ready; sleep 100000";
        killed((backend, way), signal, text, "ready")?;
    }
    Ok(())
}

fn killed_agent_later(backend: Backend, way: Way) -> Checked {
    let text = "(setsid sleep 100000 & sleep 100000 &) > /dev/null 2>&1";
    killed((backend, way), Signal::KILL, text, "exit status: 0")
}

/// Kills the agent once its command has said something. Every process of the command holds a named
/// pipe, so its end is their end.
fn killed(on: (Backend, Way), signal: Signal, text: &str, until: &str) -> Checked {
    let (world, _services) = Services::start();
    let line = Line::new(&world);
    let mut command = Command::new(ourselves());
    let text = Line::held_by(text);
    command.args(["agent", on.0.as_str(), on.1.as_str(), "--", "sh", "-c", &text]);
    let mut agent = world.tell(command.stdin(Stdio::null()).stdout(Stdio::piped())).spawn().unwrap();
    let mut pipe = BufReader::new(agent.stdout.take().unwrap());
    let mut first = String::new();
    pipe.read_line(&mut first).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent), signal).unwrap();
    agent.wait().unwrap();
    same("the first line", first.trim(), until)?;
    line.is_let_go()?;
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    same("the rest", rest.trim(), "")
}

/// Waits a minute for something to be read, or for the end of it; says whether that came.
pub fn wait_for(file: &impl AsFd) -> usize {
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
    loop {
        match rustix::event::poll(&mut watched, Some(&patience)) {
            // A child has ended.
            Err(rustix::io::Errno::INTR) => {}
            n_ready => return n_ready.unwrap(),
        }
    }
}

/// A named pipe that every process of a command holds, so that its end is theirs.
pub struct Line(File);

impl Line {
    pub fn new(world: &World) -> Self {
        let path = world.root.join("src/line");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        // Without this flag, opening would wait for a writer.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        Self(File::options().read(true).custom_flags(flags).open(&path).unwrap())
    }

    pub fn held_by(text: &str) -> String {
        format!("exec 9> src/line; {text}")
    }

    pub fn is_over(&self) -> bool {
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(rustix::event::poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(n) if n > 0)
    }

    pub fn is_let_go(&self) -> Checked {
        match wait_for(&self.0) {
            0 => Err("a process still runs a minute later".to_owned()),
            _ => Ok(()),
        }
    }
}

fn nested_roots(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    // The folder between the two roots could be moved away to make another project in its place.
    let roots = [PathBuf::from(world.base.parent().unwrap()), world.root.clone()];
    let text = "mv ../root ../away; mv .. ../../away-$$; echo x >> .git/config; echo x > ../outside/new \
                && cat ../outside/new; cat .git/config";
    let output = way.output(&world, &confined(backend, &workspace_write(false), &roots, &["sh", "-c", text]));
    same("said", String::from_utf8_lossy(&output.stdout).trim(), "x\nbefore")
}

fn network(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let names =
        ["tcp-connect", "udp-send", "unix-connect", "socket-packet", "socket-vsock", "ptrace-agent", "git-config"];
    let program = ourselves();
    let mut command = vec![program.to_str().unwrap(), "batch"];
    command.extend(names);
    let found = suite::batch(&world, way, &confined(backend, &workspace_write(true), &roots, &command));
    let found: BTreeMap<_, _> = found.iter().map(|(name, (outcome, _))| (name.as_str(), *outcome)).collect();
    let expected = BTreeMap::from([
        ("tcp-connect", Outcome::Out),
        ("udp-send", Outcome::Out),
        ("unix-connect", Outcome::Out),
        ("socket-packet", Outcome::Denied),
        ("socket-vsock", Outcome::Denied),
        ("ptrace-agent", Outcome::Denied),
        ("git-config", Outcome::Denied),
    ]);
    same("outcomes", &found, &expected)
}

/// Runs scripts one after the other, each in the same place; what they say.
fn by_agent(world: &World, policy: &SandboxPolicy, text: &str) -> String {
    let roots = [world.root.clone()];
    let command = confined(Backend::Namespaces, policy, &roots, &["sh", "-c", text]);
    let output = Way::ByAgent.output(world, &command);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned()
}

/// In a place that was ready, the command's parent is the first process there; otherwise it is outside and unseen.
fn ready() -> Checked {
    let (world, _services) = Services::start();
    for policy in [workspace_write(false), workspace_write(true), SandboxPolicy::ReadOnly] {
        for _ in 0..2 {
            same("the parent", by_agent(&world, &policy, "echo $PPID").as_str(), "1")?;
            // The last one is the folder that is listed.
            same("open files", by_agent(&world, &policy, "ls /proc/self/fd").as_str(), "0\n1\n2\n3")?;
        }
    }
    let mut command =
        confined(Backend::Namespaces, &SandboxPolicy::ReadOnly, std::slice::from_ref(&world.root), &["true"]);
    command[0] = "/nowhere/at/all".into();
    let argv = command.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let command = process::Command { argv, arg0: None, cwd: world.root, env: BTreeMap::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(process::run(&command, None, None)).unwrap_err().to_string();
    same("a helper that is none", error.as_str(), "No such file or directory (os error 2)")
}

/// Everything that a place was made for is taken away from under it.
fn out_of_date() -> Checked {
    let (world, _services) = Services::start();
    let policy = workspace_write(false);
    let attempt = "echo x 2> /dev/null >> .git/config; cat .git/config; echo 1 > new && cat new && rm new";
    let try_it = |what: &str, expected: &str| {
        let said = by_agent(&world, &policy, &format!("{{ {attempt}; }} 2> /dev/null"));
        same(what, said.as_str(), expected)
    };
    try_it("at first", "before\n1")?;
    let replace = |path: &Path, make: &dyn Fn(&Path)| {
        fs::rename(path, path.with_extension("old")).unwrap();
        make(path);
    };
    let repository = |folder: &Path| {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("config"), "again\n").unwrap();
    };
    replace(&world.root.join(".git"), &repository);
    try_it("after another repository came", "again\n1")?;
    fs::remove_dir_all(world.root.join(".git")).unwrap();
    repository(&world.root.join(".git"));
    try_it("after it was made again", "again\n1")?;
    replace(&world.root, &|root| {
        fs::create_dir(root).unwrap();
        repository(&root.join(".git"));
    });
    try_it("after another root came", "again\n1")?;
    // The empty folder that keeps the name may be there; with something in it, it is a user's.
    fs::create_dir_all(world.root.join(".codex")).unwrap();
    fs::write(world.root.join(".codex/config.toml"), "").unwrap();
    let said = by_agent(&world, &policy, "mkdir .codex/skills 2> /dev/null || echo no");
    same("after there is more to protect", said.as_str(), "no")?;
    let gone = Way::ByAgent
        .output(&world, &confined(Backend::Namespaces, &policy, std::slice::from_ref(&world.root), &["true"]));
    same("in the end", &gone.status.code(), &Some(0))
}

/// Two commands that run at the same time.
fn apart() -> Checked {
    let (world, _services) = Services::start();
    let line = world.root.join("line");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &line, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let policy = workspace_write(false);
    std::thread::scope(|scope| {
        // Each waits for the other before it looks, and again before it ends.
        let meet = "read x < line; set -- /proc/[0-9]*; echo $#; echo x > line";
        let first = scope.spawn(|| by_agent(&world, &policy, meet));
        let second = by_agent(&world, &policy, "echo x > line; set -- /proc/[0-9]*; echo $#; read x < line");
        // The first process and the shell, which counts by itself.
        same("seen", &(first.join().unwrap().as_str(), second.as_str()), &("2", "2"))
    })
}

/// A confined script as the agent has it.
fn command(world: &World, text: &str) -> process::Command {
    let roots = std::slice::from_ref(&world.root);
    let argv = confined(Backend::Namespaces, &workspace_write(false), roots, &["sh", "-c", text]);
    let argv = argv.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    process::Command { argv, arg0: None, cwd: world.root.clone(), env: std::env::vars_os().collect() }
}

fn over_time() -> Checked {
    let (world, _services) = Services::start();
    let line = Line::new(&world);
    let command = command(&world, &Line::held_by("setsid sleep 100000 & echo $PPID; sleep 100000"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (deltas, mut received) = tokio::sync::mpsc::channel(1);
    // Time is up as soon as the command has said that it runs.
    runtime.block_on(async {
        tokio::select! {
            ended = process::run(&command, None, Some(&deltas)) => Err(format!("it ended: {ended:?}")),
            said = received.recv() => same("said", &*said.unwrap().bytes, b"1\n"),
        }
    })?;
    line.is_let_go()?;
    let ended = runtime.block_on(process::run(&command, Some(Duration::ZERO), None)).unwrap();
    same("the end", &ended.end, &process::ProcessEnd::TimedOut)?;
    line.is_let_go()
}

fn terminal() -> Checked {
    let (world, _services) = Services::start();
    let text = "test -t 0 && echo $PPID; stty size; read word; echo \"got $word\" > $(tty)";
    let command = command(&world, text);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let patience = Duration::from_secs(60);
    let said = runtime.block_on(async {
        let terminals = Arc::new(Terminals::default());
        let reserved = terminals.reserve();
        let number = reserved.number();
        let terminal = Terminal::start(&command, ProcessStreams::Terminal).await.unwrap();
        terminals.keep(reserved, terminal, String::new());
        terminals.write(number, "word\n", patience).await.unwrap().chunk.text()
    });
    // Typed text may be shown before or between the output.
    let said: Vec<&str> = said.lines().filter(|it| *it != "word").collect();
    same("said", &said[..], &["1", "24 80", "got word"][..])
}

fn unmounted() -> Checked {
    let (world, _services) = Services::start();
    let output = Way::ByHand.output(&world, &[ourselves(), "unmounting".into()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_expected = ["let go", "may not mount"].contains(&said.trim());
    if is_expected { Ok(()) } else { Err(format!("said {said:?}, and on standard error {errors:?}")) }
}

/// Plays an agent that has run a command, when a person unmounts a disk.
pub fn be_unmounting() -> ExitCode {
    let world = World::told();
    let disk = &world.outside;
    // A place for mounts in which the system of this machine is not touched.
    let is_apart = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).is_ok()
        && rustix::mount::mount_change(
            "/",
            rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC,
        )
        .is_ok();
    let flags = rustix::mount::MountFlags::empty();
    if !is_apart || rustix::mount::mount("none", disk, "tmpfs", flags, None).is_err() {
        println!("may not mount");
        return ExitCode::SUCCESS;
    }
    // inotify reports when the disk is really gone.
    let gone = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).unwrap();
    rustix::fs::inotify::add_watch(&gone, disk, rustix::fs::inotify::WatchFlags::CREATE).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(process::run(&command(&world, "echo $PPID"), None, None)).unwrap();
    assert_eq!(ended.shown().trim(), "1", "it ran where a place was ready");
    rustix::mount::unmount(disk, rustix::mount::UnmountFlags::empty()).unwrap();
    let waiting = move || wait_for(&gone);
    let n_ready = runtime.block_on(async { tokio::task::spawn_blocking(waiting).await.unwrap() });
    println!("{}", if n_ready > 0 { "let go" } else { "held" });
    ExitCode::SUCCESS
}

fn without_namespaces() -> Checked {
    let (world, _services) = Services::start();
    let output = Way::ByHand.output(&world, &[ourselves(), "without-namespaces".into()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    same(
        &format!("said (and on standard error {errors:?})"),
        said.trim(),
        "landlock\nwrite-absolute Denied\ngit-config Denied",
    )
}

/// Plays an agent on a machine on which namespaces cannot be made.
pub fn be_without_namespaces() -> ExitCode {
    let flag = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag);
        SeccompRule::new(vec![condition.unwrap()]).unwrap()
    };
    let clone = [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID].map(flag).to_vec();
    let rules = BTreeMap::from([(libc::SYS_unshare, Vec::new()), (libc::SYS_clone, clone)]);
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();

    let world = World::told();
    let sandbox = sandbox(WantedBackend::Strongest);
    println!("{}", sandbox.backend().map_or_else(|error| error.to_string(), |it| it.to_string()));
    let roots = suite::pinned(std::slice::from_ref(&world.root));
    let confinement = sandbox.confinement(&workspace_write(false), &roots, &world.ground()).unwrap();
    for name in ["write-absolute", "git-config"] {
        let command = confinement.wrap(vec![ourselves(), "batch".into(), name.into()], &world.root).unwrap();
        for (name, (outcome, _)) in suite::batch(&world, Way::ByAgent, &command) {
            println!("{name} {outcome:?}");
        }
    }
    ExitCode::SUCCESS
}
