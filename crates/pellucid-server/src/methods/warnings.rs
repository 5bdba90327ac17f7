//! Warnings about the configuration, sent to a client after `initialize`.

use std::fmt::Write as _;

use pellucid_agent::rules;
use pellucid_config::Config;
use pellucid_config::ConfigError;
use pellucid_config::HarnessOverrides;
use pellucid_config::config::Warning;
use pellucid_rules::Policy;
use pellucid_rules::PolicyError;

use crate::server::Server;
use crate::types::notification::ConfigWarningNotification;
use crate::types::notification::TextPosition;
use crate::types::notification::TextRange;

/// What is ignored of the configuration and the rules for the server's folder, and why.
pub async fn config_warnings(server: &Server) -> Vec<ConfigWarningNotification> {
    match server.ground.config(None, Vec::new(), HarnessOverrides::default()) {
        Ok((config, _options)) => {
            rules_warning(&config).into_iter().chain(project_warning(&config)).chain(not_accepted(&config)).collect()
        }
        Err(error) => vec![invalid(&error)],
    }
}

/// The project files that are ignored because the user has not accepted them.
pub fn not_accepted(config: &Config) -> Vec<ConfigWarningNotification> {
    let shown = |warning: &Warning| {
        let path = match warning {
            Warning::NotAccepted { place, .. } => place.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            Warning::AcceptedUnreadable { .. } => None,
            Warning::UnknownKey { .. } | Warning::UnknownFeature { .. } | Warning::NotForProjects { .. } => {
                return None;
            }
        };
        Some(ConfigWarningNotification {
            summary: "A part of the project's configuration is not applied until you accept it.".to_owned(),
            details: Some(warning.to_string()),
            path,
            range: None,
        })
    };
    config.noticed.warnings.iter().filter_map(shown).collect()
}

fn invalid(error: &ConfigError) -> ConfigWarningNotification {
    let located = error.located();
    ConfigWarningNotification {
        summary: "The configuration cannot be used; the defaults apply.".to_owned(),
        details: Some(error.brief()),
        path: located.map(|located| located.path.to_string_lossy().into_owned()),
        range: located.map(|located| TextRange {
            start: TextPosition { line: located.line, column: located.column },
            // The last wrong character, not the one after it.
            end: TextPosition { line: located.line, column: located.column + located.n_marked - 1 },
        }),
    }
}

fn rules_warning(config: &Config) -> Option<ConfigWarningNotification> {
    let error = match rules::load(config) {
        Ok(policy) => return left_out_rules(&policy),
        Err(error) => error,
    };
    let summary = "The rules about commands cannot be used; none of them applies.".to_owned();
    Some(match &error {
        PolicyError::Fault { path, fault } => {
            let unknown = [(fault.line, 1); 2];
            let [start, end] = fault.range.unwrap_or(unknown).map(|(line, column)| TextPosition { line, column });
            ConfigWarningNotification {
                summary,
                details: Some(format!("{}: {}", path.display(), fault.detail)),
                path: Some(path.to_string_lossy().into_owned()),
                range: Some(TextRange { start, end }),
            }
        }
        _ => ConfigWarningNotification { summary, details: Some(error.to_string()), path: None, range: None },
    })
}

/// The rules of an untrusted project that are ignored.
fn left_out_rules(policy: &Policy) -> Option<ConfigWarningNotification> {
    if policy.unusable.is_empty() {
        return None;
    }
    let summary = "Some rules of an untrusted project cannot be used; commands that they forbid are not forbidden.";
    let details = Some(policy.unusable.join("\n"));
    Some(ConfigWarningNotification { summary: summary.to_owned(), details, path: None, range: None })
}

