//! A command to run, with everything its process is given.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::sandbox::HELPER;
#[cfg(target_os = "linux")]
use crate::sandbox::order::HelperStage;
#[cfg(target_os = "linux")]
use crate::sandbox::order::Order;
use crate::spawner::Guarding;

/// The variables of a child.
pub type Variables = BTreeMap<OsString, OsString>;

/// A command. Its process gets nothing that is not named here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The name passed as `argv[0]`, if it is not the first of `argv`.
    pub arg0: Option<String>,
    /// The working folder of the process.
    pub cwd: PathBuf,
    /// The environment variables of the process.
    pub env: Variables,
}

impl Command {
    /// What ends the command when this process is gone. Our sandbox knows more of the command's processes than the
    /// guard does.
    pub(crate) fn guarding(&self) -> Guarding {
        match self.argv.get(1) {
            Some(first) if first == HELPER => Guarding::Itself,
            _ => Guarding::Guard,
        }
    }

    /// The order to our sandbox, if the command begins with the helper.
    #[cfg(target_os = "linux")]
    pub(crate) fn order(&self) -> Option<Order> {
        let (helper, args) = self.argv.get(1..)?.split_first()?;
        if helper != HELPER {
            return None;
        }
        match HelperStage::from_args(args.iter().map(OsString::from)) {
            Ok(HelperStage::Run(order)) => Some(order),
            _ => None,
        }
    }

    /// As something that can be started.
    pub(crate) fn to_tokio(&self) -> io::Result<tokio::process::Command> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "command args are empty"));
        };
        let mut command = tokio::process::Command::new(program);
        if let Some(arg0) = &self.arg0 {
            command.arg0(arg0);
        }
        command.args(arguments).current_dir(&self.cwd).env_clear().envs(&self.env);
        Ok(command)
    }
}

/// Why a command did not start.
///
/// The model is shown its `Debug` form, so the variants have the names that the model knows.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system refused, or there is no such program or folder.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SpawnError {
    /// The text for the model in place of an output.
    pub fn failure_text(&self) -> String {
        format!("execution error: {self:?}")
    }
}
