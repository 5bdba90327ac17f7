//! The login shell's setup, found out once while the model thinks, for the commands that come.
//!
//! No command waits for it: a command that comes before it is ready starts a separate login shell, with the same
//! result. It begins a moment after the first request has gone, so that it neither delays the request nor costs a
//! turn that is over at once.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::time::Duration;

use pellucid_exec::environment::OF_A_TURN;
use pellucid_exec::environment::TERMINAL;
use pellucid_exec::process::Variables;
use pellucid_exec::snapshot;
use pellucid_exec::snapshot::ShellSnapshot;
use pellucid_tasks::Task;
use tokio::sync::Notify;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;

use crate::situation::Situation;
use crate::toolbox::locked;

/// Shorter than what a model takes for the first word of an answer.
const MOMENT: Duration = Duration::from_millis(150);

const PATH: &str = "PATH";

/// One session of a process at a time has it made ahead. Many sessions that begin together would start as many
/// shells, though most of them run no command; their snapshots are made with the first command.
static AHEAD: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(1)));

/// The right to have it made ahead of any command, a moment from now.
type Ahead = OwnedSemaphorePermit;

/// The setup of a session's login shell.
#[derive(Debug)]
pub(crate) struct Login {
    ahead: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
    /// A command has come: there is no moment left to wait.
    has_come: Arc<Notify>,
    /// The task that makes it, which ends with the session.
    maker: Mutex<Option<Task<()>>>,
}

impl Default for Login {
    fn default() -> Self {
        Self::new(AHEAD.clone())
    }
}

fn asks_for_login(argv: &[String]) -> bool {
    matches!(argv, [_, flag, _, ..] if flag == "-lc")
}

#[derive(Debug, Default)]
enum State {
    /// No command has needed a snapshot yet.
    #[default]
    NotAsked,
    /// The snapshot for this folder is being made, or cannot be made.
    Without(PathBuf),
    /// The snapshot for this folder is ready.
    Ready(PathBuf, ShellSnapshot),
}

impl State {
    fn is_for(&self, folder: &Path) -> bool {
        match self {
            Self::NotAsked => false,
            Self::Without(cwd) | Self::Ready(cwd, _) => cwd == folder,
        }
    }
}

impl Login {
    fn new(ahead: Arc<Semaphore>) -> Self {
        Self { ahead, state: Arc::default(), has_come: Arc::default(), maker: Mutex::default() }
    }

    /// Starts making the snapshot for later commands.
    pub(crate) fn prepare(&self, situation: &Situation) {
        let Some(home) = &situation.children.snapshots else { return };
        if let Ok(permit) = self.ahead.clone().try_acquire_owned() {
            self.make_once(home, situation, Some(permit));
        }
    }

    /// The command that does what `argv` does, with the snapshot in place of a login shell if it is ready. The first
    /// command of a working folder starts making it. `env` is changed to the variables that the command has to be
    /// given.
    pub(crate) fn wrap(&self, argv: &[String], cwd: &Path, situation: &Situation, env: &mut Variables) -> Vec<String> {
        if !asks_for_login(argv) {
            return argv.to_vec();
        }
        let Some(home) = &situation.children.snapshots else {
            return snapshot::without(argv, &situation.children.withheld);
        };
        self.make_once(home, situation, None);
        self.has_come.notify_one();
        match &*locked(&self.state) {
            State::Ready(_, snapshot) => {
                let set = situation.children.set_variables.iter().map(String::as_str).chain(OF_A_TURN);
                let kept = set.chain(TERMINAL.iter().map(|(name, _)| *name));
                let kept = kept.chain(situation.children.withheld.iter().map(String::as_str));
                snapshot
                    .wrap(argv, cwd, kept, env)
                    .unwrap_or_else(|| snapshot::without(argv, &situation.children.withheld))
            }
            State::NotAsked | State::Without(_) => snapshot::without(argv, &situation.children.withheld),
        }
    }

