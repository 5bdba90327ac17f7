//! The variant `current`: the rules are said every turn, everything every few turns, and skills and
//! the soul come along. Nothing holds an input back.

use super::Injection;
use super::Level;
use super::LogLine;
use super::MISSING;
use super::PartKind;
use super::ReinjectState;
use super::StandingPart;
use super::VariantTexts;
use super::files::FoundFile;
use super::files::InjectionInput;
use super::files::StandingSkill;
use super::files::sha1;
use super::files::skills_hash;
use super::settings::ReinjectSettings;
use super::short;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::utf16;

/// How many skills may be asked for at once.
const REQUESTED_MAX: usize = 6;

impl ReinjectState {
    pub(super) fn current(
        &mut self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        words: &VariantTexts,
        log: &mut Vec<LogLine>,
    ) -> Option<Injection> {
        self.warn(files, log);
        let (hi, hr) = (files.instructions.hash().to_owned(), files.rules.hash().to_owned());
        self.note_change(self.last_instructions_hash.clone().as_deref(), &hi, "instructions-updated");
        self.warn_of_rules(files, log);
        self.note_change(self.last_rules_hash.clone().as_deref(), &hr, "rules-updated");
        let soul_hash = sha1(files.soul.as_ref().map_or("", |soul| &soul.text));
        let skills_hash = skills_hash(&files.skills);
        if self.has_injected {
            self.note_change(self.last_soul_hash.clone().as_deref(), &soul_hash, "soul-updated");
            self.note_change(self.last_skills_hash.clone().as_deref(), &skills_hash, "skills-updated");
        }
        let reason = self.current_reason(settings)?;
        let is_rules_only = reason.starts_with("rules-only-");
        let parts = self.parts(files, words, is_rules_only);
        if parts.is_empty() {
            return None;
        }
        self.has_injected = true;
        if !is_rules_only {
            self.last_injection_turn = Some(self.turn_count);
            self.last_instructions_hash = Some(hi.clone());
        }
        self.last_rules_injection_turn = Some(self.turn_count);
        self.last_rules_hash = Some(hr.clone());
        self.last_soul_hash = Some(soul_hash);
        self.last_skills_hash = Some(skills_hash);
        self.requested_skills.clear();
        let shown = if is_rules_only { "skip" } else { short(&hi) };
        log.push(LogLine::new(Level::Debug, format!("Injected ({reason}) instructions={shown} rules={}", short(&hr))));
        let instructions_hash =
            if is_rules_only { self.last_instructions_hash.clone().unwrap_or_else(|| MISSING.to_owned()) } else { hi };
        Some(Injection { parts, reason, instructions_hash, rules_hash: hr })
    }

    /// Asks for skills with the next input. Earlier wishes are replaced; none changes nothing.
    pub fn request_skills(&mut self, names: &[String]) {
        let mut wanted: Vec<String> = Vec::new();
        for name in names {
            let name = utf16::trim(name).to_lowercase();
            if !name.is_empty() && !wanted.contains(&name) {
                wanted.push(name);
            }
        }
        wanted.truncate(REQUESTED_MAX);
        if !wanted.is_empty() {
            self.requested_skills = wanted;
            self.set_pending("skills-requested");
        }
    }

    fn current_reason(&mut self, settings: &ReinjectSettings) -> Option<String> {
        let n = self.turn_count;
        if !self.has_injected {
            // A pending reason stays, and fires with the next input.
            Some("initial".to_owned())
        } else if let Some(pending) = self.pending.take() {
            Some(pending)
        } else if settings.enabled && self.distance(self.last_injection_turn) >= settings.turns {
            Some(format!("turn-{n}"))
        } else if self.distance(self.last_rules_injection_turn) >= settings.rules_turns {
            Some(format!("rules-only-{n}"))
        } else if !self.requested_skills.is_empty() {
            Some(format!("skills-requested-{n}"))
        } else {
            None
        }
    }

