//! The variables of a child process.
//!
//! A pure function of the policy and our own variables. The names that begin with `CODEX_` are
//! known to programs that look for them, so they are kept.
//!
//! Not here: the variables of a managed network proxy.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ffi::OsString;

use pellucid_protocol::environment::Inherit;
use pellucid_protocol::environment::ShellEnvironmentPolicy;

use crate::command::Variables;

/// Variables that every program needs.
const CORE: [&str; 9] = ["HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"];

/// Names that sound like secrets.
const SECRETS: [&str; 3] = ["*KEY*", "*SECRET*", "*TOKEN*"];

/// The variables in our terminals: no colours, no pagers, one language.
pub const TERMINAL: [(&str, &str); 10] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    ("LC_CTYPE", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("COLORTERM", ""),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("CODEX_CI", "1"),
];

/// Whether the sandbox policy lets commands reach everything on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkReach {
    /// Commands may use the network.
    Full,
    /// Commands may not use the network, whether or not a sandbox enforces it this time.
    Limited,
}

/// The variables of a child, from the variables of this process.
///
/// `withheld` are the names of variables that no command inherits, whatever the policy says. `session` is the id of the
/// session that runs the command.
pub fn variables(
    policy: &ShellEnvironmentPolicy,
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    withheld: &BTreeSet<String>,
    session: &str,
    network: NetworkReach,
) -> Variables {
    let is_ours = |name: &OsStr| name.to_str().is_some_and(|name| withheld.contains(name));
    let inherited = ours.into_iter().filter(|(name, _)| is_inherited(policy.inherit, name) && !is_ours(name));
    let mut variables: Variables = inherited.collect();
    if !policy.ignore_default_excludes {
        variables.retain(|name, _| !matches_any(name, &SECRETS));
    }
    variables.retain(|name, _| !matches_any(name, &policy.exclude));
    variables.extend(policy.set.iter().map(|(name, value)| (name.into(), value.into())));
    if !policy.include_only.is_empty() {
        variables.retain(|name, _| matches_any(name, &policy.include_only));
    }
    variables.insert(THREAD_ID.into(), session.into());
    if network == NetworkReach::Limited {
        variables.insert(NETWORK_DISABLED.into(), "1".into());
    }
    variables
}

const THREAD_ID: &str = "CODEX_THREAD_ID";
const NETWORK_DISABLED: &str = "CODEX_SANDBOX_NETWORK_DISABLED";

/// Variables that we set for each turn. A value from an earlier turn is not valid for later turns.
pub const OF_A_TURN: [&str; 2] = [THREAD_ID, NETWORK_DISABLED];

/// Adds what programs find whose output goes to a model and that may run long: see `terminal`.
pub fn add_terminal(variables: &mut Variables) {
    variables.extend(TERMINAL.map(|(name, value)| (name.into(), value.into())));
}

fn is_inherited(inherit: Inherit, name: &OsStr) -> bool {
    match inherit {
        Inherit::All => true,
        Inherit::Core => CORE.iter().any(|core| name == *core),
        Inherit::None => false,
    }
}

fn matches_any(name: &OsStr, patterns: &[impl AsRef<str>]) -> bool {
    let name: Vec<char> = folded(&name.to_string_lossy());
    patterns.iter().any(|pattern| matches(&name, &folded(pattern.as_ref())))
}

