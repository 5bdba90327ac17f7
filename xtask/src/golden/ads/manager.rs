//! The suites `manager_current` and `manager_initial`: what two releases inject, and when.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pellucid_engine::pack::Pack;
use pellucid_engine::reinject::files::{HashedText, InjectionInput};
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::settings::{ReinjectOverrides, ReinjectSettings};
use pellucid_engine::reinject::{Blocked, InjectionDecision, Level, MISSING, ReinjectState, StandingNotice};
use pellucid_workspace::standing_files::{Instructions, StandingFiles, StandingSources, state_folder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::LOG_PREFIX;
use crate::golden::cases::{self, Verdict, same};
use crate::scratch::Scratch;

/// When files were written before the first step, in seconds.
const MTIME: u64 = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    variant: Variant,
    workspaces: BTreeMap<String, Workspace>,
    start: Option<String>,
    reinjection: Option<Reinjection>,
    #[serde(default, deserialize_with = "present")]
    builtin_instructions: Option<Option<String>>,
    #[serde(rename = "agrees_with_design")]
    _agrees: Option<bool>,
    steps: Vec<Step>,
}

/// Distinguishes `null` from an absent value.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workspace {
    git: Option<bool>,
    #[serde(default)]
    dirs: Vec<String>,
    #[serde(default)]
    state: BTreeMap<String, String>,
    #[serde(default)]
    legacy: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Reinjection {
    enabled: Option<bool>,
    turns: Option<f64>,
    rules_turns: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, tag = "op", rename_all = "snake_case")]
enum Step {
    Inject { expect: Option<Value>, expect_log: Option<Vec<Value>> },
    CompleteTurn { times: Option<usize> },
    Turns { count: usize, expect_reasons: Vec<Option<String>> },
    Write { path: String, text: String, mtime: Option<u64>, ws: Option<String>, expect_log: Option<Vec<Value>> },
    Delete { path: String, ws: Option<String> },
    SetWorkspace { to: String, expect_log: Option<Vec<Value>> },
    RequestSkills { names: Vec<String>, expect_log: Option<Vec<Value>> },
    WriteSkill { dir: String, text: String, mtime: Option<u64> },
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run(file, check)
}

/// The two shipped variants.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Variant {
    Current,
    Initial,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Initial => "initial",
        }
    }

    /// The turns that a value below one means.
    fn turns_below_one(self) -> f64 {
        match self {
            Self::Current => 10.0,
            Self::Initial => 15.0,
        }
    }
}

struct World {
    scratch: Scratch,
    root: PathBuf,
    variant: Variant,
    words: PartTexts,
    pack: Pack,
    start: String,
    settings: ReinjectSettings,
    state: ReinjectState,
    files: StandingFiles,
    names: Vec<String>,
}

fn check(case: Case) -> Result<(), String> {
    let Some(first) = case.workspaces.keys().next().cloned() else {
        return Err("no workspace".into());
    };
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let root = scratch.path().canonicalize().map_err(|error| error.to_string())?;
    let start = case.start.clone().unwrap_or(first);
    let reinjection = case.reinjection.unwrap_or(Reinjection { enabled: None, turns: None, rules_turns: None });
    let given = ReinjectOverrides {
        enabled: reinjection.enabled,
        turns: reinjection.turns.map(|turns| if turns >= 1.0 { turns } else { case.variant.turns_below_one() }),
        rules_turns: reinjection.rules_turns,
        ..ReinjectOverrides::default()
    };
    let builtin = case.builtin_instructions.unwrap_or_else(|| Some("BUILTIN INSTRUCTIONS\n".into()));
    let builtin = builtin.map(|text| HashedText::in_pack(&"templates/instructions.md".into(), &text));
    for (name, workspace) in &case.workspaces {
        make(&root, case.variant, name, workspace)?;
    }
    let pack = super::pack(case.variant.name())?;
    let layout = super::layout(&pack);
    let settings = layout.settings(given);
    let sources = StandingSources {
        layout,
        instructions: builtin.map_or(Instructions::None, Instructions::Text),
        states: Some(root.join("ads")),
        now: || "1970-01-01T00:00:00.000Z".into(),
    };
    let mut world = World {
        files: StandingFiles::new(sources, &root.join(&start)),
        words: PartTexts::of(&pack, &settings),
        pack,
        settings,
        state: ReinjectState::default(),
        variant: case.variant,
        names: case.workspaces.keys().cloned().collect(),
        scratch,
        root,
        start: start.split('/').next().unwrap_or_default().to_string(),
    };
    for (n, step) in case.steps.into_iter().enumerate() {
        world.step(step).map_err(|problem| format!("step {n}: {problem}"))?;
    }
    drop(world.scratch);
    Ok(())
}

