//! `install.sh`: from a folder, from an address of this machine, and what it refuses.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use anyhow::{Context, Result, ensure};

use super::{Found, Made, check_list, skipped_without};
use crate::program;

/// Runs the script with a shell that has little besides POSIX, where one is installed.
fn script(made: &Made, words: &[&str]) -> Result<Output> {
    let shell = if Path::new("/bin/dash").exists() { "dash" } else { "sh" };
    let mut script = Command::new(shell);
    script.arg(made.folder.join("install.sh")).args(words).output().context("could not start a shell")
}

fn installed(made: &Made, from: &str, name: &str) -> Result<PathBuf> {
    let prefix = made.scratch.path().join(name);
    let output = script(made, &["--from", from, "--prefix", &prefix.to_string_lossy()])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made.check_program(&prefix.join("bin/pellucid"))?;
    Ok(prefix)
}

/// Every file below a folder, a line each.
fn files(folder: &Path) -> Result<String> {
    program::text_of(Command::new("find").arg(folder).args(["-type", "f"]))
}

pub fn from_folder(made: &Made) -> Result<Found> {
    let from = made.folder.to_string_lossy().into_owned();
    let prefix = installed(made, &from, "prefix")?;
    check_list(&files(&prefix)?, &format!("{}/", prefix.display()))?;
    // Again, over what is there.
    installed(made, &from, "prefix")?;
    let removed = script(made, &["--prefix", &prefix.to_string_lossy(), "--uninstall"])?;
    ensure!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    let left = files(&prefix)?;
    ensure!(left.is_empty(), "--uninstall leaves {left}");
    Ok(Found::Good("installed twice, runs, removed without a rest".to_string()))
}

pub fn from_address(made: &Made) -> Result<Found> {
    if !program::is_installed("curl") && !program::is_installed("wget") {
        return skipped_without("curl or wget");
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let folder = made.folder.clone();
    // The thread ends with this program.
    thread::spawn(move || listener.incoming().flatten().try_for_each(|it| answer(it, &folder)));
    installed(made, &address, "prefix-by-address")?;
    Ok(Found::Good("downloaded from an address of this machine, runs".to_string()))
}

/// Sends one file of the folder, or 404.
fn answer(mut stream: TcpStream, folder: &Path) -> Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let name = head.split_whitespace().nth(1).and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let (status, body) = match fs::read(folder.join(name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(&body).context("could not answer")
}

pub fn refusals(made: &Made) -> Result<Found> {
    let changed = made.scratch.folder("changed")?;
    let archive = made.package("-musl.tar.gz")?;
    let name = archive.file_name().context("an archive has a name")?;
    fs::copy(made.folder.join("SHA256SUMS"), changed.join("SHA256SUMS"))?;
    let empty = made.scratch.folder("empty")?;
    let prefix = made.scratch.path().join("prefix-refused");
    let prefix = prefix.to_string_lossy().into_owned();
    let (changed_name, empty_name) = (changed.to_string_lossy().into_owned(), empty.to_string_lossy().into_owned());
    fs::write(changed.join(name), b"another archive")?;
    let mut cases = vec![
        (vec!["--from", &changed_name, "--prefix", &prefix], "and SHA256SUMS says"),
        (vec!["--from", &empty_name, "--prefix", &prefix], "could not read"),
        (vec!["--prefix", "relative"], "the prefix is no absolute path"),
        (vec!["--prefix"], "--prefix needs a value"),
        (vec!["--sudo"], "unexpected argument --sudo"),
        (vec!["--prefix", &prefix, "--uninstall"], "nothing was installed"),
    ];
    if super::super::about::ADDRESS.is_empty() {
        cases.push((vec!["--prefix", &prefix], "this release has no address"));
    }
    for (words, expected) in &cases {
        let output = script(made, words)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(1) && said.contains(expected), "{words:?}: {} {said}", output.status);
    }
    ensure!(!Path::new(&prefix).exists(), "a refusal leaves {prefix}");
    Ok(Found::Good(format!("{} ways", cases.len())))
}
