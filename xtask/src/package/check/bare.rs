//! A machine with nothing but the package: a root folder that has busybox, the packages and no library.
//!
//! The program is installed there by `install.sh`, runs its demo, and runs a turn with a shell command against an endpoint of
//! this machine.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Found, Made, skipped_without};
use crate::package::elf;
use crate::program;

/// What a person may wait from the package to the answer of the first turn.
const SECONDS_MAX: u64 = 60;

/// What runs in the bare root.
const STEPS: &str = r#"set -e
export HOME=/user PATH=/user/.local/bin:/bin
sh /packages/install.sh --from /packages
cd /user/project
pellucid demo >/user/demo.txt
test -s /user/demo.txt
pellucid exec --skip-git-repo-check --sandbox danger-full-access 'what is here?' 2>/user/exec.txt || { cat /user/exec.txt; exit 1; }
"#;

/// The bare root as the root of a process that sees only its own processes.
const ENTER: &str = r#"mount --bind /dev/null "$1/dev/null" && mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh /user/steps.sh"#;

pub fn installed(made: &Made) -> Result<Found> {
    let Some(busybox) = ["/bin/busybox", "/usr/bin/busybox"].iter().map(Path::new).find(|it| is_static(it)) else {
        return skipped_without("a static busybox");
    };
    if !is_static(&made.program) {
        return Ok(Found::Skipped("the program is not static".to_string()));
    }
    let can_enter = Command::new("unshare").args(["--mount", "--pid", "--fork", "true"]).output();
    if !can_enter.is_ok_and(|it| it.status.success()) {
        return Ok(Found::Skipped("namespaces need root here".to_string()));
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // The thread ends with this program.
    thread::spawn(move || listener.incoming().flatten().try_for_each(answer));
    let root = made.scratch.folder("bare")?;
    for folder in ["bin", "dev", "packages", "proc", "user/project", "user/.pellucid", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::copy(busybox, root.join("bin/busybox"))?;
    for tool in program::text_of(Command::new(busybox).arg("--list"))?.lines().filter(|it| *it != "busybox") {
        symlink("busybox", root.join("bin").join(tool))?;
    }
    for entry in fs::read_dir(&made.folder)? {
        let entry = entry?;
        fs::copy(entry.path(), root.join("packages").join(entry.file_name()))?;
    }
    fs::write(root.join("dev/null"), "")?;
    fs::write(root.join("user/project/notes.txt"), "found in the bare root\n")?;
    let config = format!(
        "model = \"mine\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"Here\"\nbase_url = \"http://{address}/v1\"\n"
    );
    fs::write(root.join("user/.pellucid/config.toml"), config)?;
    fs::write(root.join("user/steps.sh"), STEPS)?;
    let began = Instant::now();
    let mut steps = Command::new("unshare");
    steps
        .args(["--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh"])
        .arg(&root)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = steps.output().context("could not start unshare")?;
    let seconds = began.elapsed().as_secs();
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    // The endpoint answers with what the command printed, so the command ran.
    ensure!(said.lines().any(|it| it == "found in the bare root"), "the turn answered {said}");
    ensure!(seconds <= SECONDS_MAX, "install, demo and a turn took {seconds} s");
    Ok(Found::Good(format!("install, demo and a turn with a command against an endpoint, in {seconds} s")))
}

fn is_static(path: &Path) -> bool {
    fs::read(path).ok().and_then(|bytes| elf::needs(&bytes).ok()).is_some_and(|needs| needs.is_static())
}

/// Answers a request of the Responses API: a command first, then what the command printed.
fn answer(mut stream: TcpStream) -> Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    let found = "found in the bare root";
    let item = if String::from_utf8_lossy(&body).contains(found) {
        format!(
            r#"{{"type":"message","role":"assistant","id":"m","content":[{{"type":"output_text","text":"{found}"}}]}}"#
        )
    } else {
        let arguments = r#"{\"cmd\":\"cat notes.txt\"}"#;
        format!(r#"{{"type":"function_call","call_id":"c","name":"exec_command","arguments":"{arguments}"}}"#)
    };
    let usage = r#"{"input_tokens":1,"output_tokens":1,"total_tokens":2}"#;
    let events = [
        ("response.created", r#""response":{"id":"r"}"#.to_owned()),
        ("response.output_item.done", format!(r#""item":{item}"#)),
        ("response.completed", format!(r#""response":{{"id":"r","usage":{usage}}}"#)),
    ];
    let events: String =
        events.iter().map(|(kind, rest)| format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n")).collect();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{events}",
        events.len()
    )
    .context("could not answer")
}
