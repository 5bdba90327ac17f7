//! The suites of ads: standing texts before a user's input, in three variants.
//!
//! The variants are settings of the pack `ads`. The two shipped ones read files, so their workspaces are made on disk.
//! Pellucid's texts are shown as the placeholders that the vectors have for them; what the shipped programs do around that
//! decision (words of their logs, values that they repair, stated preferences, a soul beside the input) is here, for the
//! vectors alone.

mod design;
mod envelope;
mod manager;
mod preferences;
mod soul;

use std::collections::BTreeMap;

use pellucid_engine::pack::{Pack, PackFiles};
use pellucid_engine::reinject::layout::ReinjectLayout;
use pellucid_engine::reinject::settings::ReinjectOverrides;
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
        let prefixes: Vec<&str> = case.prefix.as_deref().into_iter().chain(["ADS"]).collect();
        let given = ReinjectOverrides::from_env(&prefixes, &|name| case.env.get(name).cloned());
        let current = layout(&pack("current")?).settings(given.clone());
        let initial = layout(&pack("initial")?).settings(given);
        let current = json!({
            "enabled": current.enabled,
            "turns": number(current.turns),
            "rulesTurns": current.rules_turns.map(number),
        });
        let initial = json!({ "enabled": initial.enabled, "turns": number(initial.turns) });
        cases::same("current", &current, &case.expect_current)?;
        cases::same("initial", &initial, &case.expect_initial)
    })
}

/// The pack `ads` with one of its variants.
fn pack(variant: &str) -> Result<Pack, String> {
    let text = format!("name = \"vectors\"\nfrom = \"ads\"\n[reinject]\nvariant = \"{variant}\"\n");
    let files = PackFiles::from([("pack.toml".to_owned(), text)]);
    Pack::load_user(&files, "vectors").map_err(|error| error.to_string())
}

/// The `[reinject]` that holds in a pack.
fn layout(pack: &Pack) -> ReinjectLayout {
    pack.layout.reinject.as_ref().map(ReinjectLayout::chosen).unwrap_or_default()
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
