//! Snapshots of real shells.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::Variables;
use pellucid_exec::snapshot;
use pellucid_exec::snapshot::ShellSnapshot;
use pellucid_exec::snapshot::SnapshotError;
use tempfile::TempDir;

/// A user whose shells read `rc`.
struct User {
    folder: TempDir,
}

impl User {
    fn new(rc: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".bashrc"), rc).unwrap();
        Self { folder }
    }

    /// The same on a system whose `env` cannot list variables.
    fn without_lists(rc: &str) -> Self {
        let user = Self::new(&format!("{rc}\nPATH=$HOME/bin:$PATH\n"));
        let bin = user.folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("env"), "#!/bin/sh\necho 'usage: env'; exit 1\n").unwrap();
        fs::set_permissions(bin.join("env"), fs::Permissions::from_mode(0o755)).unwrap();
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    fn env(&self) -> Variables {
        let home = self.folder.path().as_os_str();
        [
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), home.to_owned()),
            ("ENV".into(), self.folder.path().join(".bashrc").into_os_string()),
        ]
        .into()
    }

    async fn snapshot(&self, shell: &str) -> Result<ShellSnapshot, SnapshotError> {
        ShellSnapshot::make(Path::new(shell), &self.home(), "one", Path::new("/"), &self.env(), &["OUR_KEY".to_owned()])
            .await
    }

    async fn output(&self, argv: Vec<String>, env: Variables) -> String {
        let command = Command { argv, arg0: None, cwd: "/".into(), env };
        process::run(&command, None, None).await.unwrap().shown()
    }

    /// The variables of a command.
    fn given(&self) -> Variables {
        let mut env = self.env();
        env.insert("KEPT".into(), "ours $x".into());
        env
    }
}

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const RC: &str = "
export OUR_KEY=planted
echo noise
echo '# Snapshot file, not yet'
export FROM_RC=\"it's
two lines\"
export KEPT=theirs
alias ll='ls -la'
";

