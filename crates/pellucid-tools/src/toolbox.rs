//! The state between the calls of a session: rules, grants, terminals, the sandbox, changes of patches, the
//! JavaScript kernel.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::approval::grants::GrantKey;
use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::Rules;
use pellucid_exec::listener::Listening;
use pellucid_exec::process::Variables;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::ProtectionBasis;
use pellucid_exec::sandbox::Roots;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::WritableFolder;
use pellucid_exec::sandbox::aside::Aside;
use pellucid_exec::sandbox::aside::Watch;
use pellucid_exec::sandbox::protected;
use pellucid_exec::sandbox::protected::Nested;
use pellucid_exec::terminal::Keeping;
use pellucid_exec::terminal::Reservation;
use pellucid_exec::terminal::Terminal;
use pellucid_exec::terminal::Terminals;
use pellucid_patch::diff::TurnDiff;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::protected::AGENT_FOLDERS;
use pellucid_protocol::protected::GitAccess;
use pellucid_protocol::settings::SandboxPolicy;

use crate::desk::Notice;
use crate::edits::EditLog;
use crate::exec_command::Telling;
use crate::held;
use crate::js_repl::KernelSeat;
use crate::login::Login;
use crate::mcp_tool::ToolServers;
use crate::outputs::Outputs;
use crate::situation::Situation;

/// The state that is kept between the calls of a session.
#[derive(Debug)]
pub struct Toolbox {
    /// The terminals that are open.
    pub terminals: Arc<Terminals>,
    /// The tasks that report on terminals whose process continues after the call.
    telling: Mutex<Vec<Telling>>,
    /// The sandboxes of the commands in terminals, by the number of the terminal.
    terminal_sandboxes: Mutex<BTreeMap<u32, HeldSandbox>>,
    rules: Mutex<Arc<Rules>>,
    grants: Mutex<Grants>,
    sandbox: Sandbox,
    protection: Protection,
    home: PathBuf,
    homes: Vec<PathBuf>,
    roots: Arc<Roots>,
    watch: Watch,
    diff: Mutex<TurnDiff>,
    login: Login,
    node_paths: Vec<PathBuf>,
    kernel: KernelSeat,
    servers: Mutex<Option<Arc<dyn ToolServers>>>,
    /// The names of the tools of connected apps that searches found.
    found_apps: Mutex<Vec<String>>,
    outputs: Option<Arc<Outputs>>,
    edits: Option<Arc<EditLog>>,
}

/// The state that a session begins with.
#[derive(Debug)]
pub struct Equipment {
    /// The rules about commands.
    pub rules: Rules,
    /// The sandbox that confines commands.
    pub sandbox: Sandbox,
    /// Whether some folders stay read-only where commands may write.
    pub protection: Protection,
    /// The home folder, in which the user's rules are saved.
    pub home: PathBuf,
    /// The folders that decide what runs, the home among them. Commands cannot change them.
    pub homes: Vec<PathBuf>,
    /// The folders that commands may write in, in the state in which the user allowed them.
    pub roots: Arc<Roots>,
    /// Paths at which Node is looked for, before `PATH`.
    pub node_paths: Vec<PathBuf>,
    /// The names of the tools of connected apps that searches found before.
    pub found_apps: Vec<String>,
    /// The store of whole outputs, if they are kept.
    pub outputs: Option<Arc<Outputs>>,
    /// The store of what patches did to files, if it is kept.
    pub edits: Option<Arc<EditLog>>,
}

/// A command behind the sandbox.
#[derive(Debug)]
pub(crate) struct Confined {
    /// The command with the sandbox in front of it.
    pub argv: Vec<String>,
    /// The sandbox that confines the command.
    pub sandbox: HeldSandbox,
}

/// A folder in which a patch may write.
#[derive(Debug, Clone)]
pub(crate) struct PatchRoot {
    /// The name of the root in the policy.
    pub name: PathBuf,
    /// The folder that is meant.
    pub root: WritableFolder,
    /// The paths below it that must not change, whether they exist or not.
    pub protected: Vec<PathBuf>,
    /// Whether repositories in it may be written.
    pub git: GitAccess,
}

impl Toolbox {
    /// For a new session.
    pub fn new(equipment: Equipment) -> Self {
        Self {
            terminals: Arc::default(),
            telling: Mutex::default(),
            terminal_sandboxes: Mutex::default(),
            rules: Mutex::new(Arc::new(equipment.rules)),
            grants: Mutex::default(),
            sandbox: equipment.sandbox,
            protection: equipment.protection,
            watch: Watch::new(&equipment.home),
            home: equipment.home,
            homes: equipment.homes,
            roots: equipment.roots,
            diff: Mutex::default(),
            login: Login::default(),
            node_paths: equipment.node_paths,
            kernel: KernelSeat::default(),
            servers: Mutex::default(),
            found_apps: Mutex::new(equipment.found_apps),
            outputs: equipment.outputs,
            edits: equipment.edits,
        }
    }

    /// From now on calls of servers' tools go to these.
    pub fn use_servers(&self, servers: Arc<dyn ToolServers>) {
        *locked(&self.servers) = Some(servers);
    }

