//! Finds the home folder, which contains the user's configuration and sessions.
//!
//! Not here: creating it. The code that writes into a folder creates it.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use crate::env::Env;

/// The variables that name the home folder, the first that is set wins.
pub const VARIABLES: [&str; 2] = ["PELLUCID_HOME", "CODEX_HOME"];

/// The folder in the user's home that is used without a variable.
pub const DEFAULT_FOLDER: &str = ".pellucid";

/// Why the home folder cannot be determined.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// A variable names a path that does not exist.
    #[error("{variable} points to {path:?}, but that path does not exist; make that folder, or change the variable")]
    Missing { variable: &'static str, path: PathBuf },
    /// A variable names a path that is not a folder.
    #[error("{variable} points to {path:?}, but that path is not a directory")]
    NotADirectory { variable: &'static str, path: PathBuf },
    /// A variable names a path that cannot be examined.
    #[error("failed to read {variable} {path:?}: {source}")]
    Unreadable { variable: &'static str, path: PathBuf, source: io::Error },
    /// Neither a variable nor the user's home is known.
    #[error("the user's home folder is not known; set {} to a folder", VARIABLES[0])]
    Unknown,
}

/// The home folder that the environment names, or the default one.
///
/// # Errors
///
/// When a variable names something that is not a directory. The default is not examined.
pub fn find(env: &Env) -> Result<PathBuf, HomeError> {
    for variable in VARIABLES {
        if let Some(value) = env.var_os(variable) {
            return named_by(variable, Path::new(&value));
        }
    }
    Ok(env.user_home().ok_or(HomeError::Unknown)?.join(DEFAULT_FOLDER))
}

/// The folders that the variables name, whichever of them wins, because another run or the Codex CLI reads the others.
pub fn named(env: &Env) -> Vec<PathBuf> {
    let named = VARIABLES.into_iter().filter_map(|variable| env.var_os(variable));
    named.map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

fn named_by(variable: &'static str, path: &Path) -> Result<PathBuf, HomeError> {
    let unreadable = |source| HomeError::Unreadable { variable, path: path.to_owned(), source };
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => path.canonicalize().map_err(unreadable),
        Ok(_) => Err(HomeError::NotADirectory { variable, path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(HomeError::Missing { variable, path: path.to_owned() })
        }
        Err(error) => Err(unreadable(error)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_home(pairs: &[(&str, &str)], expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let root = root.display().to_string();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, value.replace("$R", &root))).collect();
        let env = Env::from_pairs(pairs.iter().map(|(name, value)| (*name, value.as_str())));
        let found = match find(&env) {
            Ok(path) => path.display().to_string(),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&found.replace(&root, "$R"));
    }

    #[test]
    fn the_first_variable_wins_and_links_are_followed() {
        check_home(&[("PELLUCID_HOME", "$R/link"), ("CODEX_HOME", "$R/file")], &expect!["$R/real"]);
        check_home(&[("CODEX_HOME", "$R/real"), ("HOME", "/u")], &expect!["$R/real"]);
    }

    #[test]
    fn without_a_variable_it_is_in_the_users_folder() {
        check_home(&[("HOME", "/nowhere/ada")], &expect!["/nowhere/ada/.pellucid"]);
        check_home(&[("HOME", "/nowhere/ada"), ("CODEX_HOME", "")], &expect!["/nowhere/ada/.pellucid"]);
        check_home(&[], &expect!["error: the user's home folder is not known; set PELLUCID_HOME to a folder"]);
    }

    #[test]
    fn errors_name_the_variable() {
        check_home(
            &[("CODEX_HOME", "$R/none")],
            &expect![[
                r#"error: CODEX_HOME points to "$R/none", but that path does not exist; make that folder, or change the variable"#
            ]],
        );
        check_home(
            &[("PELLUCID_HOME", "$R/file")],
            &expect![[r#"error: PELLUCID_HOME points to "$R/file", but that path is not a directory"#]],
        );
        check_home(
            &[("CODEX_HOME", "$R/file/x")],
            &expect![[r#"error: failed to read CODEX_HOME "$R/file/x": Not a directory (os error 20)"#]],
        );
    }
}
