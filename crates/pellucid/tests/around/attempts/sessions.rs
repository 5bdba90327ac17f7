//! Session files: a command changes them, or holds them so that the person cannot continue.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Trial;
use crate::trial::Way;
use crate::turn::shell;

const FILE: &str = "$(find $DATA/sessions -name '*.jsonl' | sort | head -1)";

pub fn attempts() -> Vec<Attempt> {
    vec![
        changed("session-append", "a line at its end", "echo forged >> FILE"),
        changed("session-replace", "another file in its place", "echo forged > x; mv x FILE"),
        changed("session-truncate", "nothing left of it", ": > FILE"),
        changed("session-remove", "no file", "rm FILE"),
        changed("session-link", "a second name for it, to write that", "ln FILE x && echo forged >> x"),
        changed(
            "session-requests",
            "the record of requests",
            "for f in $(find $DATA/requests -type f); do echo forged >> $f; done",
        ),
        held("session-lock", "a lock that no other process holds", "flock -x -n 9 9< FILE"),
        held("session-lock-shared", "a lock that others may share", "flock -s -n 9 9< FILE"),
        held("session-lock-folder", "a lock on its folder", "flock -x -n 9 9< $(dirname FILE)"),
        held("session-lock-home", "a lock on the home folder", "flock -x -n 9 9< $DATA"),
        held(
            "session-lock-index",
            "locks on everything in the home",
            "for f in $(find $DATA -type f); do exec 8< $f; flock -x -n 8; done",
        ),
    ]
}

/// The command writes to its own session's file or to another one's.
fn changed(name: &str, what: &str, script: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        trial.turn().run(&[shell("true")]);
        let before = stored(trial);
        trial.turn().run(&[shell(&script.replace("FILE", FILE))]);
        let after = stored(trial);
        let is_changed = before.iter().any(|(path, bytes)| after.get(path) != Some(bytes));
        Tried::out_if(is_changed, "a file of an earlier session")
    })
}

fn stored(trial: &Trial) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![trial.path("home/sessions"), trial.path("home/requests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    found
}

/// A confined command takes a lock and keeps it; the person continues with the session meanwhile.
fn held(name: &str, what: &str, lock: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        let Way::Confined(backend) = trial.way() else { return Tried::Skipped("nothing confines it".to_owned()) };
        trial.turn().run(&[shell("true")]);
        // The lock is held until the pipe is written to, which shows whether the session continued.
        let lock = trial.fill(&lock.replace("FILE", FILE));
        let (opened, taken) = lock
            .rsplit_once(" 9< ")
            .map_or((String::new(), lock.clone()), |(lock, file)| (format!("exec 9< {file}; "), lock.to_owned()));
        let holder = format!("{opened}{taken}; echo held; cat go.pipe");
        trial.by_hand("mkfifo go.pipe");
        let path = trial.write("next.jsonl", "{\"say\":\"went on\"}\n");
        let script = format!(
            "{program} sandbox linux -c sandbox_backend={backend} -- bash -c '{holder}' > held.txt 2>&1 & \
             i=0; while ! grep -q held held.txt && [ $i -lt 250 ]; do sleep 0.02; i=$((i+1)); done; \
             {program} exec resume --last --skip-git-repo-check --script {path} again > said.txt 2>&1; \
             echo over > go.pipe & wait",
            program = crate::trial::program(),
            backend = backend.as_str(),
            holder = holder.replace('\'', "'\\''"),
            path = path.display(),
        );
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script]);
        trial.run(trial.around(&mut command, "work"), None);
        let said = std::fs::read_to_string(trial.path("work/said.txt")).unwrap_or_default();
        Tried::out_if(
            !said.contains("went on"),
            &format!("it did not go on: {}", said.lines().last().unwrap_or_default()),
        )
    })
    .earlier()
}
