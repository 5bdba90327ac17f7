//! From words of the command line to the request that is meant.

use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::request_name::Form;
use pellucid_engine::request_name::RequestName;
use pellucid_engine::request_name::near;
use pellucid_store::names;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::walk;
use pellucid_store::walk::Place;

use super::Refusal;
use crate::args::RequestArgs;

/// The shortest beginning of an id that names a session: shorter texts are words.
const BEGINNING_CHARS_MIN: usize = 4;

/// How many near names are listed.
const NEAR_MAX: usize = 5;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The request; absent if the options say which.
    pub name: Option<RequestName>,
    /// What the person would say.
    pub message: Option<String>,
}

/// Which stored session a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// Exactly this session.
    One { id: String },
    /// Several whose ids begin so.
    Several { ids: Vec<String> },
    /// No stored session.
    Nothing,
}

/// Decides whether a word is the name of a request or a message.
pub fn asked(args: &RequestArgs, home: &Path) -> Result<Asked, Refusal> {
    let message = args.said.clone().or_else(|| args.message.clone());
    let Some(word) = &args.word else {
        return with(args, Asked { name: None, message });
    };
    if args.stored.which().is_some() {
        return match message {
            None => with(args, Asked { name: None, message: Some(word.clone()) }),
            Some(_) => Err(Refusal::usage(format!("--session and --last say which request it is, so `{word}` cannot"))),
        };
    }
    let is_name = match RequestName::form(word) {
        Form::Name => true,
        Form::Message => false,
        Form::MaybeSession => match RequestName::parse(word) {
            Ok(RequestName::File { .. }) => true,
            Ok(name) => name.session().is_some_and(|session| called(home, session) != Called::Nothing),
            Err(_) => false,
        },
    };
    if !is_name && message.is_some() {
        return Err(Refusal::usage(no_session(home, word) + "; a message of several words is quoted"));
    }
    if !is_name {
        return with(args, Asked { name: None, message: Some(word.clone()) });
    }
    let name = RequestName::parse(word).map_err(|error| Refusal::usage(error.to_string()))?;
    with(args, Asked { name: Some(name), message })
}

/// `--with` belongs to a new session.
fn with(args: &RequestArgs, asked: Asked) -> Result<Asked, Refusal> {
    match &asked.name {
        Some(RequestName::Now { .. }) => Ok(asked),
        _ if args.with => Err(Refusal::usage("--with follows `now` or `now@REV`".to_owned())),
        _ => Ok(asked),
    }
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

/// The file of the session that a text means.
pub fn session(home: &Path, text: &str) -> Result<(String, PathBuf), Refusal> {
    match called(home, text) {
        Called::One { id } => {
            let path = path_of(home, &id).ok_or_else(|| Refusal::usage(no_session(home, text)))?;
            Ok((id, path))
        }
        Called::Several { ids } => {
            let more = ids.len().saturating_sub(NEAR_MAX);
            let listed = ids.into_iter().take(NEAR_MAX).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(Refusal::usage(format!("several sessions have an id that begins with `{text}`: {listed}{more}")))
        }
        Called::Nothing => Err(Refusal::usage(no_session(home, text))),
    }
}

fn path_of(home: &Path, id: &str) -> Option<PathBuf> {
    LocalSessions::new(home).file(id).ok().map(|(path, _)| path)
}

/// The ids of all stored sessions, the newest first.
fn ids(home: &Path) -> Vec<String> {
    let mut found: Vec<_> = [Place::Live, Place::Archived].into_iter().flat_map(|it| walk::walk(home, it)).collect();
    found.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.relative.cmp(&b.relative)));
    found.iter().map(|file| file.id().to_owned()).collect()
}

/// Says that no session is called so, and which ones are called nearly so.
fn no_session(home: &Path, text: &str) -> String {
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
