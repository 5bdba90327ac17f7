//! Diagnostics: what the parts of the program report through `tracing`.
//!
//! `RUST_LOG` selects them, as a level or as a list of `target=level`. They go to standard error, and are appended to
//! `pellucid.log` in the folder that `log_dir` names. Without `RUST_LOG`, errors alone are reported: on standard error by
//! the commands that run a turn and ask no person. What the SDK of MCP says then is left out: it is for programmers, and
//! sessions report the same failures in sentences.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::screen;
use crate::style;

/// The name of the file in the folder for logs.
const NAME: &str = "pellucid.log";

/// The part of the MCP SDK that logs in to servers. Its messages quote codes, tokens and what authorization servers answer.
const SECRETIVE: &str = "rmcp::transport::auth";

/// The file, once the configuration is known and names a folder.
static FILE: OnceLock<File> = OnceLock::new();

/// Begins to report. `runs_a_turn` without a person to ask.
pub fn start(runs_a_turn: bool) {
    let wanted = std::env::var("RUST_LOG").ok().filter(|it| !it.trim().is_empty());
    let selected = match wanted.as_deref().map(str::parse::<Targets>) {
        Some(Ok(targets)) => Some(targets),
        Some(Err(error)) => {
            let text = wanted.unwrap_or_default();
            style::line(&format!(
                "warning: RUST_LOG is ignored: {error} in `{text}`; write a level (error, warn, info, debug, trace) or \
                 a list of target=level"
            ));
            None
        }
        None => None,
    };
    let filter = || selected.clone().unwrap_or_else(errors).with_target(SECRETIVE, LevelFilter::OFF);
    // A log that cannot be written is no reason to fail.
    let layer = || fmt::layer().with_ansi(false).log_internal_errors(false);
    let on_screen = || layer().with_writer(|| screen::Writer::new(screen::StandardStream::Error));
    let mut layers = vec![layer().with_writer(|| InFile).with_filter(filter()).boxed()];
    if selected.is_some() {
        layers.push(on_screen().with_filter(filter()).boxed());
    } else if runs_a_turn {
        layers.push(on_screen().event_format(style::ErrorLine).with_filter(filter()).boxed());
    }
    registry().with(layers).init();
}

/// What is reported without `RUST_LOG`.
fn errors() -> Targets {
    Targets::new().with_default(LevelFilter::ERROR).with_target("rmcp", LevelFilter::OFF)
}

/// From now on appends what is reported to the file in a folder too.
pub fn append_to(folder: &Path) {
    if FILE.get().is_some() {
        return;
    }
    let path = folder.join(NAME);
    let opened = pellucid_files::make_private_folder(folder).and_then(|()| pellucid_files::append_private(&path));
    match opened {
        // Set before by another session of this process: both want the same file.
        Ok(file) => drop(FILE.set(file)),
        Err(error) => style::line(&format!("warning: no log is written: {}: {error}", path.display())),
    }
}

/// Writes to the file, if there is one.
#[derive(Debug)]
struct InFile;

impl Write for InFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        FILE.get().map_or(Ok(bytes.len()), |mut file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
