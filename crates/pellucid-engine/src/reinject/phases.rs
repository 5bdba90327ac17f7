//! Phases of work: prompts of a pack that go before an input, and which setting chooses among them.
//!
//! The pack names the phases and their order. The setting that is nearest to the session decides: the session's, else the
//! workspace's, else that of `config.toml`.
//!
//! Not here: where the settings are kept (`pellucid-store`).

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::MapAccess;
use serde::de::Visitor;

use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::pack::Pack;

/// The phases of a layout in their order: names, and the files of the pack with their prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseFiles(Vec<(String, String)>);

impl PhaseFiles {
    /// Whether the layout has no phases.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The files of the prompts.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, file)| file.as_str())
    }

    /// The file of a phase's prompt.
    pub fn file(&self, phase: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == phase).map(|(_, file)| file.as_str())
    }

    /// Takes the phases of the layout beneath that this one does not name. They come first, so that a layout adds a phase
    /// behind them; a layout that names all of them gives its order.
    pub(super) fn complete(&mut self, base: &Self) {
        let is_own = |name: &str| self.0.iter().any(|(own, _)| own == name);
        let mut all: Vec<(String, String)> = base.0.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
        all.append(&mut self.0);
        self.0 = all;
    }
}

impl<'de> Deserialize<'de> for PhaseFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = PhaseFiles;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table from the names of phases to files of the pack")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PhaseFiles, A::Error> {
                let mut phases = Vec::new();
                while let Some(phase) = map.next_entry()? {
                    phases.push(phase);
                }
                Ok(PhaseFiles(phases))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The settings that can choose a phase, the nearest to the session first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseSetting {
    /// The setting of the session.
    Session,
    /// The setting of the workspace.
    Workspace,
    /// `phase` of `config.toml`, or of an override on the command line.
    Config,
}

impl PhaseSetting {
    /// The word for the setting in events and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::Config => "config",
        }
    }

    /// The setting for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Session => "set for the session",
            Self::Workspace => "set for the workspace",
            Self::Config => "`phase` of the configuration",
        }
    }
}

/// A phase and the setting that chose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPhase {
    /// The name of the phase.
    pub name: String,
    /// The setting that chose the phase.
    pub chosen_by: PhaseSetting,
}

/// What each setting says of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseSettings {
    /// The phase of the session.
    pub session: Option<String>,
    /// The phase of the workspace.
    pub workspace: Option<String>,
    /// The phase of `config.toml`.
    pub config: Option<String>,
}

impl PhaseSettings {
    /// The phase that holds; absent if no setting names one.
    pub fn chosen(&self) -> Option<ChosenPhase> {
        let settings = [
            (&self.session, PhaseSetting::Session),
            (&self.workspace, PhaseSetting::Workspace),
            (&self.config, PhaseSetting::Config),
        ];
        let (name, chosen_by) = settings.into_iter().find_map(|(name, setting)| Some((name.as_ref()?, setting)))?;
        Some(ChosenPhase { name: name.clone(), chosen_by })
    }
}

/// A name that is no phase of a pack, or a pack without phases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// The pack has no phases.
    #[error("phase `{name}`: the pack `{pack}` has no prompts for phases")]
    None {
        /// The name that was given.
        name: String,
        /// The name of the pack.
        pack: String,
    },
    /// The pack has other phases.
    #[error("phase `{name}`: the pack `{pack}` knows {}", known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The name of the pack.
        pack: String,
        /// The phases of the pack in their order.
        known: Vec<String>,
    },
}

/// Why there is no next phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoNextPhase {
    /// The present phase is none of the pack's, or the pack has none.
    #[error(transparent)]
    Phase(#[from] PhaseError),
    /// The pack has no phases, and none is set.
    #[error("the pack `{0}` has no phases")]
    NoPhases(String),
    /// The present phase is the last one.
    #[error("`{0}` is the last phase")]
    Last(String),
}

/// The phases of a pack by name, for commands and clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseNames {
    /// The name of the pack.
    pub pack: String,
    /// The phases in their order.
    pub names: Vec<String>,
}

impl PhaseNames {
    /// The phases of a pack.
    pub fn of(pack: &Pack) -> Self {
        let layout = pack.layout.reinject.as_ref();
        let names = layout.into_iter().flat_map(|layout| layout.phases.names()).map(str::to_owned).collect();
        Self { pack: pack.name.clone(), names }
    }

