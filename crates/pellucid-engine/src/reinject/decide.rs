//! What goes before the next input, and whether anything does: one machine for every layout.
//!
//! Files are looked at, changes become a reason that waits, and the first reason that holds puts texts before the input.
//! Layouts differ in settings alone ([`super::settings::ReinjectSettings`]).

use pellucid_protocol::settings::ReinjectTrigger;

use super::Blocked;
use super::FAILURES_REPORTED;
use super::Failures;
use super::Injection;
use super::MISSING;
use super::PartKind;
use super::RULES_ONLY;
use super::ReinjectState;
use super::StandingNotice;
use super::StandingPart;
use super::files::FileRole;
use super::files::FoundFile;
use super::files::InjectionInput;
use super::files::sha1;
use super::files::skills_hash;
use super::parts::PartTexts;
use super::settings::Look;
use super::settings::ReinjectSettings;
use super::short;

/// A reason that holds now, with the thresholds that fire with it.
struct Due {
    reason: String,
    exceeded: Vec<usize>,
}

impl ReinjectState {
    /// Whether the files must be read for the next decision.
    pub fn needs_files(&self, settings: &ReinjectSettings, occupancy: Option<f64>) -> bool {
        settings.look == Look::Always || self.clone().take_reason(settings, occupancy).is_some()
    }

