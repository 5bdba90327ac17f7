//! Opens an address in the user's browser.
//!
//! The variable `BROWSER` names the program, as in other command-line tools: programs separated by `:`, of which the first
//! is taken; `%s` in a program is replaced by the address, which else is the last argument.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;

use pellucid_exec::waited;

/// The program that opens an address where `BROWSER` names none.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address. The program runs unattended.
///
/// # Errors
/// The program that cannot be started, and why.
pub fn open(address: &str) -> Result<(), (String, io::Error)> {
    let argv = command(std::env::var("BROWSER").ok().as_deref(), address);
    let program = argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    waited::start_left_alone(&argv, &BTreeSet::new()).map_err(|error| (program, error))
}

fn command(browser: Option<&str>, address: &str) -> Vec<OsString> {
    let named = browser.unwrap_or_default().split(':').map(str::trim).find(|it| !it.is_empty());
    let named = named.unwrap_or(OPENER);
    let mut words: Vec<String> = named.split_whitespace().map(|word| word.replace("%s", address)).collect();
    if !named.contains("%s") {
        words.push(address.to_owned());
    }
    words.into_iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_a_program_with_or_without_a_place_for_the_address() {
        let command = |browser| command(browser, "http://a/?x=1&y=2");
        assert_eq!(command(None), [OPENER, "http://a/?x=1&y=2"]);
        assert_eq!(command(Some(" : ")), [OPENER, "http://a/?x=1&y=2"]);
        assert_eq!(command(Some("firefox --new-tab:lynx")), ["firefox", "--new-tab", "http://a/?x=1&y=2"]);
        assert_eq!(command(Some("curl -s %s -o out")), ["curl", "-s", "http://a/?x=1&y=2", "-o", "out"]);
    }
}
