//! Finds by trial which mechanisms work on this machine, and chooses one.
//!
//! A trial needs a separate process, because a process cannot leave a sandbox: the helper tries and prints a line for
//! each.
//!
//! Not here: when it is done. The sandbox does it once, for the first command.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use super::Backend;
use super::SandboxError;
use super::order::HelperStage;

/// The backend that the configuration asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WantedBackend {
    /// The strongest that works.
    #[default]
    Strongest,
    /// This backend and no other.
    Only(Backend),
}

/// Whether one mechanism works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeFinding {
    /// The mechanism works; the text says how.
    Works(String),
    /// The mechanism does not work; the text says why.
    Fails(String),
    /// The mechanism was not tried, because a stronger one works.
    Untried,
}

/// The mechanisms that work on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFindings {
    /// Each mechanism of this system.
    pub backends: Vec<(Backend, ProbeFinding)>,
    /// The version of Landlock's interface; none if it is missing.
    pub landlock_abi: Option<u32>,
    /// Whether namespaces get a new `/proc`.
    pub has_fresh_proc: bool,
    /// The path of bubblewrap, if it is installed.
    pub bubblewrap_path: Option<PathBuf>,
}

impl ProbeFindings {
    /// The finding about a mechanism.
    pub fn of(&self, backend: Backend) -> &ProbeFinding {
        let found = self.backends.iter().find(|(it, _)| *it == backend);
        found.map_or(&ProbeFinding::Untried, |(_, finding)| finding)
    }

    /// The mechanism to use.
    pub fn choose(&self, wanted: WantedBackend) -> Result<Backend, SandboxError> {
        let works = |backend: Backend| matches!(self.of(backend), ProbeFinding::Works(_));
        let candidates: Vec<Backend> = match wanted {
            WantedBackend::Strongest => Backend::of_this_system().to_vec(),
            WantedBackend::Only(backend) => vec![backend],
        };
        if let Some(backend) = candidates.iter().find(|it| works(**it)) {
            return Ok(*backend);
        }
        let reason = |backend: &Backend| match self.of(*backend) {
            ProbeFinding::Fails(why) => format!("{backend}: {why}"),
            _ => format!("{backend}: not for this system"),
        };
        let reasons = candidates.iter().map(reason).collect::<Vec<_>>().join("; ");
        let reasons = if reasons.is_empty() { "there is no backend for this system".to_owned() } else { reasons };
        Err(SandboxError::Unavailable { reasons })
    }

    /// The mechanism to use and why no stronger one, in a line.
    pub fn summary(&self, wanted: WantedBackend) -> String {
        let chosen = match self.choose(wanted) {
            Ok(backend) => backend,
            Err(error) => return error.to_string(),
        };
        let stronger = self.backends.iter().filter(|(it, _)| *it < chosen);
        let reasons: Vec<_> = stronger
            .filter_map(|(backend, finding)| match finding {
                ProbeFinding::Fails(why) => Some(format!("{backend}: {why}")),
                _ => None,
            })
            .collect();
        match (wanted, reasons.is_empty()) {
            (WantedBackend::Only(_), _) => format!("{chosen}, as configured"),
            (WantedBackend::Strongest, true) => chosen.to_string(),
            (WantedBackend::Strongest, false) => format!("{chosen} ({})", reasons.join("; ")),
        }
    }

    #[cfg(test)]
    pub(super) fn fixture(namespaces: Result<(), &str>, landlock: Result<(), &str>) -> Self {
        let finding = |result: Result<(), &str>| match result {
            Ok(()) => ProbeFinding::Works("it does".to_owned()),
            Err(why) => ProbeFinding::Fails(why.to_owned()),
        };
        Self {
            backends: vec![
                (Backend::Namespaces, finding(namespaces)),
                (Backend::Bubblewrap, ProbeFinding::Fails("not installed".to_owned())),
                (Backend::Landlock, finding(landlock)),
            ],
            landlock_abi: landlock.is_ok().then_some(7),
            has_fresh_proc: true,
            bubblewrap_path: None,
        }
    }
}

/// Tries what has to be tried to choose.
pub(super) fn probe(helper: &Path, wanted: WantedBackend) -> ProbeFindings {
    if wanted == WantedBackend::Only(Backend::Bubblewrap) {
        return run(helper, true);
    }
    // Bubblewrap takes longer to try than all the rest, so it is tried only if it is needed.
    let findings = run(helper, false);
    match (wanted, findings.of(Backend::Namespaces)) {
        (WantedBackend::Strongest, ProbeFinding::Fails(_)) if findings.bubblewrap_path.is_some() => run(helper, true),
        _ => findings,
    }
}

/// Tries every mechanism of this system.
pub(super) fn examine(helper: &Path) -> ProbeFindings {
    run(helper, true)
}

