//! The account of an injection: what became of each file, without its content.

use serde::Serialize;

use super::Injection;
use super::PartKind;
use super::RULES_ONLY;
use super::files::FoundFile;
use super::files::InjectionInput;
use super::files::sha1;
use super::phases::PhasePrompt;
use super::phases::PhaseSetting;
use crate::fragment::concat;
use crate::injection::InjectedOrigin;
use crate::injection::ItemOutcome;
use crate::tokens::tokens_of_bytes;

/// The word for the prompt of a phase.
const PHASE: &str = "phase";

/// The position of the prompt of a phase among the standing texts, behind instructions and rules.
const PHASE_INDEX: usize = 2;

/// What became of one file in one injection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StandingAccount {
    /// The kind of the source.
    pub source_type: &'static str,
    /// The position of the file among the standing texts.
    pub source_index: usize,
    /// The word for the file: `instructions`, `rules` or `phase`.
    pub item_id: &'static str,
    /// The part of the request that the text is in.
    pub target: &'static str,
    /// The path of the file, of the pack or on disk, whether it exists or not.
    pub path: String,
    /// The SHA-1 of the file's text, or `missing`.
    pub hash: String,
    /// The file with its bytes that are used.
    pub origin: Vec<InjectedOrigin>,
    /// The bytes of the file.
    pub bytes_before: usize,
    /// The bytes that are sent: without white space at the ends.
    pub bytes_after: usize,
    /// The characters that are sent.
    pub chars_after: usize,
    /// How many tokens that may be.
    pub tokens_estimate: usize,
    /// Whether the text was cut. Standing texts never are.
    pub truncated: bool,
    /// Whether the text is in the request, or why not.
    pub outcome: ItemOutcome,
    /// Why the texts are sent now: `initial`, `rules-updated`, `turn-15` and the like; of the prompt of a phase, its name
    /// behind `phase-`.
    pub reason: String,
    /// The setting that chose the phase, if the text is the prompt of a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<PhaseSetting>,
    /// The number of inputs that the session had sent before.
    pub turn: u64,
    /// The name of the client that runs the session.
    pub channel: String,
}

impl StandingAccount {
    /// The kind of source that accounts of standing texts name.
    pub const SOURCE: &str = "standing";

