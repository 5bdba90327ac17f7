//! `kill -9` at any moment: every line that was printed is stored, the file loads, and the session continues.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::PathBuf;

use serde_json::Value;

use crate::World;

/// How many runs a plain test makes; `cargo xtask crash-suite` asks for more.
const N_RUNS: u64 = 8;

/// How many times the model calls a tool in the turn that is killed.
const N_CALLS: usize = 12;

fn n_runs() -> u64 {
    std::env::var("PELLUCID_CRASH_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(N_RUNS)
}

fn script() -> String {
    let call = |n: usize| {
        let step = format!("{{ step = \"step {n}\", status = \"pending\" }}");
        format!(
            "[[reply]]\nsay = \"working on {n}\"\ncall = [{{ name = \"update_plan\", args = {{ plan = [{step}] }} }}]\nusage = {{ input = 100, output = 10 }}\n"
        )
    };
    let calls: String = (0..N_CALLS).map(call).collect();
    format!("{calls}[[reply]]\nsay = \"all done\"\nusage = {{ input = 100, output = 10 }}\n")
}

/// Numbers that look random and are the same in every run.
fn random(seed: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

/// The session files that have something in them. A process that is killed after it has made its file and before it has
/// written a line leaves an empty one; nothing was printed then.
fn session_files(world: &World) -> Vec<PathBuf> {
    let mut folders = vec![world.files.path("home/sessions")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::metadata(&path).unwrap().len() > 0 {
                files.push(path);
            }
        }
    }
    files
}

/// Starts a turn, takes so many events, and kills the process; gives the events.
fn killed_after(world: &World, args: &[&str], n_events: u64) -> Vec<Value> {
    let mut child = world.command(args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = Vec::new();
    while (events.len() as u64) < n_events
        && let Some(Ok(line)) = lines.next()
    {
        events.push(serde_json::from_str(&line).unwrap());
    }
    // A process that has ended by itself cannot be killed, and need not be.
    let _ = child.kill();
    child.wait().unwrap();
    // What it said before it was killed was acknowledged as well; a last line may be torn.
    events.extend(lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()));
    events
}

fn check_run(run: u64) {
    let world = World::new(&format!(
        "//- work/script.toml\n{}//- work/again.toml\n[[reply]]\nsay = \"back again\"\nusage = {{ input = 1, output = 1 }}\n",
        script()
    ));
    let n_events = random(run) % 30;
    let events = killed_after(&world, &["exec", "--json", "--script", "script.toml", "go"], n_events);
    let said: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "item.completed")
        .filter_map(|event| event["item"]["text"].as_str())
        .collect();
    let files = session_files(&world);
    if !said.is_empty() {
        assert_eq!(files.len(), 1, "run {run}: {said:?}");
    }
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for said in &said {
            let line = format!("{{\"type\":\"agent_message\",\"message\":\"{said}\"}}");
            assert!(text.contains(&line), "run {run}: {said} was printed and is not in the file\n{text}");
        }
        let n_torn = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
        assert!(n_torn <= 1, "run {run}: {text}");
    }
    let replayed = |world: &World| {
        let name = session_files(world)[0].file_stem().unwrap().to_str().unwrap().to_owned();
        let ran = world.run(&["replay", "--json", &name[name.len() - 36..]]);
        let replay: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(replay["broken"], Value::Null, "run {run}: {}", ran.out());
        let differs = |request: &Value| request["verdict"] == "differs";
        assert!(!replay["requests"].as_array().unwrap().iter().any(differs), "run {run}: {}", ran.out());
    };
    let has_file = !files.is_empty();
    if has_file {
        replayed(&world);
    }
    let ran = world.run(&["exec", "--script", "again.toml", "resume", "--last", "on"]);
    assert_eq!((ran.status, ran.out()), (0, "back again\n"), "run {run}: {}", ran.stderr);
    let after = session_files(&world);
    assert_eq!(after.len(), 1, "run {run}: the session went on in its own file");
    let text = fs::read_to_string(&after[0]).unwrap();
    assert!(text.contains("back again"), "run {run}");
    replayed(&world);
    let checked = world.run(&["sessions", "fsck", "--json"]);
    let findings: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let is_serious = |problem: &Value| problem["is_serious"] == true;
    assert!(!findings["problems"].as_array().unwrap().iter().any(is_serious), "run {run}: {}", checked.out());
}

#[test]
fn nothing_that_was_told_is_lost() {
    for run in 0..n_runs() {
        check_run(run);
    }
}
