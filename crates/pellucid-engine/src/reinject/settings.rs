//! How often standing texts are said again, and what an environment may say about it.

use pellucid_protocol::settings::ReinjectTrigger;
use serde::Deserialize;

use crate::js_number;
use crate::utf16;

/// The variants of the decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// As the design says.
    #[default]
    Design,
    /// As the release of 2026-03 does.
    Current,
    /// As the release of 2025-11 did.
    Initial,
}

/// The trigger of a layout that names none.
pub(super) const DEFAULT_TRIGGER: ReinjectTrigger = ReinjectTrigger::Auto;

/// How often standing texts are said again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReinjectSettings {
    /// The variant of the decision.
    pub variant: Variant,
    /// Whether anything is said again that did not change.
    pub enabled: bool,
    /// After how many turns. A fraction is no mistake: it is reached with the next whole turn.
    pub turns: f64,
    /// After how many turns the rules alone, in the variant `current`.
    pub rules_turns: f64,
    /// The event that makes texts be repeated, in the variant `design`.
    pub trigger: ReinjectTrigger,
    /// Shares of the window, in the variant `design`.
    pub thresholds: Vec<f64>,
}

/// Settings that were given; absent fields have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReinjectOverrides {
    /// Replaces [`ReinjectSettings::enabled`] if given.
    pub enabled: Option<bool>,
    /// Replaces [`ReinjectSettings::turns`] if given.
    pub turns: Option<f64>,
    /// Replaces [`ReinjectSettings::rules_turns`] if given.
    pub rules_turns: Option<f64>,
    /// Replaces [`ReinjectSettings::trigger`] if given.
    pub trigger: Option<ReinjectTrigger>,
    /// Replaces [`ReinjectSettings::thresholds`] if given.
    pub thresholds: Option<Vec<f64>>,
}

impl Variant {
    /// The default number of turns between repetitions.
    fn turns(self) -> f64 {
        match self {
            Self::Design | Self::Initial => 15.0,
            Self::Current => 6.0,
        }
    }

    /// The number of turns that a value below one means.
    fn turns_below_one(self) -> f64 {
        match self {
            Self::Design | Self::Initial => 15.0,
            Self::Current => 10.0,
        }
    }
}

impl ReinjectSettings {
    /// The given settings, with the variant's defaults for the rest.
    pub fn new(variant: Variant, given: &ReinjectOverrides) -> Self {
        let turns = given.turns.unwrap_or_else(|| variant.turns());
        let rules_turns = given.rules_turns.unwrap_or(1.0);
        Self {
            variant,
            enabled: given.enabled.unwrap_or(true),
            turns: if turns >= 1.0 { turns } else { variant.turns_below_one() },
            rules_turns: if rules_turns > 0.0 { rules_turns } else { 1.0 },
            trigger: given.trigger.unwrap_or(DEFAULT_TRIGGER),
            thresholds: given.thresholds.clone().unwrap_or_else(|| vec![0.25, 0.5, 0.75]),
        }
    }

    /// The line that reports the settings.
    pub fn line(&self) -> String {
        let Self { variant, enabled, turns, rules_turns, trigger, thresholds } = self;
        match variant {
            Variant::Design => format!(
                "reinjection enabled:{enabled} turns:{turns} trigger:{} thresholds:{}",
                trigger.as_str(),
                thresholds.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
            ),
            Variant::Current => format!("reinjection enabled={enabled} turns={turns} rulesTurns={rules_turns}"),
            Variant::Initial => format!("reinjection enabled={enabled} turns={turns}"),
        }
    }
}

impl ReinjectOverrides {
    /// The settings of the environment: the variables of the channel first, then those for all channels. A value
    /// without a meaning is ignored.
    pub fn from_env(channel: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str, read: &dyn Fn(&str) -> Option<f64>| {
            let of = |prefix: &str| env(&format!("{prefix}_{name}")).as_deref().and_then(read);
            channel.and_then(of).or_else(|| of("ADS"))
        };
        let enabled = either("REINJECTION_ENABLED", &|text| flag(text).map(f64::from));
        let thresholds = env("ADS_REINJECTION_THRESHOLDS").and_then(|text| shares(&text));
        Self {
            enabled: enabled.map(|enabled| enabled > 0.0),
            turns: either("REINJECTION_TURNS", &turns),
            rules_turns: either("RULES_REINJECTION_TURNS", &turns),
            trigger: env("ADS_REINJECTION_TRIGGER").and_then(|word| ReinjectTrigger::from_word(utf16::trim(&word))),
            thresholds,
        }
    }

    /// These settings, with those of `other` where a field is absent.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            enabled: self.enabled.or(other.enabled),
            turns: self.turns.or(other.turns),
            rules_turns: self.rules_turns.or(other.rules_turns),
            trigger: self.trigger.or(other.trigger),
            thresholds: self.thresholds.or_else(|| other.thresholds.clone()),
        }
    }
}

fn flag(text: &str) -> Option<bool> {
    match utf16::trim(text).to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn turns(text: &str) -> Option<f64> {
    let number = js_number::parse(text).filter(|number| number.is_finite() && *number >= 1.0)?;
    Some(number.floor())
}

fn shares(text: &str) -> Option<Vec<f64>> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let shares: Option<Vec<f64>> = words.map(js_number::parse).collect();
    shares.filter(|shares| !shares.is_empty() && shares.iter().all(|share| (0.0..=1.0).contains(share)))
}
