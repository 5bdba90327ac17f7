//! The paths of session files, and the meaning of their names.

use std::path::Path;
use std::path::PathBuf;

use jiff::civil::DateTime;

/// The folder of session files in the home folder.
pub const SESSIONS: &str = "sessions";

/// The folder of archived session files.
pub const ARCHIVED: &str = "archived_sessions";

/// The folder of what was sent.
pub const REQUESTS: &str = "requests";

const STAMP: usize = "2026-11-15T07-25-24".len();

/// The path of the file of a session that began at this local time.
pub fn path(home: &Path, began: DateTime, id: &str) -> PathBuf {
    let folder = began.strftime("%Y/%m/%d").to_string();
    let stamp = began.strftime("%Y-%m-%dT%H-%M-%S");
    home.join(SESSIONS).join(folder).join(format!("rollout-{stamp}-{id}.jsonl"))
}

/// The id of the session that a file is of, if its name is one of ours.
///
/// ```
/// let name = "rollout-2026-11-15T07-25-24-019a0000-0000-7000-8000-000000000001.jsonl";
/// assert_eq!(pellucid_store::name::session_id(name), Some("019a0000-0000-7000-8000-000000000001"));
/// ```
pub fn session_id(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let id = rest.get(STAMP..)?.strip_prefix('-')?;
    let is_hex_or_dash = |c: char| c.is_ascii_hexdigit() || c == '-';
    (id.len() == 36 && id.chars().all(is_hex_or_dash)).then_some(id)
}

/// When a session began, as the name of its file says.
pub fn stamp(name: &str) -> Option<DateTime> {
    session_id(name)?;
    let stamp = name.strip_prefix("rollout-")?.get(..STAMP)?;
    DateTime::strptime("%Y-%m-%dT%H-%M-%S", stamp).ok()
}

/// The folder of a session file by the date in its name, below the folder of session files.
pub fn day_folder(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(stamp(name)?.strftime("%Y/%m/%d").to_string()))
}

/// The path of the index that `pellucid inspect` keeps of a session.
pub fn inspect_index(home: &Path, id: &str) -> PathBuf {
    home.join("inspect").join(format!("{id}.idx"))
}

/// The path of the record of requests that belongs to a session file.
pub fn requests_path(home: &Path, session_file: &str) -> Option<PathBuf> {
    let folder = day_folder(session_file)?;
    let rest = session_file.strip_prefix("rollout-")?;
    Some(home.join(REQUESTS).join(folder).join(format!("requests-{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_when_and_which() {
        let began = DateTime::constant(2026, 1, 2, 3, 4, 5, 6);
        let path = path(Path::new("/home/ada"), began, "019a0000-0000-7000-8000-000000000001");
        assert_eq!(
            path.to_str(),
            Some(
                "/home/ada/sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl"
            )
        );
        for other in ["notes.txt", "rollout-x.jsonl", "rollout-2026-01-02T03-04-05-abc.jsonl"] {
            assert_eq!(session_id(other), None);
        }
    }
}
