//! How often standing texts are said again, and what an environment may say about it.

use serde::Deserialize;

use crate::js_number;
use crate::utf16;

/// Which way of deciding.
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

/// What makes texts be said again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The used share of the window where it is known, else turns.
    #[default]
    Auto,
    /// The used share of the window.
    Occupancy,
    /// Turns.
    Turns,
    /// Either.
    Both,
}

impl Trigger {
    /// Its name.
    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Occupancy => "occupancy",
            Self::Turns => "turns",
            Self::Both => "both",
        }
    }

    /// Reads its name.
    fn parse(word: &str) -> Option<Self> {
        [Self::Auto, Self::Occupancy, Self::Turns, Self::Both].into_iter().find(|trigger| trigger.word() == word)
    }
}

/// How often standing texts are said again.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which way of deciding.
    pub variant: Variant,
    /// Whether anything is said again that did not change.
    pub enabled: bool,
    /// After how many turns. A fraction is no mistake: it is reached with the next whole turn.
    pub turns: f64,
    /// After how many turns the rules alone, in the variant `current`.
    pub rules_turns: f64,
    /// What makes texts be said again, in the variant `design`.
    pub trigger: Trigger,
    /// Shares of the window, in the variant `design`.
    pub thresholds: Vec<f64>,
}

/// What somebody says about it; the rest is as usual.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// See [`Settings::enabled`].
    pub enabled: Option<bool>,
    /// See [`Settings::turns`].
    pub turns: Option<f64>,
    /// See [`Settings::rules_turns`].
    pub rules_turns: Option<f64>,
    /// See [`Settings::trigger`].
    pub trigger: Option<Trigger>,
    /// See [`Settings::thresholds`].
    pub thresholds: Option<Vec<f64>>,
}

impl Variant {
    /// After how many turns, when nobody says otherwise.
    fn turns(self) -> f64 {
        match self {
            Self::Design | Self::Initial => 15.0,
            Self::Current => 6.0,
        }
    }

    /// What a number of turns below one means.
    fn turns_below_one(self) -> f64 {
        match self {
            Self::Design | Self::Initial => 15.0,
            Self::Current => 10.0,
        }
    }
}

impl Settings {
    /// What is given, and the rest as usual in the variant.
    pub fn new(variant: Variant, given: &Given) -> Self {
        let turns = given.turns.unwrap_or_else(|| variant.turns());
        let rules_turns = given.rules_turns.unwrap_or(1.0);
        Self {
            variant,
            enabled: given.enabled.unwrap_or(true),
            turns: if turns >= 1.0 { turns } else { variant.turns_below_one() },
            rules_turns: if rules_turns > 0.0 { rules_turns } else { 1.0 },
            trigger: given.trigger.unwrap_or_default(),
            thresholds: given.thresholds.clone().unwrap_or_else(|| vec![0.25, 0.5, 0.75]),
        }
    }

    /// The line that tells what holds.
    pub fn line(&self) -> String {
        let Self { variant, enabled, turns, rules_turns, trigger, thresholds } = self;
        match variant {
            Variant::Design => format!(
                "[SystemPrompt] reinjection enabled:{enabled} turns:{turns} trigger:{} thresholds:{}",
                trigger.word(),
                thresholds.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
            ),
            Variant::Current => format!("reinjection enabled={enabled} turns={turns} rulesTurns={rules_turns}"),
            Variant::Initial => format!("[SystemPrompt] reinjection enabled={enabled} turns={turns}"),
        }
    }
}

impl Given {
    /// What an environment says: the variables of the channel first, then those for all channels.
    /// A value that means nothing counts as none.
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
            trigger: env("ADS_REINJECTION_TRIGGER").and_then(|word| Trigger::parse(utf16::trim(&word))),
            thresholds,
        }
    }

    /// What this says, and where it says nothing what the other says.
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
