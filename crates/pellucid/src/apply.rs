//! `apply`: what a session's last turn changed, as a diff, with `git apply`.
//!
//! - `turns`: the patches that a session file holds
//! - `base`: the files that they were made for, or are to be applied to
//!
//! A session file holds patches, not the files before and after. Where the commit is known at which the
//! session began, its patches are done once more on that commit, and what the last turn changed is the diff
//! that was shown then. It fits like any diff does. Where it does not, or where there is no such commit, the
//! patches of the last turn find their places in the files that are here.

mod base;
pub mod turns;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::own_git;
use pellucid_agent::patches::Applied;
use pellucid_git::apply::ApplyMode;
use pellucid_git::apply::DiffApplyError;
use pellucid_git::apply::DiffRoot;
use pellucid_patch::diff::TurnDiff;
use pellucid_store::read;
use pellucid_store::read::RecordedSession;

use self::base::AtCommit;
use self::base::LocalFiles;
use self::base::Tree;
use crate::args::apply::ApplyArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::print;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::stored;

/// Settings for `git apply` as `name=value`, separated by commas.
const SETTINGS: &str = "CODEX_APPLY_GIT_CFG";

pub fn run(shared: &Shared, args: &ApplyArgs) -> Result<ExitCode, ProgramFailure> {
    let cwd = env::current_dir().map_err(|error| failed(&format!("there is no working directory: {error}")))?;
    let (_, path) = stored::meant(&sessions::home()?, &args.of.or_last())?;
    let loaded = read::read(&path).map_err(|error| failed(&error))?;
    let turns = turns::applied(&loaded);
    let Some((last, before)) = turns.split_last() else {
        return Err(failed(&format!("the session {} has applied no patch", loaded.meta.id)));
    };
    let start = Start::new(shared, &StartArgs::default())?;
    let git = own_git::of(&start.config, &start.env);
    let place = DiffRoot::at(&git, &cwd).map_err(|error| failed(&error))?;
    let places = Places::of(&loaded, &place);
    let exact = exact(&loaded, &place, &places, before, last);
    let Some(diff) = choose(args, &place, &places, last, exact).map_err(|error| failed(&error))? else {
        let id = &loaded.meta.id;
        return print(&format!("The diff of session {id} is in the files already; nothing was changed\n"));
    };
    if args.print {
        return print(&diff.text);
    }
    let mode = match (args.check, args.three_way) {
        (true, _) => ApplyMode::Check,
        (false, true) => ApplyMode::ThreeWay,
        (false, false) => ApplyMode::Plain,
    };
    diff.apply(&place, mode).map_err(|error| failed(&error))?;
    let id = &loaded.meta.id;
    let done = if args.check {
        format!("The diff of session {id} fits:")
    } else {
        format!("Applied the diff of session {id}:")
    };
    print(&format!("{done}\n{}", diff.list))
}

fn failed(error: &dyn fmt::Display) -> ProgramFailure {
    ProgramFailure::new(format!("{error}"))
}

fn print(text: &str) -> Result<ExitCode, ProgramFailure> {
    // Whatever was to be done is done; a reader who left changes nothing about that.
    let _ = print::out(text);
    Ok(ExitCode::SUCCESS)
}

/// A diff in the notation of git, and its files for people.
#[derive(Debug)]
struct Diff {
    text: String,
    list: String,
    /// The changed files, relative to the repository.
    paths: BTreeSet<PathBuf>,
}

impl Diff {
    fn apply(&self, place: &DiffRoot<'_>, mode: ApplyMode) -> Result<(), DiffApplyError> {
        let settings = env::var(SETTINGS).unwrap_or_default();
        let settings = settings.split(',').map(str::trim).filter(|setting| !setting.is_empty());
        place.apply(&self.text, &self.paths, mode, &settings.map(str::to_owned).collect::<Vec<_>>())
    }
}