fn project_warning(config: &Config) -> Option<ConfigWarningNotification> {
    let mut summary = "These configuration files of the project are not used; its skills and rules are:\n".to_owned();
    let mut n_disabled = 0;
    for layer in config.layers().iter() {
        if let (Some(file), Some(reason)) = (&layer.file, &layer.disabled) {
            n_disabled += 1;
            let _ = write!(summary, "    {n_disabled}. {}\n       {reason}\n", file.display());
        }
    }
    (n_disabled > 0).then_some(ConfigWarningNotification { summary, details: None, path: None, range: None })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::methods::fixture::world;

    async fn check_warnings(files: &[(&str, &str)], flags: &[&str], expected: &Expect) {
        let world = world(files, flags);
        let warnings = config_warnings(&world.server).await;
        expected.assert_eq(&world.shown(&serde_json::to_string_pretty(&warnings).unwrap()));
    }

    #[tokio::test]
    async fn nothing_wrong_is_nothing_said() {
        check_warnings(&[("home/config.toml", "unknown = 1\n")], &[], &expect!["[]"]).await;
    }

    #[tokio::test]
    async fn a_configuration_that_cannot_be_used() {
        let file = |text| [("home/config.toml", text)];
        check_warnings(
            &file("a = 1\n[features]\nsqlite = \"x\"\n"),
            &[],
            &expect![[r#"
            [
              {
                "summary": "The configuration cannot be used; the defaults apply.",
                "details": "$R/home/config.toml:3:10: invalid type: string \"x\", expected a boolean",
                "path": "$R/home/config.toml",
                "range": {
                  "start": {
                    "line": 3,
                    "column": 10
                  },
                  "end": {
                    "line": 3,
                    "column": 12
                  }
                }
              }
            ]"#]],
        )
        .await;
        check_warnings(
            &file("model_provider = \"zz\"\n"),
            &[],
            &expect![[r#"
            [
              {
                "summary": "The configuration cannot be used; the defaults apply.",
                "details": "Model provider `zz` not found"
              }
            ]"#]],
        )
        .await;
        check_warnings(
            &[],
            &["model=5"],
            &expect![[r#"
            [
              {
                "summary": "The configuration cannot be used; the defaults apply.",
                "details": "invalid type: integer `5`, expected a string in `model`"
              }
            ]"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn rules_that_cannot_be_used() {
        check_warnings(&[("home/rules/bad.rules", "prefix_rule(pattern=[\n")], &[], &expect![[r#"
            [
              {
                "summary": "The rules about commands cannot be used; none of them applies.",
                "details": "$R/home/rules/bad.rules: starlark error: error: Parse error: unexpected new line, expected expression\n--> $R/home/rules/bad.rules:1:1\n |\n |\n",
                "path": "$R/home/rules/bad.rules",
                "range": {
                  "start": {
                    "line": 2,
                    "column": 1
                  },
                  "end": {
                    "line": 2,
                    "column": 1
                  }
                }
              }
            ]"#]]).await;
        check_warnings(&[("home/rules/bad.rules", "\nnofunc()\n")], &[], &expect![[r#"
            [
              {
                "summary": "The rules about commands cannot be used; none of them applies.",
                "details": "$R/home/rules/bad.rules: starlark error: error: Variable `nofunc` not found\n --> $R/home/rules/bad.rules:2:1\n  |\n2 | nofunc()\n  | ^^^^^^\n  |\n",
                "path": "$R/home/rules/bad.rules",
                "range": {
                  "start": {
                    "line": 2,
                    "column": 1
                  },
                  "end": {
                    "line": 2,
                    "column": 7
                  }
                }
              }
            ]"#]]).await;
    }

    #[tokio::test]
    async fn projects_that_are_not_trusted() {
        let files = [("work/.git/HEAD", ""), ("work/.codex/config.toml", "model = \"x\"\n")];
        check_warnings(&files, &[], &expect![[r#"
            [
              {
                "summary": "These configuration files of the project are not used; its skills and rules are:\n    1. $R/work/.codex/config.toml\n       $R/work has no trust level; set `trust_level = \"trusted\"` under `[projects.\"$R/work\"]` in $R/home/config.toml to use this file\n",
                "details": null
              }
            ]"#]]).await;
    }

    #[tokio::test]
    async fn values_of_a_project_that_are_not_accepted() {
        let files = [
            ("home/config.toml", "[projects.\"$R/work\"]\ntrust_level = \"trusted\"\n"),
            ("work/.git/HEAD", ""),
            ("work/.codex/config.toml", "model = \"m\"\nnotify = [\"x\"]\n[mcp_servers.a]\ncommand = \"y\"\n"),
        ];
        check_warnings(&files, &[], &expect![[r#"
            [
              {
                "summary": "A part of the project's configuration is not applied until you accept it.",
                "details": "$R/work/.codex/config.toml:2: not applied, because they are not accepted yet: notify, mcp_servers.a; `pellucid trust accept $R/work` shows and accepts them",
                "path": "$R/work/.codex/config.toml"
              }
            ]"#]]).await;
    }
}
