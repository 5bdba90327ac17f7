//! The suite `design`: the variant that the others are compared with.

use std::collections::BTreeMap;

use pellucid_engine::fragment::Fragment;
use pellucid_engine::reinject::envelope::{EnvelopeInput, EnvelopeOutput, EnvelopeTexts, wrap};
use pellucid_engine::reinject::files::{FileRole, FoundFile, HashedText, InjectionInput};
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::settings::ReinjectOverrides;
use pellucid_engine::reinject::{Injection, InjectionDecision, PartKind, ReinjectState, StandingNotice};
use pellucid_protocol::settings::ReinjectTrigger;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LOG_PREFIX;
use crate::golden::cases::{self, Verdict, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "origin")]
    _origin: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
    config: Config,
    files: BTreeMap<String, Option<File>>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    enabled: Option<bool>,
    turns: Option<f64>,
    trigger: Option<ReinjectTrigger>,
    thresholds: Option<Vec<f64>>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct File {
    text: Option<String>,
    readable: Option<bool>,
    utf8: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, tag = "op", rename_all = "snake_case")]
enum Step {
    Send {
        input: Option<Value>,
        occupancy: Option<f64>,
        phase: Option<String>,
        times: Option<usize>,
        expect: Option<Box<Expect>>,
        expect_reasons: Option<Vec<Option<String>>>,
    },
    SetFile {
        file: String,
        value: Option<File>,
    },
    ResetSession {},
    SetWorkspace {
        files: BTreeMap<String, Option<File>>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    blocked: bool,
    error: Option<ExpectError>,
    injected: Option<bool>,
    reason: Option<String>,
    envelope: Option<Vec<String>>,
    payload: Option<Value>,
    instructions_hash: Option<String>,
    rules_hash: Option<String>,
    log: Option<Vec<ExpectLog>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectError {
    code: String,
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectLog {
    level: String,
    code: Option<String>,
    line: Option<String>,
    file: Option<String>,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run(file, check)
}

fn check(case: Case) -> Result<(), String> {
    let Config { enabled, turns, trigger, thresholds } = case.config;
    let given = ReinjectOverrides { enabled, turns, rules_turns: None, trigger, thresholds };
    let settings = super::layout(&super::pack("design")?).settings(given);
    let mut files = case.files;
    let mut state = ReinjectState::default();
    for (n, step) in case.steps.into_iter().enumerate() {
        let at = |problem: String| format!("step {n}: {problem}");
        match step {
            Step::SetFile { file, value } => {
                files.insert(file, value);
            }
            // A new session begins with a new state.
            Step::ResetSession {} => state = ReinjectState::default(),
            Step::SetWorkspace { files: new } => {
                // The instructions are the product's; the files given are the workspace's.
                files.remove("rules");
                files.extend(new);
                state.switch_workspace("");
            }
            Step::Send { input, occupancy, phase, times, expect, expect_reasons } => {
                let mut reasons = Vec::new();
                let mut last = None;
                for _ in 0..times.unwrap_or(1) {
                    let decision = state.decide(&settings, &found(&files), &PartTexts::default(), occupancy);
                    if decision.injection.is_ok() {
                        state.complete_turn();
                    }
                    let injection = decision.injection.as_ref().ok().and_then(Option::as_ref);
                    reasons.push(injection.map(|it| it.reason.clone()));
                    last = Some(decision);
                }
                if let Some(expected) = expect_reasons {
                    same("reasons", &reasons, &expected).map_err(at)?;
                }
                if let (Some(expect), Some(decision)) = (expect, last) {
                    let input = input.unwrap_or_else(|| json!("hi"));
                    compare(&decision, &input, phase, &expect).map_err(at)?;
                }
            }
        }
    }
    Ok(())
}

fn found(files: &BTreeMap<String, Option<File>>) -> InjectionInput {
    let one = |name: &str| {
        let path = format!("/{name}.md");
        match files.get(name).cloned().flatten() {
            None => FoundFile::Missing { path },
            Some(File { readable: Some(false), .. }) => FoundFile::Unreadable { path, error: "no permission".into() },
            Some(File { utf8: Some(false), .. }) => FoundFile::Corrupt { path },
            Some(File { text, .. }) => FoundFile::Text(HashedText::on_disk(&path, &text.unwrap_or_default())),
        }
    };
    InjectionInput { instructions: one("instructions"), rules: one("rules"), ..InjectionInput::default() }
}

fn compare(decision: &InjectionDecision, input: &Value, phase: Option<String>, expect: &Expect) -> Result<(), String> {
    compare_log(&decision.notices, expect.log.as_deref().unwrap_or_default())?;
    let injection = match (&decision.injection, expect.blocked) {
        (Err(blocked), true) => {
            let expected = expect.error.as_ref();
            same("error", &Some(blocked.code), &expected.map(|it| it.code.as_str()))?;
            let path = expected.and_then(|it| it.path.as_deref());
            return path.map_or(Ok(()), |path| same("path", &blocked.path.ends_with(path), &true));
        }
        (Ok(injection), false) => injection.as_ref(),
        (found, _) => return Err(format!("blocked: {found:?}, expected {}", expect.blocked)),
    };
    same("injected", &Some(injection.is_some()), &expect.injected)?;
    same("reason", &injection.map(|it| it.reason.clone()), &expect.reason)?;
    let hashes = injection.map(|it| (it.instructions_hash.clone(), it.rules_hash.clone()));
    same("hashes", &hashes, &expect.instructions_hash.clone().zip(expect.rules_hash.clone()))?;
    same("envelope", &Some(layers(injection, phase.is_some())), &expect.envelope)?;
    let phase = phase.map(|phase| vec![Fragment::provided("phase", phase)]);
    let said = super::envelope::said(input)?;
    let sent = wrap(injection.map(Injection::fragments), &EnvelopeTexts::default(), phase, said);
    same("payload", &Some(super::envelope::sent(&sent)), &expect.payload)
}

fn layers(injection: Option<&Injection>, has_phase: bool) -> Vec<String> {
    let parts = injection.map(|it| it.parts.as_slice()).unwrap_or_default();
    let part = |kind: PartKind| if kind == PartKind::Rules { "rules" } else { "instructions" };
    let parts = parts.iter().map(|it| part(it.kind));
    parts.chain(has_phase.then_some("phase")).chain(["user"]).map(str::to_string).collect()
}

fn compare_log(notices: &[StandingNotice], expected: &[ExpectLog]) -> Result<(), String> {
    let is_expected = |it: &&StandingNotice| !matches!(it, StandingNotice::Switched { .. });
    let log: Vec<&StandingNotice> = notices.iter().filter(is_expected).collect();
    if log.len() != expected.len() {
        return Err(format!("log {log:?}, expected {} lines", expected.len()));
    }
    for (line, expected) in log.into_iter().zip(expected) {
        same("log level", &line.level().word(), &expected.level.as_str())?;
        same("log code", &line.code(), &expected.code.as_deref())?;
        if let Some(text) = &expected.line {
            same("log line", &format!("{LOG_PREFIX}{}", line.text()), text)?;
        }
        if let Some(file) = &expected.file {
            same("log file", &line.file().map(FileRole::word), &Some(file.as_str()))?;
        }
    }
    Ok(())
}

/// One text, or texts before items.
pub type JsonSent = EnvelopeOutput<Value>;
/// One text, or items.
pub type JsonSaid = EnvelopeInput<Value>;
