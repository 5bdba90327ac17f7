//! Whether the files of a session are as they were written, and what that means for its requests.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_store::read::Doubt;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::redact;
use pellucid_store::requests::anchors;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::damage::Damage;
use pellucid_store::requests::damage::DamageKind;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::StoredText;
use pellucid_store::requests::parts::PartError;
use pellucid_store::requests::parts::PartStore;
use pellucid_store::requests::verify;
use pellucid_store::requests::verify::Foreign;

use super::BLANKED;
use super::ReplayedRequest;
use super::SERVER_IDS;
use super::Verdict;

/// What is to be said of the files of a session.
pub(super) struct Files {
    pub damages: Vec<Damage>,
    /// What is not as it was written in the record.
    of_record: Option<Damage>,
    pub foreign: Vec<Foreign>,
    pub is_blanked: bool,
}

/// Looks at the session file, the record and the long texts.
pub(super) fn look(
    home: &Path,
    file: &SessionFile,
    record: Option<&Path>,
    chain: &Chain,
    parts: &PartStore,
) -> Result<Files, ReadError> {
    let verified = verify::verify(home, &file.path, chain).map_err(|error| ReadError::io(&file.path, error))?;
    let mut damages = verified.damages;
    if damages.is_empty() && file.doubt.is_some() {
        damages.push(doubted(home, file));
    }
    let of_record = chain.broken.as_ref().zip(record).map(|(broken, record)| broken.damage(&below(home, record)));
    damages.extend(of_record.clone());
    damages.extend(texts(home, chain, parts));
    Ok(Files { damages, of_record, foreign: verified.foreign, is_blanked: verified.is_blanked })
}

/// A first line that cannot be trusted.
fn doubted(home: &Path, file: &SessionFile) -> Damage {
    let (kind, change) = match file.doubt {
        Some(Doubt::OtherId) => ("session_meta of another session", DamageKind::Changed),
        Some(Doubt::NoHead) => ("session_meta", DamageKind::Missing),
        Some(Doubt::NoLine) | None => ("session_meta", DamageKind::Changed),
    };
    Damage {
        file: below(home, &file.path),
        line: Some(1),
        n_lines: 1,
        byte: 0,
        kind: kind.to_owned(),
        part: String::new(),
        turn: None,
        change,
    }
}

/// Long texts that are not what their names say, each once.
fn texts(home: &Path, chain: &Chain, parts: &PartStore) -> Vec<Damage> {
    let mut seen = BTreeMap::new();
    for piece in chain.pieces() {
        if let StoredText::Kept { sha256, .. } = &piece.text {
            seen.entry(sha256).or_insert(piece);
        }
    }
    let damage = |(sha256, piece): (&String, _)| {
        let change = match parts.text(piece) {
            Err(PartError::Changed { .. }) => DamageKind::Changed,
            Err(PartError::Missing { .. }) => DamageKind::Missing,
            _ => return None,
        };
        let kind = match piece.part.as_str() {
            "" => "the text of an item".to_owned(),
            part => format!("the text of {part}"),
        };
        let file = below(home, &parts.path(sha256));
        Some(Damage { file, line: None, n_lines: 1, byte: 0, kind, part: piece.part.clone(), turn: None, change })
    };
    seen.into_iter().filter_map(damage).collect()
}

fn below(home: &Path, path: &Path) -> String {
    path.strip_prefix(home).unwrap_or(path).to_string_lossy().into_owned()
}

impl Files {
    /// Says of requests what the state of the files means for them, and adds those that no record has.
    pub fn settle(&self, requests: &mut Vec<(u64, ReplayedRequest)>, unrecorded: Vec<(u64, ReplayedRequest)>) {
        if let Some(damage) = self.damages.first() {
            for (_, outcome) in requests.iter_mut() {
                if let Verdict::NotProvable { why } = &outcome.verdict
                    && why != BLANKED
                    && why != SERVER_IDS
                    && !redact::has_blank(why.as_bytes())
                {
                    outcome.verdict = Verdict::Altered { what: damage.to_string() };
                }
            }
        }
        for (at, mut outcome) in unrecorded {
            let is_foreign = |it: &Foreign| it.is_behind_seal && it.from < at && at <= it.at;
            if let Verdict::NotProvable { why } = &outcome.verdict {
                if let Some(damage) = &self.of_record {
                    outcome.verdict = Verdict::Altered { what: damage.to_string() };
                } else if self.foreign.iter().any(is_foreign) {
                    outcome.verdict = Verdict::Foreign { why: why.clone() };
                }
            }
            requests.push((at, outcome));
        }
    }
}

/// What limits the proof that nothing is missing at the end.
pub(super) fn notes(chain: &Chain, kept: &Anchors, session: &str) -> Vec<String> {
    let mut notes: Vec<String> = kept.warning().into_iter().collect();
    let has_seal = chain.links.iter().any(|link| matches!(link.entry, LogEntry::Sealed(_)));
    if has_seal && kept.failure.is_none() && kept.of(session).is_empty() {
        notes.push(format!(
            "{} has no hash of this session: that the end of its files is missing would show only with --anchor",
            anchors::FILE
        ));
    }
    notes
}
