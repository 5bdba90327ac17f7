//! Rules about commands: reading them from files, and saving one more.
//!
//! Rules are written in files `*.rules` of the folder `rules` beside a configuration file. All of them add
//! up; which file comes last does not matter. Without such files nothing is evaluated.
//!
//! A project's rules that allow something count only when the project is trusted: a repository must not
//! let its own commands out of the sandbox. Its rules that ask or forbid count anyway, if its files only
//! list rules: a stranger's program is not run.
//!
//! Not here: what rules mean (`pellucid_engine::approval::rules`).

#![warn(missing_docs)]

mod amend;
mod evaluate;
mod required;
mod shape;

use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::Rules;
use pellucid_protocol::approval::RuleDecision;
use serde_json::Value;

pub use amend::AmendError;
pub use amend::Saved;
pub use amend::save_allowed;
pub use evaluate::RulesFault;
pub use evaluate::evaluate;
pub use required::RequiredError;

/// The folder of rules beside a configuration file.
const FOLDER: &str = "rules";
const EXTENSION: &str = "rules";
/// No person writes more.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A configuration folder that may have rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesFolder {
    /// The folder of the configuration file.
    pub path: PathBuf,
    /// Which rules of the folder count.
    pub standing: RulesTrust,
}

/// Which rules of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesTrust {
    /// All rules of the folder count.
    Trusted,
    /// Only rules that ask or forbid count.
    Untrusted,
}

/// The rules of all folders, after reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules that count.
    pub rules: Rules,
    /// Rules of an untrusted project that would allow something.
    pub ignored: Vec<Rule>,
    /// Files of such a project that are more than a list of rules.
    pub unread: Vec<PathBuf>,
    /// Files of an untrusted project that cannot be used, with the reason: they must not keep the user from working,
    /// and what they would have forbidden is not forbidden.
    pub unusable: Vec<String>,
}

/// Why rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A folder cannot be listed.
    #[error("failed to read rules files from {path}: {source}", path = .path.display())]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("failed to read rules file {path}: {source}", path = .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is wrong.
    #[error("{path}:{line}: {message} (problem is on or around line {line})", path = .path.display(), line = .fault.line, message = .fault.message)]
    Fault {
        /// The path of the file.
        path: PathBuf,
        /// The fault, with its line.
        fault: RulesFault,
    },
    /// The administrator's rules are wrong.
    #[error("{0}")]
    Required(#[from] RequiredError),
}

/// Reads the rules of all folders, from weak to strong, and the administrator's.
pub fn load(folders: &[RulesFolder], required: Option<&Value>) -> Result<Policy, PolicyError> {
    let mut policy = load_required(required)?;
    for folder in folders {
        match (policy.read_folder(folder), folder.standing) {
            (Err(error), RulesTrust::Untrusted) => policy.unusable.push(error.to_string()),
            (read, _) => read?,
        }
    }
    Ok(policy)
}

/// The administrator's rules alone, for when the others cannot be used.
pub fn load_required(required: Option<&Value>) -> Result<Policy, PolicyError> {
    let rules = required.map(required::rules).transpose()?.unwrap_or_default();
    Ok(Policy { rules: rules.into_iter().collect(), ..Policy::default() })
}

/// Reads the rules of files that are named, in this order.
pub fn load_files(files: &[PathBuf]) -> Result<Policy, PolicyError> {
    let mut policy = Policy::default();
    for file in files {
        policy.read(file, RulesTrust::Trusted)?;
    }
    Ok(policy)
}

impl Policy {
    fn read_folder(&mut self, folder: &RulesFolder) -> Result<(), PolicyError> {
        for file in files(&folder.path.join(FOLDER))? {
            match (self.read(&file, folder.standing), folder.standing) {
                (Err(error), RulesTrust::Untrusted) => self.unusable.push(error.to_string()),
                (read, _) => read?,
            }
        }
        Ok(())
    }

    fn read(&mut self, file: &Path, standing: RulesTrust) -> Result<(), PolicyError> {
        let text = text_of(file).map_err(|source| PolicyError::File { path: file.to_owned(), source })?;
        if standing == RulesTrust::Untrusted && !shape::shape(&text).is_list {
            self.unread.push(file.to_owned());
            return Ok(());
        }
        let failed = |fault| PolicyError::Fault { path: file.to_owned(), fault };
        for rule in evaluate(&file.to_string_lossy(), &text).map_err(failed)? {
            match (standing, rule.decision) {
                (RulesTrust::Untrusted, RuleDecision::Allow) => self.ignored.push(rule),
                _ => self.rules.add(rule),
            }
        }
        Ok(())
    }
}

