//! An agent that is killed leaves nothing running, whatever it ran and however.

use std::fs;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use crate::World;

/// How long is waited for something that must come. Reached only when the test fails.
const LIMIT: Duration = Duration::from_secs(120);

/// A tree of processes that all hold the pipe `alive`: a pipeline, a job in a separate process group, and one that
/// ignores signals. Any of them that survives writes a line.
const TREE: &str = "exec 9>alive; set -m; \
    (sleep 30; echo survived >&9) | (trap '' TERM HUP; sleep 30; echo survived >&9) & \
    nohup sh -c 'sleep 30; echo survived >&9' >/dev/null 2>&1 & \
    echo ready >&9; wait; echo survived >&9";

#[derive(Debug, Clone, Copy)]
enum Tool {
    Shell,
    ExecCommand,
    ExecCommandInTerminal,
}

impl Tool {
    /// A reply that calls it with the tree.
    fn reply(self) -> String {
        let script = TREE.replace('"', "\\\"");
        let (name, args) = match self {
            Self::Shell => ("shell", format!("command = [\"bash\", \"-c\", \"{script}\"], timeout_ms = 600000")),
            Self::ExecCommand => ("exec_command", format!("cmd = \"{script}\", login = false")),
            Self::ExecCommandInTerminal => ("exec_command", format!("cmd = \"{script}\", login = false, tty = true")),
        };
        let usage = "usage = { input = 1, output = 1 }";
        format!("[[reply]]\ncall = [{{ name = \"{name}\", args = {{ {args} }} }}]\n{usage}\n")
    }
}

/// Reads lines from a pipe until the last writer has closed it.
fn lines_of(path: PathBuf) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        // Waits for the first writer.
        let pipe = File::open(path).unwrap();
        for line in BufReader::new(pipe).lines() {
            let _gone = sender.send(line.unwrap());
        }
    });
    lines
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[track_caller]
fn check_nothing_is_left(tool: Tool, sandbox: &str, signal_name: &str) {
    let world = World::new(&format!("//- work/script.toml\n{}", tool.reply()));
    let alive = world.files.path("work/alive");
    assert!(Command::new("mkfifo").arg(&alive).status().unwrap().success());
    let lines = lines_of(alive);
    let unified = if matches!(tool, Tool::Shell) { "--disable" } else { "--enable" };
    let args = ["exec", "--script", "script.toml", "--sandbox", sandbox, unified, "unified_exec", "go"];
    let mut agent = world.command(&args).stdout(Stdio::null()).spawn().unwrap();

    let ready = lines.recv_timeout(LIMIT);
    signal(&agent, signal_name);
    agent.wait().unwrap();
    let case = format!("{tool:?} in {sandbox} by {signal_name}");
    assert_eq!(ready.as_deref(), Ok("ready"), "{case}");
    // The end of the pipe: the last process of the tree is gone.
    assert_eq!(lines.recv_timeout(LIMIT), Err(mpsc::RecvTimeoutError::Disconnected), "{case}");
}

#[track_caller]
fn check_each_signal(tool: Tool, sandbox: &str) {
    for signal in ["KILL", "TERM"] {
        check_nothing_is_left(tool, sandbox, signal);
    }
}

#[test]
fn unconfined_commands_end_with_the_agent() {
    check_each_signal(Tool::Shell, "danger-full-access");
    check_each_signal(Tool::ExecCommand, "danger-full-access");
    check_each_signal(Tool::ExecCommandInTerminal, "danger-full-access");
}

#[test]
fn what_a_command_left_running_on_purpose_goes_on() {
    let script = "sh -c 'read word <go; echo $word >alive' >/dev/null 2>&1 &";
    let call = format!("call = [{{ name = \"shell\", args = {{ command = [\"bash\", \"-c\", \"{script}\"] }} }}]");
    let reply = |what: &str| format!("[[reply]]\n{what}\nusage = {{ input = 1, output = 1 }}\n");
    let world = World::new(&format!("//- work/script.toml\n{}{}", reply(&call), reply("say = \"done\"")));
    for name in ["alive", "go"] {
        assert!(Command::new("mkfifo").arg(world.files.path("work").join(name)).status().unwrap().success());
    }
    let lines = lines_of(world.files.path("work/alive"));
    let ran = world.run(&["exec", "--script", "script.toml", "--sandbox", "danger-full-access", "go"]);
    assert_eq!((ran.status, ran.out()), (0, "done\n"));
    fs::write(world.files.path("work/go"), "on\n").unwrap();
    assert_eq!(lines.recv_timeout(LIMIT).as_deref(), Ok("on"));
}

#[test]
fn confined_commands_end_with_the_agent() {
    let found = World::new("").run(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_str(found.out()).unwrap();
    if found["sandbox"]["chosen"].is_null() {
        println!("skipped: no sandbox works on this machine");
        return;
    }
    check_each_signal(Tool::Shell, "workspace-write");
    check_each_signal(Tool::ExecCommand, "workspace-write");
    check_each_signal(Tool::ExecCommandInTerminal, "workspace-write");
}
