//! The files that the second phase begins with, in the folder of memories.
//!
//! Commands of an agent wrote in this folder before. So everything goes through handles of it and of the folder below,
//! and no link that a command left there is followed.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::memories::files;
use pellucid_engine::memories::files::ShownExtract;
use pellucid_files::Folder;
use pellucid_protocol::memories::Extract;

/// How many names of the folder with summaries are looked at. There are at most as many as extracts are merged, unless
/// a command made others.
const NAMES_MAX: usize = 100_000;

/// Writes the files of these extracts, the newest first, and takes those of others away. Without any extract, what was
/// made of them goes too.
pub(super) fn write(folder: &Path, extracts: &[Extract]) -> io::Result<()> {
    let times: Vec<String> = extracts.iter().map(|it| time(it.updated_at)).collect();
    let shown: Vec<ShownExtract<'_>> = extracts
        .iter()
        .zip(&times)
        .map(|(it, updated_at)| ShownExtract {
            session: &it.session,
            updated_at,
            cwd: &it.cwd,
            raw_memory: &it.raw_memory,
            rollout_summary: &it.rollout_summary,
            rollout_slug: it.rollout_slug.as_deref(),
        })
        .collect();
    pellucid_files::make_private_folder(folder)?;
    let top = Folder::open(folder, None)?;
    let below = top.make_folders(Path::new(files::SUMMARIES), 0o700)?;
    let kept = files::summaries(&shown);
    let names = names(&folder.join(files::SUMMARIES))?;
    for name in files::stale(&names, &kept) {
        match below.remove_file(OsStr::new(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, name, "a summary of a session that is not kept stays");
            }
            _ => {}
        }
    }
    for (name, text) in &kept {
        below.write_private(Path::new(name), text.as_bytes())?;
    }
    if shown.is_empty() {
        for name in files::MERGED {
            absent(top.remove_file(OsStr::new(name)))?;
        }
        // A link of this name is removed and not followed.
        absent(std::fs::remove_dir_all(folder.join(files::SKILLS)))?;
    }
    top.write_private(Path::new(files::RAW_MEMORIES), files::raw_memories(&shown).as_bytes())
}

/// The files of a folder that have something of a session: its summary, and everything that was made of all extracts.
pub(super) fn made_of(folder: &Path, session: &str) -> io::Result<Vec<PathBuf>> {
    let names = match names(&folder.join(files::SUMMARIES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let own = names.iter().filter(|name| files::is_summary_of(name, session));
    let own = own.map(|name| Path::new(files::SUMMARIES).join(name));
    let shared = [files::RAW_MEMORIES, files::SKILLS].into_iter().chain(files::MERGED).map(PathBuf::from);
    Ok(own.chain(shared.filter(|name| folder.join(name).symlink_metadata().is_ok())).collect())
}

/// Removes files that [`made_of`] named.
pub(super) fn remove(folder: &Path, names: &[PathBuf]) -> io::Result<()> {
    let top = Folder::open(folder, None)?;
    for name in names {
        match name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => {
                let below = top.folder(parent)?;
                absent(below.remove_file(name.file_name().unwrap_or_default()))?;
            }
            // A link of this name is removed and not followed.
            None if name == Path::new(files::SKILLS) => absent(std::fs::remove_dir_all(folder.join(name)))?,
            None => absent(top.remove_file(name.as_os_str()))?,
        }
    }
    Ok(())
}

/// Names in a folder. What they lead to is looked at by handle only.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?.take(NAMES_MAX);
    entries.filter_map(|entry| entry.map(|it| it.file_name().into_string().ok()).transpose()).collect()
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// A time in words, as files say it.
fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn extract(session: &str) -> Extract {
        Extract {
            session: session.to_owned(),
            updated_at: 1_771_408_800,
            made_at: 0,
            cwd: "/w".to_owned(),
            project: "/w".to_owned(),
            raw_memory: "raw".to_owned(),
            rollout_summary: "summary".to_owned(),
            rollout_slug: None,
        }
    }

    #[track_caller]
    fn check_names(folder: &Path, expected: &[&str]) {
        let mut names: Vec<String> = names(folder).unwrap();
        names.sort();
        assert_eq!(names, expected);
    }

    #[test]
    fn files_follow_the_extracts_and_are_private() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("memories");
        write(&folder, &[extract("a"), extract("b")]).unwrap();
        check_names(&folder.join("rollout_summaries"), &["a.md", "b.md"]);
        fs::write(folder.join("MEMORY.md"), "m").unwrap();
        fs::create_dir_all(folder.join("skills/x")).unwrap();
        fs::write(folder.join("rollout_summaries/own.txt"), "").unwrap();
        write(&folder, &[extract("b")]).unwrap();
        check_names(&folder.join("rollout_summaries"), &["b.md", "own.txt"]);
        check_names(&folder, &["MEMORY.md", "raw_memories.md", "rollout_summaries", "skills"]);
        let text = fs::read_to_string(folder.join("raw_memories.md")).unwrap();
        assert!(text.contains("## Thread `b`\nupdated_at: 2026-02-18T10:00:00+00:00\ncwd: /w\n\nraw\n"), "{text}");
        for (path, mode) in [("", 0o700), ("rollout_summaries", 0o700), ("raw_memories.md", 0o600)] {
            assert_eq!(fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777, mode, "{path}");
        }
        write(&folder, &[]).unwrap();
        check_names(&folder, &["raw_memories.md", "rollout_summaries"]);
        check_names(&folder.join("rollout_summaries"), &["own.txt"]);
    }

    #[test]
    fn links_that_a_command_left_lead_nowhere() {
        let top = tempfile::tempdir().unwrap();
        let (folder, outside) = (top.path().join("memories"), top.path().join("outside"));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("kept.md"), "theirs").unwrap();
        symlink(outside.join("kept.md"), folder.join("raw_memories.md")).unwrap();
        symlink(&outside, folder.join("skills")).unwrap();
        write(&folder, &[extract("a")]).unwrap();
        write(&folder, &[]).unwrap();
        assert_eq!(fs::read_to_string(outside.join("kept.md")).unwrap(), "theirs");
        fs::remove_dir_all(folder.join("rollout_summaries")).unwrap();
        symlink(&outside, folder.join("rollout_summaries")).unwrap();
        assert!(write(&folder, &[extract("a")]).is_err());
        check_names(&outside, &["kept.md"]);
    }
}
