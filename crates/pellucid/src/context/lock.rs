//! `context lock`: writes `context.lock`, and makes the lock that `context check` compares.
//!
//! The request is made in an empty home folder, so that nothing but the project decides what is in it. The project counts as
//! trusted there: a lock says what the project gives to those who trust it. Making a request runs no program of the project.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_answers::inspected::Inspected;
use pellucid_answers::lock::ContextLock;
use pellucid_answers::lock::LOCK_FILE;
use pellucid_answers::lock::LockChoices;
use pellucid_answers::lock::LockError;
use pellucid_answers::lock::LockInputs;
use pellucid_answers::lock::LockPlaces;
use pellucid_answers::lock::LockPolicy;
use pellucid_answers::lock::LockedPack;
use pellucid_answers::lock::MadeLock;
use pellucid_answers::lock::compare;
use pellucid_engine::report::Report;
use pellucid_protocol::settings::PromptMode;
use tempfile::TempDir;

use crate::args::lock::ContextLockArgs;
use crate::args::lock::LockMcp;
use crate::args::request::McpLists;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::args::turn::TurnArgs;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// How long a lock file may be.
const LOCK_BYTES_MAX: u64 = 16 << 20;

pub fn run(shared: &Shared, args: &ContextLockArgs) -> Result<ExitCode, ProgramFailure> {
    match write(shared, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refusal.show()),
    }
}

fn write(shared: &Shared, args: &ContextLockArgs) -> Result<(), RequestRefusal> {
    let project = LockedProject::find(shared, &args.turn.start)?;
    let policy = match project.read()? {
        None => LockPolicy::default(),
        Some(text) => match ContextLock::parse(&text) {
            Ok((_, policy)) => policy,
            Err(error @ LockError::Later(_)) => return Err(RequestRefusal::unknown(error.to_string())),
            Err(error @ LockError::Malformed { .. }) => {
                let hint = "repair the file, or remove it to begin with a new policy";
                return Err(ProgramFailure::with_hint(&error.to_string(), hint).into());
            }
        },
    };
    let choices = LockChoices {
        folder: project.folder(args.turn.start.cd.as_deref()),
        prompt_mode: String::new(),
        has_mcp_tools: args.tools.mcp == LockMcp::Connect,
        has_user_files: args.with_user,
    };
    let made = project.made(shared, &args.turn, &choices)?;
    let text = project.write(&made, &policy)?;
    let lock = &made.lock;
    let counts = [(lock.parts.len(), "part"), (lock.sources.len(), "source"), (lock.tools.len(), "tool")];
    let counts: Vec<String> = counts.iter().map(|(n, word)| style::counted(*n, word)).collect();
    print::out(&format!("{LOCK_FILE}: {}\n", counts.join(", ")))?;
    // What the check will find anyway is better known now.
    let verdict = compare(lock, &policy, &made, &text);
    if !verdict.findings.is_empty() {
        style::part(&verdict.to_text());
    }
    Ok(())
}

/// The request that a lock is made of.
pub struct LockedRequest {
    pub request: Inspected,
    pub report: Report,
    pub made: MadeLock,
}

/// The project whose lock is made.
pub struct LockedProject {
    root: PathBuf,
}

impl LockedProject {
    /// The project around the working directory.
    pub fn find(shared: &Shared, args: &StartArgs) -> Result<Self, ProgramFailure> {
        let home = empty_home()?;
        let start = Start::of_project(home.path(), shared, args)?;
        Ok(Self { root: start.config.folders.project_root.clone() })
    }

    /// The path of the lock file.
    pub fn file(&self) -> PathBuf {
        self.root.join(LOCK_FILE)
    }