    /// Warnings about the workspace and its instructions, each once.
    fn warn(&mut self, files: &InjectionInput, log: &mut Vec<LogLine>) {
        if let (Some(path), false) = (&files.uninitialised, self.warned.workspace) {
            let text =
                format!("workspace not initialized at {path}; instructions/rules falling back to built-in templates.");
            log.push(LogLine::new(Level::Warn, text));
        }
        self.warned.workspace = files.uninitialised.is_some();
        let text = match (&files.instructions_wanted, &files.instructions) {
            (Some(path), FoundFile::Text(_)) => {
                Some(format!("workspace instructions missing at {path}, using built-in templates/instructions.md"))
            }
            (_, FoundFile::Missing { path } | FoundFile::Unreadable { path, .. } | FoundFile::Corrupt { path }) => {
                Some(format!("instructions missing at {path}, and no default templates/instructions.md found"))
            }
            _ => None,
        };
        let is_missing = text.is_some();
        if let (Some(text), false) = (text, self.warned.instructions) {
            log.push(LogLine::new(Level::Warn, text));
        }
        self.warned.instructions = is_missing;
    }

    fn parts(&self, files: &InjectionInput, words: &VariantTexts, is_rules_only: bool) -> Vec<StandingPart> {
        let mut parts = Vec::new();
        let mut push = |kind, text: Vec<Fragment>| {
            if text.iter().any(|fragment| !utf16::is_blank(&fragment.text)) {
                parts.push(StandingPart { kind, text });
            }
        };
        if files.uninitialised.is_some() {
            push(PartKind::Notice, words.workspace_notice.clone());
        }
        if let (false, Some(text)) = (is_rules_only, files.instructions.text()) {
            push(PartKind::Instructions, vec![text.trimmed()]);
        }
        if let Some(text) = files.rules.text() {
            push(PartKind::Rules, vec![text.trimmed()]);
        }
        push(PartKind::SkillSystem, skill_system(files.skills.len(), words));
        if !self.requested_skills.is_empty() {
            push(PartKind::RequestedSkills, requested(&self.requested_skills, &files.skills));
        }
        if let Some(soul) = files.soul.as_ref().filter(|soul| !soul.is_blank()) {
            let text = vec![Fragment::layout("<soul>\n"), soul.trimmed(), Fragment::layout("\n</soul>")];
            push(PartKind::Soul, text);
        }
        parts
    }
}

/// The text about skills, between its tags.
fn skill_system(n_skills: usize, words: &VariantTexts) -> Vec<Fragment> {
    let mut text = vec![Fragment::layout("<skill_system>\n")];
    if n_skills == 0 {
        text.extend(words.skill_system_none.iter().cloned());
    } else {
        let fill = |fragment: &Fragment| Fragment {
            origin: fragment.origin.clone(),
            text: fragment.text.replace(super::layout::COUNT, &n_skills.to_string()),
        };
        text.extend(words.skill_system.iter().map(fill));
    }
    text.push(Fragment::layout("\n</skill_system>"));
    text
}

/// The requested skills, or a note that they do not exist.
fn requested(names: &[String], skills: &[StandingSkill]) -> Vec<Fragment> {
    let mut text = vec![Fragment::layout("<requested_skills>\n")];
    for name in names {
        match skills.iter().find(|skill| skill.name.to_lowercase() == *name) {
            Some(skill) => {
                text.push(Fragment::layout(format!("  <skill name=\"{name}\">\n")));
                let origin = Origin::Skill { path: skill.source.as_str().into() };
                text.push(Fragment { origin, text: utf16::trim(&skill.text).to_owned() });
                text.push(Fragment::layout("\n  </skill>\n"));
            }
            None => text.push(Fragment::layout(format!("  <skill name=\"{name}\" missing=\"true\" />\n"))),
        }
    }
    text.push(Fragment::layout("</requested_skills>"));
    text
}
