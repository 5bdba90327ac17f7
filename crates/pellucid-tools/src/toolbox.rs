//! What stays between the calls of a session: rules, grants, terminals, the sandbox, what patches did, the
//! JavaScript kernel.

use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::patch::WritableRoot;
use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::Rules;
use pellucid_exec::policy;
use pellucid_exec::process::Variables;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::protected;
use pellucid_exec::terminal::Terminals;
use pellucid_patch::diff::TurnDiff;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::protected::AGENT_FOLDERS;
use pellucid_protocol::protected::Git;

use crate::desk::Desk;
use crate::desk::FromTool;
use crate::desk::Notice;
use crate::js_repl::KernelSeat;
use crate::login::Login;
use crate::mcp_tool::ToolServers;
use crate::situation::Situation;

/// What stays between the calls of a session.
#[derive(Debug)]
pub struct Toolbox {
    /// The terminals that are open.
    pub terminals: Arc<Terminals>,
    rules: Mutex<Arc<Rules>>,
    grants: Mutex<Grants>,
    sandbox: Sandbox,
    protection: Protection,
    home: PathBuf,
    diff: Mutex<TurnDiff>,
    login: Login,
    node_paths: Vec<PathBuf>,
    kernel: KernelSeat,
    servers: Mutex<Option<Arc<dyn ToolServers>>>,
}

/// What a session begins with.
#[derive(Debug)]
pub struct Equipment {
    /// The rules about commands.
    pub rules: Rules,
    /// What confines commands.
    pub sandbox: Sandbox,
    /// Whether some folders stay read-only where commands may write.
    pub protection: Protection,
    /// Where a person's rules are saved.
    pub home: PathBuf,
    /// Where Node may be, before it is looked for in `PATH`.
    pub node_paths: Vec<PathBuf>,
}

impl Toolbox {
    /// For a new session.
    pub fn new(equipment: Equipment) -> Self {
        Self {
            terminals: Arc::default(),
            rules: Mutex::new(Arc::new(equipment.rules)),
            grants: Mutex::default(),
            sandbox: equipment.sandbox,
            protection: equipment.protection,
            home: equipment.home,
            diff: Mutex::default(),
            login: Login::default(),
            node_paths: equipment.node_paths,
            kernel: KernelSeat::default(),
            servers: Mutex::default(),
        }
    }

    /// From now on calls of servers' tools go to these.
    pub fn use_servers(&self, servers: Arc<dyn ToolServers>) {
        *locked(&self.servers) = Some(servers);
    }

    /// Where calls of servers' tools go.
    pub(crate) fn servers(&self) -> Option<Arc<dyn ToolServers>> {
        locked(&self.servers).clone()
    }

    /// A new turn begins: what patches did before does not belong to it.
    pub fn begin_turn(&self) {
        *self.diff() = TurnDiff::default();
    }

    /// What the patches of this turn changed so far, if they changed something. Reads the disk.
    pub fn turn_diff(&self) -> Option<String> {
        self.diff().unified_on_disk()
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        locked(&self.rules).clone()
    }

    /// What a person allowed for the session.
    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        locked(&self.grants)
    }

    /// What the patches of this turn touched.
    pub(crate) fn diff(&self) -> MutexGuard<'_, TurnDiff> {
        locked(&self.diff)
    }

    /// Where patches may write, and what is protected there whether or not it is there yet. Commands may make
    /// repositories; a patch has no reason to. The home folder is protected in any case: what is in it decides what runs.
    pub(crate) fn roots_of_patches(&self, situation: &Situation) -> Vec<WritableRoot> {
        let roots = &situation.writable_roots;
        let mut protected = vec![self.home.clone()];
        let mut git = Git::Writable;
        if let Protection::On = self.protection {
            let folders = roots.iter().chain([&situation.cwd, &situation.project_root]);
            let named = folders.flat_map(|folder| AGENT_FOLDERS.map(|name| folder.join(name)));
            protected.extend(protected::paths(roots).into_iter().chain(named));
            git = Git::Protected;
        }
        protected.sort();
        protected.dedup();
        let root = |root: &PathBuf| {
            // Who names a folder as a root means it.
            let protected = protected.iter().filter(|path| !root.starts_with(path)).cloned().collect();
            WritableRoot { root: root.clone(), protected, git }
        };
        roots.iter().map(root).collect()
    }

    /// Has the login shell's setup written down for commands that may come.
    pub fn prepare_login(&self, situation: &Situation) {
        self.login.prepare(situation);
    }

    /// Whether the login shell's setup was written down.
    pub fn has_login_snapshot(&self) -> bool {
        self.login.is_ready()
    }

    /// The home folder.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Where Node may be, before it is looked for in `PATH`.
    pub(crate) fn node_paths(&self) -> &[PathBuf] {
        &self.node_paths
    }

    /// The kernel of the JavaScript tool, or the place for one.
    pub(crate) fn kernel(&self) -> &KernelSeat {
        &self.kernel
    }

    /// Ends what goes on between calls, and waits until it has ended.
    pub async fn close(&self) {
        self.terminals.terminate_all().await;
        self.kernel.reset().await;
    }

    /// A command with the login shell's setup, if it asks for that and it is known. `env` becomes what it has to be given.
    pub(crate) fn with_login(
        &self,
        argv: &[String],
        cwd: &Path,
        situation: &Situation,
        env: &mut Variables,
    ) -> Vec<String> {
        self.login.wrap(argv, cwd, situation, env)
    }

    /// A command behind the sandbox.
    pub(crate) fn confine(&self, argv: &[String], cwd: &Path, situation: &Situation) -> Result<Vec<String>, String> {
        let policy = &situation.sandbox_policy;
        let confinement = self.sandbox.confinement(policy, &situation.writable_roots, self.protection);
        let argv = argv.iter().map(OsString::from).collect();
        let confined = confinement.and_then(|confinement| confinement.wrap(argv, cwd));
        let confined = confined.map_err(|error| error.to_string())?;
        let texts = confined.into_iter().map(OsString::into_string).collect::<Result<Vec<_>, _>>();
        texts.map_err(|word| format!("a path of the sandbox is no text: {}", word.to_string_lossy()))
    }

    /// Saves a prefix that a person allowed for good. If it cannot be saved, they hear of it, and the
    /// command runs all the same.
    pub(crate) async fn amend(&self, desk: &Desk, prefix: Vec<String>) {
        if let Err(error) = policy::save_allowed(&self.home, &prefix) {
            let message = format!("the rule is not saved: {error}");
            return desk.tell(EventMessage::Warning { message }).await;
        }
        if let Some(rule) = Rule::allowed_in_session(&prefix) {
            let mut rules = locked(&self.rules);
            Arc::make_mut(&mut rules).add(rule);
        }
        desk.say(FromTool::Notice(Notice::PrefixSaved { prefix })).await;
    }
}

/// What is behind a lock. A panic while it was held left nothing half done: every change is one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
