//! Values from the command line: `-c key=value`, `--enable` and `--disable`.
//!
//! Not here: their order. The caller passes them in the order in which they apply.

use pellucid_protocol::feature::ALIASES;
use pellucid_protocol::feature::Feature;

use crate::value::Data;
use crate::value::Table;
use crate::value::Value;
use crate::value::ValuePlace;

/// One value for one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    key: String,
    data: Data,
}

/// Why an argument is not an override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The argument has no `=` and so no value.
    #[error("Invalid override (missing '='): {0}")]
    NoValue(String),
    /// The argument has no key before the `=`.
    #[error("Empty key in override: {0}")]
    NoKey(String),
    /// No feature has this key.
    #[error("Unknown feature flag: {0}")]
    UnknownFeature(String),
}

impl OverrideError {
    /// The report for a terminal.
    pub fn report(&self) -> String {
        match self {
            Self::NoValue(_) | Self::NoKey(_) => format!("-c cannot be read: {self}"),
            Self::UnknownFeature(_) => format!("{self}"),
        }
    }
}

impl Override {
    /// Reads `key=value`. A value that is not TOML is text.
    ///
    /// ```
    /// use pellucid_config::Override;
    ///
    /// assert_eq!(Override::parse("model=o3"), Override::parse(r#"model="o3""#));
    /// assert!(Override::parse("model").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no `=`, or nothing before it.
    pub fn parse(argument: &str) -> Result<Self, OverrideError> {
        let (key, value) = argument.split_once('=').ok_or_else(|| OverrideError::NoValue(argument.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(OverrideError::NoKey(argument.to_owned()));
        }
        let data = Value::parse(value, 0)
            .map_or_else(|| Data::String(value.trim_matches(['"', '\'']).to_owned()), |value| value.data);
        Ok(Self::new(key, data))
    }

    /// A value for a key, as a program gives it.
    pub fn new(key: &str, data: Data) -> Self {
        // This feature was a top-level key before it was a feature.
        let key = match key {
            "use_linux_sandbox_bwrap" => "features.use_linux_sandbox_bwrap",
            other => other,
        };
        Self { key: key.to_owned(), data }
    }

    /// Switches a feature on or off.
    ///
    /// # Errors
    ///
    /// When no feature has this key.
    pub fn feature(key: &str, on: bool) -> Result<Self, OverrideError> {
        let known = Feature::from_key(key).is_some() || ALIASES.iter().any(|(alias, _)| *alias == key);
        if !known {
            return Err(OverrideError::UnknownFeature(key.to_owned()));
        }
        Ok(Self::new(&format!("features.{key}"), Data::Boolean(on)))
    }

    /// The dotted path of the key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// The overrides as the table of a layer; later ones replace earlier ones.
pub(crate) fn to_table(overrides: &[Override], layer: usize) -> Table {
    let place = ValuePlace { layer, ..ValuePlace::default() };
    let mut table = Table::default();
    for Override { key, data } in overrides {
        let mut value = Value { data: data.clone(), place };
        value.move_to(place);
        // Quotes are ordinary characters here, so the key is not read as a dotted path.
        table.set(&key.split('.').collect::<Vec<_>>(), value);
    }
    table
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_overrides(arguments: &[&str], expected: &Expect) {
        let parsed: Result<Vec<_>, _> = arguments.iter().map(|argument| Override::parse(argument)).collect();
        let found = match parsed {
            Ok(overrides) => to_table(&overrides, 1).to_json().to_string(),
            Err(error) => error.report(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn values_are_toml_or_text() {
        check_overrides(&["model=o3"], &expect![[r#"{"model":"o3"}"#]]);
        check_overrides(&[r#"model="o3""#], &expect![[r#"{"model":"o3"}"#]]);
        check_overrides(&["features.sqlite=true"], &expect![[r#"{"features":{"sqlite":true}}"#]]);
        check_overrides(&[r#"notify=["a","b"]"#], &expect![[r#"{"notify":["a","b"]}"#]]);
        check_overrides(
            &["shell_environment_policy.set.A=1"],
            &expect![[r#"{"shell_environment_policy":{"set":{"A":1}}}"#]],
        );
        check_overrides(&[" model = x y "], &expect![[r#"{"model":"x y"}"#]]);
        check_overrides(&["model=a=b"], &expect![[r#"{"model":"a=b"}"#]]);
        check_overrides(&["model='a'b"], &expect![[r#"{"model":"a'b"}"#]]);
        check_overrides(&["model='a b"], &expect![[r#"{"model":"a b"}"#]]);
        check_overrides(&[r#"model="a" # c"#], &expect![[r#"{"model":"a"}"#]]);
        check_overrides(&["model="], &expect![[r#"{"model":""}"#]]);
        check_overrides(&["model=1.5x"], &expect![[r#"{"model":"1.5x"}"#]]);
    }

    #[test]
    fn keys_make_tables() {
        check_overrides(&["a.b=1", "a.c=2"], &expect![[r#"{"a":{"b":1,"c":2}}"#]]);
        check_overrides(&["a=1", "a.b=2"], &expect![[r#"{"a":{"b":2}}"#]]);
        check_overrides(&["a.b=1", "a={c=2}"], &expect![[r#"{"a":{"c":2}}"#]]);
        check_overrides(&["a=1", "a=2"], &expect![[r#"{"a":2}"#]]);
        check_overrides(&[r#"a."b.c"=1"#], &expect![[r#"{"a":{"\"b":{"c\"":1}}}"#]]);
        check_overrides(
            &["use_linux_sandbox_bwrap=true"],
            &expect![[r#"{"features":{"use_linux_sandbox_bwrap":true}}"#]],
        );
    }

    #[test]
    fn errors_repeat_the_argument() {
        check_overrides(&["foo"], &expect!["-c cannot be read: Invalid override (missing '='): foo"]);
        check_overrides(&["=3"], &expect!["-c cannot be read: Empty key in override: =3"]);
        check_overrides(&[" = 3"], &expect!["-c cannot be read: Empty key in override:  = 3"]);
    }

    #[test]
    fn features_are_known_by_key_or_alias() {
        assert_eq!(Override::feature("sqlite", true).unwrap().key(), "features.sqlite");
        assert_eq!(Override::feature("collab", false).unwrap().key(), "features.collab");
        let error = Override::feature("nope", true).unwrap_err();
        assert_eq!(error.report(), "Unknown feature flag: nope");
    }
}
