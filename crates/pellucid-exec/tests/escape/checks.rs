//! What else a sandbox has to do: let work be done, pass on how it ends, end with the agent, and
//! fall back without letting go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Output;
use std::process::Stdio;

use nix::libc;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Wanted;
use pellucid_exec::sandbox::denial;
use pellucid_protocol::settings::SandboxPolicy;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use seccompiler::SeccompAction;
use seccompiler::SeccompCmpArgLen;
use seccompiler::SeccompCmpOp;
use seccompiler::SeccompCondition;
use seccompiler::SeccompFilter;
use seccompiler::SeccompRule;

use crate::attempts::Outcome;
use crate::suite;
use crate::suite::ourselves;
use crate::suite::sandbox;
use crate::suite::workspace_write;
use crate::world::Services;
use crate::world::World;

type Checked = Result<(), String>;
type Check = fn(Backend) -> Checked;

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
        for (name, check) in checks {
            tell(&format!("{backend}: {name}"), check(*backend));
        }
    }
    if backends.contains(&Backend::Landlock) {
        tell("without namespaces Landlock confines", without_namespaces());
    }
    n_failed
}

fn confined(backend: Backend, policy: &SandboxPolicy, roots: &[PathBuf], command: &[&str]) -> Vec<OsString> {
    protected(backend, policy, roots, Protection::On, command)
}

fn protected(
    backend: Backend,
    policy: &SandboxPolicy,
    roots: &[PathBuf],
    protection: Protection,
    command: &[&str],
) -> Vec<OsString> {
    let confinement = sandbox(Wanted::Only(backend)).confinement(policy, roots, protection).unwrap();
    confinement.wrap(command.iter().map(OsString::from).collect(), roots.last().unwrap()).unwrap()
}

fn output(world: &World, command: &[OsString]) -> Output {
    world.tell(Command::new(&command[0]).args(&command[1..])).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Checked {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// Runs a script and compares what it says.
fn script(backend: Backend, policy: &SandboxPolicy, protection: Protection, text: &str, expected: &str) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let output = output(&world, &protected(backend, policy, &roots, protection, &["sh", "-c", text]));
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    same(&format!("said (and on standard error {errors:?})"), said.trim(), expected)
}

fn work(backend: Backend) -> Checked {
    let policy = workspace_write(false);
    let everyday = "echo 1 > src/new && cat src/new && rm src/new && mkdir src/folder && mv src/lib.rs src/folder/lib.rs \
                    && echo x >> top.txt && head -c 1 /etc/passwd > /dev/null && echo 2 | cat && (echo 3) \
                    && echo 4 > /dev/stdout && test -d .git && cat .git/config";
    script(backend, &policy, Protection::On, everyday, "1\n2\n3\n4\nbefore")?;
    if backend != Backend::Landlock {
        script(backend, &policy, Protection::On, "echo 1 > new && mv new newer && cat newer && rm newer", "1")?;
    }
    Ok(())
}

fn read_only(backend: Backend) -> Checked {
    let text = "echo 1 > src/new; echo 2 > new; chmod 600 src/lib.rs; touch src/lib.rs; cat src/lib.rs";
    script(backend, &SandboxPolicy::ReadOnly, Protection::On, text, "before")
}

/// Fences refuse in other words than mounts do, and stand alone in the working directory if they are high enough.
fn refusal(backend: Backend) -> Checked {
    let abi = sandbox(Wanted::Only(backend)).findings().landlock_abi;
    let expected = if abi.is_some_and(|abi| abi >= 3) { "Permission denied" } else { "Read-only file system" };
    let text = "export LC_ALL=C; (echo 1 > new) 2>&1 | sed 's/.*: //'; (mkdir folder) 2>&1 | sed 's/.*: //'";
    script(backend, &SandboxPolicy::ReadOnly, Protection::On, text, &format!("{expected}\n{expected}"))
}

fn unprotected(backend: Backend) -> Checked {
    let text = "echo after > .git/config && cat .git/config && echo 1 > new && cat new";
    script(backend, &workspace_write(false), Protection::Off, text, "after\n1")
}

fn endings(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let ended = |command: &[&str]| output(&world, &confined(backend, &SandboxPolicy::ReadOnly, &roots, command));
    same("status", &ended(&["sh", "-c", "exit 7"]).status.code(), &Some(7))?;
    let status = ended(&["sh", "-c", "kill -9 $$"]).status;
    // Bubblewrap says it as shells do.
    let expected = if backend == Backend::Bubblewrap { (None, Some(128 + 9)) } else { (Some(9), None) };
    same("signal or status", &(status.signal(), status.code()), &expected)?;
    let missing = ended(&["no-such-program-anywhere"]);
    same("status of a missing program", &missing.status.code(), &Some(denial::HELPER_FAILED))?;
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    let is_plain = said.contains("\"no-such-program-anywhere\" could not be started") && !said.contains("sandbox");
    if is_plain { Ok(()) } else { Err(format!("a missing program is told as {said:?}")) }
}

/// Plays an agent that runs a confined command and waits.
pub fn be_agent(backend: &str, command: &[&str]) -> ExitCode {
    let backend = Backend::from_word(backend).unwrap();
    let root = std::env::current_dir().unwrap();
    let command = confined(backend, &workspace_write(false), &[root], command);
    let status = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).status();
    println!("{}", status.map_or_else(|error| error.to_string(), |status| status.to_string()));
    // Until somebody ends it.
    loop {
        std::thread::park();
    }
}

