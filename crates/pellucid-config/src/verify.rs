//! Checks whether a text is a valid configuration file.
//!
//! Not here: whether other layers override its values, and whether profiles, providers and files that it names exist.
//! They may come later.

use std::path::Path;

use crate::check;
use crate::check::Problem;
use crate::error::ConfigError;
use crate::error::LocatedError;
use crate::mcp;
use crate::reader::Reader;
use crate::requirements::Requirements;
use crate::value::Table;

/// Reads a text as the configuration file of this name, which need not exist.
///
/// # Errors
///
/// When the text is not TOML, or a value is not of the kind that its key accepts.
pub fn verify(file: &Path, text: &str) -> Result<Table, ConfigError> {
    let located = |span, message| ConfigError::Located(Box::new(LocatedError::new(file, text, &span, message)));
    let table = Table::parse(text, 0).map_err(|fault| located(fault.span, fault.message))?;
    check(&table).map_err(|problem| located(problem.place.start..problem.place.end, problem.message))?;
    Ok(table)
}

/// Checks all that can be checked without other layers.
pub(crate) fn check(table: &Table) -> Result<(), Problem> {
    check::check(table)?;
    mcp::servers(&Reader { top: table, profile: None }, &Requirements::default())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_verify(text: &str, expected: &Expect) {
        let found = verify(Path::new("c.toml"), text).map_or_else(|error| error.to_string(), |_| "good".to_owned());
        expected.assert_eq(&found);
    }

    #[test]
    fn values_must_be_what_their_keys_take() {
        check_verify("model = \"o3\"\nprofile = \"later\"\nunknown = 1\n", &expect!["good"]);
        check_verify(
            "approval_policy = \"sometimes\"\n",
            &expect![[r#"
                c.toml:1:19: unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, `on-request`, `never`
                  |
                1 | approval_policy = "sometimes"
                  |                   ^^^^^^^^^^^"#]],
        );
        check_verify(
            "[mcp_servers.a]\nargs = []\n",
            &expect![[r#"
                c.toml:1:1: invalid transport
                  |
                1 | [mcp_servers.a]
                  | ^^^^^^^^^^^^^^^"#]],
        );
        check_verify(
            "model = [\n",
            &expect![[r#"
                c.toml:1:10: unclosed array, expected `]`
                  |
                1 | model = [
                  |          ^"#]],
        );
    }
}
