//! The image of the clipboard, read by the program that the desktop has for it.
//!
//! Terminals give programs the text of a paste, but no image. The images of a client are in a folder that is removed with
//! the client: a message has the bytes of its images when it is sent.

use std::ffi::OsString;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pellucid_config::Env;
use pellucid_exec::waited::Waited;
use pellucid_tasks::Task;
use pellucid_workspace::images::load_image;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process_group;
use tempfile::TempDir;

/// A larger image is not read.
const IMAGE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How long a program may take: another program may own the clipboard and not answer.
const WAIT: Duration = Duration::from_secs(3);

/// What the programs need to know of the desktop. They get nothing else.
const VARIABLES: [&str; 6] = ["DISPLAY", "HOME", "PATH", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"];

/// A program that writes the image of the clipboard to its standard output.
struct ClipboardProgram {
    /// The variable without which there is no such clipboard.
    desktop: Option<&'static str>,
    argv: &'static [&'static str],
}

const PROGRAMS: [ClipboardProgram; 3] = [
    ClipboardProgram { desktop: Some("WAYLAND_DISPLAY"), argv: &["wl-paste", "--type", "image/png"] },
    ClipboardProgram {
        desktop: Some("DISPLAY"),
        argv: &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    },
    ClipboardProgram { desktop: None, argv: &["pngpaste", "-"] },
];

/// The images that a client has read from the clipboard.
#[derive(Debug, Default)]
pub struct ClipboardImages {
    folder: Option<TempDir>,
    n_images: usize,
}

impl ClipboardImages {
    /// Puts the image of the clipboard into a file.
    pub async fn take(&mut self, env: &Env) -> Result<PathBuf, String> {
        let waited = reading_program(env)?;
        let program = waited.argv[0].to_string_lossy().into_owned();
        let failed = |error: io::Error| format!("the image of the clipboard cannot be read by `{program}`: {error}");
        let read = Task::blocking("clipboard", move || read(&waited)).await;
        let bytes = read.map_err(|error| error.to_string())?.map_err(failed)?;
        if self.folder.is_none() {
            self.folder = Some(tempfile::tempdir().map_err(failed)?);
        }
        self.n_images += 1;
        let folder = self.folder.as_ref().map_or(Path::new("/nonexistent"), TempDir::path);
        let path = folder.join(format!("clipboard-{}.png", self.n_images));
        pellucid_files::write_private(&path, &bytes).map_err(failed)?;
        match load_image(&path).problem() {
            None => Ok(path),
            Some(_) => Err("the clipboard has no image".to_owned()),
        }
    }
}

/// The first program that this desktop has.
fn reading_program(env: &Env) -> Result<Waited, String> {
    let path = env.var_os("PATH").unwrap_or_default();
    let is_installed = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let has_desktop = |program: &&ClipboardProgram| program.desktop.is_none_or(|name| env.var_os(name).is_some());
    let offered: Vec<&ClipboardProgram> = PROGRAMS.iter().filter(has_desktop).collect();
    let Some(program) = offered.iter().find(|program| is_installed(program.argv[0])) else {
        let names: Vec<String> = offered.iter().map(|program| format!("`{}`", program.argv[0])).collect();
        return Err(match offered.iter().any(|program| program.desktop.is_some()) {
            true => format!(
                "reading an image of the clipboard needs {}; or paste the path of an image file",
                names.join(" or ")
            ),
            false => "no desktop is here whose clipboard could be read; paste the path of an image file".to_owned(),
        });
    };
    let variables = VARIABLES.iter().filter_map(|name| Some((OsString::from(name), env.var_os(name)?)));
    Ok(Waited {
        argv: program.argv.iter().map(OsString::from).collect(),
        cwd: PathBuf::from("/"),
        env: variables.collect(),
        has_input: false,
    })
}

/// What a program writes, up to a limit. It is ended when it takes too long.
fn read(waited: &Waited) -> io::Result<Vec<u8>> {
    let mut child = waited.start()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (over, is_over) = mpsc::channel::<()>();
    let (bytes, is_late) = thread::scope(|scope| {
        // Complaints are dropped: a clipboard without an image is the usual reason, and is reported as such.
        scope.spawn(move || stderr.map(|mut stderr| io::copy(&mut stderr, &mut io::sink())));
        let reader = scope.spawn(move || {
            let mut kept = Vec::new();
            let read = stdout.map(|stdout| stdout.take(IMAGE_BYTES_MAX).read_to_end(&mut kept));
            drop(over);
            read.transpose().map(|_| kept)
        });
        let is_late = is_over.recv_timeout(WAIT) == Err(mpsc::RecvTimeoutError::Timeout);
        // Everything was written, or nothing more is waited for.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        (reader.join().unwrap_or_else(|_| Ok(Vec::new())), is_late)
    });
    child.wait()?;
    match is_late {
        true => Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", WAIT.as_secs()))),
        false => bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A picture of one point.
    const PNG: &[u8] = include_bytes!("clipboard/point.png");

    /// A desktop whose program for the clipboard is this script.
    fn desktop(program: &str, script: &str) -> (TempDir, Env) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("point.png"), PNG).unwrap();
        let path = folder.path().join(program);
        fs::write(&path, format!("#!/bin/sh\ncd {}\n{script}\n", folder.path().display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let paths = format!("{}:/usr/bin:/bin", folder.path().display());
        let env = Env::from_pairs([("PATH", paths.as_str()), ("DISPLAY", ":0"), ("OPENAI_API_KEY", "secret")]);
        (folder, env)
    }

    #[tokio::test]
    async fn the_image_of_the_clipboard_becomes_a_file_of_the_client() {
        let (_desktop, env) = desktop("xclip", "[ -z \"$OPENAI_API_KEY\" ] && [ \"$4\" = image/png ] && cat point.png");
        let mut images = ClipboardImages::default();
        let (one, other) = (images.take(&env).await.unwrap(), images.take(&env).await.unwrap());
        assert_ne!(one, other);
        assert_eq!(fs::read(&one).unwrap(), PNG);
        assert_eq!(fs::metadata(&one).unwrap().permissions().mode() & 0o77, 0);
        drop(images);
        assert!(!one.exists() && !other.exists());
    }

    #[tokio::test]
    async fn a_clipboard_without_an_image_is_said_to_have_none() {
        for script in ["echo 'target image/png not available' >&2; exit 1", "echo words"] {
            let (_desktop, env) = desktop("xclip", script);
            let why = ClipboardImages::default().take(&env).await.unwrap_err();
            assert_eq!(why, "the clipboard has no image", "{script}");
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let path = empty.path().to_str().unwrap();
        let here = "; or paste the path of an image file";
        for (desktop, expected) in [
            (None, "no desktop is here whose clipboard could be read; paste the path of an image file".to_owned()),
            (Some("DISPLAY"), format!("reading an image of the clipboard needs `xclip` or `pngpaste`{here}")),
            (
                Some("WAYLAND_DISPLAY"),
                format!("reading an image of the clipboard needs `wl-paste` or `pngpaste`{here}"),
            ),
        ] {
            let env = Env::from_pairs([("PATH", path)].into_iter().chain(desktop.map(|name| (name, ":0"))));
            assert_eq!(ClipboardImages::default().take(&env).await, Err(expected));
        }
    }
}
