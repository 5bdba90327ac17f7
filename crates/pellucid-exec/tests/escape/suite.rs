//! Running the attempts: without a sandbox first, to see that each is a real way out, then on every
//! backend that works here, under both policies that confine.
//!
//! Not here: what else a sandbox has to do (`checks`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::ExitStatus;
use std::process::Output;
use std::process::Stdio;

use pellucid_exec::process;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::ProbeFinding;
use pellucid_exec::sandbox::ProbeFindings;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Roots;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_exec::sandbox::WritableFolder;
use pellucid_exec::sandbox::gaps;
use pellucid_protocol::settings::SandboxPolicy;

use crate::attempts;
use crate::attempts::Attempt;
use crate::attempts::Outcome;
use crate::attempts::Under;
use crate::checks;
use crate::pausing;
use crate::roots;
use crate::world::Services;
use crate::world::World;

/// How many attempts must be shown to be real and denied for the suite to mean anything.
const ENOUGH: usize = 40;

/// The rows that are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// All rows are printed.
    Table,
    /// Only rows that fail are printed.
    Failures,
}

/// The result of an attempt on a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Denied,
    /// The attempt got out through a gap that the backend documents.
    Gap(&'static str),
    /// The attempt got out.
    Out(String),
    /// The attempt failed for an unrelated reason.
    Odd(String),
    Skipped,
}

/// How a confined command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As a program, like a person does.
    ByHand,
    /// As the agent does, for which namespaces are ready before the command comes.
    ByAgent,
}

impl Way {
    /// The ways that differ on a backend.
    pub fn of(backend: Backend) -> &'static [Self] {
        if backend == Backend::Namespaces { &[Self::ByHand, Self::ByAgent] } else { &[Self::ByHand] }
    }

    /// The name in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByHand => "by hand",
            Self::ByAgent => "by the agent",
        }
    }

    /// Runs a command in a world.
    pub fn output(self, world: &World, command: &[OsString]) -> Output {
        match self {
            Self::ByHand => {
                world.tell(Command::new(&command[0]).args(&command[1..])).stdin(Stdio::null()).output().unwrap()
            }
            Self::ByAgent => {
                let mut env: process::Variables = std::env::vars_os().collect();
                let mut told = Command::new("");
                for (name, value) in world.tell(&mut told).get_envs() {
                    env.insert(name.to_owned(), value.unwrap().to_owned());
                }
                by_agent(command, world.root.clone(), env, None)
            }
        }
    }
}

/// Runs a command as the agent does, and passes on what it says if that is wanted.
pub fn by_agent(command: &[OsString], cwd: PathBuf, env: process::Variables, said: Option<fn(&[u8])>) -> Output {
    let argv = command.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let command = process::Command { argv, arg0: None, cwd, env };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let finished = runtime.block_on(async {
        let (deltas, mut received) = tokio::sync::mpsc::channel::<process::Delta>(1);
        let running = async move { process::run(&command, None, Some(&deltas)).await };
        let passing_on = async {
            while let Some(delta) = received.recv().await {
                if let Some(say) = said {
                    say(&delta.bytes);
                }
            }
        };
        tokio::join!(running, passing_on).0.unwrap()
    });
    let status = match finished.end {
        process::ProcessEnd::Exited(code) => ExitStatus::from_raw(code << 8),
        process::ProcessEnd::Signalled(signal) => ExitStatus::from_raw(signal),
        process::ProcessEnd::TimedOut => unreachable!("there is no limit"),
    };
    Output { status, stdout: finished.stdout.bytes, stderr: finished.stderr.bytes }
}

pub type Outcomes = BTreeMap<String, (Outcome, String)>;

