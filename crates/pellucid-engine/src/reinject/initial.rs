//! The variant `initial`: files are looked at only when something is due, so a change is noticed
//! late and then said twice.

use super::Blocked;
use super::Injection;
use super::Level;
use super::LogLine;
use super::PartKind;
use super::ReinjectState;
use super::StandingPart;
use super::files::FoundFile;
use super::files::InjectionInput;
use super::settings::ReinjectSettings;
use super::short;

/// Why something would be said now; a pending reason is not taken yet.
pub(super) fn reason(state: &ReinjectState, settings: &ReinjectSettings) -> Option<String> {
    if !state.has_injected {
        Some("initial".to_owned())
    } else if let Some(pending) = &state.pending {
        Some(pending.clone())
    } else if settings.enabled && state.distance(state.last_injection_turn) >= settings.turns {
        Some(format!("turn-{}", state.turn_count))
    } else {
        None
    }
}

impl ReinjectState {
    pub(super) fn initial(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        log: &mut Vec<LogLine>,
    ) -> Result<Option<Injection>, Blocked> {
        let Some(reason) = reason(self, settings) else {
            return Ok(None);
        };
        // A reason that is pending before the first injection stays, and fires a second time.
        if self.has_injected {
            self.pending = None;
        }
        let instructions = match &files.instructions {
            FoundFile::Text(text) => Some(text),
            FoundFile::NotWanted => None,
            FoundFile::Missing { path } | FoundFile::Unreadable { path, .. } | FoundFile::Corrupt { path } => {
                let message = format!("无法读取 instructions: {path}");
                return Err(Blocked { code: "instructions_unreadable", path: path.clone(), message });
            }
        };
        let (hi, hr) = (files.instructions.hash().to_owned(), files.rules.hash().to_owned());
        self.note_change(self.last_instructions_hash.clone().as_deref(), &hi, "instructions-updated");
        self.warn_of_rules(files, log);
        self.note_change(self.last_rules_hash.clone().as_deref(), &hr, "rules-updated");
        self.has_injected = true;
        self.last_injection_turn = Some(self.turn_count);
        self.last_rules_injection_turn = Some(self.turn_count);
        self.last_instructions_hash = Some(hi.clone());
        self.last_rules_hash = Some(hr.clone());
        log.push(LogLine::new(Level::Info, format!("{reason} instructions={} rules={hr}", short(&hi))));
        let instructions =
            instructions.map(|text| StandingPart { kind: PartKind::Instructions, text: vec![text.trimmed()] });
        let rules = files.rules.text().filter(|text| !text.is_blank());
        let rules = rules.map(|text| StandingPart { kind: PartKind::Rules, text: vec![text.trimmed()] });
        let parts = instructions.into_iter().chain(rules).collect();
        Ok(Some(Injection { parts, reason, instructions_hash: hi, rules_hash: hr }))
    }

    /// Warns once that the rules are missing.
    pub(super) fn warn_of_rules(&mut self, files: &InjectionInput, log: &mut Vec<LogLine>) {
        let is_missing = files.rules.text().is_none() && files.rules != FoundFile::NotWanted;
        if is_missing && !self.warned.rules {
            let path = files.rules.path();
            let text = format!("workspace rules missing at {path}, continuing with instructions only");
            log.push(LogLine::new(Level::Warn, text));
        }
        self.warned.rules = is_missing;
    }
}
