//! The helper's arguments: the only language that the two sides share.
//!
//! Paths need not be UTF-8 and are passed as they are, so a list of processes shows plainly what
//! confines a command.
//!
//! Not here: doing it (`helper`), and deciding it (`confinement`).

#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "orders are carried out on Linux"))]

use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::FileIdentity;

use super::Backend;
use super::roots::WritableFolder;

/// The first argument that makes the program a helper.
pub const HELPER: &str = "--pellucid-sandbox";

/// The exit code of the helper when it could not start or confine a command.
pub const HELPER_FAILED: i32 = 101;

/// A part that the helper plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelperStage {
    /// Confine a command and stay beside it until it ends.
    Run(Order),
    /// Confine this very process, then become the command.
    Confine(Order),
    /// Make namespaces for commands before they come. The order has no command.
    Keep(Order),
    /// Outlive the agent for a moment, and end what it was running.
    Guard,
    /// Try the mechanisms and say what works.
    Probe {
        /// The path of bubblewrap, if it is to be tried.
        bubblewrap: Option<PathBuf>,
        /// Whether bubblewrap is tried even if it is not needed.
        everything: bool,
    },
}

/// A command and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The backend that confines the command.
    pub backend: Backend,
    /// The process whose end is the command's end.
    pub agent: Option<u32>,
    /// Whether the command reaches the network.
    pub network: bool,
    /// Whether a fresh `/proc` is mounted by bubblewrap.
    pub fresh_proc: bool,
    /// The folder the command starts in, for a backend that needs it.
    pub cwd: Option<PathBuf>,
    /// The path of bubblewrap.
    pub bubblewrap: Option<PathBuf>,
    /// The folders it may write in. A path that leads to another folder than the intended one is refused.
    pub writable: Vec<WritableFolder>,
    /// The paths that it may not change even there.
    pub protected: Vec<PathBuf>,
    /// Folders that do not exist and that it may not make. A backend that cannot hold this leaves it.
    pub missing: Vec<PathBuf>,
    /// A folder in which the fences alone refuse to write, so that a refusal reads as one. It must not be the root
    /// of all files, and the filter must refuse what fences do not see: nothing may be writable.
    pub fenced: Option<PathBuf>,
    /// The command to run, with its arguments.
    pub command: Vec<OsString>,
}

/// Why arguments are no order.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OrderError {
    /// The argument is not known.
    #[error("unknown argument {0:?}")]
    Unknown(OsString),
    /// An argument without its value.
    #[error("{0} needs a value")]
    NoValue(&'static str),
    /// A value that means nothing.
    #[error("{0}: {1:?} means nothing")]
    Value(&'static str, OsString),
    /// The command is missing.
    #[error("no command is given after --")]
    NoCommand,
}

impl HelperStage {
    /// As arguments, the first of which is [`HELPER`].
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![HELPER.into()];
        match self {
            Self::Run(order) => {
                args.push("run".into());
                order.push_args(&mut args);
            }
            Self::Confine(order) => {
                args.push("confine".into());
                order.push_args(&mut args);
            }
            Self::Keep(order) => {
                args.push("keep".into());
                order.push_args(&mut args);
            }
            Self::Guard => args.push("guard".into()),
            Self::Probe { bubblewrap, everything } => {
                args.push("probe".into());
                if let Some(path) = bubblewrap {
                    args.extend(["--bubblewrap".into(), path.into()]);
                }
                args.extend(everything.then(|| "--everything".into()));
            }
        }
        args
    }

    /// Reads what follows [`HELPER`].
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, OrderError> {
        let mut args = args.into_iter();
        let stage = args.next().unwrap_or_default();
        match stage.to_str() {
            Some("run") => Order::from_args(args)?.with_command().map(Self::Run),
            Some("confine") => Order::from_args(args)?.with_command().map(Self::Confine),
            Some("keep") => Order::from_args(args).map(Self::Keep),
            Some("guard") => Ok(Self::Guard),
            Some("probe") => {
                let (mut bubblewrap, mut everything) = (None, false);
                while let Some(argument) = args.next() {
                    match argument.to_str() {
                        Some("--bubblewrap") => bubblewrap = Some(value(&mut args, "--bubblewrap")?.into()),
                        Some("--everything") => everything = true,
                        _ => return Err(OrderError::Unknown(argument)),
                    }
                }
                Ok(Self::Probe { bubblewrap, everything })
            }
            _ => Err(OrderError::Unknown(stage)),
        }
    }
}

