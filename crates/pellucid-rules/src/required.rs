//! Rules of the administrator, from `requirements.toml`. They can only make things stricter.

use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::RulePlace;
use pellucid_engine::facts::PrefixToken;
use pellucid_protocol::approval::RuleDecision;
use serde::Deserialize;
use serde_json::Value;

/// Why the administrator's rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequiredError {
    /// The value does not have the form of rules.
    #[error("requirements.toml: `rules` cannot be read: {0}")]
    Malformed(serde_json::Error),
    /// One of the rules is invalid.
    #[error("requirements.toml: rule {number} of `rules.prefix_rules`: {what}")]
    Rule {
        /// The number of the rule, from 1.
        number: usize,
        /// The problem with the rule.
        what: &'static str,
    },
}

#[derive(Debug, Deserialize)]
struct Section {
    #[serde(default)]
    prefix_rules: Vec<Written>,
}

#[derive(Debug, Deserialize)]
struct Written {
    pattern: Vec<Token>,
    decision: Option<RuleDecision>,
    justification: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Token {
    token: Option<String>,
    any_of: Option<Vec<String>>,
}

/// The rules of the section.
pub(crate) fn rules(section: &Value) -> Result<Vec<Rule>, RequiredError> {
    let section = Section::deserialize(section).map_err(RequiredError::Malformed)?;
    let mut rules = Vec::new();
    for (at, written) in section.prefix_rules.into_iter().enumerate() {
        let number = at + 1;
        rules.extend(expand(written, number).map_err(|what| RequiredError::Rule { number, what })?);
    }
    Ok(rules)
}

fn expand(written: Written, number: usize) -> Result<Vec<Rule>, &'static str> {
    let decision = match written.decision {
        None => return Err("it needs a decision, \"prompt\" or \"forbidden\""),
        Some(RuleDecision::Allow) => return Err("it cannot allow; write \"prompt\" or \"forbidden\""),
        Some(decision) => decision,
    };
    if written.justification.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err("its justification is blank");
    }
    let mut tokens = written.pattern.into_iter().map(token);
    let firsts = match tokens.next() {
        None => return Err("its pattern is empty"),
        Some(first) => match first? {
            PrefixToken::Word(word) => vec![word],
            PrefixToken::OneOf(words) => words,
        },
    };
    let rest: Vec<PrefixToken> = tokens.collect::<Result<_, _>>()?;
    let rule = |first| Rule {
        first,
        rest: rest.clone(),
        decision,
        justification: written.justification.clone(),
        place: RulePlace::Requirements { number },
    };
    Ok(firsts.into_iter().map(rule).collect())
}

fn token(token: Token) -> Result<PrefixToken, &'static str> {
    match (token.token, token.any_of) {
        (Some(word), None) if word.trim().is_empty() => Err("a token of its pattern is blank"),
        (Some(word), None) => Ok(PrefixToken::Word(word)),
        (None, Some(words)) if words.is_empty() || words.iter().any(|word| word.trim().is_empty()) => {
            Err("an `any_of` of its pattern is empty or has a blank word")
        }
        (None, Some(words)) => Ok(PrefixToken::OneOf(words)),
        _ => Err("an element of its pattern needs either `token` or `any_of`"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_required(section: &Value, expected: &Expect) {
        let found = match rules(section) {
            Ok(rules) => rules.iter().map(|rule| format!("{}: {rule}\n", rule.place)).collect(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    fn one(rule: &Value) -> Value {
        json!({ "prefix_rules": [rule] })
    }

    #[test]
    fn rules_ask_or_forbid() {
        check_required(
            &json!({ "prefix_rules": [
                { "pattern": [{ "token": "rm" }], "decision": "forbidden", "justification": "No." },
                { "pattern": [{ "any_of": ["a", "b"] }, { "any_of": ["c", "d"] }], "decision": "prompt" },
            ] }),
            &expect![[r#"
                requirements.toml, rule 1: prefix_rule(pattern=["rm"], decision="forbidden", justification="No.")
                requirements.toml, rule 2: prefix_rule(pattern=["a", ["c", "d"]], decision="prompt")
                requirements.toml, rule 2: prefix_rule(pattern=["b", ["c", "d"]], decision="prompt")
            "#]],
        );
        check_required(&json!({}), &expect![[""]]);
    }

    #[test]
    fn anything_else_is_refused() {
        let pattern = json!([{ "token": "a" }]);
        check_required(
            &one(&json!({ "pattern": pattern, "decision": "allow" })),
            &expect![[
                r#"requirements.toml: rule 1 of `rules.prefix_rules`: it cannot allow; write "prompt" or "forbidden""#
            ]],
        );
        check_required(
            &one(&json!({ "pattern": pattern })),
            &expect![[
                r#"requirements.toml: rule 1 of `rules.prefix_rules`: it needs a decision, "prompt" or "forbidden""#
            ]],
        );
        check_required(
            &one(&json!({ "pattern": [], "decision": "prompt" })),
            &expect!["requirements.toml: rule 1 of `rules.prefix_rules`: its pattern is empty"],
        );
        check_required(
            &one(&json!({ "pattern": [{}], "decision": "prompt" })),
            &expect![
                "requirements.toml: rule 1 of `rules.prefix_rules`: an element of its pattern needs either `token` or `any_of`"
            ],
        );
        check_required(
            &one(&json!({ "pattern": [{ "token": " " }], "decision": "prompt" })),
            &expect!["requirements.toml: rule 1 of `rules.prefix_rules`: a token of its pattern is blank"],
        );
        check_required(
            &one(&json!({ "pattern": [{ "any_of": [] }], "decision": "prompt" })),
            &expect![
                "requirements.toml: rule 1 of `rules.prefix_rules`: an `any_of` of its pattern is empty or has a blank word"
            ],
        );
        check_required(
            &one(&json!({ "pattern": pattern, "decision": "prompt", "justification": "" })),
            &expect!["requirements.toml: rule 1 of `rules.prefix_rules`: its justification is blank"],
        );
        check_required(
            &one(&json!({ "pattern": pattern, "decision": "maybe" })),
            &expect![
                "requirements.toml: `rules` cannot be read: unknown variant `maybe`, expected one of `allow`, `prompt`, `forbidden`"
            ],
        );
        check_required(
            &json!({ "prefix_rules": 3 }),
            &expect!["requirements.toml: `rules` cannot be read: invalid type: number, expected a sequence"],
        );
    }
}
