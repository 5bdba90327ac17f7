//! Trying the mechanisms, in a process that is of no further use.
//!
//! A line for each: `NAME works|fails|untried DETAIL`, then the version of Landlock's interface and
//! what became of `/proc`.
//!
//! Not here: choosing.

use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use super::HelperError;
use super::bubblewrap;
use super::fences;
use super::filter;
use super::namespaces;
use super::needs_fences;
use super::privileges;
use super::watch;
use super::watch::Init;
use crate::sandbox::Backend;
use crate::sandbox::order::Order;

/// Tries. The order matters: nothing can be tried inside of what was tried before, but fences can.
pub fn trial(bubblewrap: Option<&Path>, everything: bool) -> String {
    let order = Order::new(Backend::Namespaces, vec!["true".into()]);
    let bubblewrap = everything.then(|| try_bubblewrap(bubblewrap));
    let namespaces = try_namespaces(&order);
    let landlock = privileges::drop_capabilities().and_then(|()| fences::apply(&order));
    let filter = filter::apply(&order);

    let line = |name: &str, result: Result<String, String>| match result {
        // No backend works without the filter.
        Ok(detail) => match &filter {
            Ok(()) => format!("{name} works {detail}\n"),
            Err(error) => format!("{name} fails {}\n", one_line(&error.to_string())),
        },
        Err(why) => format!("{name} fails {}\n", one_line(&why)),
    };
    let mut text = String::new();
    let has_proc = match (&namespaces, &bubblewrap) {
        (Ok(has_proc), _) => *has_proc,
        (Err(_), Some(Ok((_, has_proc)))) => *has_proc,
        _ => false,
    };
    let is_missing = needs_fences(Backend::Namespaces) && !matches!(landlock, Ok(Some(_)));
    let fenced = |result: Result<String, String>| match result {
        Ok(_) if is_missing => Err("the superuser needs Landlock too".to_owned()),
        other => other,
    };
    text += &line("namespaces", fenced(namespaces.map(|_| kind_of_namespaces().to_owned())));
    text += &match bubblewrap {
        Some(result) => line("bubblewrap", fenced(result.map(|(version, _)| version))),
        None => "bubblewrap untried\n".to_owned(),
    };
    match landlock {
        Ok(Some(abi)) => {
            text += &line("landlock", Ok(format!("version {abi} of the interface")));
            text += &format!("abi {abi}\n");
        }
        Ok(None) => text += &line("landlock", Err("the kernel lacks it or has it switched off".to_owned())),
        Err(error) => text += &line("landlock", Err(error.to_string())),
    }
    text += if has_proc { "proc fresh\n" } else { "proc old\n" };
    text
}

/// Whether namespaces work, and whether they get a new `/proc`.
fn try_namespaces(order: &Order) -> Result<bool, String> {
    let tried = || {
        let mounts = namespaces::Mount::all()?;
        namespaces::separate(namespaces::OF_A_COMMAND | namespaces::of_limits(order))?;
        let mut init = Init::start(None)?;
        namespaces::arrange(order, &mounts)?;
        let has_proc = init.is_ready_with_proc()?;
        init.dismiss();
        Ok(has_proc)
    };
    tried().map_err(|error: HelperError| error.to_string())
}

fn kind_of_namespaces() -> &'static str {
    if rustix::process::geteuid().is_root() { "as the superuser" } else { "in a user namespace" }
}

/// Whether bubblewrap works: its version, and whether it can mount `/proc`.
fn try_bubblewrap(path: Option<&Path>) -> Result<(String, bool), String> {
    let path = path.ok_or("bwrap is not installed")?;
    let ourselves = std::fs::read_link(watch::OURSELVES).map_err(|error| error.to_string())?;
    let mut why = String::new();
    for fresh_proc in [true, false] {
        let order = Order { fresh_proc, ..Order::new(Backend::Bubblewrap, vec!["true".into()]) };
        let is_root = rustix::process::geteuid().is_root();
        let args = bubblewrap::args(&order, &ourselves, is_root);
        let output = Command::new(path).args(args).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            let version = Command::new(path).arg("--version").output().map_err(|error| error.to_string())?;
            let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
            return Ok((format!("{} ({version})", path.display()), fresh_proc));
        }
        why = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(format!("{}: {}", path.display(), why.trim()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