fn run(helper: &Path, everything: bool) -> ProbeFindings {
    if cfg!(target_os = "macos") {
        return seatbelt();
    }
    let bubblewrap = find_bubblewrap();
    let stage = HelperStage::Probe { bubblewrap: bubblewrap.clone(), everything };
    let output = Command::new(helper).args(stage.to_args()).stdin(Stdio::null()).output();
    let said = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            let why = format!("the helper ended with {}: {}", output.status, words.trim());
            return failed(&why, bubblewrap);
        }
        Err(error) => return failed(&format!("the helper could not be started: {error}"), bubblewrap),
    };
    parse(&said, bubblewrap)
}

/// Reads the helper's lines: `NAME works|fails|untried DETAIL`.
fn parse(said: &str, bubblewrap_path: Option<PathBuf>) -> ProbeFindings {
    let mut findings =
        ProbeFindings { backends: Vec::new(), landlock_abi: None, has_fresh_proc: false, bubblewrap_path };
    for line in said.lines() {
        let mut words = line.splitn(3, ' ');
        let (name, state) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let detail = words.next().unwrap_or_default().to_owned();
        match (name, Backend::from_word(name)) {
            ("abi", _) => findings.landlock_abi = state.parse().ok(),
            ("proc", _) => findings.has_fresh_proc = state == "fresh",
            (_, Some(backend)) => {
                let finding = match state {
                    "works" => ProbeFinding::Works(detail),
                    "untried" => ProbeFinding::Untried,
                    _ => ProbeFinding::Fails(detail),
                };
                findings.backends.push((backend, finding));
            }
            _ => {}
        }
    }
    findings
}

fn failed(why: &str, bubblewrap_path: Option<PathBuf>) -> ProbeFindings {
    let backends = Backend::of_this_system().iter().map(|it| (*it, ProbeFinding::Fails(why.to_owned()))).collect();
    ProbeFindings { backends, landlock_abi: None, has_fresh_proc: false, bubblewrap_path }
}

fn seatbelt() -> ProbeFindings {
    let tool = Path::new(super::seatbelt::TOOL);
    let finding = if tool.is_file() {
        ProbeFinding::Works(tool.display().to_string())
    } else {
        ProbeFinding::Fails(format!("{} is missing", tool.display()))
    };
    ProbeFindings {
        backends: vec![(Backend::Seatbelt, finding)],
        landlock_abi: None,
        has_fresh_proc: false,
        bubblewrap_path: None,
    }
}

/// The program `bwrap`, where systems install it. The `PATH` is not asked: a project could put
/// something of that name there, and it would run before any sandbox.
fn find_bubblewrap() -> Option<PathBuf> {
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helpers_lines_are_read() {
        let said = "bubblewrap untried\nnamespaces fails unshare: EPERM (Operation not permitted)\n\
                    proc old\nlandlock works interface 7\nabi 7\n";
        let findings = parse(said, None);
        assert_eq!(
            findings.of(Backend::Namespaces),
            &ProbeFinding::Fails("unshare: EPERM (Operation not permitted)".to_owned())
        );
        assert_eq!(findings.of(Backend::Bubblewrap), &ProbeFinding::Untried);
        assert_eq!(findings.of(Backend::Landlock), &ProbeFinding::Works("interface 7".to_owned()));
        assert_eq!((findings.landlock_abi, findings.has_fresh_proc), (Some(7), false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_strongest_that_works_is_chosen() {
        let both = ProbeFindings::fixture(Ok(()), Ok(()));
        assert_eq!(both.choose(WantedBackend::Strongest), Ok(Backend::Namespaces));
        assert_eq!(both.choose(WantedBackend::Only(Backend::Landlock)), Ok(Backend::Landlock));
        let one = ProbeFindings::fixture(Err("EPERM"), Ok(()));
        assert_eq!(one.choose(WantedBackend::Strongest), Ok(Backend::Landlock));
        assert_eq!(both.summary(WantedBackend::Strongest), "namespaces");
        assert_eq!(both.summary(WantedBackend::Only(Backend::Landlock)), "landlock, as configured");
        assert_eq!(one.summary(WantedBackend::Strongest), "landlock (namespaces: EPERM; bubblewrap: not installed)");
    }

    #[test]
    fn what_is_asked_for_by_name_is_never_replaced() {
        let findings = ProbeFindings::fixture(Ok(()), Ok(()));
        let error = findings.choose(WantedBackend::Only(Backend::Bubblewrap)).unwrap_err().to_string();
        assert!(error.contains("bubblewrap: not installed"), "{error}");
    }

    #[test]
    fn a_helper_that_is_none_is_told() {
        let findings = run(Path::new("/nowhere/at/all"), false);
        for backend in Backend::of_this_system() {
            assert!(matches!(findings.of(*backend), ProbeFinding::Fails(why) if why.contains("could not be started")));
        }
    }
}
