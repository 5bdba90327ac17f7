//! The world of one attempt: a home, a project, and a place outside in which nothing may change.
//!
//! Not here: what the program is asked to do in it (`turn`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::turn::Turn;

/// How long a run may take; one that takes longer counts as hung. Many rounds of a race take their time.
fn limit() -> Duration {
    let n_rounds: u32 = std::env::var("PELLUCID_RACE_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    Duration::from_secs(60) + n_rounds * Duration::from_millis(500)
}

/// How much memory the program may ask for.
const MEMORY_MAX_KB: usize = 4 * 1024 * 1024;

/// The mechanism that confines commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    Namespaces,
    Bubblewrap,
    Landlock,
}

impl Backend {
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Bubblewrap, Self::Landlock];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }
}

/// Under what an attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Commands run in the sandbox.
    Confined(Backend),
    /// They are not, to see that the attempt is real.
    Free,
}

/// The user who makes the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// The user who runs the suite.
    Ourselves,
    /// A user without privileges, which only the superuser can become.
    Nobody,
}

/// The id of the user and the group without privileges.
const NOBODY: u32 = 1000;

/// A world. Below its folder are `home` (the program's), `user` (the person's), `work` (the project),
/// `tmp` and `outside`.
#[derive(Debug)]
pub struct Trial {
    folder: TempDir,
    base: PathBuf,
    way: Way,
    user: User,
    before: Mutex<Outside>,
    hung: Mutex<Vec<String>>,
    n_crashed: Mutex<usize>,
    n_refused: Mutex<usize>,
    n_files: Mutex<usize>,
}

/// What is outside: each path with what it is.
type Outside = BTreeMap<PathBuf, String>;

/// What a run left behind.
#[derive(Debug, Default)]
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub is_hung: bool,
}

impl Ran {
    /// Everything that was printed.
    pub fn said(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.stdout), String::from_utf8_lossy(&self.stderr))
    }

    /// Whether the program ended by a signal or a panic.
    pub fn is_crashed(&self) -> bool {
        !self.is_hung && self.status.is_none_or(|status| status > 100)
    }
}

impl Trial {
    pub fn new(way: Way, user: User) -> Self {
        let folder = tempfile::Builder::new().prefix("around").tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let this = Self {
            folder,
            base,
            way,
            user,
            before: Mutex::default(),
            hung: Mutex::default(),
            n_crashed: Mutex::default(),
            n_refused: Mutex::default(),
            n_files: Mutex::new(0),
        };
        for name in ["home", "user", "work/src", "tmp", "outside"] {
            fs::create_dir_all(this.path(name)).unwrap();
        }
        this.write("outside/existing", "before\n");
        this.write("work/src/a.txt", "one\ntwo\n");
        this.write(
            "home/config.toml",
            "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n",
        );
        // What runs it must be shown to have run: a program that leaves a mark outside.
        this.program("evil.sh", "touch $OUT/pwned; exec timeout 2 cat");
        this.give_away();
        this.look_outside();
        this
    }

    pub fn way(&self) -> Way {
        self.way
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join(path)
    }

    /// A text with the places of this world: `$BASE`, `$OUT`, `$WORK`, `$DATA` (the program's home).
    pub fn fill(&self, text: &str) -> String {
        let base = self.base.to_str().unwrap();
        text.replace("$OUT", &format!("{base}/outside"))
            .replace("$WORK", &format!("{base}/work"))
            .replace("$DATA", &format!("{base}/home"))
            .replace("$BASE", base)
    }

