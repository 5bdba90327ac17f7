//! Commands that run from start to end.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use expect_test::Expect;
use expect_test::expect;
use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::Delta;
use pellucid_exec::process::Finished;
use pellucid_exec::process::KEPT_BYTES;
use pellucid_exec::process::ProcessEnd;
use pellucid_protocol::exec::OutputStream;
use tokio::sync::mpsc;

use crate::lifeline::Lifeline;

fn command(argv: &[&str]) -> Command {
    let env = [("PATH".into(), std::env::var_os("PATH").unwrap())].into();
    Command { argv: argv.iter().map(|it| (*it).to_owned()).collect(), arg0: None, cwd: "/".into(), env }
}

fn script(script: &str) -> Command {
    command(&["sh", "-c", script])
}

async fn run(command: &Command) -> Finished {
    process::run(command, None, None).await.unwrap()
}

#[track_caller]
fn check_finished(finished: &Finished, expected: &Expect) {
    let Finished { end, stdout, stderr, .. } = finished;
    expected.assert_eq(&format!("{end:?} out={:?} err={:?}", stdout.text(), stderr.text()));
}

#[tokio::test]
async fn output_and_exit_code() {
    let finished = run(&script("echo out; echo err >&2; exit 3")).await;
    check_finished(&finished, &expect![[r#"Exited(3) out="out\n" err="err\n""#]]);
    assert_eq!((finished.exit_code(), finished.shown().as_str()), (Some(3), "out\nerr\n"));
}

#[tokio::test]
async fn nothing_is_inherited() {
    let mut command = command(&["env"]);
    command.env.insert("A".into(), "b c".into());
    command.env.remove(std::ffi::OsStr::new("PATH"));
    command.argv[0] = "/usr/bin/env".to_owned();
    check_finished(&run(&command).await, &expect![[r#"Exited(0) out="A=b c\n" err="""#]]);
    check_finished(&run(&script("cat; pwd")).await, &expect![[r#"Exited(0) out="/\n" err="""#]]);
}

#[tokio::test]
async fn a_command_leads_its_session() {
    let finished =
        run(&script(r#"read -r _ _ _ _ group session _ < /proc/$$/stat; echo $(($$ - group)) $(($$ - session))"#))
            .await;
    check_finished(&finished, &expect![[r#"Exited(0) out="0 0\n" err="""#]]);
}

#[tokio::test]
async fn a_program_can_have_another_name() {
    let mut command = script("echo $0");
    command.arg0 = Some("other".to_owned());
    check_finished(&run(&command).await, &expect![[r#"Exited(0) out="other\n" err="""#]]);
}

#[tokio::test]
async fn a_signal_is_no_exit_code() {
    let finished = run(&script("echo before; kill -9 $$")).await;
    check_finished(&finished, &expect![[r#"Signalled(9) out="before\n" err="""#]]);
    assert_eq!(finished.exit_code(), None);
    assert_eq!(finished.failure_text().as_deref(), Some("execution error: Sandbox(Signal(9))"));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let check = async |command: &Command, expected: Expect| {
        expected.assert_eq(&process::run(command, None, None).await.unwrap_err().failure_text());
    };
    let missing =
        expect![[r#"execution error: Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })"#]];
    check(&command(&["no-such-program-here"]), missing).await;
    let folder = Command { cwd: "/no/such/folder".into(), ..command(&["true"]) };
    check(
        &folder,
        expect![[r#"execution error: Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })"#]],
    )
    .await;
    check(
        &command(&["/etc/passwd"]),
        expect![[r#"execution error: Io(Os { code: 13, kind: PermissionDenied, message: "Permission denied" })"#]],
    )
    .await;
    check(
        &command(&[]),
        expect![[r#"execution error: Io(Custom { kind: InvalidInput, error: "command args are empty" })"#]],
    )
    .await;
}

#[tokio::test]
async fn output_of_other_encodings_is_read() {
    let finished = run(&script(r"printf 'na\357ve caf\351 d\351j\340 vu'")).await;
    assert_eq!(finished.shown(), "naïve café déjà vu");
    let finished = run(&script(r"printf 'a\200b' | head -c 2; printf '\377\376\000'")).await;
    assert!(finished.shown().starts_with('a'));
}

#[tokio::test]
async fn much_output_is_read_and_little_is_kept() {
    let finished = run(&script("head -c 100000000 /dev/zero; head -c 2000000 /dev/zero >&2")).await;
    assert_eq!(finished.end, ProcessEnd::Exited(0));
    assert_eq!((finished.stdout.bytes.len(), finished.stdout.n_dropped), (KEPT_BYTES, 100_000_000 - KEPT_BYTES as u64));
    assert_eq!((finished.stderr.bytes.len(), finished.stderr.n_dropped), (KEPT_BYTES, 2_000_000 - KEPT_BYTES as u64));
    assert!(finished.stdout.bytes.capacity() <= 2 * KEPT_BYTES);
    assert_eq!(finished.aggregated().len(), KEPT_BYTES);
}

#[tokio::test]
async fn output_is_passed_on_as_it_comes() {
    let line = Lifeline::new();
    let gate = line.folder().join("gate");
    let script = format!("mkfifo {0}; echo one; read x < {0}; echo two >&2", gate.display());
    let (deltas, mut received) = mpsc::channel(1);
    let command = self::script(&script);
    let running = async move { process::run(&command, None, Some(&deltas)).await.unwrap() };
    let answering = async {
        // The command waits for our answer to what it has said.
        let first = received.recv().await.unwrap();
        let answer = gate.clone();
        tokio::task::spawn_blocking(move || std::fs::write(answer, "go\n")).await.unwrap().unwrap();
        (first, received.recv().await.unwrap(), received.recv().await)
    };
    let (finished, deltas) = tokio::join!(running, answering);
    let delta = |stream, text: &str| Delta { stream, bytes: text.into() };
    assert_eq!(deltas, (delta(OutputStream::Stdout, "one\n"), delta(OutputStream::Stderr, "two\n"), None));
    assert_eq!(finished.shown(), "one\ntwo\n");
}

#[tokio::test]
async fn time_runs_out_for_the_whole_group() {
    let command = script("trap '' TERM; sleep 1000 & sleep 1000");
    let finished = process::run(&command, Some(Duration::from_millis(300)), None).await.unwrap();
    assert_eq!((finished.end, finished.exit_code()), (ProcessEnd::TimedOut, Some(124)));
    // No process holds the pipes any more.
    assert!(!finished.stdout.is_left_open && !finished.stderr.is_left_open);
    let (milliseconds, rest) = finished
        .shown()
        .strip_prefix("command timed out after ")
        .unwrap()
        .split_once(' ')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert_eq!(milliseconds, finished.duration.as_millis().to_string());
    assert_eq!(rest, "milliseconds\n");
}

/// Drops the future of a command that has said that it is ready.
async fn interrupt(running: impl Future, received: &mut mpsc::Receiver<Delta>) {
    tokio::select! {
        biased;
        delta = received.recv() => assert_eq!(delta.unwrap().bytes, b"ready\n"),
        _ = running => {}
    }
}

async fn check_interrupted(rest: &str) {
    let line = Lifeline::new();
    let command = script(&line.script(rest));
    let (deltas, mut received) = mpsc::channel(8);
    interrupt(process::run(&command, None, Some(&deltas)), &mut received).await;
    assert_eq!(line.ended(), "");
}

#[tokio::test]
async fn an_interrupted_command_leaves_nobody_behind() {
    check_interrupted("sleep 1000").await;
    check_interrupted("trap '' TERM HUP INT; wait").await;
}

/// The command may or may not have ended when the future is dropped; its background has not.
#[tokio::test]
async fn an_interrupted_wait_for_pipes_leaves_nobody_behind() {
    check_interrupted("exit 0").await;
}

/// With a clock that runs ahead when nothing happens, the two seconds are over at once.
#[tokio::test(start_paused = true)]
async fn a_pipe_that_stays_open_is_not_waited_for() {
    let line = Lifeline::new();
    let gate = line.folder().join("gate");
    let command = script(&format!("mkfifo {0}; echo hi; read x < {0} & exit 3", gate.display()));
    let finished = run(&command).await;
    check_finished(&finished, &expect![[r#"Exited(3) out="" err="""#]]);
    assert!(finished.stdout.is_left_open && finished.stderr.is_left_open);
    release(&gate);
}

/// Lets a process go that waits at the gate.
fn release(gate: &Path) {
    std::fs::write(gate, "go\n").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_looks_costs_no_output() {
    let (deltas, _received) = mpsc::channel(1);
    let finished = process::run(&script("head -c 30000 /dev/zero"), None, Some(&deltas)).await.unwrap();
    assert_eq!((finished.stdout.bytes.len(), finished.stdout.is_left_open), (30_000, false));
}

#[test]
fn a_command_outlives_the_thread_that_asked_for_it() {
    let line = Lifeline::new();
    let gate = line.folder().join("gate");
    let command = script(&format!("mkfifo {0}; echo ready; read x < {0}; echo $x", gate.display()));
    let (deltas, mut received) = mpsc::channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let running = runtime.spawn(async move { process::run(&command, None, Some(&deltas)).await.unwrap() });
    std::thread::scope(|scope| {
        scope.spawn(|| runtime.block_on(received.recv()).unwrap());
    });
    release(&gate);
    let finished = runtime.block_on(running).unwrap();
    check_finished(&finished, &expect![[r#"Exited(0) out="ready\ngo\n" err="""#]]);
}