    /// The accounts of an injection, one for each file that it is made from.
    pub fn of(injection: &Injection, files: &InjectionInput, turn: u64, channel: &str) -> Vec<Self> {
        let found =
            [("instructions", PartKind::Instructions, &files.instructions), ("rules", PartKind::Rules, &files.rules)];
        let is_due = |kind: PartKind| kind != PartKind::Instructions || !injection.reason.starts_with(RULES_ONLY);
        let wanted = found.into_iter().enumerate().filter(|(_, (_, kind, found))| {
            let is_wanted = !matches!(found, FoundFile::NotWanted);
            is_wanted && is_due(*kind)
        });
        let account = |(source_index, (item_id, kind, found)): (usize, (&'static str, PartKind, &FoundFile))| {
            let part = injection.parts.iter().find(|part| part.kind == kind);
            let text = part.map(|part| concat(&part.text)).unwrap_or_default();
            let path = found.path().to_owned();
            Self {
                source_type: Self::SOURCE,
                source_index,
                item_id,
                target: "user",
                hash: found.hash().to_owned(),
                origin: vec![InjectedOrigin { path: path.clone(), bytes: text.len() as u64 }],
                path,
                bytes_before: found.text().map_or(0, |text| text.text.len()),
                bytes_after: text.len(),
                chars_after: text.chars().count(),
                tokens_estimate: tokens_of_bytes(text.len()),
                truncated: false,
                outcome: outcome(found, &text),
                reason: injection.reason.clone(),
                chosen_by: None,
                turn,
                channel: channel.to_owned(),
            }
        };
        wanted.map(account).collect()
    }

    /// The account of a phase's prompt, which goes before every input.
    pub fn of_phase(prompt: &PhasePrompt, turn: u64, channel: &str) -> Self {
        let text = concat(&prompt.text);
        Self {
            source_type: Self::SOURCE,
            source_index: PHASE_INDEX,
            item_id: PHASE,
            target: "user",
            path: prompt.path.clone(),
            hash: sha1(&text),
            origin: vec![InjectedOrigin { path: prompt.path.clone(), bytes: text.len() as u64 }],
            bytes_before: text.len(),
            bytes_after: text.len(),
            chars_after: text.chars().count(),
            tokens_estimate: tokens_of_bytes(text.len()),
            truncated: false,
            outcome: if text.is_empty() { ItemOutcome::SkippedBlank } else { ItemOutcome::Injected },
            reason: format!("phase-{}", prompt.phase.name),
            chosen_by: Some(prompt.phase.chosen_by),
            turn,
            channel: channel.to_owned(),
        }
    }
}

fn outcome(found: &FoundFile, sent: &str) -> ItemOutcome {
    match found {
        FoundFile::Text(_) if sent.is_empty() => ItemOutcome::SkippedBlank,
        FoundFile::Text(_) => ItemOutcome::Injected,
        FoundFile::NotWanted | FoundFile::Missing { .. } => ItemOutcome::Missing,
        FoundFile::Unreadable { .. } | FoundFile::Corrupt { .. } => ItemOutcome::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReinjectState;
    use super::super::files::HashedText;
    use super::super::parts::PartTexts;
    use super::super::phases::ChosenPhase;
    use super::super::settings::ReinjectOverrides;
    use super::*;
    use crate::pack::Pack;

    fn file(path: &str, text: &str) -> FoundFile {
        FoundFile::Text(HashedText::on_disk(path, text))
    }

    fn missing(path: &str) -> FoundFile {
        FoundFile::Missing { path: path.to_owned() }
    }

    /// Decides about `n` inputs with the same files, and gives the accounts of the last one, a line each.
    #[track_caller]
    fn check_accounts(variant: &str, n: u64, instructions: FoundFile, rules: FoundFile, expected: &[&str]) {
        let files = InjectionInput { instructions, rules, ..InjectionInput::default() };
        let pack = Pack::builtin("ads").unwrap();
        let layout = pack.layout.reinject.as_ref().unwrap().with_variant(variant).unwrap();
        let settings = layout.settings(ReinjectOverrides::default());
        let mut state = ReinjectState::default();
        let mut lines = Vec::new();
        for _ in 0..n {
            let turn = state.turn_count;
            let decided = state.decide(&settings, &files, &PartTexts::default(), None).injection.unwrap();
            let accounts = decided.iter().flat_map(|it| StandingAccount::of(it, &files, turn, "exec"));
            let line = |it: StandingAccount| {
                let hash = it.hash.get(..7).unwrap_or(&it.hash).to_owned();
                let (before, after, outcome) = (it.bytes_before, it.bytes_after, it.outcome.as_str());
                format!("{} {} {hash} {before}→{after} {outcome} {} {}", it.item_id, it.path, it.reason, it.turn)
            };
            lines = accounts.map(line).collect();
            state.complete_turn();
        }
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_file_of_an_injection_has_an_account() {
        let instructions = || file("/i", "I");
        let rules = || file("/r", "R\n");
        check_accounts(
            "design",
            1,
            instructions(),
            rules(),
            &["instructions /i ca73ab6 1→1 injected initial 0", "rules /r b1aa98a 2→1 injected initial 0"],
        );
        check_accounts("design", 2, instructions(), rules(), &[]);
        check_accounts(
            "design",
            16,
            instructions(),
            missing("/r"),
            &["instructions /i ca73ab6 1→1 injected turn-15 15", "rules /r missing 0→0 missing turn-15 15"],
        );
        check_accounts(
            "design",
            1,
            instructions(),
            file("/r", " \n"),
            &["instructions /i ca73ab6 1→1 injected initial 0", "rules /r dd12258 2→0 skipped_blank initial 0"],
        );
        check_accounts("design", 1, FoundFile::NotWanted, rules(), &["rules /r b1aa98a 2→1 injected initial 0"]);
    }

    #[test]
    fn the_prompt_of_a_phase_has_an_account_with_the_setting_that_chose_it() {
        let pack = Pack::builtin("ads").unwrap();
        let phase = ChosenPhase { name: "review".to_owned(), chosen_by: PhaseSetting::Workspace };
        let account = StandingAccount::of_phase(&PhasePrompt::of(&pack, &phase).unwrap(), 4, "exec");
        let shown = serde_json::to_value(&account).unwrap();
        assert_eq!(
            (&shown["item_id"], &shown["reason"], &shown["chosen_by"]),
            (&"phase".into(), &"phase-review".into(), &"workspace".into())
        );
        assert_eq!((account.path.as_str(), account.hash.len(), account.turn), ("phases/review.md", 40, 4));
        assert!(account.bytes_after > 0 && account.bytes_after == account.bytes_before);
        let unknown = ChosenPhase { name: "rest".to_owned(), ..phase };
        let error = PhasePrompt::of(&pack, &unknown).unwrap_err().to_string();
        assert_eq!(error, "phase `rest`: the pack `ads` knows requirements, implementation, review");
    }

    #[test]
    fn an_injection_of_rules_has_no_account_of_instructions() {
        let (instructions, rules) = (file("/i", "I"), file("/r", "R\n"));
        check_accounts("current", 2, instructions, rules, &["rules /r b1aa98a 2→1 injected rules-only-1 1"]);
    }
}