fn killed_agent(backend: Backend) -> Checked {
    killed(backend, "setsid sleep 100000 & sleep 100000 & echo ready; sleep 100000", "ready")
}

fn killed_agent_later(backend: Backend) -> Checked {
    killed(backend, "setsid sleep 100000 & sleep 100000 &", "exit status: 0")
}

/// Kills the agent once its command has said something. Every process of the command holds the
/// pipe, so its end is their end.
fn killed(backend: Backend, text: &str, until: &str) -> Checked {
    let (world, _services) = Services::start();
    let mut command = Command::new(ourselves());
    command.args(["agent", backend.as_str(), "--", "sh", "-c", text]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut agent = world.tell(&mut command).spawn().unwrap();
    let mut pipe = BufReader::new(agent.stdout.take().unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    same("the first line", line.trim(), until)?;
    let mut watched = [PollFd::new(pipe.get_ref(), PollFlags::IN)];
    let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
    if rustix::event::poll(&mut watched, Some(&patience)).unwrap() == 0 {
        return Err("something goes on a minute after the agent's end".to_owned());
    }
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    same("the rest", rest.trim(), "")
}

fn nested_roots(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    // The folder between the two roots could be moved away to make another project in its place.
    let roots = [PathBuf::from(world.base.parent().unwrap()), world.root.clone()];
    let text = "mv ../root ../away; mv .. ../../away-$$; echo x >> .git/config; echo x > ../outside/new \
                && cat ../outside/new; cat .git/config";
    let output = output(&world, &confined(backend, &workspace_write(false), &roots, &["sh", "-c", text]));
    same("said", String::from_utf8_lossy(&output.stdout).trim(), "x\nbefore")
}

fn network(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    let roots = [world.root.clone()];
    let names =
        ["tcp-connect", "udp-send", "unix-connect", "socket-packet", "socket-vsock", "ptrace-agent", "git-config"];
    let program = ourselves();
    let mut command = vec![program.to_str().unwrap(), "batch"];
    command.extend(names);
    let found = suite::batch(&world, &confined(backend, &workspace_write(true), &roots, &command));
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

fn without_namespaces() -> Checked {
    let (world, _services) = Services::start();
    let output = output(&world, &[ourselves(), "without-namespaces".into()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    same(
        &format!("said (and on standard error {errors:?})"),
        said.trim(),
        "landlock\nwrite-absolute Denied\ngit-config Denied",
    )
}

/// Plays an agent on a machine that lets nobody make namespaces.
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
    let sandbox = sandbox(Wanted::Strongest);
    println!("{}", sandbox.backend().map_or_else(|error| error.to_string(), |it| it.to_string()));
    let confinement =
        sandbox.confinement(&workspace_write(false), std::slice::from_ref(&world.root), Protection::On).unwrap();
    for name in ["write-absolute", "git-config"] {
        let command = confinement.wrap(vec![ourselves(), "batch".into(), name.into()], &world.root).unwrap();
        for (name, (outcome, _)) in suite::batch(&world, &command) {
            println!("{name} {outcome:?}");
        }
    }
    ExitCode::SUCCESS
}
