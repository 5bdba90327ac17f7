//! Finds the stored session that a text names: by its id, its name, or the beginning of its id.

use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::request_name::near;
use pellucid_store::find;
use pellucid_store::find::SessionFilter;
use pellucid_store::name;
use pellucid_store::names;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::walk;
use pellucid_store::walk::SessionPlace;

use crate::args::session_ref::SessionRef;
use crate::start::NoSession;
use crate::start::ProgramFailure;

/// The shortest beginning of an id that names a session: shorter texts are words.
const BEGINNING_CHARS_MIN: usize = 4;

/// How many characters of an id are shown at least.
const SHORT_ID_CHARS: usize = 8;

/// How many near names are listed.
const NEAR_MAX: usize = 5;

/// The stored session that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// Exactly one session matches.
    One { id: String },
    /// Several whose ids begin so.
    Several { ids: Vec<String> },
    /// No stored session matches.
    Nothing,
}

/// Why a text means no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unclear {
    /// Several sessions have an id that begins so.
    Several { text: String, ids: Vec<String> },
    /// No session is called so.
    Nothing { text: String },
}

impl Unclear {
    /// The same for people, with what to do.
    pub fn failure(&self) -> ProgramFailure {
        match self {
            Self::Several { text, ids } => ProgramFailure::with_hint(&several(text, ids), MORE_OF_THE_ID),
            Self::Nothing { text } => {
                NoSession::listing(format!("there is no session with the id or name {text}")).failure()
            }
        }
    }

    /// The same for people, with sessions that are called nearly so.
    pub fn with_near_names(&self, home: &Path) -> String {
        match self {
            Self::Several { text, ids } => several(text, ids),
            Self::Nothing { text } => no_session(home, text),
        }
    }
}

/// The advice for a beginning that several ids have.
pub const MORE_OF_THE_ID: &str = "give more of the id";

/// Says that several sessions have an id that begins so.
pub fn several(text: &str, ids: &[String]) -> String {
    let more = ids.len().saturating_sub(NEAR_MAX);
    let listed = ids.iter().take(NEAR_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("several sessions have an id that begins with `{text}`: {listed}{more}")
}

/// The session that a text means: by its id, its name, or the beginning of its id.
pub fn called(home: &Path, text: &str) -> Called {
    if let Ok(id) = uuid::Uuid::parse_str(text) {
        let id = id.to_string();
        return if path_of(home, &id).is_some() { Called::One { id } } else { Called::Nothing };
    }
    if let Some(id) = names::id_of(home, text).filter(|id| path_of(home, id).is_some()) {
        return Called::One { id };
    }
    let is_beginning = text.len() >= BEGINNING_CHARS_MIN && text.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit());
    if !is_beginning {
        return Called::Nothing;
    }
    let beginning = text.to_ascii_lowercase();
    let mut ids = ids(home);
    ids.retain(|id| id.starts_with(&beginning));
    match ids.len() {
        0 => Called::Nothing,
        1 => Called::One { id: ids.remove(0) },
        _ => Called::Several { ids },
    }
}

/// The session that a text means, and its file.
pub fn session(home: &Path, text: &str) -> Result<(String, PathBuf), Unclear> {
    let nothing = || Unclear::Nothing { text: text.to_owned() };
    match called(home, text) {
        Called::One { id } => path_of(home, &id).map(|path| (id, path)).ok_or_else(nothing),
        Called::Several { ids } => Err(Unclear::Several { text: text.to_owned(), ids }),
        Called::Nothing => Err(nothing()),
    }
}

/// The session that arguments mean, and its file.
///
/// # Errors
/// When no session is called so, several are, or none has worked in this folder.
pub fn meant(home: &Path, of: &SessionRef) -> Result<(String, PathBuf), ProgramFailure> {
    match &of.session {
        Some(text) => session(home, text).map_err(|error| error.failure()),
        None => {
            let path = last_file(home)?;
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            Ok((name::session_id(name).unwrap_or_default().to_owned(), path))
        }
    }
}

/// The file of the session that was used last in this folder.
pub fn last_file(home: &Path) -> Result<PathBuf, ProgramFailure> {
    let cwd =
        std::env::current_dir().map_err(|error| ProgramFailure::new(format!("there is no current folder: {error}")))?;
    find::newest(home, SessionFilter { cwd: Some(&cwd), provider: None })
        .ok_or_else(|| NoSession::listing(format!("no session has worked in {} yet", cwd.display())).failure())
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

fn path_of(home: &Path, id: &str) -> Option<PathBuf> {
    LocalSessions::new(home).file(id).ok().map(|(path, _)| path)
}

/// The ids of all stored sessions, the newest first.
pub fn ids(home: &Path) -> Vec<String> {
    let mut found: Vec<_> =
        [SessionPlace::Live, SessionPlace::Archived].into_iter().flat_map(|it| walk::walk(home, it)).collect();
    found.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.relative.cmp(&b.relative)));
    found.iter().map(|file| file.id().to_owned()).collect()
}

/// Says that no session is called so, and which ones are called nearly so.
pub fn no_session(home: &Path, text: &str) -> String {
    let (names, ids) = (names::all(home), ids(home));
    let is_stored = |id: &str| ids.iter().any(|known| known == id);
    let called: Vec<&str> = names.iter().filter(|(id, _)| is_stored(id)).map(|(_, name)| name.as_str()).collect();
    let near = near(text, called.iter().copied().chain(ids.iter().map(String::as_str)), NEAR_MAX);
    let near = if near.is_empty() { ids.iter().map(String::as_str).take(NEAR_MAX).collect() } else { near };
    let hint = match near.as_slice() {
        [] => "there are no stored sessions".to_owned(),
        near => format!("near ones: {}", near.join(", ")),
    };
    format!("no session has the id or name `{text}`; {hint}")
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