    /// The search path for a command's program: that of the login shell, if the command asks for one and it is known
    /// by now.
    pub(crate) fn search_path(&self, argv: &[String], situation: &Situation) -> Option<OsString> {
        let given = situation.children.environment.get(OsStr::new(PATH));
        let is_set = situation.children.set_variables.iter().any(|name| name == PATH);
        match &*locked(&self.state) {
            State::Ready(_, snapshot) if asks_for_login(argv) && !is_set => snapshot.variable(PATH),
            _ => None,
        }
        .map(OsStr::to_owned)
        .or_else(|| given.cloned())
    }

    /// Whether the snapshot is ready.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(*locked(&self.state), State::Ready(..))
    }

    fn make_once(&self, home: &Path, situation: &Situation, ahead: Option<Ahead>) {
        let mut state = locked(&self.state);
        if !state.is_for(&situation.cwd) {
            // The snapshot for another folder is dropped first: the new one has the same file.
            *state = State::Without(situation.cwd.clone());
            self.make(home.to_owned(), situation, ahead);
        }
    }

    fn make(&self, home: PathBuf, situation: &Situation, ahead: Option<Ahead>) {
        let (shell, cwd) = (situation.children.shell.clone(), situation.cwd.clone());
        let (session, env) = (situation.session_id.clone(), situation.children.environment.clone());
        let (state, has_come) = (self.state.clone(), self.has_come.clone());
        let withheld = situation.children.withheld.clone();
        let maker = Task::spawn("making a snapshot of the login shell", async move {
            if ahead.is_some() {
                let _ = tokio::time::timeout(MOMENT, has_come.notified()).await;
            }
            match ShellSnapshot::make(&shell, &home, session.as_str(), &cwd, &env, &withheld).await {
                Ok(snapshot) => {
                    let mut state = locked(&state);
                    if matches!(&*state, State::Without(wanted) if *wanted == cwd) {
                        *state = State::Ready(cwd, snapshot);
                    }
                }
                Err(error) => tracing::debug!(%error, "commands run without a snapshot of the login shell"),
            }
            drop(ahead);
        });
        *locked(&self.maker) = Some(maker);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::sync::Arc;

    use pellucid_exec::process;
    use pellucid_exec::process::Variables;
    use tokio::sync::Semaphore;

    use crate::bench::Bench;
    use crate::login::Login;

    /// A login that no other test uses.
    fn login() -> Login {
        Login::new(Arc::new(Semaphore::new(1)))
    }

    fn argv(words: [&str; 3]) -> Vec<String> {
        words.map(str::to_owned).to_vec()
    }

    /// Waits until the snapshot is made.
    async fn made(login: &Login) {
        while Arc::strong_count(&login.state) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn the_first_command_has_it_made_for_those_after_it() {
        let mut bench = Bench::new();
        bench.situation.children.snapshots = Some(bench.path().join("home"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (login, situation, cwd) = (login(), &bench.situation, bench.path());
            let command = argv(["/bin/bash", "-lc", "true"]);
            let plain = argv(["/bin/bash", "-c", "true"]);
            let env = &mut Variables::from([("TERM".into(), "kept".into())]);
            let before = env.clone();
            assert_eq!(login.wrap(&plain, cwd, situation, env), plain);
            assert_eq!(Arc::strong_count(&login.state), 1, "a command without a login has nothing made");
            assert_eq!(login.wrap(&command, cwd, situation, env), command);
            made(&login).await;
            assert!(login.is_ready());
            let folder = bench.path().join("home/shell_snapshots");
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "no file holds what it sets");
            assert_eq!(login.wrap(&command, "/".as_ref(), situation, env), command);
            assert_eq!(login.wrap(&plain, cwd, situation, env), plain);
            assert_eq!(*env, before);
            assert_eq!(login.wrap(&command, cwd, situation, env), plain);
            assert!(env.contains_key(OsStr::new("PATH")), "the login sets it");
            assert_eq!(env[OsStr::new("TERM")], "kept");
        });
    }

    /// The program that is found decides whether a rule counts, so the search uses the path that the command will
    /// use.
    #[test]
    fn programs_are_looked_for_where_a_login_looks() {
        let mut bench = Bench::new();
        std::fs::write(bench.path().join(".bash_profile"), "export PATH=./bin:/usr/bin:/bin\n").unwrap();
        bench.situation.children.snapshots = Some(bench.path().join("home"));
        let home = bench.path().as_os_str().to_owned();
        bench.situation.children.environment.extend([("HOME".into(), home), ("PATH".into(), "/usr/bin:/bin".into())]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (login, cwd) = (login(), bench.path().to_owned());
            let [command, plain] = ["-lc", "-c"].map(|flag| argv(["/bin/bash", flag, "npm test"]));
            login.wrap(&command, &cwd, &bench.situation, &mut Variables::default());
            made(&login).await;
            let found = |argv: &[String], situation: &_| login.search_path(argv, situation).unwrap();
            assert_eq!(found(&command, &bench.situation), "./bin:/usr/bin:/bin");
            assert_eq!(found(&plain, &bench.situation), "/usr/bin:/bin");
            bench.situation.children.set_variables = vec!["PATH".to_owned()];
            assert_eq!(found(&command, &bench.situation), "/usr/bin:/bin");
        });
    }

    #[test]
    fn a_login_does_not_bring_our_keys_back() {
        let mut bench = Bench::new();
        std::fs::write(bench.path().join(".bash_profile"), "export OUR_KEY=k OTHER=o\n").unwrap();
        let situation = &mut bench.situation;
        situation.children.snapshots = Some(bench.folder.path().join("home"));
        situation.children.withheld = vec!["OUR_KEY".to_owned()];
        situation.children.environment.insert("HOME".into(), bench.folder.path().into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (login, situation, cwd) = (login(), &bench.situation, bench.path());
            let asked = argv(["/bin/bash", "-lc", "echo \"$OUR_KEY|$OTHER\""]);
            for is_ready in [false, true] {
                assert_eq!(login.is_ready(), is_ready);
                let mut env = situation.children.environment.clone();
                let argv = login.wrap(&asked, cwd, situation, &mut env);
                let command = process::Command { argv, arg0: None, cwd: cwd.to_owned(), env };
                assert_eq!(process::run(&command, None, None).await.unwrap().shown(), "|o\n");
                made(&login).await;
            }
        });
    }

    #[test]
    fn it_is_there_for_the_first_command_if_it_was_prepared() {
        let mut bench = Bench::new();
        bench.situation.children.snapshots = Some(bench.path().join("home"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (login, situation, cwd) = (login(), &bench.situation, bench.path());
            login.prepare(situation);
            login.prepare(situation);
            assert_eq!(Arc::strong_count(&login.state), 2, "it is made once");
            made(&login).await;
            let command = argv(["/bin/bash", "-lc", "true"]);
            let plain = argv(["/bin/bash", "-c", "true"]);
            assert_eq!(login.wrap(&command, cwd, situation, &mut Variables::new()), plain);
            assert_eq!(Arc::strong_count(&login.state), 1);
        });
    }

    #[test]
    fn what_held_for_an_earlier_turn_does_not_come_back() {
        let mut bench = Bench::new();
        bench.situation.children.snapshots = Some(bench.path().join("home"));
        bench.situation.children.environment.insert("CODEX_SANDBOX_NETWORK_DISABLED".into(), "1".into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (login, situation, cwd) = (login(), &bench.situation, bench.path());
            login.prepare(situation);
            made(&login).await;
            // The network was opened since.
            let env = &mut Variables::new();
            login.wrap(&argv(["/bin/bash", "-lc", "true"]), cwd, situation, env);
            assert!(env.contains_key(OsStr::new("PATH")), "what the login sets is given");
            assert!(!env.contains_key(OsStr::new("CODEX_SANDBOX_NETWORK_DISABLED")));
        });
    }

    #[test]
    fn without_the_feature_nothing_is_made() {
        let bench = Bench::new();
        let command = argv(["/bin/bash", "-lc", "true"]);
        let login = login();
        login.prepare(&bench.situation);
        assert_eq!(login.wrap(&command, bench.path(), &bench.situation, &mut Variables::new()), command);
        assert!(!login.is_ready());
    }
}
