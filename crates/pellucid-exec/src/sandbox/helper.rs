//! The helper: this program again, between the agent and a confined command.
//!
//! The helper runs before anything else in `main` and needs no configuration, no runtime and no threads, so that it
//! costs little. Its arguments say what to do (`order`).
//!
//! ```text
//! namespaces   agent ─ keep: mounts ─ init: the first process of a namespace ─ its copy: fences ═ command
//!   by hand    run: new namespaces, mounts, fences ─┬─ init: its copy, the first process of the namespace
//!                                                   └─ command
//! bubblewrap   agent ─ run ─ bwrap ─ confine: fences ═ command
//! landlock     agent ─ run (outside of the fences) ─ its copy: fences ═ command
//! ```
//!
//! - `fences`: files, network ports, signals (Landlock)
//! - `filter`: system calls (seccomp)
//! - `privileges`: capabilities and inherited files
//! - `namespaces`: mounts and processes
//! - `handles`: folders that are held while they are used
//! - `missing`: names that must not be taken
//! - `keeper`, `cell`: the same, made before the command comes
//! - `bubblewrap`: the same by another program
//! - `fork`: copies of the helper
//! - `watch`: staying beside the command, and ending it with the agent
//! - `trial`: tries which mechanisms work here
//!
//! Not here: deciding what is allowed.

mod bubblewrap;
mod cell;
mod fences;
mod filter;
mod fork;
mod guard;
pub(crate) mod handles;
mod keeper;
pub(crate) mod missing;
mod namespaces;
mod privileges;
mod trial;
mod watch;

use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use super::Backend;
use super::HELPER_FAILED;
use super::confinement::FENCES_THAT_HOLD;
use super::order::HELPER;
use super::order::HelperStage;
use super::order::Order;
use super::order::OrderError;
use super::roots::RootChanged;

/// Why the helper cannot do what it is asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A step towards confinement failed.
    #[error("{what}: {error}")]
    Step { what: String, error: io::Error },
    #[error(transparent)]
    Root(#[from] RootChanged),
    #[error("Landlock does not work here: {0}")]
    Landlock(String),
    #[error("the filter of system calls does not work here: {0}")]
    Filter(#[from] seccompiler::Error),
    #[error("the backend {0} is not one of this system's")]
    Backend(Backend),
    /// The command, not the sandbox.
    #[error("{program:?} could not be started: {error}")]
    Command { program: OsString, error: io::Error },
}

/// Says which step failed.
trait Step<T> {
    fn step(self, what: impl Into<String>) -> Result<T, HelperError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, what: impl Into<String>) -> Result<T, HelperError> {
        self.map_err(|error| HelperError::Step { what: what.into(), error: error.into() })
    }
}

/// Whether this very program plays the helper when it is asked to.
static IS_OUR_PROGRAM: AtomicBool = AtomicBool::new(false);

/// This program, started again to play a part; nothing if it does not play.
pub fn ourselves(stage: &HelperStage) -> Option<Command> {
    IS_OUR_PROGRAM.load(Ordering::Relaxed).then(|| {
        let mut command = Command::new(watch::OURSELVES);
        command.args(stage.to_args());
        command
    })
}

/// Plays the helper if the arguments ask for it.
pub fn take_over() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != HELPER) {
        IS_OUR_PROGRAM.store(true, Ordering::Relaxed);
        return None;
    }
    abort_on_panic();
    Some(play(args).unwrap_or_else(|error| {
        tell(&error);
        ExitCode::from(u8::try_from(HELPER_FAILED).unwrap_or(u8::MAX))
    }))
}

/// Has a panic in any thread end this process at once: a helper that lost one of its threads would no longer watch over
/// the command.
fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// Prints why the command was not run. A missing program and a failed sandbox have different messages, so that the
/// user does not look for the wrong cause.
fn tell(error: &HelperError) {
    let text = match error {
        HelperError::Command { .. } => format!("pellucid: {error}\n"),
        HelperError::Root(_) => format!("pellucid sandbox: {error}\n"),
        _ => format!(
            "pellucid sandbox: the command was not run, because it could not be confined: {error}\n\
             `pellucid doctor` shows which sandboxes work on this system\n"
        ),
    };
    let _ = io::stderr().write_all(text.as_bytes());
}

fn play(args: impl Iterator<Item = OsString>) -> Result<ExitCode, HelperError> {
    privileges::close_inherited_files();
    match HelperStage::from_args(args)? {
        HelperStage::Run(order) => match order.backend {
            Backend::Namespaces => namespaces::run(order),
            Backend::Bubblewrap => bubblewrap::run(order),
            Backend::Landlock => watch::run_beside(&order),
            Backend::Seatbelt => Err(HelperError::Backend(order.backend)),
        },
        HelperStage::Confine(order) => Err(become_command(&order)),
        HelperStage::Keep(order) => keeper::run(order),
        HelperStage::Guard => Ok(guard::run()),
        HelperStage::Probe { bubblewrap, everything } => {
            let text = trial::trial(bubblewrap.as_deref(), everything);
            io::stdout().write_all(text.as_bytes()).step("writing")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Confines this process and becomes the command. Comes back only if that fails.
fn become_command(order: &Order) -> HelperError {
    match confine(order) {
        Ok(()) => HelperError::Command { program: order.command[0].clone(), error: command(order).exec() },
        Err(error) => error,
    }
}

/// Confines this process, and with it whatever it becomes or starts.
fn confine(order: &Order) -> Result<(), HelperError> {
    privileges::drop_capabilities()?;
    hold(order, fences::apply(order)?)?;
    filter::apply(order)
}

/// Whether fences of this version of the interface are enough for an order.
fn hold(order: &Order, fences: Option<u32>) -> Result<(), HelperError> {
    if order.fenced.is_some() && (!order.writable.is_empty() || fences.is_none_or(|abi| abi < FENCES_THAT_HOLD)) {
        return Err(HelperError::Landlock("its fences are not strong enough without another backend".to_owned()));
    }
    if fences.is_none() && needs_fences(order.backend) {
        return Err(HelperError::Landlock("the kernel lacks it or has it switched off".to_owned()));
    }
    Ok(())
}

/// Whether a backend is nothing without fences. Mounts do not keep the superuser from devices.
fn needs_fences(backend: Backend) -> bool {
    backend == Backend::Landlock || rustix::process::geteuid().is_root()
}

fn command(order: &Order) -> Command {
    let mut command = Command::new(&order.command[0]);
    command.args(&order.command[1..]);
    command
}