impl Order {
    /// An order that allows nothing to be written.
    pub fn new(backend: Backend, command: Vec<OsString>) -> Self {
        Self {
            backend,
            agent: None,
            network: false,
            fresh_proc: true,
            cwd: None,
            bubblewrap: None,
            writable: Vec::new(),
            protected: Vec::new(),
            missing: Vec::new(),
            fenced: None,
            command,
        }
    }

    /// The folders that have to be mounts so that no process can rename or remove them, outer ones first: writable
    /// roots, the fenced folder, and the folders between a root and a nested root or protected path.
    pub fn solid(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.roots().chain(self.fenced.as_deref()).map(Path::to_owned).collect();
        let closed = self.protected.iter().chain(&self.missing).map(PathBuf::as_path);
        for inner in self.roots().chain(closed) {
            let between = inner.ancestors().skip(1).filter(|path| {
                let is_below = |root: &Path| path.starts_with(root) && *path != root;
                self.roots().any(is_below)
            });
            paths.extend(between.map(Path::to_owned));
        }
        paths.sort_by_key(|path| path.components().count());
        let mut seen = Vec::new();
        paths.retain(|path| {
            let is_new = !seen.contains(path);
            seen.push(path.clone());
            is_new
        });
        paths
    }

    /// The paths of writable roots.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.writable.iter().map(|root| root.path.as_path())
    }

    /// The writable root at a path.
    pub fn root(&self, path: &Path) -> Option<&WritableFolder> {
        self.writable.iter().find(|root| root.path == path)
    }

    /// Whether something here may be written by a command, or is left to the fences.
    pub fn is_open(&self, path: &Path) -> bool {
        self.roots().chain(self.fenced.as_deref()).any(|root| path.starts_with(root))
    }

    /// All that has to be a mount: what is solid, and what is protected or must stay missing there.
    pub fn anchors(&self) -> Vec<PathBuf> {
        let mut paths = self.solid();
        paths.extend(self.protected.iter().chain(&self.missing).filter(|path| self.is_open(path)).cloned());
        paths
    }

    fn push_args(&self, args: &mut Vec<OsString>) {
        let mut pair = |name: &str, value: OsString| args.extend([name.into(), value]);
        pair("--backend", self.backend.as_str().into());
        if let Some(agent) = self.agent {
            pair("--agent", agent.to_string().into());
        }
        if let Some(cwd) = &self.cwd {
            pair("--cwd", cwd.into());
        }
        if let Some(path) = &self.bubblewrap {
            pair("--bubblewrap", path.into());
        }
        for root in &self.writable {
            pair("--write", written(root));
        }
        for path in &self.protected {
            pair("--protect", path.into());
        }
        for path in &self.missing {
            pair("--missing", path.into());
        }
        if let Some(path) = &self.fenced {
            pair("--fenced", path.into());
        }
        args.extend(self.network.then(|| "--network".into()));
        args.extend((!self.fresh_proc).then(|| "--no-proc".into()));
        args.push("--".into());
        args.extend(self.command.iter().cloned());
    }

    fn from_args(mut args: impl Iterator<Item = OsString>) -> Result<Self, OrderError> {
        let mut order = Self::new(Backend::Landlock, Vec::new());
        while let Some(argument) = args.next() {
            match argument.to_str() {
                Some("--backend") => order.backend = parsed(&mut args, "--backend", Backend::from_word)?,
                Some("--agent") => order.agent = Some(parsed(&mut args, "--agent", |it| it.parse().ok())?),
                Some("--cwd") => order.cwd = Some(value(&mut args, "--cwd")?.into()),
                Some("--bubblewrap") => order.bubblewrap = Some(value(&mut args, "--bubblewrap")?.into()),
                Some("--write") => {
                    let value = value(&mut args, "--write")?;
                    order.writable.push(read(&value).ok_or(OrderError::Value("--write", value))?);
                }
                Some("--protect") => order.protected.push(value(&mut args, "--protect")?.into()),
                Some("--missing") => order.missing.push(value(&mut args, "--missing")?.into()),
                Some("--fenced") => order.fenced = Some(value(&mut args, "--fenced")?.into()),
                Some("--network") => order.network = true,
                Some("--no-proc") => order.fresh_proc = false,
                Some("--") => {
                    order.command = args.collect();
                    break;
                }
                _ => return Err(OrderError::Unknown(argument)),
            }
        }
        Ok(order)
    }

    fn with_command(self) -> Result<Self, OrderError> {
        if self.command.is_empty() { Err(OrderError::NoCommand) } else { Ok(self) }
    }
}