/// Makes a workspace and its state.
fn make(root: &Path, variant: Variant, name: &str, workspace: &Workspace) -> Result<(), String> {
    let folder = root.join(name);
    let made = fs::create_dir_all(&folder);
    made.map_err(|error| error.to_string())?;
    if workspace.git != Some(false) {
        fs::create_dir_all(folder.join(".git")).map_err(|error| error.to_string())?;
    }
    for dir in &workspace.dirs {
        fs::create_dir_all(folder.join(dir)).map_err(|error| error.to_string())?;
    }
    let state = state_of(root, variant, name);
    for (path, text) in &workspace.state {
        write(&state.join(path), text, MTIME)?;
    }
    for (path, text) in &workspace.legacy {
        write(&folder.join(".ads").join(path), text, MTIME)?;
    }
    Ok(())
}

fn state_of(root: &Path, variant: Variant, name: &str) -> PathBuf {
    let workspace = root.join(name);
    if variant == Variant::Current { state_folder(&root.join("ads"), &workspace) } else { workspace.join(".ads") }
}

fn write(path: &Path, text: &str, mtime: u64) -> Result<(), String> {
    let io = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(io)?;
    fs::write(path, text).map_err(io)?;
    let file = fs::File::options().write(true).open(path).map_err(io)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(mtime)).map_err(io)
}

