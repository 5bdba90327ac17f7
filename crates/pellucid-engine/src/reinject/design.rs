//! The variant `design`: both files are looked at before every input, every injection is whole, and
//! a file that cannot be read holds the input back.

use super::Blocked;
use super::FAILURES_REPORTED;
use super::Failures;
use super::Injection;
use super::Level;
use super::LogLine;
use super::MISSING;
use super::PartKind;
use super::ReinjectState;
use super::StandingPart;
use super::files::FileRole;
use super::files::FoundFile;
use super::files::InjectionInput;
use super::settings::ReinjectSettings;
use super::short;
use pellucid_protocol::settings::ReinjectTrigger;

impl ReinjectState {
    pub(super) fn design(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        occupancy: Option<f64>,
        log: &mut Vec<LogLine>,
    ) -> Result<Option<Injection>, Blocked> {
        self.check(FileRole::Instructions, &files.instructions, log)?;
        self.check(FileRole::Rules, &files.rules, log)?;
        let (hi, hr) = (files.instructions.hash(), files.rules.hash());
        let exceeded = self.exceeded(settings, occupancy);
        let reason = if !self.has_injected {
            "initial".to_owned()
        } else if let Some(pending) = self.pending.take() {
            pending
        } else if self.last_instructions_hash.as_deref() != Some(hi) {
            "instructions-updated".to_owned()
        } else if hr != MISSING && self.last_rules_hash.as_deref() != Some(hr) {
            "rules-updated".to_owned()
        } else if let Some(percent) = self.threshold(settings, occupancy, &exceeded) {
            format!("context-{percent}")
        } else if self.turns_are_over(settings, occupancy) {
            format!("turn-{}", self.turn_count)
        } else {
            return Ok(None);
        };
        self.pending = None;
        self.disarmed.extend(exceeded);
        self.has_injected = true;
        self.last_injection_turn = Some(self.turn_count);
        self.last_instructions_hash = Some(hi.to_owned());
        self.last_rules_hash = Some(hr.to_owned());
        let line = format!("{reason} instructions:{} rules:{}", short(hi), short(hr));
        log.push(LogLine::new(Level::Info, line));
        let part = |kind, found: &FoundFile| {
            let text = found.text().filter(|text| !text.is_blank())?;
            Some(StandingPart { kind, text: vec![text.trimmed()] })
        };
        let parts = [part(PartKind::Instructions, &files.instructions), part(PartKind::Rules, &files.rules)];
        let (instructions_hash, rules_hash) = (hi.to_owned(), hr.to_owned());
        Ok(Some(Injection { parts: parts.into_iter().flatten().collect(), reason, instructions_hash, rules_hash }))
    }

    /// Counts failed reads, and holds the input back after one.
    fn check(&mut self, role: FileRole, found: &FoundFile, log: &mut Vec<LogLine>) -> Result<(), Blocked> {
        let may_miss = role == FileRole::Rules;
        if let (FoundFile::Missing { path }, FileRole::Rules) = (found, role) {
            if !self.warned.rules {
                let text = format!("rules missing at {path}, continuing with instructions only");
                let code = Some("rules_missing");
                log.push(LogLine { level: Level::Warn, code, file: Some(role), text });
            }
            self.warned.rules = true;
        } else if role == FileRole::Rules && found.text().is_some() {
            self.warned.rules = false;
        }
        let n_failures = failures(&mut self.failures, role);
        let is_fine = match found {
            FoundFile::NotWanted | FoundFile::Text(_) => true,
            FoundFile::Missing { .. } => may_miss,
            FoundFile::Unreadable { .. } | FoundFile::Corrupt { .. } => false,
        };
        if is_fine {
            *n_failures = 0;
            return Ok(());
        }
        *n_failures += 1;
        if *n_failures == FAILURES_REPORTED {
            let (role_word, path) = (role.word(), found.path());
            let text = format!("{role_word} could not be read 3 times in a row; check {path}");
            let code = Some("read_failed_3_times");
            log.push(LogLine { level: Level::Error, code, file: Some(role), text });
        }
        Err(blocked(role, found))
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

    /// The highest exceeded threshold in percent, where the window's use counts.
    fn threshold(&self, settings: &ReinjectSettings, occupancy: Option<f64>, exceeded: &[usize]) -> Option<String> {
        let counts =
            matches!(settings.trigger, ReinjectTrigger::Auto | ReinjectTrigger::Occupancy | ReinjectTrigger::Both);
        if !settings.enabled || !counts || occupancy.is_none() {
            return None;
        }
        let highest = exceeded.iter().map(|n| settings.thresholds[*n]).max_by(f64::total_cmp)?;
        Some(format!("{}", (highest * 100.0).round()))
    }

    fn turns_are_over(&self, settings: &ReinjectSettings, occupancy: Option<f64>) -> bool {
        let counts = match settings.trigger {
            ReinjectTrigger::Auto => occupancy.is_none(),
            ReinjectTrigger::Occupancy => false,
            ReinjectTrigger::Turns | ReinjectTrigger::Both => true,
        };
        settings.enabled && counts && self.distance(self.last_injection_turn) >= settings.turns
    }
}

fn failures(failures: &mut Failures, role: FileRole) -> &mut u32 {
    match role {
        FileRole::Instructions => &mut failures.instructions,
        FileRole::Rules => &mut failures.rules,
    }
}

/// The message about a file that cannot be used, with the remedy.
fn blocked(role: FileRole, found: &FoundFile) -> Blocked {
    let (word, path) = (role.word(), found.path().to_owned());
    let (code, message) = match (role, found) {
        (_, FoundFile::Missing { .. }) => {
            let message = format!("the {word} are missing: put the product's file back at {path}; nothing was sent");
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
    Blocked { code, path, message }
}

fn corrupt(word: &str, path: &str) -> String {
    format!("the {word} are not valid UTF-8: save {path} as UTF-8 and try again; nothing was sent")
}
