//! The terminal's name, as the user agent gives it.
//!
//! Terminals announce themselves in different variables. `TERM_PROGRAM` is the clearest and wins;
//! then come variables that only one terminal sets; `TERM` names a description rather than a
//! program and comes last.
//!
//! Not here: what a terminal can do.

use crate::Environment;

/// The variables that only one terminal sets, its name, and whether the first one is its version.
const SIGNS: &[(&[&str], &str, Version)] = &[
    (&["WEZTERM_VERSION"], "WezTerm", Version::Value),
    (&["ITERM_SESSION_ID", "ITERM_PROFILE", "ITERM_PROFILE_NAME"], "iTerm.app", Version::Untold),
    (&["TERM_SESSION_ID"], "Apple_Terminal", Version::Untold),
    (&["KITTY_WINDOW_ID"], KITTY, Version::Untold),
    (&["ALACRITTY_SOCKET"], ALACRITTY, Version::Untold),
    (&["KONSOLE_VERSION"], "Konsole", Version::Value),
    (&["GNOME_TERMINAL_SCREEN"], "gnome-terminal", Version::Untold),
    (&["VTE_VERSION"], "VTE", Version::Value),
    (&["WT_SESSION"], "WindowsTerminal", Version::Untold),
];
const KITTY: &str = "kitty";
const ALACRITTY: &str = "Alacritty";

#[derive(Clone, Copy, PartialEq)]
enum Version {
    Value,
    Untold,
}

/// The terminal, with its version where it is known: `WezTerm/20240203`, `xterm-256color`,
/// `unknown`. Characters that do not belong into a header become `_`.
pub fn terminal(environment: &Environment<'_>) -> String {
    let value = |name: &str| environment(name)?.into_string().ok();
    let filled = |name: &str| value(name).filter(|text| !text.trim().is_empty());
    let term = filled("TERM");

    let name = if let Some(program) = filled("TERM_PROGRAM") {
        with_version(&program, filled("TERM_PROGRAM_VERSION"))
    } else if let Some((name, version)) = by_sign(&value, term.as_deref()) {
        with_version(name, version)
    } else {
        term.unwrap_or_else(|| "unknown".to_owned())
    };
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_./".contains(c) { c } else { '_' }).collect()
}

fn by_sign(value: &dyn Fn(&str) -> Option<String>, term: Option<&str>) -> Option<(&'static str, Option<String>)> {
    SIGNS.iter().find_map(|(variables, name, version)| {
        let described = match *name {
            KITTY => term.is_some_and(|term| term.contains("kitty")),
            ALACRITTY => term == Some("alacritty"),
            _ => false,
        };
        // A variable counts as set even if it is empty.
        if !described && !variables.iter().any(|variable| value(variable).is_some()) {
            return None;
        }
        let version = match version {
            Version::Value => value(variables[0]).filter(|text| !text.trim().is_empty()),
            Version::Untold => None,
        };
        Some((*name, version))
    })
}

fn with_version(name: &str, version: Option<String>) -> String {
    match version {
        Some(version) => format!("{name}/{version}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn check(variables: &[(&str, &str)], expected: &str) {
        let environment =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        assert_eq!(terminal(&environment), expected, "{variables:?}");
    }

    #[test]
    fn the_program_wins() {
        check(&[("TERM", "x"), ("TERM_PROGRAM", "WezTerm"), ("TERM_PROGRAM_VERSION", "2024 x")], "WezTerm/2024_x");
        check(&[("TERM", "x"), ("TERM_PROGRAM", "x"), ("TERM_PROGRAM_VERSION", "  ")], "x");
        check(&[("VTE_VERSION", "1"), ("TERM_PROGRAM", "tmux"), ("TERM_PROGRAM_VERSION", "3.4")], "tmux/3.4");
        check(&[("TERM", "dumb"), ("TERM_PROGRAM", "  ")], "dumb");
    }

    #[test]
    fn the_description_comes_last() {
        check(&[("TERM", "xterm-256color")], "xterm-256color");
        check(&[("TERM", " foo ")], "_foo_");
        check(&[("TERM", "")], "unknown");
        check(&[], "unknown");
    }

    #[test]
    fn signs_of_one_terminal() {
        for (variable, expected) in [
            ("WEZTERM_VERSION", "WezTerm/7"),
            ("ITERM_SESSION_ID", "iTerm.app"),
            ("ITERM_PROFILE", "iTerm.app"),
            ("ITERM_PROFILE_NAME", "iTerm.app"),
            ("TERM_SESSION_ID", "Apple_Terminal"),
            ("KITTY_WINDOW_ID", "kitty"),
            ("ALACRITTY_SOCKET", "Alacritty"),
            ("KONSOLE_VERSION", "Konsole/7"),
            ("GNOME_TERMINAL_SCREEN", "gnome-terminal"),
            ("VTE_VERSION", "VTE/7"),
            ("WT_SESSION", "WindowsTerminal"),
        ] {
            check(&[("TERM", "xterm"), (variable, "7")], expected);
        }
        check(&[("TERM", "xterm-kitty")], "kitty");
        check(&[("TERM", "alacritty")], "Alacritty");
        check(&[("TERM", "my-alacritty")], "my-alacritty");
        check(&[("KONSOLE_VERSION", ""), ("VTE_VERSION", "1")], "Konsole");
    }

    #[test]
    fn strange_characters_stay_out_of_headers() {
        check(&[("TERM_PROGRAM", "a b(c)é")], "a_b_c__");
        check(&[("TERM_PROGRAM", "\tq/é~")], "_q/__");
    }
}