    /// The names of the tools of connected apps that searches found, in the order in which they were found.
    pub fn found_apps(&self) -> Vec<String> {
        locked(&self.found_apps).clone()
    }

    /// Adds the names of tools that a search found. Gives all.
    pub(crate) fn add_found_apps(&self, names: impl Iterator<Item = String>) -> Vec<String> {
        let mut found = locked(&self.found_apps);
        for name in names {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found.clone()
    }

    /// The connections to MCP servers, for calls of their tools.
    pub(crate) fn servers(&self) -> Option<Arc<dyn ToolServers>> {
        locked(&self.servers).clone()
    }

    /// The store of what patches do to files, if it is kept.
    pub(crate) fn edits(&self) -> Option<&EditLog> {
        self.edits.as_deref()
    }

    /// Keeps the whole output of a call whose text is cut to so many bytes, where outputs are kept.
    pub(crate) fn listen(&self, call_id: &str, limit: usize) -> Listening {
        self.outputs.as_ref()?.listen(call_id, limit)
    }

    /// A new turn begins: what patches did before does not belong to it.
    pub fn begin_turn(&self) {
        *self.diff() = TurnDiff::default();
    }

    /// The diff of this turn's patches so far; `None` if they changed nothing. Reads the disk.
    pub fn turn_diff(&self) -> Option<String> {
        self.diff().unified_on_disk()
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        locked(&self.rules).clone()
    }

    /// What was allowed for the rest of the session.
    pub fn grants(&self) -> Grants {
        locked(&self.grants).clone()
    }

    /// From now on this is allowed for the rest of the session.
    pub fn grant(&self, keys: Vec<GrantKey>) {
        locked(&self.grants).remember(keys);
    }

    /// The files that the patches of this turn touched.
    pub(crate) fn diff(&self) -> MutexGuard<'_, TurnDiff> {
        locked(&self.diff)
    }

    /// The folders in which a patch may write without asking, with the paths that it may not touch there, whether or
    /// not they exist. Folders that are missing or were exchanged since the session began are left out. Commands may
    /// make repositories; a patch has no reason to.
    pub(crate) fn patch_roots(&self, situation: &Situation) -> Vec<PatchRoot> {
        let ground = self.ground(situation);
        let git = match self.protection {
            Protection::On => GitAccess::Protected,
            Protection::Off => GitAccess::Writable,
        };
        let root = |name: &PathBuf| {
            let held = self.roots.hold(std::slice::from_ref(name)).ok()?.pop()?;
            let paths = [held.path.clone()];
            let mut protected = protected::find(&paths, &ground, Nested::Known).names();
            if self.protection == Protection::On {
                protected.extend(AGENT_FOLDERS.map(|name| held.path.join(name)));
            }
            // A folder that is named as a root is not protected.
            protected.retain(|path| !held.path.starts_with(path));
            if held.path != *name {
                // The patch may name them either way.
                let named = |path: &PathBuf| path.strip_prefix(&held.path).ok().map(|rest| name.join(rest));
                let others: Vec<PathBuf> = protected.iter().filter_map(named).collect();
                protected.extend(others);
            }
            protected.sort();
            protected.dedup();
            Some(PatchRoot { name: name.clone(), root: held, protected, git })
        };
        situation.writable_roots.iter().filter_map(root).collect()
    }

    fn ground(&self, situation: &Situation) -> ProtectionBasis {
        ProtectionBasis {
            protection: self.protection,
            cwd: situation.cwd.clone(),
            project_root: situation.project_root.clone(),
            homes: self.homes.clone(),
        }
    }

    /// The folders that commands may write in.
    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Moves files away that commands made or replaced and that must not be read.
    pub fn take_aside(&self) -> Vec<Aside> {
        self.watch.put_aside()
    }

    /// Has the login shell's setup written down for commands that may come.
    pub fn prepare_login(&self, situation: &Situation) {
        self.login.prepare(situation);
    }

    /// Whether the login shell's setup was written down.
    pub fn has_login_snapshot(&self) -> bool {
        self.login.is_ready()
    }

    /// The home folder of Pellucid.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Paths at which Node is looked for, before `PATH`.
    pub(crate) fn node_paths(&self) -> &[PathBuf] {
        &self.node_paths
    }

    /// The kernel of the JavaScript tool, or the place for one.
    pub(crate) fn kernel(&self) -> &KernelSeat {
        &self.kernel
    }

    /// Keeps a terminal whose process continues after its call, with the task that reports on it.
    pub(crate) fn keep_terminal(
        &self,
        reservation: Reservation,
        terminal: Terminal,
        call_id: String,
        telling: Option<Telling>,
        sandbox: Option<HeldSandbox>,
    ) -> Keeping {
        let mut kept = locked(&self.telling);
        kept.retain(|telling| !telling.is_over());
        kept.extend(telling);
        drop(kept);
        let number = reservation.number();
        let keeping = self.terminals.keep(reservation, terminal, call_id);
        let mut sandboxes = locked(&self.terminal_sandboxes);
        if keeping.n_open == 1 {
            // All others were ended.
            sandboxes.clear();
        }
        if let Some(evicted) = keeping.evicted {
            sandboxes.remove(&evicted);
        }
        sandboxes.extend(sandbox.map(|sandbox| (number, sandbox)));
        keeping
    }

