//! A command ends with the agent, however the agent ends.
//!
//! The test starts itself again as the agent, which starts it once more as the command.

use std::fs::OpenOptions;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Command as Plain;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use pellucid_exec::process;
use pellucid_exec::process::Command;

use crate::lifeline::Lifeline;

const ROLE: &str = "PELLUCID_EXEC_TEST_ROLE";
const LINE: &str = "PELLUCID_EXEC_TEST_LINE";

/// This program, to play a role in the test of this name.
fn argv_of_role() -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&program, "--exact", "agent_death::a_role", "--nocapture"].map(str::to_owned).to_vec()
}

#[test]
fn no_command_outlives_a_killed_agent() {
    let line = Lifeline::new();
    let argv = argv_of_role();
    let mut agent = Plain::new(&argv[0])
        .args(&argv[1..])
        .env(ROLE, "agent")
        .env(LINE, line.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The agent passes on what its command says.
    let mut said = BufReader::new(agent.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("ready")), "the command has not begun");
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(line.ended(), "");
}

#[test]
fn a_role() {
    match std::env::var(ROLE).as_deref() {
        Ok("agent") => play_agent(),
        Ok("command") => play_command(),
        // An ordinary run of the tests.
        _ => {}
    }
}

fn play_agent() {
    let mut env: process::Variables = std::env::vars_os().collect();
    env.insert(ROLE.into(), "command".into());
    let command = Command { argv: argv_of_role(), arg0: None, cwd: std::env::temp_dir(), env };
    let (deltas, mut received) = tokio::sync::mpsc::channel::<process::Delta>(1);
    let passing_on = async {
        while let Some(delta) = received.recv().await {
            say(&delta.bytes);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _ = runtime.block_on(async { tokio::join!(process::run(&command, None, Some(&deltas)), passing_on) });
}

fn play_command() {
    let mut line = OpenOptions::new().write(true).open(std::env::var_os(LINE).unwrap()).unwrap();
    say(b"ready\n");
    thread::park_timeout(Duration::from_secs(30));
    writeln!(line, "survived").unwrap();
}

fn say(words: &[u8]) {
    let mut out = std::io::stdout();
    out.write_all(words).unwrap();
    out.flush().unwrap();
}