    pub(super) fn choose(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        words: &PartTexts,
        occupancy: Option<f64>,
        notices: &mut Vec<StandingNotice>,
    ) -> Result<Option<Injection>, Blocked> {
        let early = match settings.look {
            Look::Always => None,
            Look::Due => match self.take_reason(settings, occupancy) {
                Some(due) => Some(due),
                None => return Ok(None),
            },
        };
        self.warn_of_workspace(files, notices);
        self.check(settings, FileRole::Instructions, files, notices)?;
        self.check(settings, FileRole::Rules, files, notices)?;
        let hashes = self.note_changes(settings, files);
        let Some(due) = early.or_else(|| self.take_reason(settings, occupancy)) else {
            return Ok(None);
        };
        let is_rules_only = due.reason.starts_with(RULES_ONLY);
        let parts = self.parts(settings, files, words, is_rules_only);
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.injected(settings, due, is_rules_only, hashes, notices, parts)))
    }

    /// Notes an injection, and gives it.
    fn injected(
        &mut self,
        settings: &ReinjectSettings,
        due: Due,
        is_rules_only: bool,
        hashes: Hashes,
        notices: &mut Vec<StandingNotice>,
        parts: Vec<StandingPart>,
    ) -> Injection {
        let Due { reason, exceeded } = due;
        let Hashes { instructions, rules, soul, skills } = hashes;
        if !settings.keep_pending {
            self.pending = None;
        }
        self.disarmed.extend(exceeded);
        self.has_injected = true;
        if !is_rules_only {
            self.last_injection_turn = Some(self.turn_count);
            self.last_instructions_hash = Some(instructions.clone());
        }
        self.last_rules_injection_turn = Some(self.turn_count);
        self.last_rules_hash = Some(rules.clone());
        self.last_soul_hash = soul;
        self.last_skills_hash = skills;
        self.requested_skills.clear();
        notices.push(StandingNotice::Injected {
            reason: reason.clone(),
            instructions: (!is_rules_only).then(|| instructions.clone()),
            rules: rules.clone(),
        });
        let last = || self.last_instructions_hash.clone().unwrap_or_else(|| MISSING.to_owned());
        let instructions_hash = if is_rules_only { last() } else { instructions };
        Injection { parts, reason, instructions_hash, rules_hash: rules }
    }

    /// The first reason that holds. A reason that waited is used up.
    fn take_reason(&mut self, settings: &ReinjectSettings, occupancy: Option<f64>) -> Option<Due> {
        let exceeded = self.exceeded(settings, occupancy);
        let n = self.turn_count;
        let is_over = |state: &Self, last, turns: Option<f64>| turns.is_some_and(|turns| state.distance(last) >= turns);
        let reason = if !self.has_injected {
            "initial".to_owned()
        } else if let Some(pending) = self.pending.take() {
            pending
        } else if let Some(percent) = threshold(settings, occupancy, &exceeded) {
            format!("context-{percent}")
        } else if counts_turns(settings, occupancy) && is_over(self, self.last_injection_turn, Some(settings.turns)) {
            format!("turn-{n}")
        } else if is_over(self, self.last_rules_injection_turn, settings.rules_turns) {
            format!("{RULES_ONLY}-{n}")
        } else if !self.requested_skills.is_empty() {
            format!("skills-requested-{n}")
        } else {
            return None;
        };
        Some(Due { reason, exceeded })
    }

    /// Thresholds that are exceeded and armed. One that is not exceeded is armed again.
    fn exceeded(&mut self, settings: &ReinjectSettings, occupancy: Option<f64>) -> Vec<usize> {
        let Some(occupancy) = occupancy else {
            return Vec::new();
        };
        let mut exceeded = Vec::new();
        for (n, threshold) in settings.thresholds.iter().enumerate() {
            if occupancy <= *threshold {
                self.disarmed.remove(&n);
            } else if !self.disarmed.contains(&n) {
                exceeded.push(n);
            }
        }
        exceeded
    }

    /// Warns once while the workspace is not set up.
    fn warn_of_workspace(&mut self, files: &InjectionInput, notices: &mut Vec<StandingNotice>) {
        if let (Some(path), false) = (&files.uninitialised, self.warned.workspace) {
            notices.push(StandingNotice::NotSetUp { path: path.clone() });
        }
        self.warned.workspace = files.uninitialised.is_some();
    }

    /// Warns once of a file that is not there, counts failed reads, and holds the input back where the layout wants that.
    fn check(
        &mut self,
        settings: &ReinjectSettings,
        role: FileRole,
        files: &InjectionInput,
        notices: &mut Vec<StandingNotice>,
    ) -> Result<(), Blocked> {
        let found = role.of(files);
        let path = found.path().to_owned();
        let refuses = settings.refuse.contains(&role);
        let is_blocked = match found {
            FoundFile::NotWanted | FoundFile::Text(_) => false,
            FoundFile::Missing { .. } => refuses && role == FileRole::Instructions,
            FoundFile::Unreadable { .. } | FoundFile::Corrupt { .. } => refuses,
        };
        let notice = match (role, found.text(), &files.instructions_wanted) {
            (FileRole::Instructions, Some(_), Some(path)) => Some(StandingNotice::StandIn { path: path.clone() }),
            (_, Some(_), _) => None,
            _ if is_blocked || *found == FoundFile::NotWanted => None,
            (FileRole::Instructions, ..) => Some(StandingNotice::InstructionsMissing { path: path.clone() }),
            (FileRole::Rules, ..) => Some(StandingNotice::RulesMissing { path: path.clone() }),
        };
        if !is_blocked {
            let warned = match role {
                FileRole::Instructions => &mut self.warned.instructions,
                FileRole::Rules => &mut self.warned.rules,
            };
            let was_warned = std::mem::replace(warned, notice.is_some());
            notices.extend(notice.filter(|_| !was_warned));
            *failures(&mut self.failures, role) = 0;
            return Ok(());
        }
        let n_failures = failures(&mut self.failures, role);
        *n_failures += 1;
        if *n_failures == FAILURES_REPORTED {
            notices.push(StandingNotice::ReadFailed { role, path });
        }
        Err(Blocked::of(role, found))
    }

    /// Makes a reason that waits of the first file that changed since it was sent last. Gives the hashes of now.
    fn note_changes(&mut self, settings: &ReinjectSettings, files: &InjectionInput) -> Hashes {
        let has = |kind: PartKind| settings.parts.contains(&kind);
        let hashes = Hashes {
            instructions: files.instructions.hash().to_owned(),
            rules: files.rules.hash().to_owned(),
            soul: has(PartKind::Soul).then(|| sha1(files.soul.as_ref().map_or("", |soul| &soul.text))),
            skills: has(PartKind::Skills).then(|| skills_hash(&files.skills)),
        };
        self.note_change(self.last_instructions_hash.clone(), Some(&hashes.instructions), "instructions-updated");
        self.note_change(self.last_rules_hash.clone(), Some(&hashes.rules), "rules-updated");
        if self.has_injected {
            self.note_change(self.last_soul_hash.clone(), hashes.soul.as_deref(), "soul-updated");
            self.note_change(self.last_skills_hash.clone(), hashes.skills.as_deref(), "skills-updated");
        }
        hashes
    }

    /// Notes a reason if a file changed since it was last said and is still there.
    fn note_change(&mut self, last: Option<String>, now: Option<&str>, reason: &str) {
        if let (Some(last), Some(now)) = (last, now)
            && last != now
            && now != MISSING
        {
            self.set_pending(reason);
        }
    }
}

