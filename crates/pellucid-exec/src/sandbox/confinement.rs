//! From a policy and a command to the argument list of a confined command.
//!
//! Not here: trying mechanisms (`probe`) and what the helper does (`helper`).

use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use pellucid_protocol::settings::SandboxPolicy;

use super::Backend;
use super::aside::Watch;
use super::gaps;
use super::gaps::Gap;
use super::order::HelperStage;
use super::order::Order;
use super::probe;
use super::probe::ProbeFindings;
use super::probe::WantedBackend;
use super::protected;
use super::protected::Nested;
use super::protected::Protected;
use super::protected::ProtectionBasis;
use super::roots::RootChanged;
use super::roots::WritableFolder;
use super::seatbelt;

/// The version of Landlock's interface from which on files cannot be cut short either.
pub(super) const FENCES_THAT_HOLD: u32 = 3;

/// Why a command cannot be confined. It is then not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The command is empty.
    #[error("there is no command to confine")]
    NoCommand,
    /// No backend works on this system.
    #[error(
        "no sandbox works on this system, so the command was not run ({reasons}); `pellucid doctor` shows more, \
         and --sandbox danger-full-access is only for machines that are confined by other means"
    )]
    Unavailable {
        /// Each mechanism with the reason why it fails.
        reasons: String,
    },
    /// A root is another folder than it was.
    #[error(transparent)]
    Root(#[from] RootChanged),
}

/// The sandbox of this process: what was asked for, and what was found to work.
///
/// Making a `Sandbox` costs nothing. Mechanisms are tried when the first command is to be confined, or on request,
/// and then never again.
#[derive(Debug)]
pub struct Sandbox {
    helper: PathBuf,
    wanted: WantedBackend,
    findings: OnceLock<ProbeFindings>,
    chosen: OnceLock<Result<Backend, SandboxError>>,
}

impl Sandbox {
    /// With this program as the helper.
    pub fn new(wanted: WantedBackend) -> Self {
        // This name works even if the file was replaced or removed since.
        let helper = if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { PathBuf::new() };
        Self::with_helper(helper, wanted)
    }

    /// With another program as the helper, whose `main` must begin with [`take_over`](super::take_over).
    pub fn with_helper(helper: impl Into<PathBuf>, wanted: WantedBackend) -> Self {
        Self { helper: helper.into(), wanted, findings: OnceLock::new(), chosen: OnceLock::new() }
    }

    /// Which mechanisms work, tried as far as is needed to choose.
    pub fn findings(&self) -> &ProbeFindings {
        self.findings.get_or_init(|| probe::probe(&self.helper, self.wanted))
    }

    /// Tries every mechanism. The result is not kept.
    pub fn examine(&self) -> ProbeFindings {
        probe::examine(&self.helper)
    }

    /// The mechanism that confines commands here.
    pub fn backend(&self) -> Result<Backend, SandboxError> {
        self.chosen.get_or_init(|| self.findings().choose(self.wanted)).clone()
    }

    /// The confinement of commands under a policy. `roots` are the folders that the policy lets commands write in,
    /// temporary ones included; `ground` decides which paths are protected there.
    ///
    /// # Errors
    ///
    /// The policy asks for confinement and nothing here can give it.
    pub fn confinement(
        &self,
        policy: &SandboxPolicy,
        roots: &[WritableFolder],
        ground: &ProtectionBasis,
    ) -> Result<Confinement, SandboxError> {
        let (network, roots) = match policy {
            SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => {
                return Ok(Confinement { confined: None });
            }
            SandboxPolicy::ReadOnly => (false, &[][..]),
            SandboxPolicy::WorkspaceWrite { network_access, .. } => (*network_access, roots),
        };
        let backend = self.backend()?;
        let findings = self.findings();
        let confined = Confined {
            backend,
            helper: self.helper.clone(),
            network,
            roots: roots.to_vec(),
            ground: ground.clone(),
            bubblewrap: findings.bubblewrap_path.clone(),
            fresh_proc: findings.has_fresh_proc,
            has_high_fences: findings.landlock_abi.is_some_and(|abi| abi >= FENCES_THAT_HOLD),
            agent: Some(std::process::id()),
        };
        Ok(Confinement { confined: Some(confined) })
    }
}

