//! Processes that outlive a call.

use std::sync::Arc;
use std::time::Duration;

use pellucid_exec::listener::OutputListener;
use pellucid_exec::process::Command;
use pellucid_exec::terminal::ProcessStreams;
use pellucid_exec::terminal::Terminal;
use pellucid_exec::terminal::TerminalEvent;
use pellucid_exec::terminal::TerminalOutput;
use pellucid_exec::terminal::TerminalWriteError;
use pellucid_exec::terminal::Terminals;
use tokio::sync::mpsc;

use crate::lifeline::Lifeline;

/// Long enough for anything but a failure.
const LONG: Duration = Duration::from_secs(60);

fn command(script: &str) -> Command {
    let env = [("PATH".into(), std::env::var_os("PATH").unwrap())].into();
    Command { argv: ["sh", "-c", script].map(str::to_owned).to_vec(), arg0: None, cwd: "/".into(), env }
}

async fn start(script: &str, kind: ProcessStreams) -> Terminal {
    Terminal::start(&command(script), kind).await.unwrap()
}

/// Collects until the process has ended.
async fn check_ended(script: &str, kind: ProcessStreams, output: &str, exit_code: i32) {
    let chunk = start(script, kind).await.collect(LONG).await;
    assert_eq!((chunk.text().as_str(), chunk.exit_code), (output, Some(exit_code)), "{script}");
}

#[tokio::test]
async fn output_and_exit_code() {
    check_ended("echo out; exit 4", ProcessStreams::Pipes, "out\n", 4).await;
    check_ended("echo out; exit 4", ProcessStreams::Terminal, "out\r\n", 4).await;
    check_ended("echo out >&2; cat", ProcessStreams::Pipes, "out\n", 0).await;
    check_ended("kill -9 $$", ProcessStreams::Pipes, "", -1).await;
    check_ended("kill -9 $$", ProcessStreams::Terminal, "", 1).await;
}

#[tokio::test]
async fn a_terminal_is_one() {
    check_ended("test -t 0 && test -t 1 && test -t 2 && stty size", ProcessStreams::Terminal, "24 80\r\n", 0).await;
    check_ended("echo hi > /dev/tty", ProcessStreams::Terminal, "hi\r\n", 0).await;
    check_ended(
        "test -t 1 || echo none; (: > /dev/tty) 2> /dev/null || echo none",
        ProcessStreams::Pipes,
        "none\nnone\n",
        0,
    )
    .await;
}

/// A listener that panics at the first bytes.
#[derive(Debug)]
struct Panicking;

impl OutputListener for Panicking {
    fn wrote(&self, _: &[u8]) {
        panic!("expected");
    }
}