/// The files of a folder, by their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    let failed = |source| PolicyError::Folder { path: folder.to_owned(), source };
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let is_rules = path.extension().is_some_and(|extension| extension == EXTENSION);
        if is_rules && entry.file_type().map_err(failed)?.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn text_of(file: &Path) -> io::Result<String> {
    pellucid_files::read_text(file, FILE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Loads the folders `home` and `project`, the second of which has this standing.
    #[track_caller]
    fn check_load(files: &[(&str, &str)], standing: RulesTrust, expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in files {
            write(root, path, text);
        }
        let folders = [
            RulesFolder { path: root.join("home"), standing: RulesTrust::Trusted },
            RulesFolder { path: root.join("project"), standing },
        ];
        let found = match load(&folders, None) {
            Ok(policy) => {
                let counts = policy.rules.iter().map(|rule| format!("{}: {rule}\n", rule.place));
                let ignored = policy.ignored.iter().map(|rule| format!("ignored {}: {rule}\n", rule.place));
                let unread = policy.unread.iter().map(|file| format!("unread {}\n", file.display()));
                let unusable = policy.unusable.iter().map(|why| format!("unusable: {why}\n"));
                counts.chain(ignored).chain(unread).chain(unusable).collect()
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found.replace(&root.display().to_string(), "ROOT"));
    }

    #[test]
    fn all_files_of_all_folders_add_up() {
        check_load(
            &[
                ("home/rules/b.rules", "prefix_rule(pattern=['ls'])\n"),
                ("home/rules/a.rules", "\nprefix_rule(pattern=['ls'], decision='prompt')\n"),
                ("home/rules/c.txt", "nonsense("),
                ("home/rules/sub/d.rules", "nonsense("),
                ("home/rules/folder.rules/e.rules", "nonsense("),
                ("project/rules/a.rules", "prefix_rule(pattern=['ls', '-l'], decision='forbidden')"),
            ],
            RulesTrust::Trusted,
            &expect![[r#"
                ROOT/home/rules/a.rules:2: prefix_rule(pattern=["ls"], decision="prompt")
                ROOT/home/rules/b.rules:1: prefix_rule(pattern=["ls"], decision="allow")
                ROOT/project/rules/a.rules:1: prefix_rule(pattern=["ls", "-l"], decision="forbidden")
            "#]],
        );
        check_load(&[], RulesTrust::Trusted, &expect![[""]]);
    }

    #[test]
    fn a_project_that_is_not_trusted_only_makes_things_stricter() {
        let rules = "prefix_rule(pattern=['a'])\nprefix_rule(pattern=['b'], decision='prompt')\nprefix_rule(pattern=['c'], decision='forbidden')\n";
        check_load(
            &[("project/rules/a.rules", rules)],
            RulesTrust::Untrusted,
            &expect![[r#"
            ROOT/project/rules/a.rules:2: prefix_rule(pattern=["b"], decision="prompt")
            ROOT/project/rules/a.rules:3: prefix_rule(pattern=["c"], decision="forbidden")
            ignored ROOT/project/rules/a.rules:1: prefix_rule(pattern=["a"], decision="allow")
        "#]],
        );
        check_load(
            &[("project/rules/a.rules", rules)],
            RulesTrust::Trusted,
            &expect![[r#"
            ROOT/project/rules/a.rules:1: prefix_rule(pattern=["a"], decision="allow")
            ROOT/project/rules/a.rules:2: prefix_rule(pattern=["b"], decision="prompt")
            ROOT/project/rules/a.rules:3: prefix_rule(pattern=["c"], decision="forbidden")
        "#]],
        );
    }

    #[test]
    fn a_program_of_a_stranger_is_not_run() {
        let program = "prefix_rule(pattern=['a' * 1000000000000], decision='forbidden')";
        check_load(
            &[("project/rules/a.rules", program)],
            RulesTrust::Untrusted,
            &expect![[r#"
            unread ROOT/project/rules/a.rules
        "#]],
        );
    }

    #[test]
    fn a_stranger_keeps_nobody_from_working() {
        let good = ("home/rules/a.rules", "prefix_rule(pattern=['a'], decision='forbidden')\n");
        check_load(
            &[
                good,
                ("project/rules/a.rules", "prefix_rule(pattern=['b'], decision='maybe')\n"),
                ("project/rules/b.rules", "prefix_rule(pattern=['c'], decision='forbidden')\n"),
            ],
            RulesTrust::Untrusted,
            &expect![[r#"
                ROOT/home/rules/a.rules:1: prefix_rule(pattern=["a"], decision="forbidden")
                ROOT/project/rules/b.rules:1: prefix_rule(pattern=["c"], decision="forbidden")
                unusable: ROOT/project/rules/a.rules:1: error: invalid decision: maybe (problem is on or around line 1)
            "#]],
        );
        check_load(
            &[good, ("project/rules", "a file")],
            RulesTrust::Untrusted,
            &expect![[r#"
                ROOT/home/rules/a.rules:1: prefix_rule(pattern=["a"], decision="forbidden")
                unusable: failed to read rules files from ROOT/project/rules: Not a directory (os error 20)
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        check_load(
            &[("home/rules/a.rules", "\nprefix_rule(pattern=[], decision='maybe')\n")],
            RulesTrust::Trusted,
            &expect!["ROOT/home/rules/a.rules:2: error: invalid decision: maybe (problem is on or around line 2)"],
        );
        check_load(
            &[("home/rules", "a file")],
            RulesTrust::Trusted,
            &expect!["failed to read rules files from ROOT/home/rules: Not a directory (os error 20)"],
        );
    }

    #[test]
    fn a_file_that_is_no_text_or_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules/a.rules");
        std::fs::create_dir(folder.path().join("rules")).unwrap();
        let folders = [RulesFolder { path: folder.path().to_owned(), standing: RulesTrust::Trusted }];
        std::fs::write(&path, b"\xff\xfe").unwrap();
        let error = load(&folders, None).unwrap_err().to_string();
        assert_eq!(error, format!("failed to read rules file {}: stream did not contain valid UTF-8", path.display()));
        std::fs::write(&path, vec![b'#'; (FILE_BYTES_MAX + 1) as usize]).unwrap();
        let error = load(&folders, None).unwrap_err().to_string();
        assert_eq!(error, format!("failed to read rules file {}: it is longer than 4 MiB", path.display()));
    }
}