    /// The text of the lock file; absent if there is none.
    pub fn read(&self) -> Result<Option<String>, ProgramFailure> {
        let file = self.file();
        match pellucid_files::read_text(&file, LOCK_BYTES_MAX) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(ProgramFailure::new(format!("{} cannot be read: {error}", name(&file.to_string_lossy()))))
            }
        }
    }

    /// The folder that a person asks for, from the root; the root if they ask for none.
    fn folder(&self, asked: Option<&Path>) -> String {
        let Some(asked) = asked else {
            return String::new();
        };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let below = real(asked).strip_prefix(real(&self.root)).map(Path::to_owned).unwrap_or_default();
        let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
        names.join("/")
    }

    /// The lock of the request of today.
    pub fn made(&self, shared: &Shared, turn: &TurnArgs, choices: &LockChoices) -> Result<MadeLock, RequestRefusal> {
        self.made_at(shared, turn, choices, None)
    }

    /// The lock of the request of today, or with the project's files of a git revision.
    pub fn made_at(
        &self,
        shared: &Shared,
        turn: &TurnArgs,
        choices: &LockChoices,
        revision: Option<&str>,
    ) -> Result<MadeLock, RequestRefusal> {
        Ok(self.request_at(shared, turn, choices, revision)?.made)
    }

    /// The same lock, with the request that it is made of.
    pub fn request_at(
        &self,
        shared: &Shared,
        turn: &TurnArgs,
        choices: &LockChoices,
        revision: Option<&str>,
    ) -> Result<LockedRequest, RequestRefusal> {
        let mut turn = turn.clone();
        turn.start.cd = Some(self.root.join(&choices.folder));
        let home = empty_home()?;
        let start = match choices.has_user_files {
            true => Start::new(shared, &turn.start)?,
            false => Start::of_project(home.path(), shared, &turn.start)?,
        };
        let user_home = start.env.user_home();
        let homes = [Some(start.config.folders.home.clone()), user_home];
        let places = LockPlaces {
            roots: names_of(&self.root),
            homes: homes.iter().flatten().flat_map(|path| names_of(path)).collect(),
            has_user_files: choices.has_user_files,
        };
        let mcp = if choices.has_mcp_tools { McpLists::Connect } else { McpLists::Off };
        let Coming { session, next, .. } = request::first(start, &turn, mcp, revision)?;
        let (facts, pack) = (session.facts(), session.pack());
        let wire = session.frame(None).view().wire;
        let name = revision.map_or_else(|| "now".to_owned(), |revision| format!("now@{revision}"));
        let inspected = Inspected::of_body(&name, &facts.settings.model.slug, wire, &next.body(), &next.report);
        let mode = facts.system.prompt_mode;
        let prompt_mode = if mode == PromptMode::Full { String::new() } else { mode.as_str().to_owned() };
        let made = MadeLock::of(&LockInputs {
            request: &inspected,
            report: &next.report,
            pack: LockedPack { name: pack.name.clone(), sha256: pack.digest().to_string() },
            is_builtin_pack: pack.files_on_disk().next().is_none(),
            choices: LockChoices { prompt_mode, ..choices.clone() },
            made_with: concat!("pellucid ", env!("CARGO_PKG_VERSION")),
            places: &places,
        });
        Ok(LockedRequest { request: inspected, report: next.report, made })
    }

    /// Writes the lock file. Gives its text.
    ///
    /// A lock of something that could not be read would say nothing about it, so none is written then.
    pub fn write(&self, made: &MadeLock, policy: &LockPolicy) -> Result<String, ProgramFailure> {
        let unread = made.unread();
        if !unread.is_empty() {
            let lines: Vec<String> =
                unread.iter().map(|it| format!("  {}: {}", name(&it.source), name(&it.why))).collect();
            return Err(ProgramFailure::with_hint(
                &format!("{LOCK_FILE} is not written, because these cannot be read:\n{}", lines.join("\n")),
                "make them readable, or remove them from the project",
            ));
        }
        let file = self.file();
        let failed = |error: io::Error| {
            ProgramFailure::new(format!("{} cannot be written: {error}", name(&file.to_string_lossy())))
        };
        if fs::symlink_metadata(&file).is_ok_and(|it| !it.is_file()) {
            return Err(failed(io::Error::other("it is a link or a folder, not a file")));
        }
        let text = made.lock.print(policy);
        fs::write(&file, &text).map_err(failed)?;
        Ok(text)
    }
}

/// The lock file as a request of which parts and sizes are known, and the request of today in the same form.
pub fn sizes(shared: &Shared, turn: &TurnArgs) -> Result<(Inspected, LockedProject, LockChoices), RequestRefusal> {
    let project = LockedProject::find(shared, &turn.start)?;
    let Some(text) = project.read()? else {
        return Err(no_lock(&project));
    };
    let (lock, _) = ContextLock::parse(&text).map_err(|error| RequestRefusal::unknown(error.to_string()))?;
    let choices = lock.choices.clone();
    Ok((lock.to_inspected("lock"), project, choices))
}

/// The choices that the request of today is made with: those of the lock. Programs of a repository are started only if the
/// person asks for it, whatever a file of the repository says.
pub fn choices_now(locked: &LockChoices, may_start_servers: bool) -> Result<LockChoices, RequestRefusal> {
    if locked.has_mcp_tools && !may_start_servers {
        return Err(RequestRefusal::unknown(
            "the lock has the tools of MCP servers, which only the servers know\nhint: --mcp connect starts them",
        ));
    }
    Ok(LockChoices { has_mcp_tools: may_start_servers, ..locked.clone() })
}

/// Why a lock cannot be used that is not there.
pub fn no_lock(project: &LockedProject) -> RequestRefusal {
    let file = project.file();
    let file = name(&file.to_string_lossy()).into_owned();
    RequestRefusal::unknown(format!("there is no {file}\nhint: `pellucid context lock` writes it"))
}

fn empty_home() -> Result<TempDir, ProgramFailure> {
    let made = tempfile::Builder::new().prefix("pellucid-lock").tempdir();
    made.map_err(|error| ProgramFailure::new(format!("no temporary folder can be made: {error}")))
}

/// A folder as it was named, and without links.
fn names_of(path: &Path) -> Vec<String> {
    let mut names = vec![path.to_string_lossy().into_owned()];
    names.extend(path.canonicalize().ok().map(|real| real.to_string_lossy().into_owned()));
    names.dedup();
    names
}
