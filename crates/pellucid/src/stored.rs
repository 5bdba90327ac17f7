//! Finds the stored session that a text names: by its id, its name, or the beginning of its id.

use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::request_name::near;
pub use pellucid_store::called::Called;
pub use pellucid_store::called::called;
pub use pellucid_store::called::ids;
use pellucid_store::find;
use pellucid_store::find::SessionFilter;
use pellucid_store::name;
use pellucid_store::names;
use pellucid_store::reconstructed;
use pellucid_store::walk::SessionPlace;

use crate::args::session_ref::SessionList;
use crate::args::session_ref::SessionRef;
use crate::capsule;
use crate::start::ProgramFailure;

/// How many characters of an id are shown at least.
const SHORT_ID_CHARS: usize = 8;

/// How many near names are listed.
const NEAR_MAX: usize = 5;

/// Why there is no session, and what a person can do.
#[derive(Debug)]
pub struct NoSession {
    /// What was looked for and not found.
    pub why: String,
    /// What the person can do.
    pub hint: String,
}

impl NoSession {
    /// With a hint to the list of stored sessions.
    pub fn listing(why: String) -> Self {
        Self { why, hint: LISTING.to_owned() }
    }

    /// Several sessions have an id that begins so.
    pub fn several(text: &str, ids: &[String]) -> Self {
        let more = ids.len().saturating_sub(NEAR_MAX);
        let listed = ids.iter().take(NEAR_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let why = format!("several sessions have an id that begins with `{text}`: {listed}{more}");
        Self { why, hint: "give more of the id".to_owned() }
    }

    /// No session has this id or name; the hint has those that are called nearly so.
    pub fn called(home: &Path, text: &str) -> Self {
        let (names, ids) = (names::all(home), ids(home));
        let is_stored = |id: &str| ids.iter().any(|known| known == id);
        let called: Vec<&str> = names.iter().filter(|(id, _)| is_stored(id)).map(|(_, name)| name.as_str()).collect();
        let near = near(text, called.iter().copied().chain(ids.iter().map(String::as_str)), NEAR_MAX);
        let listing = if reconstructed::is_marked(home) { OTHERS_LISTING } else { LISTING };
        let hint = match near.as_slice() {
            _ if ids.is_empty() => "there are no stored sessions".to_owned(),
            [] => listing.to_owned(),
            near => format!("near ones: {}; {listing}", near.join(", ")),
        };
        Self { why: format!("no session has the id or name `{text}`"), hint }
    }

    /// The reason and the advice in one line.
    pub fn text(&self) -> String {
        format!("{}; {}", self.why, self.hint)
    }

    /// The failure that ends the program, with the status for wrong usage.
    pub fn failure(&self) -> ProgramFailure {
        ProgramFailure::usage(format!("{}\nhint: {}", self.why, self.hint))
    }
}

/// The advice where no session is near.
const LISTING: &str = "`pellucid sessions list --all` shows those that are stored";

/// The advice about sessions of another agent.
const OTHERS_LISTING: &str = "`pellucid sessions list --all --from DIR` shows those that are there";

/// The session that a text means, and its file.
///
/// # Errors
/// When no session is called so, or several are.
pub fn session(home: &Path, text: &str) -> Result<(String, PathBuf), ProgramFailure> {
    if let Some(path) = text.strip_prefix(capsule::PREFIX) {
        return Err(ProgramFailure::usage(format!(
            "{path}: this command needs a stored session, and a capsule is only looked at\nhint: `pellucid capsule open \
             {path} --to DIR`, then `PELLUCID_HOME=DIR`"
        )));
    }
    match called(home, text) {
        Called::One { id } => {
            find::anywhere(home, &id).map(|path| (id, path)).ok_or_else(|| NoSession::called(home, text).failure())
        }
        Called::Several { ids } => Err(NoSession::several(text, &ids).failure()),
        Called::Nothing => Err(NoSession::called(home, text).failure()),
    }
}

/// The session that arguments mean, and its file.
///
/// # Errors
/// When no session is called so, several are, or none has worked in this folder.
pub fn meant(home: &Path, of: &SessionRef) -> Result<(String, PathBuf), ProgramFailure> {
    match &of.session {
        Some(text) => session(home, text),
        None => last(home),
    }
}

/// The session that arguments mean for a command about archived sessions, where `--last` is the last archived one.
///
/// # Errors
/// When no session is called so, several are, or none of this folder is archived.
pub fn meant_archived(home: &Path, of: &SessionRef) -> Result<(String, PathBuf), ProgramFailure> {
    match &of.session {
        Some(text) => session(home, text),
        None => last_in(home, SessionPlace::Archived),
    }
}

/// The sessions that arguments mean, each once, and their files.
///
/// # Errors
/// When no session is called so, several are, or none has worked in this folder.
pub fn all_meant(home: &Path, of: &SessionList) -> Result<Vec<(String, PathBuf)>, ProgramFailure> {
    if of.last {
        return Ok(vec![last(home)?]);
    }
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for text in &of.sessions {
        let one = session(home, text)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    Ok(found)
}

/// The session that was used last in this folder, and its file.
///
/// # Errors
/// When no session has worked in this folder.
pub fn last(home: &Path) -> Result<(String, PathBuf), ProgramFailure> {
    last_in(home, SessionPlace::Live)
}

fn last_in(home: &Path, place: SessionPlace) -> Result<(String, PathBuf), ProgramFailure> {
    let cwd =
        std::env::current_dir().map_err(|error| ProgramFailure::new(format!("there is no current folder: {error}")))?;
    let path = find::newest_in(home, place, SessionFilter { cwd: Some(&cwd), provider: None }).ok_or_else(|| {
        let cwd = cwd.display();
        let why = match place {
            SessionPlace::Live => format!("no session has worked in {cwd} yet"),
            SessionPlace::Archived => format!("no session that worked in {cwd} is archived"),
        };
        NoSession::listing(why).failure()
    })?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Ok((name::session_id(name).unwrap_or_default().to_owned(), path))
}

/// The shortest beginning of an id that no other stored session has, with 8 characters or more.
pub fn short_id<'a>(id: &'a str, ids: &[String]) -> &'a str {
    let shared = |other: &String| id.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
    let needed = ids.iter().filter(|other| *other != id).map(|other| shared(other) + 1).max().unwrap_or(0);
    let end = needed.max(SHORT_ID_CHARS).min(id.len());
    // A hyphen alone distinguishes nothing that a person would read.
    let end = if id.as_bytes().get(end - 1) == Some(&b'-') { end + 1 } else { end };
    id.get(..end).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::short_id;

    #[test]
    fn a_short_id_is_a_beginning_that_no_other_session_has() {
        let ids = ["019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002", "0200cafe-1111"];
        let ids = ids.map(str::to_owned).to_vec();
        assert_eq!(short_id(&ids[0], &ids), ids[0]);
        assert_eq!(short_id(&ids[2], &ids), "0200cafe");
        assert_eq!(short_id("019a0000-0000-7fff", &ids), "019a0000-0000-7f");
    }
}