#[tokio::test]
async fn commands_see_what_a_login_sets() {
    let user = User::new(RC);
    for shell in ["/bin/bash", "/bin/sh"] {
        let snapshot = user.snapshot(shell).await.unwrap();
        assert!(!snapshot.path().exists(), "what is listed needs no file");

        let asked = argv(&["sh", "-lc", r#"echo "$FROM_RC|$KEPT|$0|$1|$(pwd)""#, "zero", "o'ne"]);
        let mut env = user.given();
        let wrapped = snapshot.wrap(&asked, Path::new("/"), ["KEPT", "NEVER_SET"], &mut env).unwrap();
        assert_eq!(wrapped[1], "-c");
        assert_eq!(user.output(wrapped, env).await, "it's\ntwo lines|ours $x|zero|o'ne|/\n");
        let mut env = user.given();
        let theirs = snapshot.wrap(&asked, Path::new("/"), [], &mut env).unwrap();
        assert_eq!(user.output(theirs, env).await, "it's\ntwo lines|theirs|zero|o'ne|/\n");
    }
}

#[tokio::test]
async fn whatever_a_login_sets_is_found() {
    let rc = "
        export BYTES=$'\\xff' LIST=a=b
        greet() { echo \"hello $1\"; }
        export -f greet
        env() { echo nothing; }
    ";
    let user = User::new(rc);
    let snapshot = user.snapshot("/bin/bash").await.unwrap();
    let mut env = user.given();
    let asked = argv(&[
        "bash",
        "-lc",
        "greet you; printf '%s|' \"$LIST\" \"$OLDPWD\" \"$SHLVL\"; printf %s \"$BYTES\" | wc -c",
    ]);
    let wrapped = snapshot.wrap(&asked, Path::new("/"), [], &mut env).unwrap();
    assert_eq!(wrapped[..2], argv(&["bash", "-c"]), "what it sets is given, and no script is read");
    assert_eq!(user.output(wrapped, env).await.split_whitespace().collect::<Vec<_>>(), ["hello", "you", "a=b||1|1"]);
}

/// Without a list of variables from `env`, the script is read before each command instead.
#[tokio::test]
async fn a_system_without_lists_has_the_same_result() {
    let user = User::without_lists(RC);
    let snapshot = user.snapshot("/bin/bash").await.unwrap();
    let mode = fs::metadata(snapshot.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(snapshot.path()).unwrap();
    assert!(text.starts_with("# Snapshot file\n") && !text.contains("noise"), "{text}");
    assert!(!text.contains("PWD=") && !text.contains("PELLUCID") && !text.contains("OUR_KEY"), "{text}");
    let mut env = user.given();
    let wrapped = snapshot.wrap(&argv(&["sh", "-lc", r#"echo "$FROM_RC|$KEPT""#]), Path::new("/"), ["KEPT"], &mut env);
    let wrapped = wrapped.unwrap();
    assert_eq!((wrapped[..2].to_vec(), &env), (argv(&["/bin/bash", "-c"]), &user.given()));
    assert_eq!(user.output(wrapped, env).await, "it's\ntwo lines|ours $x\n");
}

#[tokio::test]
async fn only_logins_in_the_same_folder_are_wrapped() {
    let user = User::without_lists("export A=1\n");
    let snapshot = user.snapshot("/bin/bash").await.unwrap();
    for (argv, cwd) in [
        (argv(&["bash", "-c", "x"]), "/"),
        (argv(&["bash", "-lc", "x"]), "/tmp"),
        (argv(&["bash", "-lc"]), "/"),
        (argv(&["ls", "-l"]), "/"),
    ] {
        assert_eq!(snapshot.wrap(&argv, Path::new(cwd), [], &mut Variables::new()), None);
    }
    let path = snapshot.path().to_owned();
    let login = argv(&["bash", "-lc", "x"]);
    assert!(snapshot.wrap(&login, Path::new("/"), [], &mut Variables::new()).is_some());
    fs::remove_file(&path).unwrap();
    assert_eq!(snapshot.wrap(&login, Path::new("/"), [], &mut Variables::new()), None);
}

#[tokio::test]
async fn a_snapshot_goes_with_its_session() {
    let user = User::without_lists("");
    let snapshot = user.snapshot("/bin/bash").await.unwrap();
    let path = snapshot.path().to_owned();
    assert!(path.is_file());
    drop(snapshot);
    assert!(!path.exists());
}

#[tokio::test]
async fn what_cannot_be_made_says_why_and_leaves_no_file() {
    let user = User::new("exit 7\n");
    let error = user.snapshot("/bin/bash").await.unwrap_err();
    assert_eq!(error.to_string(), "the shell ended with Exited(7): ");
    let error = user.snapshot("/no/such/bash").await.unwrap_err();
    assert_eq!(error.to_string(), "the shell did not start: No such file or directory (os error 2)");
    let error = user.snapshot("/usr/bin/fish").await.unwrap_err();
    assert_eq!(error.to_string(), "no snapshot can be made of the shell /usr/bin/fish");

    // A readonly variable must not make the snapshot fail.
    let user = User::new("readonly SHELLOPTS; f() { echo; }\nexport -f f\n");
    user.snapshot("/bin/bash").await.unwrap();
    assert_eq!(fs::read_dir(user.home().join("shell_snapshots")).unwrap().count(), 0);
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("shell_snapshots");
    fs::create_dir(&folder).unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let names = [format!("s.{}.sh", ended.id()), format!("s.{}.sh", std::process::id()), "codex.sh".to_owned()];
    for name in &names {
        fs::write(folder.join(name), "").unwrap();
    }
    assert_eq!(snapshot::remove_left(home.path()), [folder.join(&names[0])]);
    assert!(snapshot::remove_left(Path::new("/no/such/home")).is_empty());
}

#[test]
fn snapshots_of_forgotten_sessions_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("shell_snapshots");
    fs::create_dir(&folder).unwrap();
    for session in ["active", "fresh", "old", "gone"] {
        fs::write(folder.join(format!("{session}.sh")), "").unwrap();
    }
    let now = SystemTime::now();
    let day = Duration::from_secs(24 * 60 * 60);
    let mut removed = snapshot::clean(home.path(), "active", now, |session| match session {
        "fresh" => Some(now - 2 * day),
        "old" => Some(now - 4 * day),
        _ => None,
    });
    removed.sort();
    assert_eq!(removed, [folder.join("gone.sh"), folder.join("old.sh")]);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
    assert!(snapshot::clean(Path::new("/no/such/home"), "", now, |_| None).is_empty());
}