    /// The sandbox of the command in a terminal. The entry is removed with a terminal that is gone.
    pub(crate) fn terminal_sandbox(&self, number: u32, is_gone: bool) -> Option<HeldSandbox> {
        let mut sandboxes = locked(&self.terminal_sandboxes);
        if is_gone { sandboxes.remove(&number) } else { sandboxes.get(&number).cloned() }
    }

    /// Whether nothing continues between calls: no terminal, no report of one, no kernel.
    pub fn is_at_rest(&self) -> bool {
        let mut telling = locked(&self.telling);
        telling.retain(|telling| !telling.is_over());
        telling.is_empty() && self.terminals.is_empty() && self.kernel.is_empty()
    }

    /// Ends all terminals, and waits until all their events are emitted. The events have to be received meanwhile.
    pub async fn end_terminals(&self) {
        self.terminals.terminate_all().await;
        let telling = std::mem::take(&mut *locked(&self.telling));
        for telling in telling {
            telling.over().await;
        }
    }

    /// Ends what continues between calls, and waits until it has ended. Says what had to be put aside.
    pub async fn close(&self) -> Vec<Aside> {
        self.terminals.terminate_all().await;
        self.kernel.reset().await;
        self.watch.finish()
    }

    /// The search path for a command's program.
    pub(crate) fn search_path(&self, argv: &[String], situation: &Situation) -> Option<OsString> {
        self.login.search_path(argv, situation)
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
    pub(crate) fn confine(&self, argv: &[String], cwd: &Path, situation: &Situation) -> Result<Confined, String> {
        let policy = &situation.sandbox_policy;
        let roots = match policy {
            SandboxPolicy::WorkspaceWrite { .. } => self.roots.hold(&situation.writable_roots),
            _ => Ok(Vec::new()),
        };
        let roots = roots.map_err(|error| error.to_string())?;
        let confinement = self.sandbox.confinement(policy, &roots, &self.ground(situation));
        let confinement = confinement.map_err(|error| error.to_string())?;
        let argv = argv.iter().map(OsString::from).collect();
        let confined = confinement.wrap_watched(argv, cwd, Some(&self.watch)).map_err(|error| error.to_string())?;
        let names = roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect();
        let sandbox = held::held(policy, confinement.backend().map(Backend::as_str), names);
        let texts = confined.into_iter().map(OsString::into_string).collect::<Result<Vec<_>, _>>();
        let argv = texts.map_err(|word| format!("a path of the sandbox is not UTF-8: {}", word.to_string_lossy()))?;
        Ok(Confined { argv, sandbox })
    }

    /// Saves the rule that commands which begin with these words are allowed. Gives what the model sees of it.
    ///
    /// # Errors
    /// Why the rule is not saved, for clients. The command that it was saved for may run all the same.
    pub fn save_rule(&self, prefix: Vec<String>) -> Result<Notice, String> {
        pellucid_rules::save_allowed(&self.home, &prefix).map_err(|error| format!("the rule is not saved: {error}"))?;
        if let Some(rule) = Rule::allowed_in_session(&prefix) {
            let mut rules = locked(&self.rules);
            Arc::make_mut(&mut rules).add(rule);
        }
        Ok(Notice::PrefixSaved { prefix })
    }
}

/// Locks a mutex. A panic while it was held left no half-made change, because every change is one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use pellucid_protocol::settings::SandboxPolicy;

    use crate::bench::Bench;

    #[test]
    fn a_root_that_was_replaced_is_refused() {
        let mut bench = Bench::new();
        let (work, outside) = (bench.path().join("work"), bench.path().join("outside"));
        for folder in [&work, &outside] {
            fs::create_dir(folder).unwrap();
        }
        bench.situation.cwd.clone_from(&work);
        bench.situation.writable_roots = vec![work.clone(), work.join("missing")];
        bench.situation.sandbox_policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let toolbox = bench.toolbox();
        let roots = toolbox.patch_roots(&bench.situation);
        assert_eq!(roots.iter().map(|it| &it.name).collect::<Vec<_>>(), [&work]);
        for name in [".agents", ".codex", ".pellucid"] {
            assert!(roots[0].protected.contains(&roots[0].root.path.join(name)), "{roots:?}");
        }
        fs::rename(&work, bench.path().join("moved")).unwrap();
        symlink(&outside, &work).unwrap();
        assert!(toolbox.patch_roots(&bench.situation).is_empty());
        let refused = toolbox.confine(&["true".to_owned()], &work, &bench.situation).unwrap_err();
        assert_eq!(
            refused,
            format!(
                "the writable root {} is not the folder that it was when this session began (it leads to {} now), so the \
                 command was not run; put that folder back, or start a new session if you changed it yourself",
                work.display(),
                outside.display()
            )
        );
    }
}
