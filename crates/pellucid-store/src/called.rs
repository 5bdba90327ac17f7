//! The stored session that a text names: by its id, its name, or the beginning of its id.

use std::path::Path;

use crate::find;
use crate::names;
use crate::walk;
use crate::walk::SessionPlace;

/// The shortest beginning of an id that names a session: shorter texts are words.
const BEGINNING_CHARS_MIN: usize = 4;

/// The stored session that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// Exactly one session matches.
    One {
        /// The whole id of the session.
        id: String,
    },
    /// Several sessions have an id that begins with the text.
    Several {
        /// The whole ids of these sessions.
        ids: Vec<String>,
    },
    /// No stored session matches.
    Nothing,
}

/// The session that a text means: by its id, its name, or the beginning of its id.
pub fn called(home: &Path, text: &str) -> Called {
    if let Ok(id) = uuid::Uuid::parse_str(text) {
        let id = id.to_string();
        return if find::anywhere(home, &id).is_some() { Called::One { id } } else { Called::Nothing };
    }
    if let Some(id) = names::id_of(home, text).filter(|id| find::anywhere(home, id).is_some()) {
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

/// The ids of all stored sessions, the newest first.
pub fn ids(home: &Path) -> Vec<String> {
    let mut found: Vec<_> =
        [SessionPlace::Live, SessionPlace::Archived].into_iter().flat_map(|it| walk::walk(home, it)).collect();
    found.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.relative.cmp(&b.relative)));
    found.iter().map(|file| file.id().to_owned()).collect()
}