    /// Writes a file below the world's folder, with its places filled in.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, self.fill(text)).unwrap();
        path
    }

    /// Adds to a file.
    pub fn append(&self, path: &str, text: &str) {
        let before = fs::read_to_string(self.path(path)).unwrap_or_default();
        self.write(path, &(before + text));
    }

    /// Writes a shell script that can be run.
    pub fn program(&self, path: &str, text: &str) -> PathBuf {
        let path = self.write(path, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.fill(target), path).unwrap();
    }

    /// The project is trusted, or explicitly not.
    pub fn decide(&self, folder: &str, level: &str) {
        let text = format!("\n[projects.\"{}\"]\ntrust_level = \"{level}\"\n", self.path(folder).display());
        self.append("home/config.toml", &text);
    }

    /// Something that a person did before, with a shell, in the project.
    #[track_caller]
    pub fn by_hand(&self, script: &str) -> Ran {
        let script = self.fill(script);
        let mut command = Command::new("sh");
        command.args(["-euc", &script]);
        let ran = self.run(self.around(&mut command, "work"), None);
        assert_eq!(ran.status, Some(0), "{script}: {}", ran.said());
        ran
    }

    /// The project becomes a repository with one commit.
    pub fn repository(&self) {
        self.by_hand("git init -q -b main . && git add . && git commit -qm one");
    }

    /// Gives a command this world and nothing of the machine's.
    pub fn around<'a>(&self, command: &'a mut Command, folder: &str) -> &'a mut Command {
        command.current_dir(self.path(folder)).env_clear().process_group(0);
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "$BASE/user"),
            ("PELLUCID_HOME", "$DATA"),
            ("CODEX_HOME", "$DATA"),
            ("TMPDIR", "$BASE/tmp"),
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.com"),
            ("GIT_COMMITTER_NAME", "ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.com"),
        ] {
            command.env(name, self.fill(value));
        }
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// A turn, to be described further.
    pub fn turn(&self) -> Turn<'_> {
        Turn::new(self)
    }

    /// The product, with a limit to its memory, so that one that reads without end ends.
    pub fn product(&self) -> Command {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -v {MEMORY_MAX_KB}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited, &program()]);
        command
    }

    /// Whether a command was refused by its words, before the sandbox had a chance to.
    pub fn is_refused(&self) -> bool {
        *self.n_refused.lock().unwrap() > 0
    }

    /// Whether a run of this trial ended by a signal or a panic.
    pub fn is_crashed(&self) -> bool {
        *self.n_crashed.lock().unwrap() > 0
    }

    /// Runs the product with these arguments in the project.
    pub fn pellucid(&self, args: &[&str]) -> Ran {
        let mut command = self.product();
        command.args(args.iter().map(|arg| self.fill(arg)));
        self.run(self.around(&mut command, "work"), None)
    }

    /// Runs a command to its end or to the limit.
    pub fn run(&self, command: &mut Command, input: Option<Vec<u8>>) -> Ran {
        self.give_away();
        let mut child = command
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id();
        if let Some((bytes, mut pipe)) = input.zip(child.stdin.take()) {
            thread::spawn(move || std::io::Write::write_all(&mut pipe, &bytes));
        }
        let (sender, over) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        if let Ok(output) = over.recv_timeout(limit()) {
            let output = output.unwrap();
            let ran =
                Ran { status: output.status.code(), stdout: output.stdout, stderr: output.stderr, is_hung: false };
            *self.n_crashed.lock().unwrap() += usize::from(ran.is_crashed());
            *self.n_refused.lock().unwrap() += usize::from(ran.said().contains("blocked by policy"));
            return ran;
        }
        let what = format!("{command:?}");
        end(id);
        self.say_hung(&what.chars().take(200).collect::<String>());
        let output = over.recv_timeout(limit()).ok().and_then(Result::ok);
        let (stdout, stderr) = output.map(|it| (it.stdout, it.stderr)).unwrap_or_default();
        Ran { status: None, stdout, stderr, is_hung: true }
    }

    /// The path of a new file that no other attempt uses.
    pub fn fresh(&self, name: &str) -> String {
        let mut n_files = self.n_files.lock().unwrap();
        *n_files += 1;
        format!("{n_files}-{name}")
    }

    /// Remembers what is outside; changes from here on are the attempt's.
    pub fn look_outside(&self) {
        *self.before.lock().unwrap() = outside(&self.path("outside"));
    }

    /// What changed outside, or hung, if anything did.
    pub fn proof(&self) -> Option<String> {
        if let Some(what) = self.hung.lock().unwrap().first() {
            return Some(format!("hung: {what}"));
        }
        let (before, after) = (self.before.lock().unwrap(), outside(&self.path("outside")));
        let new = after.iter().find(|(path, what)| before.get(*path) != Some(what)).map(|(path, _)| path);
        let gone = before.keys().find(|path| !after.contains_key(*path));
        let path = new.or(gone)?.strip_prefix(self.path("outside")).unwrap().display().to_string();
        Some(format!("outside/{path}"))
    }

    /// Gives background programs the time to leave their mark.
    pub fn settle(&self) {
        let (_sender, nothing) = mpsc::channel::<()>();
        let _none = nothing.recv_timeout(Duration::from_millis(200));
    }

    /// Something did not come to its end.
    pub fn say_hung(&self, what: &str) {
        self.hung.lock().unwrap().push(what.to_owned());
    }

    /// Everything that was prepared belongs to the attempt's user.
    pub fn give_away(&self) {
        if self.user == User::Nobody {
            give(self.folder.path());
        }
    }
}

/// Where the product is: the one that was built with the tests, or the one that `PELLUCID_PROGRAM` names.
pub fn program() -> String {
    std::env::var("PELLUCID_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_pellucid").to_owned())
}

/// Ends a process and its group, by force.
pub fn end(id: u32) {
    let kill = format!("kill -KILL -{id} {id} 2>/dev/null");
    let _gone = Command::new("sh").args(["-c", &kill]).status();
}

fn give(path: &Path) {
    let _theirs = std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY));
    if path.is_symlink() {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        give(&entry.path());
    }
}

fn outside(folder: &Path) -> Outside {
    let mut found = Outside::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        let what = if kind.is_file() { format!("file {:?}", fs::read(&path).ok()) } else { format!("{kind:?}") };
        if kind.is_dir() {
            found.extend(outside(&path));
        }
        found.insert(path, what);
    }
    found
}