/// The confinement of a command: none, or a backend with its limits.
#[derive(Debug, Clone)]
pub struct Confinement {
    confined: Option<Confined>,
}

#[derive(Debug, Clone)]
struct Confined {
    backend: Backend,
    helper: PathBuf,
    network: bool,
    roots: Vec<WritableFolder>,
    ground: ProtectionBasis,
    bubblewrap: Option<PathBuf>,
    fresh_proc: bool,
    has_high_fences: bool,
    agent: Option<u32>,
}

impl Confined {
    fn has_mounts(&self) -> bool {
        matches!(self.backend, Backend::Namespaces | Backend::Bubblewrap)
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.path.clone()).collect()
    }

    fn protected(&self) -> Protected {
        let nested = if self.backend == Backend::Landlock { Nested::Not } else { Nested::Known };
        protected::find(&self.paths(), &self.ground, nested)
    }

    /// The folder in which fences alone refuse to write: the working directory, if nothing at all may be written.
    ///
    /// Where commands may write, the filter lets them change permissions and times of files, which fences do not see.
    fn fenced(&self, cwd: &Path) -> Option<PathBuf> {
        if !self.has_mounts() || !self.has_high_fences || !self.roots.is_empty() {
            return None;
        }
        std::fs::canonicalize(cwd).ok().filter(|path| path.parent().is_some())
    }
}

impl Confinement {
    /// No confinement, for commands that the user allowed to run without.
    pub fn none() -> Self {
        Self { confined: None }
    }

    /// The backend, if there is any confinement.
    pub fn backend(&self) -> Option<Backend> {
        self.confined.as_ref().map(|it| it.backend)
    }

    /// The gaps of this confinement on this machine.
    pub fn gaps(&self, findings: &ProbeFindings) -> Vec<Gap> {
        let Some(confined) = &self.confined else { return Vec::new() };
        gaps::of(confined.backend, findings, confined.ground.protection)
    }

    /// The protected paths now. Empty without confinement.
    pub fn protected(&self) -> Protected {
        self.confined.as_ref().map(Confined::protected).unwrap_or_default()
    }

    /// Lets the command outlive this process, for a person who runs it by hand.
    pub fn outliving(mut self) -> Self {
        if let Some(confined) = &mut self.confined {
            confined.agent = None;
        }
        self
    }

    /// The argument list that runs a command confined; the same one where nothing is to be confined.
    /// `cwd` is the folder it will be started in.
    ///
    /// # Errors
    ///
    /// There is no command.
    pub fn wrap(&self, argv: Vec<OsString>, cwd: &Path) -> Result<Vec<OsString>, SandboxError> {
        self.wrap_watched(argv, cwd, None)
    }

