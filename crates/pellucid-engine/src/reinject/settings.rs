//! How standing texts are decided about: the settings of a layout, with what configuration and environment say over them.

use pellucid_protocol::settings::ReinjectTrigger;
use serde::Deserialize;

use super::PartKind;
use super::files::FileRole;
use super::layout::ReinjectLayout;
use crate::js_number;
use crate::utf16;

/// The trigger of a layout that names none.
pub(super) const DEFAULT_TRIGGER: ReinjectTrigger = ReinjectTrigger::Auto;

/// The turns between repetitions of a layout that names none.
const DEFAULT_TURNS: f64 = 15.0;

/// The parts of a layout that names none.
const DEFAULT_PARTS: [PartKind; 2] = [PartKind::Instructions, PartKind::Rules];

/// When files are looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Before every input, so that a change is sent with the next one.
    #[default]
    Always,
    /// When something is due. A change is noticed then, and is a reason for the input after it.
    Due,
}

/// How standing texts are decided about.
#[derive(Debug, Clone, PartialEq)]
pub struct ReinjectSettings {
    /// Whether anything is said again that did not change.
    pub enabled: bool,
    /// After how many turns. A fraction is no mistake: it is reached with the next whole turn.
    pub turns: f64,
    /// After how many turns all but the instructions, if at all.
    pub rules_turns: Option<f64>,
    /// The event that makes texts be repeated.
    pub trigger: ReinjectTrigger,
    /// Shares of the window.
    pub thresholds: Vec<f64>,
    /// When files are looked at.
    pub look: Look,
    /// Whether a reason that comes before or with an injection stays, and fires with the next input.
    pub keep_pending: bool,
    /// The parts of an injection, in order.
    pub parts: Vec<PartKind>,
    /// Files that are sent even if they are blank.
    pub blank: Vec<FileRole>,
    /// Files that hold an input back if they cannot be used.
    pub refuse: Vec<FileRole>,
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

impl ReinjectSettings {
    /// The settings of a layout whose variant was chosen, with what is given over them. Turns below one mean nothing.
    pub fn new(layout: &ReinjectLayout, given: ReinjectOverrides) -> Self {
        let own = ReinjectOverrides {
            enabled: layout.enabled,
            turns: layout.turns,
            rules_turns: layout.rules_turns,
            trigger: layout.trigger,
            thresholds: layout.thresholds.clone(),
        };
        let whole = given.or(&own);
        Self {
            enabled: whole.enabled.unwrap_or(true),
            turns: whole.turns.filter(|turns| *turns >= 1.0).unwrap_or(DEFAULT_TURNS),
            rules_turns: whole.rules_turns.map(|turns| if turns > 0.0 { turns } else { 1.0 }),
            trigger: whole.trigger.unwrap_or(DEFAULT_TRIGGER),
            thresholds: whole.thresholds.unwrap_or_else(|| vec![0.25, 0.5, 0.75]),
            look: layout.files.look.unwrap_or_default(),
            keep_pending: layout.keep_pending.unwrap_or(false),
            parts: layout.parts.clone().unwrap_or_else(|| DEFAULT_PARTS.to_vec()),
            blank: layout.files.blank.clone().unwrap_or_default(),
            refuse: layout.files.refused(),
        }
    }

    /// The line that reports the settings.
    pub fn line(&self) -> String {
        let Self { enabled, turns, rules_turns, trigger, thresholds, .. } = self;
        let rules_turns = rules_turns.map(|turns| format!(" rules_turns:{turns}")).unwrap_or_default();
        let thresholds = thresholds.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        format!(
            "reinjection enabled:{enabled} turns:{turns}{rules_turns} trigger:{} thresholds:{thresholds}",
            trigger.as_str()
        )
    }
}

impl ReinjectOverrides {
    /// The settings of the environment, by the beginnings of the names of variables: an earlier one precedes a later one. A
    /// value without a meaning is ignored.
    pub fn from_env<S: AsRef<str>>(prefixes: &[S], env: &dyn Fn(&str) -> Option<String>) -> Self {
        let texts = |name: &str| {
            let of = |prefix: &S| env(&format!("{}_{name}", prefix.as_ref()));
            prefixes.iter().filter_map(of).collect::<Vec<_>>()
        };
        let number = |name: &str| texts(name).iter().find_map(|text| turns(text));
        Self {
            enabled: texts("REINJECTION_ENABLED").iter().find_map(|text| flag(text)),
            turns: number("REINJECTION_TURNS"),
            rules_turns: number("RULES_REINJECTION_TURNS"),
            trigger: texts("REINJECTION_TRIGGER").iter().find_map(|word| ReinjectTrigger::from_word(utf16::trim(word))),
            thresholds: texts("REINJECTION_THRESHOLDS").iter().find_map(|text| shares(text)),
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