#[tokio::test]
async fn a_terminal_whose_reader_panics_ends_with_its_process() {
    for kind in [ProcessStreams::Pipes, ProcessStreams::Terminal] {
        let line = Lifeline::new();
        let script = command(&line.script("cat"));
        let terminal = Terminal::start_heard(&script, kind, Some(Arc::new(Panicking))).await.unwrap();
        assert_eq!(terminal.collect(LONG).await.exit_code, Some(-1));
        assert_eq!(tokio::task::spawn_blocking(|| line.ended()).await.unwrap(), "");
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let missing = Command { argv: vec!["no-such-program-here".to_owned()], ..command("") };
    for kind in [ProcessStreams::Pipes, ProcessStreams::Terminal] {
        let error = Terminal::start(&missing, kind).await.unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}

/// Writes until `wanted` has come out. Every chunk is new output.
async fn write_until(terminals: &Terminals, number: u32, characters: &str, wanted: &str) -> TerminalOutput {
    let short = Duration::from_millis(10);
    let mut written = terminals.write(number, characters, short).await.unwrap().chunk;
    while !String::from_utf8_lossy(&written.output.bytes).ends_with(wanted) {
        let more = terminals.write(number, "", short).await.unwrap().chunk;
        written.output.bytes.extend(more.output.bytes);
        written.exit_code = more.exit_code;
    }
    written
}

#[tokio::test]
async fn a_conversation() {
    let terminals = Arc::new(Terminals::default());
    let reservation = terminals.reserve();
    let number = reservation.number();
    assert!((1_000..100_000).contains(&number));
    let terminal =
        start("echo hello; while read x; do echo got $x; test $x = stop && exit 3; done", ProcessStreams::Terminal)
            .await;
    let keeping = terminals.keep(reservation, terminal, "call".to_owned());
    assert_eq!((keeping.evicted, keeping.n_open, keeping.is_crowded()), (None, 1, false));

    assert_eq!(write_until(&terminals, number, "", "hello\r\n").await.text(), "hello\r\n");
    assert_eq!(write_until(&terminals, number, "first\n", "got first\r\n").await.text(), "first\r\ngot first\r\n");
    let written = terminals.write(number, "stop\n", LONG).await.unwrap();
    assert_eq!((written.chunk.text().as_str(), written.chunk.exit_code), ("stop\r\ngot stop\r\n", Some(3)));
    assert_eq!(written.call_id, "call");
    let late = terminals.write(number, "late\n", LONG).await.unwrap_err();
    assert_eq!(late, TerminalWriteError::Unknown(number));
    assert_eq!(late.to_string(), format!("write_stdin failed: Unknown process id {number}"));
}

#[tokio::test]
async fn control_c_interrupts() {
    let terminals = Arc::new(Terminals::default());
    let reservation = terminals.reserve();
    let number = reservation.number();
    // A shell that starts a program just then may miss the signal; one that reads does not.
    let terminal = start("echo ready; read x", ProcessStreams::Terminal).await;
    terminals.keep(reservation, terminal, String::new());
    write_until(&terminals, number, "", "ready\r\n").await;
    let written = terminals.write(number, "\u{3}", LONG).await.unwrap();
    assert_eq!((written.chunk.text().as_str(), written.chunk.exit_code), ("^C", Some(1)));
}

#[tokio::test]
async fn pipes_cannot_be_written_to_but_looked_at() {
    let terminals = Arc::new(Terminals::default());
    let reservation = terminals.reserve();
    let number = reservation.number();
    terminals.keep(reservation, start("echo hi", ProcessStreams::Pipes).await, String::new());
    assert_eq!(terminals.write(number, "x", LONG).await, Err(TerminalWriteError::StdinClosed));
    let written = terminals.write(number, "", LONG).await.unwrap();
    assert_eq!((written.chunk.text().as_str(), written.chunk.exit_code), ("hi\n", Some(0)));
}

#[tokio::test]
async fn a_watcher_is_told_of_the_end() {
    let line = Lifeline::new();
    let gate = line.folder().join("gate");
    let terminal =
        start(&format!("mkfifo {0}; echo one; read x < {0}; echo $x; exit 5", gate.display()), ProcessStreams::Pipes)
            .await;
    let (reports, mut received) = mpsc::channel(1);
    terminal.watch(reports);
    let mut output = Vec::new();
    let ended = loop {
        match received.recv().await.unwrap() {
            TerminalEvent::Output { bytes } => {
                output.extend(bytes);
                if output == b"one\n" {
                    let gate = gate.clone();
                    tokio::task::spawn_blocking(move || std::fs::write(gate, "two\n")).await.unwrap().unwrap();
                }
            }
            ended @ TerminalEvent::Ended { .. } => break ended,
        }
    };
    assert_eq!(output, b"one\ntwo\n");
    let TerminalEvent::Ended { exit_code: 5, output, n_unreported: 0, .. } = ended else { panic!("{ended:?}") };
    assert_eq!(output.bytes, b"one\ntwo\n");
    assert_eq!(received.recv().await, None);
}

#[tokio::test]
async fn an_early_end_is_seen() {
    let terminal = start("echo hi; exit 2", ProcessStreams::Pipes).await;
    // On a slow machine the moment can pass first; then the end is found by collecting.
    if let Some((code, output)) = terminal.ended_early().await {
        assert_eq!((code, output.bytes.as_slice()), (2, &b"hi\n"[..]));
    }
    assert_eq!(terminal.collect(LONG).await.text(), "hi\n");
}

/// Starts a script that holds a lifeline and waits until it says that it does.
async fn start_held(line: &Lifeline, rest: &str, kind: ProcessStreams) -> Terminal {
    let terminal = start(&line.script(rest), kind).await;
    let mut output = Vec::new();
    while !output.starts_with(b"ready") {
        output.extend(terminal.collect(Duration::from_millis(10)).await.output.bytes);
    }
    terminal
}

#[tokio::test]
async fn nobody_outlives_a_terminal() {
    for kind in [ProcessStreams::Pipes, ProcessStreams::Terminal] {
        let dropped = Lifeline::new();
        drop(start_held(&dropped, "trap '' HUP TERM; sleep 1000", kind).await);

        let terminated = Lifeline::new();
        let terminal = start_held(&terminated, "sleep 1000", kind).await;
        terminal.terminate();
        let signalled = if kind == ProcessStreams::Pipes { -1 } else { 1 };
        assert_eq!(terminal.collect(LONG).await.exit_code, Some(signalled));

        let ended = Lifeline::new();
        let in_background = start_held(&ended, "exit 0", kind).await;

        let terminals = Arc::new(Terminals::default());
        let stored = Lifeline::new();
        terminals.keep(terminals.reserve(), start_held(&stored, "sleep 1000", kind).await, String::new());
        assert_eq!(terminals.terminate_all().await, 1);

        for line in [dropped, terminated, ended, stored] {
            assert_eq!(tokio::task::spawn_blocking(|| line.ended()).await.unwrap(), "");
        }
        drop(in_background);
    }
}

#[tokio::test]
async fn one_of_several_is_ended_by_its_number() {
    let terminals = Arc::new(Terminals::default());
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let reservation = terminals.reserve();
        numbers.push(reservation.number());
        terminals.keep(reservation, start("exec sleep 1000", ProcessStreams::Pipes).await, String::new());
    }
    // No terminal has this number, so nothing is ended.
    terminals.terminate(0);
    terminals.terminate(numbers[0]);
    let written = terminals.write(numbers[0], "", LONG).await.unwrap();
    assert_eq!(written.chunk.exit_code, Some(-1));
    assert_eq!(terminals.terminate_all().await, 1);
}

#[tokio::test]
async fn one_has_to_go_when_there_are_too_many() {
    let terminals = Arc::new(Terminals::default());
    let mut numbers = Vec::new();
    for n_before in 0..65 {
        let reservation = terminals.reserve();
        numbers.push(reservation.number());
        let keeping = terminals.keep(reservation, start("exec sleep 1000", ProcessStreams::Pipes).await, String::new());
        assert_eq!(keeping.is_crowded(), n_before >= 59);
        assert_eq!((keeping.evicted, keeping.n_open), ((n_before == 64).then(|| numbers[0]), 64.min(n_before + 1)));
    }
    assert_eq!(terminals.write(numbers[0], "", LONG).await, Err(TerminalWriteError::Unknown(numbers[0])));
    assert_eq!(terminals.terminate_all().await, 64);
}