impl World {
    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Inject { expect, expect_log } => {
                let decision = self.inject();
                let found = self.shown(&decision);
                same("injection", &found, &expect.unwrap_or(Value::Null))?;
                self.compare_log(&decision.notices, expect_log)
            }
            Step::Turns { count, expect_reasons } => {
                let mut reasons = Vec::new();
                for _ in 0..count {
                    let injection = self.inject().injection.map_err(|blocked| blocked.message)?;
                    reasons.push(injection.map(|it| it.reason));
                    self.state.complete_turn();
                }
                same("reasons", &reasons, &expect_reasons)
            }
            Step::CompleteTurn { times } => {
                for _ in 0..times.unwrap_or(1) {
                    self.state.complete_turn();
                }
                Ok(())
            }
            Step::Write { path, text, mtime, ws, expect_log } => {
                write(&self.place(ws.as_deref(), &path), &text, mtime.unwrap_or(MTIME))?;
                self.compare_log(&[], expect_log)
            }
            Step::Delete { path, ws } => {
                fs::remove_file(self.place(ws.as_deref(), &path)).map_err(|error| format!("{path}: {error}"))
            }
            Step::SetWorkspace { to, expect_log } => {
                let mut log = Vec::new();
                if self.files.set_workspace(&self.root.join(&to)) {
                    let path = self.files.workspace().to_string_lossy().into_owned();
                    log.push(self.state.switch_workspace(&path));
                }
                self.compare_log(&log, expect_log)
            }
            Step::RequestSkills { names, expect_log } => {
                self.state.request_skills(&names);
                self.compare_log(&[], expect_log)
            }
            Step::WriteSkill { dir, text, mtime } => {
                let path = self.root.join("ads/.agent/skills").join(dir).join("SKILL.md");
                write(&path, &text, mtime.unwrap_or(MTIME))
            }
        }
    }

    fn place(&self, ws: Option<&str>, path: &str) -> PathBuf {
        state_of(&self.root, self.variant, ws.unwrap_or(&self.start)).join(path)
    }

    fn inject(&mut self) -> InjectionDecision {
        let is_needed = self.state.needs_files(&self.settings, None);
        let files = if is_needed { self.files.read() } else { InjectionInput::default() };
        self.state.decide(&self.settings, &files, &self.words, None)
    }

    fn shown(&self, decision: &InjectionDecision) -> Value {
        match &decision.injection {
            Ok(None) => Value::Null,
            Ok(Some(injection)) => json!({
                "reason": injection.reason,
                "instructions_hash": injection.instructions_hash,
                "rules_hash": injection.rules_hash,
                "text": self.with_placeholders(&injection.text()),
            }),
            Err(Blocked { path, .. }) => json!({ "error": self.logged(&format!("无法读取 instructions: {path}")) }),
        }
    }

    /// A text with the pack's words about skills and workspaces as the vectors show them.
    fn with_placeholders(&self, text: &str) -> String {
        let written = |file: &str| self.pack.template(file).written();
        let mut text = text.to_string();
        if self.variant == Variant::Current {
            for n_skills in 0..10 {
                let some = written("reinject/skill_system.md").replace("{{ count }}", &n_skills.to_string());
                text = text.replace(&some, "{{SKILL_SYSTEM}}");
            }
            text = text.replace(&written("reinject/skill_system_none.md"), "{{SKILL_SYSTEM}}");
            text = text.replace(&written("reinject/workspace_notice.md"), "{{WORKSPACE_NOTICE}}");
        }
        text
    }

    fn compare_log(&self, notices: &[StandingNotice], expected: Option<Vec<Value>>) -> Result<(), String> {
        let row = |it: &StandingNotice| {
            let level = match it.level() {
                Level::Info if self.variant == Variant::Current => "debug",
                level => level.word(),
            };
            json!({ "level": level, "message": self.logged(&self.words_of(it)) })
        };
        let found: Vec<Value> = notices.iter().map(row).collect();
        same("log", &found, &expected.unwrap_or_default())
    }

    /// A line of the log in the words of the shipped program.
    fn words_of(&self, notice: &StandingNotice) -> String {
        let short = |hash: &str| if hash == MISSING { hash.to_string() } else { hash[..8].to_string() };
        match (notice, self.variant) {
            (StandingNotice::Injected { reason, instructions, rules }, Variant::Current) => {
                let instructions = instructions.as_deref().map_or("skip".to_string(), short);
                format!("Injected ({reason}) instructions={instructions} rules={}", short(rules))
            }
            (StandingNotice::Injected { reason, instructions, rules }, Variant::Initial) => {
                format!("{reason} instructions={} rules={rules}", short(instructions.as_deref().unwrap_or(MISSING)))
            }
            (StandingNotice::RulesMissing { path }, _) => {
                format!("workspace rules missing at {path}, continuing with instructions only")
            }
            (StandingNotice::InstructionsMissing { path }, _) => {
                format!("instructions missing at {path}, and no default templates/instructions.md found")
            }
            (StandingNotice::StandIn { path }, _) => {
                format!("workspace instructions missing at {path}, using built-in templates/instructions.md")
            }
            (StandingNotice::NotSetUp { path }, _) => {
                format!("workspace not initialized at {path}; instructions/rules falling back to built-in templates.")
            }
            (StandingNotice::ReadFailed { .. }, _) => notice.text(),
            (StandingNotice::Switched { path }, _) => format!("Workspace switched to {path}"),
        }
    }

    /// A text as the variant logs it: the first one put a prefix before every line.
    fn logged(&self, text: &str) -> String {
        let text = self.named(text);
        if self.variant == Variant::Initial { format!("{LOG_PREFIX}{text}") } else { text }
    }

    /// A text with the names of the vectors in place of the folders.
    fn named(&self, text: &str) -> String {
        let mut text = text.to_string();
        for name in &self.names {
            let state = state_of(&self.root, self.variant, name);
            if self.root.join(name).is_dir() && text.contains(&*state.to_string_lossy()) {
                text = text.replace(&*state.to_string_lossy(), &format!("$STATE({name})"));
            }
            text = text.replace(&*self.root.join(name).to_string_lossy(), &format!("$WS({name})"));
        }
        text
    }
}
