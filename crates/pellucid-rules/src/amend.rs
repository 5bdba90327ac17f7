//! Saving one more rule: a line at the end of the user's file.
//!
//! Several sessions may save at the same time, so the file is locked while it is read and written. An existing line
//! is not written again.

use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::amendment;

const FILE: &str = "default.rules";

/// Whether a rule was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The rule was written.
    Written,
    /// The file has the rule already.
    Present,
}

/// Why a rule was not saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AmendError {
    /// The rule has no token.
    #[error("prefix rule requires at least one token")]
    Empty,
    /// The folder cannot be made.
    #[error("failed to create the rules folder {path}: {source}", path = .path.display())]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("failed to update the rules file {path}: {source}", path = .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Allows commands that begin with these words, in the home folder's `rules/default.rules`.
pub fn save_allowed(home: &Path, prefix: &[String]) -> Result<Saved, AmendError> {
    if prefix.is_empty() {
        return Err(AmendError::Empty);
    }
    let folder = home.join(crate::FOLDER);
    if let Err(source) = pellucid_files::make_private_folder(&folder) {
        return Err(AmendError::Folder { path: folder, source });
    }
    let path = folder.join(FILE);
    append(&path, &amendment::allow_line(prefix)).map_err(|source| AmendError::File { path, source })
}

fn append(path: &Path, line: &str) -> io::Result<Saved> {
    let mut file = pellucid_files::append_private(path)?;
    // Dropping the file unlocks it.
    file.lock()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    if text.split(|byte| *byte == b'\n').any(|present| present == line.as_bytes()) {
        return Ok(Saved::Present);
    }
    let gap = if text.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    file.write_all(format!("{gap}{line}\n").as_bytes())?;
    Ok(Saved::Written)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_engine::approval::rules::Rule;
    use proptest::prelude::*;

    use super::*;
    use crate::evaluate;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_line_is_added_once_and_on_a_line_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rules/default.rules");
        let (touch, echo) = (words(&["touch", "a.txt"]), words(&["echo", "a \"b\""]));
        assert_eq!(save_allowed(home.path(), &touch).unwrap(), Saved::Written);
        assert_eq!(save_allowed(home.path(), &touch).unwrap(), Saved::Present);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}# no end")).unwrap();
        assert_eq!(save_allowed(home.path(), &echo).unwrap(), Saved::Written);
        expect![[r#"
            prefix_rule(pattern=["touch", "a.txt"], decision="allow")
            # no end
            prefix_rule(pattern=["echo", "a \"b\""], decision="allow")
        "#]]
        .assert_eq(&std::fs::read_to_string(&path).unwrap());
    }

    #[test]
    fn what_cannot_be_saved_is_said() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(save_allowed(home.path(), &[]).unwrap_err().to_string(), "prefix rule requires at least one token");
        std::fs::write(home.path().join("rules"), "").unwrap();
        assert!(matches!(save_allowed(home.path(), &words(&["ls"])).unwrap_err(), AmendError::Folder { .. }));
        let other = home.path().join("other");
        std::fs::create_dir_all(other.join("rules/default.rules")).unwrap();
        assert!(matches!(save_allowed(&other, &words(&["ls"])).unwrap_err(), AmendError::File { .. }));
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let home = home.path();
                scope.spawn(move || {
                    for n in 0..10 {
                        save_allowed(home, &words(&["tool", &format!("{}", (thread + n) % 12)])).unwrap();
                    }
                });
            }
        });
        let text = std::fs::read_to_string(home.path().join("rules/default.rules")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let n_lines = lines.len();
        lines.dedup();
        assert_eq!((n_lines, lines.len()), (12, 12));
    }

    proptest! {
        // Each case sets up the interpreter.
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whatever the words are, the line that is written is a rule with these words.
        #[test]
        fn a_line_reads_back(words in prop::collection::vec(any::<String>(), 1..4)) {
            let rules = evaluate("a.rules", &amendment::allow_line(&words)).unwrap();
            let mut expected = Rule::allowed_in_session(&words).unwrap();
            expected.place = rules[0].place.clone();
            prop_assert_eq!(rules, vec![expected]);
        }
    }
}