/// A root as an argument: `DEVICE:NUMBER:PATH`.
fn written(root: &WritableFolder) -> OsString {
    let FileIdentity { device, number } = root.identity;
    let mut text = OsString::from(format!("{device}:{number}:"));
    text.push(&root.path);
    text
}

fn read(text: &OsStr) -> Option<WritableFolder> {
    let mut parts = text.as_encoded_bytes().splitn(3, |byte| *byte == b':');
    let mut part = || parts.next().and_then(|it| std::str::from_utf8(it).ok());
    let identity = FileIdentity { device: part()?.parse().ok()?, number: part()?.parse().ok()? };
    let path = path_of(parts.next()?)?;
    path.is_absolute().then_some(WritableFolder { path, identity })
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(std::os::unix::ffi::OsStrExt::from_bytes(bytes) as &OsStr))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

fn value(args: &mut impl Iterator<Item = OsString>, name: &'static str) -> Result<OsString, OrderError> {
    args.next().ok_or(OrderError::NoValue(name))
}

fn parsed<T>(
    args: &mut impl Iterator<Item = OsString>,
    name: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, OrderError> {
    let value = value(args, name)?;
    value.to_str().and_then(parse).ok_or(OrderError::Value(name, value))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn root(path: impl Into<PathBuf>) -> WritableFolder {
        WritableFolder { path: path.into(), identity: FileIdentity { device: 4, number: 77 } }
    }

    fn order() -> Order {
        Order {
            agent: Some(7),
            network: true,
            fresh_proc: false,
            cwd: Some("/w/sub".into()),
            bubblewrap: Some("/usr/bin/bwrap".into()),
            writable: vec![root("/w"), root(OsString::from_vec(vec![b'/', 0xff, b':']))],
            protected: vec!["/w/.git".into()],
            missing: vec!["/w/.codex".into()],
            ..Order::new(Backend::Bubblewrap, vec!["sh".into(), "-c".into(), "--network".into(), "--".into()])
        }
    }

    #[test]
    fn every_stage_survives_the_way() {
        let stages = [
            HelperStage::Run(order()),
            HelperStage::Confine(Order {
                fenced: Some("/w".into()),
                ..Order::new(Backend::Namespaces, vec!["true".into()])
            }),
            HelperStage::Keep(Order { writable: vec![root("/w")], ..Order::new(Backend::Namespaces, Vec::new()) }),
            HelperStage::Guard,
            HelperStage::Probe { bubblewrap: Some("/b".into()), everything: true },
            HelperStage::Probe { bubblewrap: None, everything: false },
        ];
        for stage in stages {
            let args = stage.to_args();
            assert_eq!(args[0], HELPER);
            assert_eq!(HelperStage::from_args(args.into_iter().skip(1)), Ok(stage));
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let check = |text: &str, expected: &str| {
            let args = text.split(' ').map(OsString::from);
            assert_eq!(HelperStage::from_args(args).unwrap_err().to_string(), expected);
        };
        check("run --writ /w -- true", "unknown argument \"--writ\"");
        check("run --backend jail -- true", "--backend: \"jail\" means nothing");
        check("run --write", "--write needs a value");
        check("run --write /w -- true", "--write: \"/w\" means nothing");
        check("run --network --", "no command is given after --");
        check("go", "unknown argument \"go\"");
    }

    #[test]
    fn the_way_to_something_protected_is_solid() {
        let order = Order {
            writable: vec![root("/tmp/a/proj"), root("/tmp")],
            protected: vec!["/tmp/a/proj/.git".into(), "/tmp/main/.git".into(), "/else/.git".into()],
            missing: vec!["/tmp/b/.codex".into()],
            ..Order::new(Backend::Namespaces, vec!["true".into()])
        };
        let solid = order.solid();
        let solid: Vec<_> = solid.iter().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(solid, ["/tmp", "/tmp/a", "/tmp/main", "/tmp/b", "/tmp/a/proj"]);
    }
}
