//! Where the programs of a command are installed, and whether a command could have written them.
//!
//! A name proves little: `./cat` runs any program that was written into that file. The caller of a decision looks the
//! programs up first and passes the results here.
//!
//! Not here: looking programs up (`pellucid-exec`).

use std::collections::BTreeMap;

/// Commands that shells run without a program.
const BUILT_IN: &[&str] = &[
    ":", "[", "alias", "bg", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "fg", "getopts",
    "hash", "jobs", "kill", "printf", "pwd", "read", "set", "shift", "test", "times", "trap", "true", "type", "ulimit",
    "umask", "unset", "wait",
];

/// What was found under the names of programs.
///
/// A name that was not looked up counts as a program that commands can change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    by_name: BTreeMap<String, FoundProgram>,
    shell: Option<String>,
}

/// A program that was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// Where the program is installed.
    pub place: ProgramPlace,
    /// A folder of `PATH` before the program's that commands can write to: a program of the same name may appear there.
    pub behind: Option<String>,
}

/// Where a program is installed, by who can change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramPlace {
    /// In a folder of the system that only the administrator writes to.
    System,
    /// Somewhere else, where commands cannot write.
    Elsewhere {
        /// The path of the program.
        path: String,
    },
    /// Where commands can write.
    Changeable {
        /// The path of the program.
        path: String,
    },
    /// No folder of the search path has it.
    Nowhere,
}

impl Programs {
    /// Holds no results yet. `shell` is the user's shell.
    pub fn new(shell: Option<String>) -> Self {
        Self { by_name: BTreeMap::new(), shell }
    }

    /// Remembers what was found under a name.
    pub fn add(&mut self, name: &str, program: FoundProgram) {
        self.by_name.insert(name.to_owned(), program);
    }

    /// Whether a program belongs to the system. `is_in_script` means that a shell reads the name.
    pub fn is_systems(&self, name: &str, is_in_script: bool) -> bool {
        let program = || self.by_name.get(name).is_some_and(|program| program.place == ProgramPlace::System);
        (is_in_script && BUILT_IN.contains(&name)) || program()
    }

    /// Whether a shell is the user's or the system's, so that it does what its name says.
    pub fn is_known_shell(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|program| match &program.place {
            ProgramPlace::System => program.behind.is_none(),
            ProgramPlace::Elsewhere { path } => {
                program.behind.is_none() && self.shell.as_ref().is_some_and(|own| own == name || own == path)
            }
            ProgramPlace::Changeable { .. } | ProgramPlace::Nowhere => false,
        })
    }

    /// What commands can change about the program that a bare name runs: the file, or a folder before it in `PATH`.
    ///
    /// A name with a folder is not checked: the author of the rule wrote that folder down.
    pub fn changeable(&self, name: &str, is_in_script: bool) -> Option<String> {
        if name.contains('/') || (is_in_script && BUILT_IN.contains(&name)) {
            return None;
        }
        let Some(program) = self.by_name.get(name) else {
            return Some(name.to_owned());
        };
        match &program.place {
            ProgramPlace::Changeable { path } => Some(path.clone()),
            ProgramPlace::System | ProgramPlace::Elsewhere { .. } | ProgramPlace::Nowhere => program.behind.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Bare names and names in system folders are the system's, the rest lies in a project.
    pub(crate) fn programs<'a>(names: impl IntoIterator<Item = &'a str>) -> Programs {
        let mut programs = Programs::new(Some("/opt/own/zsh".to_owned()));
        for name in names {
            let folder = name.rsplit_once('/').map(|(folder, _)| folder);
            let place = match folder {
                None | Some("/bin" | "/usr/bin") => ProgramPlace::System,
                Some("/opt/own") => ProgramPlace::Elsewhere { path: name.to_owned() },
                Some(_) => ProgramPlace::Changeable { path: name.to_owned() },
            };
            programs.add(name, FoundProgram { place, behind: None });
        }
        programs
    }
}

#[cfg(test)]
mod tests {
    use super::testing::programs;
    use super::*;

    #[test]
    fn a_name_is_only_what_was_found_under_it() {
        let mut found = programs(["ls", "/bin/bash", "./bash", "/opt/own/zsh"]);
        assert!(found.is_systems("ls", false) && !found.is_systems("./bash", true) && !found.is_systems("cat", true));
        assert!(found.is_systems("cd", true) && !found.is_systems("cd", false));
        assert!(found.is_known_shell("/bin/bash") && found.is_known_shell("/opt/own/zsh"));
        assert!(!found.is_known_shell("./bash") && !found.is_known_shell("sh"));
        found.add(
            "npm",
            FoundProgram { place: ProgramPlace::Changeable { path: "/w/bin/npm".to_owned() }, behind: None },
        );
        found.add("cc", FoundProgram { place: ProgramPlace::System, behind: Some("/w/bin".to_owned()) });
        found.add("gone", FoundProgram { place: ProgramPlace::Nowhere, behind: None });
        assert_eq!(found.changeable("npm", true).as_deref(), Some("/w/bin/npm"));
        assert_eq!(found.changeable("cc", true).as_deref(), Some("/w/bin"));
        assert_eq!(found.changeable("never looked up", true).as_deref(), Some("never looked up"));
        assert_eq!((found.changeable("gone", true), found.changeable("echo", true)), (None, None));
        assert_eq!(found.changeable("./build.sh", true), None);
        assert!(!found.is_known_shell("cc"), "a folder before it can hold another");
    }
}