    /// Checks that the pack has a phase.
    ///
    /// # Errors
    /// The pack has no phase of this name.
    pub fn check(&self, name: &str) -> Result<(), PhaseError> {
        let (pack, known) = (self.pack.clone(), self.names.clone());
        if self.names.iter().any(|known| known == name) {
            return Ok(());
        }
        let name = name.to_owned();
        Err(if known.is_empty() { PhaseError::None { name, pack } } else { PhaseError::Unknown { name, pack, known } })
    }

    /// The phase after this one; the first one if there is none.
    ///
    /// # Errors
    /// There is no phase after it.
    pub fn after(&self, present: Option<&str>) -> Result<String, NoNextPhase> {
        let next = match present {
            None => self.names.first().ok_or_else(|| NoNextPhase::NoPhases(self.pack.clone()))?,
            Some(present) => {
                self.check(present)?;
                let mut behind = self.names.iter().skip_while(|name| *name != present).skip(1);
                behind.next().ok_or_else(|| NoNextPhase::Last(present.to_owned()))?
            }
        };
        Ok(next.clone())
    }
}

/// A phase with its prompt, which goes before an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhasePrompt {
    /// The phase and the setting that chose it.
    pub phase: ChosenPhase,
    /// The file of the pack.
    pub path: String,
    /// The prompt in fragments.
    pub text: Vec<Fragment>,
}

impl PhasePrompt {
    /// The prompt that a pack has for a phase.
    ///
    /// # Errors
    /// The pack has no such phase.
    pub fn of(pack: &Pack, phase: &ChosenPhase) -> Result<Self, PhaseError> {
        let file = pack.layout.reinject.as_ref().and_then(|layout| layout.phases.file(&phase.name));
        let Some(file) = file else {
            PhaseNames::of(pack).check(&phase.name)?;
            return Err(PhaseError::None { name: phase.name.clone(), pack: pack.name.clone() });
        };
        let text = pack.template(file).text();
        let path = text.iter().find_map(|fragment| match &fragment.origin {
            Origin::Pack { file } => Some(file.to_string()),
            _ => None,
        });
        Ok(Self { phase: phase.clone(), path: path.unwrap_or_else(|| file.to_owned()), text })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn files(text: &str) -> PhaseFiles {
        toml::from_str(text).unwrap()
    }

    #[track_caller]
    fn check_order(own: &str, base: &str, expected: &[&str]) {
        let mut own = files(own);
        own.complete(&files(base));
        assert_eq!(own.names().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn phases_are_in_the_order_of_the_file_and_new_ones_come_behind_those_beneath() {
        check_order("z = \"1\"\na = \"2\"\nm = \"3\"", "", &["z", "a", "m"]);
        check_order("deploy = \"1\"", "plan = \"2\"\nbuild = \"3\"", &["plan", "build", "deploy"]);
        check_order("build = \"1\"\nplan = \"2\"", "plan = \"3\"\nbuild = \"4\"", &["build", "plan"]);
    }

    #[track_caller]
    fn check_chosen(session: Option<&str>, workspace: Option<&str>, config: Option<&str>, expected: &str) {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        let settings = PhaseSettings { session: owned(session), workspace: owned(workspace), config: owned(config) };
        let shown = settings.chosen().map(|it| format!("{} {}", it.name, it.chosen_by.word()));
        assert_eq!(shown.unwrap_or_default(), expected);
    }

    #[test]
    fn the_setting_that_is_nearest_to_the_session_chooses() {
        check_chosen(Some("a"), Some("b"), Some("c"), "a session");
        check_chosen(None, Some("b"), Some("c"), "b workspace");
        check_chosen(None, None, Some("c"), "c config");
        check_chosen(None, None, None, "");
    }

    #[track_caller]
    fn check_after(names: &[&str], present: Option<&str>, expected: &Expect) {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let after = PhaseNames { pack: "p".to_owned(), names }.after(present);
        expected.assert_eq(&after.unwrap_or_else(|error| format!("error: {error}")));
    }

    #[test]
    fn the_next_phase_is_the_one_behind_until_there_is_none() {
        check_after(&["plan", "build"], None, &expect!["plan"]);
        check_after(&["plan", "build"], Some("plan"), &expect!["build"]);
        check_after(&["plan", "build"], Some("build"), &expect!["error: `build` is the last phase"]);
        check_after(&["plan", "build"], Some("rest"), &expect!["error: phase `rest`: the pack `p` knows plan, build"]);
        check_after(&[], None, &expect!["error: the pack `p` has no phases"]);
        check_after(&[], Some("x"), &expect!["error: phase `x`: the pack `p` has no prompts for phases"]);
    }
}
