//! A repository that means harm: every command is run in it, and nothing may be executed, leaked, hung or crashed,
//! whatever was decided about trust.

mod archive;

use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;

use crate::person::Person;
use crate::suite::Wanted;
use crate::trial::Backend;
use crate::trial::Ran;
use crate::trial::Trial;
use crate::trial::User;
use crate::trial::Way;
use crate::turn::shell;

/// The content of the user's private files.
const SECRET: &str = "the-text-of-a-private-key-4711";

/// What was decided about the project.
const TRUSTS: [&str; 3] = ["undecided", "untrusted", "trusted"];

/// Runs everything in every variant; says what went wrong.
pub fn run(wanted: &Wanted) -> bool {
    let variants = archive::variants();
    let mut jobs = Vec::new();
    for (name, entries) in &variants {
        for trust in TRUSTS {
            // Where there is little time, trust is varied where it decides something.
            let is_quick = trust == "undecided" || *name == "programs";
            if wanted.has(&format!("hostile-{name}-{trust}")) && (wanted.whole || is_quick) {
                jobs.push((*name, entries, trust));
            }
        }
    }
    let (next, problems, n_runs) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, entries, trust)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (found, n) = one(entries, trust);
                    n_runs.fetch_add(n, Ordering::Relaxed);
                    problems.lock().unwrap().extend(found.iter().map(|it| format!("{name}, {trust}: {it}")));
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    if jobs.is_empty() {
        return true;
    }
    if !problems.is_empty() {
        println!("\nin the hostile repository:\n  {}", problems.join("\n  "));
    }
    println!(
        "hostile repository: {} variants by trust, {} runs, {} problems",
        jobs.len(),
        n_runs.into_inner(),
        problems.len()
    );
    problems.is_empty()
}

/// Runs all commands in one variant. Each problem is reported once, for the command that showed it first.
fn one(entries: &[(String, archive::Entry)], trust: &str) -> (Vec<String>, usize) {
    let trial = Trial::new(Way::Confined(Backend::Namespaces), User::Ourselves);
    trial.write("user/.ssh/id_rsa", &format!("{SECRET}\nprivate = {SECRET}\n"));
    trial.by_hand(
        "mkdir ../good && cd ../good && git init -q -b main . && echo x > f && git add . && git commit -qm one",
    );
    trial.decide("good", "trusted");
    if trust != "undecided" {
        trial.decide("work", trust);
    }
    let evil = MockServer::start([]);
    archive::write(&trial, entries, &evil.base_url());
    let mut problems = Vec::new();
    let mut n_runs = 0;
    for (name, deed) in DEEDS {
        let seen = deed(&trial);
        n_runs += 1;
        problems.extend(judge(&trial, name, &seen, &evil, trust));
        if !problems.is_empty() {
            break;
        }
    }
    (problems, n_runs)
}

/// Everything that a run showed.
struct Seen {
    ran: Vec<Ran>,
    sent: Vec<Vec<u8>>,
}

fn judge(trial: &Trial, name: &str, seen: &Seen, evil: &MockServer, trust: &str) -> Option<String> {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
    if let Some(proof) = trial.proof() {
        return Some(format!("{name}: {}", proof.chars().take(60).collect::<String>()));
    }
    if trial.is_crashed() {
        let said = seen.ran.iter().map(Ran::said).collect::<String>();
        return Some(format!("{name} crashed: {}", said.chars().take(200).collect::<String>()));
    }
    if !evil.requests().is_empty() {
        return Some(format!("{name} asked the address that the project names"));
    }
    if seen.sent.iter().any(|body| has(body)) {
        return Some(format!("{name} sent a private file"));
    }
    // The settings of a trusted project are read, and an error may quote the line that it is about.
    let is_quoted = trust == "trusted";
    let said = seen.ran.iter().any(|ran| has(&ran.stdout) || (has(&ran.stderr) && !is_quoted));
    said.then(|| format!("{name} printed a private file"))
}

type Deed = fn(&Trial) -> Seen;

const DEEDS: &[(&str, Deed)] = &[
    ("exec", |trial| exec(trial, false)),
    ("exec resume", |trial| exec(trial, true)),
    ("exec in a folder below", |trial| {
        fs::create_dir_all(trial.path("work/sub")).unwrap();
        let (ran, requests) = trial.turn().reading().by_server().within("work/sub").run_seen(&[shell("true")]);
        Seen { ran: vec![ran], sent: requests.into_iter().map(|it| it.body).collect() }
    }),
    ("exec with undo", |trial| {
        let (ran, requests) = trial.turn().by_server().args(&["--enable", "undo"]).run_seen(&[shell("true")]);
        Seen { ran: vec![ran], sent: requests.into_iter().map(|it| it.body).collect() }
    }),
    ("prompt", |trial| said(trial, &["prompt", "go"])),
    ("context", |trial| said(trial, &["context"])),
    ("skills", |trial| said(trial, &["skills", "list"])),
    ("doctor", |trial| said(trial, &["doctor"])),
    ("sessions", |trial| said(trial, &["sessions", "list"])),
    ("approvals", |trial| said(trial, &["approvals", "explain", "touch", "x"])),
    ("review", |trial| {
        let (ran, requests) = trial.turn().review().by_server().run_seen(&[]);
        Seen { ran: vec![ran], sent: requests.into_iter().map(|it| it.body).collect() }
    }),
    ("app-server", app_server),
];

fn exec(trial: &Trial, is_resumed: bool) -> Seen {
    let turn = trial.turn().reading().by_server();
    let turn = if is_resumed { turn.resumed() } else { turn };
    let (ran, requests) = turn.run_seen(&[shell("sleep 0.1")]);
    Seen { ran: vec![ran], sent: requests.into_iter().map(|it| it.body).collect() }
}

fn said(trial: &Trial, args: &[&str]) -> Seen {
    Seen { ran: vec![trial.pellucid(args)], sent: Vec::new() }
}

fn app_server(trial: &Trial) -> Seen {
    let server = MockServer::start([MockReply::say("done")]);
    let mut command: Command = trial.product();
    command.args(["app-server", "-c", "model_provider=mock", "-c", &crate::turn::provider(&server.base_url())]);
    let mut person = Person::serve(trial, command);
    person.turn();
    let cwd = trial.path("work");
    let cwd = cwd.to_str().unwrap();
    person.ask("skills/list", &serde_json::json!({ "cwds": [cwd] }));
    person.ask("gitDiffToRemote", &serde_json::json!({ "cwd": cwd }));
    person.ask("config/read", &serde_json::json!({ "cwd": cwd, "includeLayers": true }));
    let heard: String = person.heard.iter().map(ToString::to_string).collect();
    let ran = Ran { status: Some(0), stdout: heard.into_bytes(), ..Ran::default() };
    Seen { ran: vec![ran], sent: server.requests().into_iter().map(|it| it.body).collect() }
}
