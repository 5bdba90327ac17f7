//! Running the attempts, two at a time, and saying what became of each.
//!
//! Not here: the table in the documentation (`page`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::Value;

use crate::attempts;
use crate::attempts::Attempt;
use crate::attempts::Control;
use crate::attempts::Tried;
use crate::hostile;
use crate::secrets;
use crate::trial::Backend;
use crate::trial::Trial;
use crate::trial::User;
use crate::trial::Way;

/// How many run at a time.
const N_WORKERS: usize = 2;

/// How many attempts there are at least, with those of `pellucid-exec`.
const N_ATTEMPTS_MIN: usize = 120;

/// The attempts to run, selected by the command line.
#[derive(Debug)]
pub struct Wanted {
    /// On every backend and as every user, with the control runs.
    pub whole: bool,
    /// Only those with this word in their names.
    pub word: Option<String>,
}

impl Wanted {
    pub fn has(&self, name: &str) -> bool {
        self.word.as_ref().is_none_or(|word| name.contains(word))
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Denied,
    /// A command of it was refused by its words, which says little about the rest.
    Refused,
    Gap(&'static str),
    Out(String),
    Skipped(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Denied => "denied".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Gap(id) => format!("gap:{id}"),
            Self::Out(_) => "OUT".to_owned(),
            Self::Skipped(_) => "-".to_owned(),
        };
        f.pad(&text)
    }
}

/// One run of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    attempt: usize,
    way: Way,
    user: User,
}

/// The gaps that `doctor` names, for each backend that works here and each user.
type Works = BTreeMap<(User, Backend), BTreeSet<String>>;

pub fn run(wanted: &Wanted) -> ExitCode {
    let works = examine(wanted);
    let mut is_good = true;
    if works.is_empty() {
        println!("around the sandbox: the attempts are skipped, no sandbox works here");
    } else {
        is_good &= run_attempts(wanted, &works);
    }
    is_good &= hostile::run(wanted);
    is_good &= secrets::run(wanted);
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_attempts(wanted: &Wanted, works: &Works) -> bool {
    let groups = attempts::groups();
    let all: Vec<&Attempt> = groups.iter().flat_map(|(_, attempts)| attempts).collect();
    let names: BTreeSet<_> = all.iter().map(|attempt| &attempt.name).collect();
    assert_eq!(names.len(), all.len(), "two attempts have the same name");
    assert!(all.len() >= N_ATTEMPTS_MIN, "only {} attempts", all.len());
    let verdicts = work(&jobs(&all, wanted, works), &all, works);
    report(&groups, wanted, &verdicts)
}

/// The backends that work, by what `doctor` says of each.
fn examine(wanted: &Wanted) -> Works {
    let mut works = Works::new();
    let mut users = vec![User::Ourselves];
    if !wanted.whole {
        // One user is enough where there is little time.
    } else if is_superuser() {
        users.push(User::Nobody);
    } else {
        println!("as another user: skipped, only the superuser can become one");
    }
    for user in users {
        let trial = Trial::new(Way::Free, user);
        for backend in Backend::ALL {
            let setting = format!("sandbox_backend={}", backend.as_str());
            let ran = trial.pellucid(&["doctor", "--json", "-c", &setting]);
            let found: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
            if found["sandbox"]["chosen"] != backend.as_str() {
                println!("{} as {user:?}: skipped, it does not work here", backend.as_str());
                continue;
            }
            let limits = found["sandbox"]["limits"].as_array().into_iter().flatten();
            let ids = limits.filter_map(|limit| Some(limit["id"].as_str()?.to_owned())).collect();
            works.insert((user, backend), ids);
        }
    }
    works
}

fn is_superuser() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.split_whitespace().take(2).eq(["Uid:", "0"]))
}

fn jobs(all: &[&Attempt], wanted: &Wanted, works: &Works) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (attempt, it) in all.iter().enumerate().filter(|(_, it)| wanted.has(&it.name)) {
        let mut here: Vec<_> = works.keys().copied().filter(|(_, backend)| it.on.contains(backend)).collect();
        if !wanted.whole {
            here.sort_by_key(|(_, backend)| *backend != it.quick);
            here.truncate(1);
        }
        jobs.extend(here.into_iter().map(|(user, backend)| Job { attempt, way: Way::Confined(backend), user }));
        if wanted.whole && !matches!(it.control, Control::Earlier) {
            jobs.push(Job { attempt, way: Way::Free, user: User::Ourselves });
        }
    }
    jobs
}

type Verdicts = BTreeMap<Job, Verdict>;