fn folded(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Matches a pattern in which `*` is any text and `?` is one character.
fn matches(name: &[char], pattern: &[char]) -> bool {
    let (mut at, mut at_pattern) = (0, 0);
    // The position of the last star, and how many characters of the name it matches.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                star = Some((at_pattern, at));
                at_pattern += 1;
            }
            Some(expected) if *expected == '?' || *expected == name[at] => {
                at += 1;
                at_pattern += 1;
            }
            _ => {
                let Some((of_star, taken)) = star else { return false };
                star = Some((of_star, taken + 1));
                at = taken + 1;
                at_pattern = of_star + 1;
            }
        }
    }
    pattern[at_pattern..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    const OURS: &str = "HOME=/h PATH=/bin LANG=de API_KEY=k My_Token_2=t SECRETARY=s EDITOR=vi path=no OUR_KEY=ours";

    #[track_caller]
    fn check_variables(policy: &ShellEnvironmentPolicy, expected: &Expect) {
        let ours = OURS.split(' ').map(|pair| pair.split_once('=').unwrap()).map(|(a, b)| (a.into(), b.into()));
        let variables = variables(policy, ours, &BTreeSet::from(["OUR_KEY".to_owned()]), "id", NetworkReach::Full);
        let shown: Vec<_> =
            variables.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        expected.assert_eq(&shown.join(" "));
    }

    fn policy() -> ShellEnvironmentPolicy {
        ShellEnvironmentPolicy::default()
    }

    fn texts(of: &[&str]) -> Vec<String> {
        of.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn all_is_passed_on_by_default() {
        check_variables(
            &policy(),
            &expect![
                "API_KEY=k CODEX_THREAD_ID=id EDITOR=vi HOME=/h LANG=de My_Token_2=t PATH=/bin SECRETARY=s path=no"
            ],
        );
    }

    #[test]
    fn the_core_is_spelt_exactly() {
        check_variables(
            &ShellEnvironmentPolicy { inherit: Inherit::Core, ..policy() },
            &expect!["CODEX_THREAD_ID=id HOME=/h PATH=/bin"],
        );
    }

    #[test]
    fn secrets_are_dropped_on_demand_but_not_those_that_are_set() {
        check_variables(
            &ShellEnvironmentPolicy {
                ignore_default_excludes: false,
                set: BTreeMap::from([("DEPLOY_KEY".to_owned(), "d".to_owned())]),
                ..policy()
            },
            &expect!["CODEX_THREAD_ID=id DEPLOY_KEY=d EDITOR=vi HOME=/h LANG=de PATH=/bin path=no"],
        );
    }

    #[test]
    fn what_is_withheld_is_given_only_when_it_is_set() {
        let policy = ShellEnvironmentPolicy {
            include_only: texts(&["*KEY"]),
            set: BTreeMap::from([("OUR_KEY".to_owned(), "theirs".to_owned())]),
            ..policy()
        };
        check_variables(&policy, &expect!["API_KEY=k CODEX_THREAD_ID=id OUR_KEY=theirs"]);
        check_variables(
            &ShellEnvironmentPolicy { set: BTreeMap::new(), ..policy },
            &expect!["API_KEY=k CODEX_THREAD_ID=id"],
        );
    }

    #[test]
    fn patterns_know_no_case() {
        check_variables(
            &ShellEnvironmentPolicy { exclude: texts(&["p?TH", "*e*R", "my_*_2"]), ..policy() },
            &expect!["API_KEY=k CODEX_THREAD_ID=id HOME=/h LANG=de SECRETARY=s"],
        );
    }

    #[test]
    fn what_is_set_must_be_included_but_the_session_always_is() {
        check_variables(
            &ShellEnvironmentPolicy {
                inherit: Inherit::None,
                set: BTreeMap::from([("AB".to_owned(), "1".to_owned()), ("CD".to_owned(), "2".to_owned())]),
                include_only: texts(&["a*"]),
                ..policy()
            },
            &expect!["AB=1 CODEX_THREAD_ID=id"],
        );
    }

    #[test]
    fn a_limited_network_and_a_terminal_leave_marks() {
        let policy = ShellEnvironmentPolicy { inherit: Inherit::None, ..policy() };
        let mut variables = variables(&policy, [], &BTreeSet::new(), "id", NetworkReach::Limited);
        assert_eq!(variables[OsStr::new("CODEX_SANDBOX_NETWORK_DISABLED")], "1");
        add_terminal(&mut variables);
        assert_eq!(variables[OsStr::new("TERM")], "dumb");
        assert_eq!(variables.len(), 12);
    }

    #[test]
    fn stars_give_back_what_they_took() {
        for (name, pattern, expected) in [
            ("", "", true),
            ("", "*", true),
            ("a", "", false),
            ("aab", "*ab", true),
            ("abcabd", "*ab?", true),
            ("abcabd", "a*c*d", true),
            ("abcabd", "a*c*e", false),
            ("ab", "a**b", true),
            ("ab", "a?b", false),
        ] {
            assert_eq!(matches(&folded(name), &folded(pattern)), expected, "{name} {pattern}");
        }
    }
}