/// The hashes of what can change.
struct Hashes {
    instructions: String,
    rules: String,
    soul: Option<String>,
    skills: Option<String>,
}

/// The highest exceeded threshold in percent, where the window's use counts.
fn threshold(settings: &ReinjectSettings, occupancy: Option<f64>, exceeded: &[usize]) -> Option<String> {
    let counts = matches!(settings.trigger, ReinjectTrigger::Auto | ReinjectTrigger::Occupancy | ReinjectTrigger::Both);
    if !settings.enabled || !counts || occupancy.is_none() {
        return None;
    }
    let highest = exceeded.iter().map(|n| settings.thresholds[*n]).max_by(f64::total_cmp)?;
    Some(format!("{}", (highest * 100.0).round()))
}

fn counts_turns(settings: &ReinjectSettings, occupancy: Option<f64>) -> bool {
    let counts = match settings.trigger {
        ReinjectTrigger::Auto => occupancy.is_none(),
        ReinjectTrigger::Occupancy => false,
        ReinjectTrigger::Turns | ReinjectTrigger::Both => true,
    };
    settings.enabled && counts
}

fn failures(failures: &mut Failures, role: FileRole) -> &mut u32 {
    match role {
        FileRole::Instructions => &mut failures.instructions,
        FileRole::Rules => &mut failures.rules,
    }
}

impl Blocked {
    /// The message about a file that cannot be used, with the remedy.
    fn of(role: FileRole, found: &FoundFile) -> Self {
        let (word, path) = (role.word(), found.path().to_owned());
        let (code, message) = match (role, found) {
            (_, FoundFile::Missing { .. }) => {
                let message = format!("the {word} are missing: put the file back at {path}; nothing was sent");
                ("instructions_missing", message)
            }
            (FileRole::Instructions, FoundFile::Corrupt { .. }) => ("instructions_corrupt", corrupt(word, &path)),
            (FileRole::Rules, FoundFile::Corrupt { .. }) => ("rules_corrupt", corrupt(word, &path)),
            (role, found) => {
                let why = if let FoundFile::Unreadable { error, .. } = found { error.as_str() } else { "unknown" };
                let message =
                    format!("the {word} cannot be read: {path}: {why}; correct its permissions; nothing was sent");
                let is_rules = role == FileRole::Rules;
                (if is_rules { "rules_unreadable" } else { "instructions_unreadable" }, message)
            }
        };
        Self { code, path, message }
    }
}

fn corrupt(word: &str, path: &str) -> String {
    format!("the {word} are not valid UTF-8: save {path} as UTF-8 and try again; nothing was sent")
}

impl StandingNotice {
    /// The line for the log.
    pub fn text(&self) -> String {
        match self {
            Self::Injected { reason, instructions, rules } => {
                let instructions = instructions.as_deref().map_or("-", short);
                format!("{reason} instructions:{instructions} rules:{}", short(rules))
            }
            Self::RulesMissing { path } => format!("rules missing at {path}, continuing with instructions only"),
            Self::InstructionsMissing { path } => {
                format!("instructions missing at {path}, and the pack has none; continuing without instructions")
            }
            Self::StandIn { path } => format!("instructions missing at {path}, using those of the pack"),
            Self::NotSetUp { path } => {
                format!("the workspace {path} is not set up; instructions and rules come from the pack")
            }
            Self::ReadFailed { role, path } => {
                format!("{} could not be read 3 times in a row; check {path}", role.word())
            }
            Self::Switched { path } => format!("workspace switched to {path}"),
        }
    }
}