fn work(jobs: &[Job], all: &[&Attempt], works: &Works) -> Verdicts {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(Verdicts::new());
    thread::scope(|scope| {
        for _ in 0..N_WORKERS {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = judge(*job, all[job.attempt], works);
                    verdicts.lock().unwrap().insert(*job, verdict);
                }
            });
        }
    });
    verdicts.into_inner().unwrap()
}

fn judge(job: Job, attempt: &Attempt, works: &Works) -> Verdict {
    let trial = Trial::new(job.way, job.user);
    let run = match (&attempt.control, job.way) {
        (Control::ByHand(run), Way::Free) => run,
        _ => &attempt.run,
    };
    let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&trial)));
    let proof = match tried {
        Ok(Tried::Skipped(why)) => return Verdict::Skipped(why),
        Ok(Tried::Out(proof)) => Some(proof),
        Ok(Tried::Look) => trial.proof(),
        Err(_) => Some("the attempt itself broke".to_owned()),
    };
    let Some(proof) = proof else {
        return if trial.is_refused() { Verdict::Refused } else { Verdict::Denied };
    };
    let Way::Confined(backend) = job.way else { return Verdict::Out(proof) };
    let named = &works[&(job.user, backend)];
    let gap = attempt.gaps.iter().find(|(on, id)| *on == backend && named.contains(*id));
    gap.map_or(Verdict::Out(proof), |(_, id)| Verdict::Gap(id))
}

fn report(groups: &[(&str, Vec<Attempt>)], wanted: &Wanted, verdicts: &Verdicts) -> bool {
    let columns: BTreeSet<(User, Way)> = verdicts.keys().map(|job| (job.user, job.way)).collect();
    let (mut n_out, mut n_real, mut n_gaps, mut n_tried, mut at) = (0, 0, 0, 0, 0);
    let mut unshown = Vec::new();
    let mut failures = Vec::new();
    for (group, attempts) in groups {
        let rows: Vec<_> = attempts.iter().map(|attempt| (attempt, at_next(&mut at))).collect();
        if wanted.whole && rows.iter().any(|(attempt, _)| wanted.has(&attempt.name)) {
            let names = columns.iter().map(|(user, way)| heading(*user, *way));
            println!("\n{group}\n{}", row("", names));
        }
        for (attempt, at) in rows.into_iter().filter(|(attempt, _)| wanted.has(&attempt.name)) {
            n_tried += 1;
            let of = |user, way| verdicts.get(&Job { attempt: at, way, user });
            if wanted.whole {
                let cells =
                    columns.iter().map(|(user, way)| of(*user, *way).map_or("-".to_owned(), ToString::to_string));
                println!("{}", row(&attempt.name, cells));
            }
            match of(User::Ourselves, Way::Free) {
                Some(Verdict::Out(_)) => n_real += 1,
                Some(verdict) => unshown.push(format!("{}: {verdict:?}", attempt.name)),
                None => {}
            }
            for (user, way) in columns.iter().filter(|(_, way)| *way != Way::Free) {
                match of(*user, *way) {
                    Some(Verdict::Out(proof)) => {
                        n_out += 1;
                        failures.push(format!("{} on {}: {proof}", attempt.name, heading(*user, *way)));
                    }
                    Some(Verdict::Gap(_)) => n_gaps += 1,
                    Some(Verdict::Skipped(why)) if !wanted.whole => println!("{}: skipped, {why}", attempt.name),
                    _ => {}
                }
            }
        }
    }
    if !unshown.is_empty() {
        println!("\nheld without a sandbox too, so that it is not the sandbox that holds them:");
        println!("  {}", unshown.join("\n  "));
    }
    if !failures.is_empty() {
        println!("\nnot denied:\n  {}", failures.join("\n  "));
    }
    println!(
        "\naround the sandbox: {n_tried} attempts, {n_gaps} runs through gaps that `doctor` names, {n_out} runs not denied"
    );
    if wanted.whole {
        println!("{n_real} of them were seen to get out without a sandbox");
    }
    n_out == 0
}

fn at_next(at: &mut usize) -> usize {
    *at += 1;
    *at - 1
}

fn heading(user: User, way: Way) -> String {
    let user = if user == User::Nobody { " (user)" } else { "" };
    match way {
        Way::Free => format!("unconfined{user}"),
        Way::Confined(backend) => format!("{}{user}", backend.as_str()),
    }
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.map(|cell| format!("{cell:18}")).collect();
    format!("  {name:34} {}", cells.join(" ")).trim_end().to_owned()
}
