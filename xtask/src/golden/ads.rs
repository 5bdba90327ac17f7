//! The suites of ads: standing texts before a user's input, in three variants.
//!
//! The two shipped variants read files, so their workspaces are made on disk. Pellucid's texts are shown as the
//! placeholders that the vectors have for them.

mod design;
mod envelope;
mod manager;

use std::collections::BTreeMap;

use pellucid_engine::reinject::settings::{ReinjectOverrides, ReinjectSettings, Variant};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Suite;
use super::cases;
use super::cases::Verdict;

/// What the vectors have before the lines that a variant logs. Pellucid's log names the module in its place.
const LOG_PREFIX: &str = "[SystemPrompt] ";

pub const SUITES: &[Suite] = &[
    ("design", design::run),
    ("env_config", env_config),
    ("envelope", envelope::run),
    ("manager_current", manager::run),
    ("manager_initial", manager::run),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    env: BTreeMap<String, String>,
    prefix: Option<String>,
    expect_current: Value,
    expect_initial: Value,
}

fn env_config(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: EnvCase| {
        let given = ReinjectOverrides::from_env(case.prefix.as_deref(), &|name| case.env.get(name).cloned());
        let current = ReinjectSettings::new(Variant::Current, &given);
        let initial = ReinjectSettings::new(Variant::Initial, &given);
        let current = json!({
            "enabled": current.enabled,
            "turns": number(current.turns),
            "rulesTurns": number(current.rules_turns),
        });
        let initial = json!({ "enabled": initial.enabled, "turns": number(initial.turns) });
        cases::same("current", &current, &case.expect_current)?;
        cases::same("initial", &initial, &case.expect_initial)
    })
}

/// A number as JSON writes it when it is whole.
pub(super) fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_passes() {
        crate::golden::testing::check_passes("ads");
    }
}