/// Runs the checks of pauses only.
pub fn pausing() -> ExitCode {
    let backends = backends(&sandbox(WantedBackend::Strongest).examine());
    let mut n_failed = 0;
    for backend in backends {
        pausing::run(backend, &mut |name, result| match result {
            Ok(()) => println!("ok: {name}"),
            Err(why) => {
                n_failed += 1;
                println!("FAILED: {name}: {why}");
            }
        });
    }
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The backends that work here.
fn backends(findings: &ProbeFindings) -> Vec<Backend> {
    let mut backends = Vec::new();
    for backend in Backend::of_this_system() {
        match findings.of(*backend) {
            ProbeFinding::Works(how) => {
                println!("{backend}: {how}");
                backends.push(*backend);
            }
            ProbeFinding::Fails(why) => println!("{backend}: skipped, it does not work here: {why}"),
            ProbeFinding::Untried => println!("{backend}: skipped, it was not tried"),
        }
    }
    backends
}

pub fn run(show: Show) -> ExitCode {
    let findings = sandbox(WantedBackend::Strongest).examine();
    let backends = backends(&findings);
    let control = control();
    let columns: Vec<_> = backends.iter().map(|backend| column(*backend, &findings)).collect();
    let (mut n_failed, mut n_proven, mut n_gaps) = (0, 0, 0);
    let mut unshown = Vec::new();
    for (group, attempts) in attempts::GROUPS {
        if show == Show::Table {
            println!("\n{group}\n{}", row("", "unconfined", backends.iter().map(ToString::to_string)));
        }
        for attempt in *attempts {
            let (is_real, shown) = match control.get(attempt.name) {
                Some((Outcome::Out, _)) => (true, "out".to_owned()),
                Some((_, why)) => {
                    unshown.push(format!("{}: {why}", attempt.name));
                    (false, "(fails)".to_owned())
                }
                None => (false, "(missing)".to_owned()),
            };
            let verdicts: Vec<_> =
                columns.iter().map(|column| column.get(attempt.name).unwrap_or(&Verdict::Skipped)).collect();
            let is_bad = |verdict: &&&Verdict| match verdict {
                Verdict::Out(_) => true,
                Verdict::Odd(_) => is_real,
                _ => false,
            };
            let n_bad = verdicts.iter().filter(is_bad).count();
            n_failed += n_bad;
            let is_denied = !verdicts.is_empty() && verdicts.iter().all(|it| **it == Verdict::Denied);
            n_proven += usize::from(is_real && is_denied);
            n_gaps += verdicts.iter().filter(|it| matches!(it, Verdict::Gap(_))).count();
            if show == Show::Table || n_bad > 0 {
                println!("{}", row(attempt.name, &shown, verdicts.iter().map(ToString::to_string)));
            }
        }
    }
    let n_all = attempts::all().count();
    let names: Vec<_> = backends.iter().map(ToString::to_string).collect();
    if !unshown.is_empty() {
        println!("\nfail without a sandbox too, so that they show nothing here:\n  {}", unshown.join("\n  "));
    }
    println!(
        "\nescape suite: {n_proven} of {n_all} attempts are real and denied everywhere ({}); {n_gaps} go through gaps \
         that `doctor` names",
        names.join(", ")
    );
    let is_enough = backends.is_empty() || n_proven >= ENOUGH;
    if !is_enough {
        println!("FAILED: fewer than {ENOUGH} attempts say something");
    }
    if n_failed > 0 {
        println!("FAILED: {n_failed} attempts were not denied");
    }
    let n_broken = checks::run(&backends) + roots::run(&backends);
    let is_good = is_enough && n_failed == 0 && n_broken == 0;
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(name: &str, control: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.map(|cell| format!("{cell:12}")).collect();
    format!("  {name:24} {control:12} {}", cells.join(" ")).trim_end().to_owned()
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Denied => "denied".to_owned(),
            Self::Gap(id) => format!("gap:{id}"),
            Self::Out(policy) => format!("OUT ({policy})"),
            Self::Odd(why) => format!("ODD ({why})"),
            Self::Skipped => "-".to_owned(),
        };
        f.pad(&text)
    }
}

/// Each attempt without a sandbox, in a separate world because it may succeed.
fn control() -> Outcomes {
    let mut outcomes = Outcomes::new();
    for attempt in attempts::all() {
        let (world, services) = Services::start();
        let command = vec![ourselves(), "batch".into(), attempt.name.into()];
        outcomes.extend(batch(&world, Way::ByHand, &command));
        drop(services);
    }
    outcomes
}

fn column(backend: Backend, findings: &ProbeFindings) -> BTreeMap<String, Verdict> {
    let admitted = gaps::of(backend, findings, Protection::On);
    let is_admitted = |id: &str| admitted.iter().any(|gap| gap.id == id);
    let mut all = Vec::new();
    for way in Way::of(backend) {
        all.push(("workspace-write", under(backend, *way, &workspace_write(false), |_| true)));
        let reading = under(backend, *way, &SandboxPolicy::ReadOnly, |attempt| attempt.under == Under::Any);
        all.push(("read-only", reading));
    }
    let verdict = |attempt: &Attempt| {
        let mut verdict = Verdict::Skipped;
        for (policy, outcomes) in &all {
            let policy = *policy;
            match outcomes.get(attempt.name) {
                Some((Outcome::Out, _)) => match attempt.gap.filter(|id| is_admitted(id)) {
                    // Nothing has to be given up where nothing may be written.
                    Some(id) if policy == "workspace-write" || id != "metadata" => verdict = Verdict::Gap(id),
                    _ => return Verdict::Out(policy.to_owned()),
                },
                Some((Outcome::Odd, why)) => return Verdict::Odd(format!("{policy}: {why}")),
                Some((Outcome::Denied, _)) if verdict == Verdict::Skipped => verdict = Verdict::Denied,
                _ => {}
            }
        }
        verdict
    };
    attempts::all().map(|attempt| (attempt.name.to_owned(), verdict(attempt))).collect()
}

/// The attempts under a policy.
fn under(backend: Backend, way: Way, policy: &SandboxPolicy, is_wanted: impl Fn(&Attempt) -> bool) -> Outcomes {
    let (world, _services) = Services::start();
    let mut command = vec![ourselves(), "batch".into()];
    command.extend(attempts::all().filter(|it| is_wanted(it)).map(|it| OsString::from(it.name)));
    let roots = pinned(std::slice::from_ref(&world.root));
    let confinement = sandbox(WantedBackend::Only(backend)).confinement(policy, &roots, &world.ground()).unwrap();
    batch(&world, way, &confinement.wrap(command, &world.root).unwrap())
}

/// Runs a batch and reads its lines. A file is left open for it, as by accident.
pub fn batch(world: &World, way: Way, command: &[OsString]) -> Outcomes {
    let left_open = File::options().read(true).write(true).open(&world.secret).unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let output = way.output(world, command);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the batch ended with {}: {errors}", output.status);
    said.lines()
        .filter_map(attempts::read_line)
        .map(|(name, outcome, detail)| (name.to_owned(), (outcome, detail.to_owned())))
        .collect()
}

/// Folders as the roots that they are now.
pub fn pinned(paths: &[PathBuf]) -> Vec<WritableFolder> {
    Roots::default().hold(paths).unwrap()
}

pub fn sandbox(wanted: WantedBackend) -> Sandbox {
    Sandbox::with_helper(std::env::current_exe().unwrap(), wanted)
}

pub fn ourselves() -> OsString {
    std::env::current_exe().unwrap().into()
}

pub fn workspace_write(network_access: bool) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}