/// The diff of the last turn against the files as that turn found them; absent if those files cannot be
/// reconstructed.
fn exact(
    loaded: &RecordedSession,
    place: &DiffRoot<'_>,
    places: &Places,
    before: &[Vec<Applied>],
    last: &[Applied],
) -> Option<Diff> {
    let commit = loaded.meta.git.as_ref()?.commit_hash.as_deref()?;
    let paths = turns::paths(before.iter().flatten().chain(last), places)?;
    let mut tree = AtCommit::read(place, commit, &paths)?;
    for turn in before {
        base::change(&mut tree, turn, places).ok()?;
    }
    diff(&mut tree, last, places).ok().flatten()
}

/// The diff that is applied; absent if the files have it already.
fn choose(
    args: &ApplyArgs,
    place: &DiffRoot<'_>,
    places: &Places,
    last: &[Applied],
    exact: Option<Diff>,
) -> Result<Option<Diff>, String> {
    if let Some(exact) = &exact
        && !args.print
        && exact.apply(place, ApplyMode::CheckReversed).is_ok()
    {
        return Ok(None);
    }
    match exact {
        // Git needs the files that the diff was made for, and knows what to do with others.
        Some(exact) if args.three_way || args.print || exact.apply(place, ApplyMode::Check).is_ok() => Ok(Some(exact)),
        _ if args.three_way => Err("--3way needs the commit at which the session began, which is not available here; \
             nothing was changed"
            .to_owned()),
        exact => diff(&mut LocalFiles::new(place.root()), last, places).map_err(|error| {
            let hint = if exact.is_some() { "; --3way merges and marks conflicts" } else { "" };
            format!("{error}\nNothing was changed{hint}.")
        }),
    }
}

/// The diff that patches make in a tree; absent if they change nothing.
fn diff(tree: &mut impl Tree, turn: &[Applied], places: &Places) -> Result<Option<Diff>, String> {
    let mut diff = TurnDiff::default();
    let mut before = BTreeMap::new();
    let paths = turns::paths(turn, places).ok_or_else(|| places.outside(turn))?;
    for path in paths.clone() {
        let found = tree.snapshot(&path);
        diff.remember(&path, found.clone());
        let was = tree.has(&path);
        before.insert(path, (was, found));
    }
    base::change(tree, turn, places)?;
    let name = |path: &Path| path.strip_prefix(&places.to).unwrap_or(path).to_string_lossy().into_owned();
    let Some(text) = diff.unified(|path| tree.snapshot(path), name) else {
        return Ok(None);
    };
    let list = before
        .iter()
        .filter(|(path, (_, found))| tree.snapshot(path) != *found)
        .filter_map(|(path, (was, _))| {
            let letter = match (was, tree.has(path)) {
                (false, true) => 'A',
                (true, true) => 'M',
                (true, false) => 'D',
                (false, false) => return None,
            };
            Some(format!("{letter} {}\n", name(path)))
        })
        .collect();
    let below = |path: PathBuf| path.strip_prefix(&places.to).map(Path::to_owned).ok();
    Ok(Some(Diff { text, list, paths: paths.into_iter().filter_map(below).collect() }))
}

/// Maps paths of the session to paths in the repository that the diff is applied to.
#[derive(Debug)]
struct Places {
    /// The folder of the session: its repository, or where it began.
    from: PathBuf,
    /// The folder of this repository that corresponds to `from`.
    to: PathBuf,
}

impl Places {
    fn of(loaded: &RecordedSession, place: &DiffRoot<'_>) -> Self {
        let began = Path::new(&loaded.meta.cwd);
        let repository = began.ancestors().find(|folder| folder.join(".git").exists());
        let from = if place.is_repository() { repository.unwrap_or(began) } else { began };
        Self { from: from.to_owned(), to: place.root().to_owned() }
    }

    /// A path of a patch, here. Absent if it is outside.
    fn here(&self, cwd: &Path, written: &str) -> Option<PathBuf> {
        let path = pellucid_patch::normal(&cwd.join(written));
        Some(self.to.join(path.strip_prefix(&self.from).ok()?))
    }

    fn outside(&self, turn: &[Applied]) -> String {
        let folders: Vec<_> = turn.iter().map(|patch| patch.cwd.display().to_string()).collect();
        format!("the session changed files outside of {} (it worked in {})", self.from.display(), folders.join(", "))
    }
}