    /// The same, and what the backend cannot keep from being changed is noted first.
    ///
    /// # Errors
    ///
    /// There is no command.
    pub fn wrap_watched(
        &self,
        argv: Vec<OsString>,
        cwd: &Path,
        watch: Option<&Watch>,
    ) -> Result<Vec<OsString>, SandboxError> {
        if argv.is_empty() {
            return Err(SandboxError::NoCommand);
        }
        let Some(confined) = &self.confined else { return Ok(argv) };
        let protected = confined.protected();
        if let Some(watch) = watch {
            let missing = if confined.backend == Backend::Landlock { &protected.missing[..] } else { &[] };
            watch.note(missing, &protected.links);
            #[cfg(target_os = "linux")]
            if confined.has_mounts() {
                watch.note_covered(&protected.missing);
            }
        }
        if confined.backend == Backend::Seatbelt {
            // A profile knows names, whether they exist or not.
            return Ok(seatbelt::wrap(argv, &confined.paths(), &protected.names(), confined.network));
        }
        let order = Order {
            agent: confined.agent,
            network: confined.network,
            fresh_proc: confined.fresh_proc,
            cwd: (confined.backend == Backend::Bubblewrap).then(|| cwd.to_owned()),
            bubblewrap: confined.bubblewrap.clone().filter(|_| confined.backend == Backend::Bubblewrap),
            writable: confined.roots.clone(),
            protected: protected.there,
            missing: if confined.has_mounts() { protected.missing } else { Vec::new() },
            fenced: confined.fenced(cwd),
            ..Order::new(confined.backend, argv)
        };
        let mut args = vec![confined.helper.clone().into_os_string()];
        args.extend(HelperStage::Run(order).to_args());
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::settings::NetworkAccess;

    use super::*;
    use crate::sandbox::Protection;

    fn sandbox() -> Sandbox {
        let sandbox = Sandbox::with_helper("/opt/pellucid", WantedBackend::Strongest);
        sandbox.findings.set(ProbeFindings::fixture(Ok(()), Ok(()))).unwrap();
        sandbox
    }

    fn argv() -> Vec<OsString> {
        vec!["echo".into(), "hi".into()]
    }

    #[test]
    fn without_confinement_nothing_changes() {
        for policy in [
            SandboxPolicy::DangerFullAccess,
            SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Restricted },
        ] {
            let confinement = sandbox().confinement(&policy, &[], &ProtectionBasis::default()).unwrap();
            assert_eq!(confinement.backend(), None);
            assert_eq!(confinement.wrap(argv(), Path::new("/")), Ok(argv()));
        }
        assert_eq!(Confinement::none().wrap(Vec::new(), Path::new("/")), Err(SandboxError::NoCommand));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_helper_comes_first_and_is_told_everything() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for name in [".git", ".agents", ".codex"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: true,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        };
        let held = WritableFolder::find(&root).unwrap();
        let identity = format!("{}:{}", held.identity.device, held.identity.number);
        let wrapped = |protection| {
            let ground =
                ProtectionBasis { protection, cwd: root.clone(), project_root: root.clone(), homes: Vec::new() };
            let confinement = sandbox().confinement(&policy, std::slice::from_ref(&held), &ground).unwrap().outliving();
            let args = confinement.wrap(argv(), &root).unwrap();
            let text: Vec<_> = args.iter().map(|it| it.to_str().unwrap()).collect();
            text.join(" ").replace(root.to_str().unwrap(), "/R").replace(&identity, "ID")
        };
        assert_eq!(
            wrapped(Protection::On),
            "/opt/pellucid --pellucid-sandbox run --backend namespaces --write ID:/R --protect /R/.git \
             --protect /R/.agents --protect /R/.codex --missing /R/.pellucid --network -- echo hi"
        );
        assert_eq!(
            wrapped(Protection::Off),
            "/opt/pellucid --pellucid-sandbox run --backend namespaces --write ID:/R --network -- echo hi"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn fences_stand_alone_only_where_nothing_may_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = std::fs::canonicalize(folder.path()).unwrap();
        let wrapped = |abi: u32, backend: WantedBackend, cwd: &Path| {
            let sandbox = Sandbox::with_helper("/opt/pellucid", backend);
            sandbox
                .findings
                .set(ProbeFindings { landlock_abi: Some(abi), ..ProbeFindings::fixture(Ok(()), Ok(())) })
                .unwrap();
            let confinement = sandbox.confinement(&SandboxPolicy::ReadOnly, &[], &ProtectionBasis::default()).unwrap();
            confinement.wrap(argv(), cwd).unwrap().contains(&"--fenced".into())
        };
        assert!(wrapped(3, WantedBackend::Strongest, &cwd));
        assert!(!wrapped(2, WantedBackend::Strongest, &cwd));
        assert!(!wrapped(3, WantedBackend::Only(Backend::Landlock), &cwd));
        assert!(!wrapped(3, WantedBackend::Strongest, Path::new("/")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_nothing_works_nothing_runs() {
        let sandbox = Sandbox::with_helper("/opt/pellucid", WantedBackend::Strongest);
        sandbox.findings.set(ProbeFindings::fixture(Err("EPERM"), Err("not in this kernel"))).unwrap();
        let error =
            sandbox.confinement(&SandboxPolicy::ReadOnly, &[], &ProtectionBasis::default()).unwrap_err().to_string();
        assert!(error.contains("namespaces: EPERM"), "{error}");
        assert!(error.contains("landlock: not in this kernel"), "{error}");
    }
}
